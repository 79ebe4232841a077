//! Inputs made to cost much or to mislead, and the refusal that each must get. Random damage is the fuzz targets' part.

use blockgate_fatbin::{InspectOptions, Limits, read};
use libtest_mimic::{Failed, Trial};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        Trial::test("hostile/overlapping-sections", || {
            refused(&overlapping_sections(), "sections that do not overlap")
        }),
        Trial::test("hostile/one-name-for-all-sections", names_are_capped),
    ]
}

/// A cubin whose 8 empty code sections share one name of a MiB.
fn one_name_for_all() -> Vec<u8> {
    const SECTIONS: u16 = 10;
    const NAME_BYTES: usize = 1 << 20;
    const NAMES_AT: u64 = 64;
    const TABLE_AT: u64 = NAMES_AT + NAME_BYTES as u64 + 8;
    let section = |name: u32, kind: u32, flags: u64, size: u64| {
        let head = name.to_le_bytes().into_iter().chain(kind.to_le_bytes());
        let rest = [flags, 0, NAMES_AT, size, 0, 0, 0];
        head.chain(rest.into_iter().flat_map(u64::to_le_bytes))
            .collect::<Vec<u8>>()
    };
    // ELF ABI 8, machine code for CUDA, flags of sm_121.
    let mut file = vec![0x7f, b'E', b'L', b'F', 2, 1, 1, 0x41, 8, 0, 0, 0, 0, 0, 0, 0];
    file.extend([2, 0, 190, 0, 1, 0, 0, 0]);
    file.extend([0; 16]);
    file.extend(TABLE_AT.to_le_bytes());
    file.extend([2, 121, 0, 6, 64, 0, 0, 0, 0, 0, 64, 0]);
    file.extend(SECTIONS.to_le_bytes());
    file.extend([1, 0, 0]);
    file.resize(file.len() + NAME_BYTES, b'x');
    file.extend([0; 7]);
    file.extend(section(0, 0, 0, 0));
    file.extend(section(0, 3, 0, NAME_BYTES as u64 + 8));
    for _ in 2..SECTIONS {
        file.extend(section(1, 1, 6, 0));
    }
    file
}

/// Names are copied for each section, so a small compressed image could ask for a lot of memory.
fn names_are_capped() -> Result<(), Failed> {
    let bytes = one_name_for_all();
    for (max_name_bytes, allowed) in [(8 << 20, true), ((8 << 20) - 1, false)] {
        let limits = Limits {
            max_name_bytes,
            ..Limits::default()
        };
        let artifact = read(&bytes, &limits)?;
        let image = artifact.images.first().ok_or("no image")?;
        match image.inspect(&limits, &InspectOptions::default()) {
            Ok(inspection) if allowed && inspection.kernels.len() == 8 => {}
            Err(error) if !allowed && error.expected().starts_with("names of at most 0x7fffff bytes") => {}
            other => return Err(format!("with {max_name_bytes:#x}: {:?}", other.map(|i| i.arch)).into()),
        }
    }
    Ok(())
}

/// An ELF file in which every section, of thousands, is the whole file: reading each of them would take for ever.
fn overlapping_sections() -> Vec<u8> {
    const SECTIONS: u16 = 4096;
    const HEADER_BYTES: u64 = 64;
    let size = HEADER_BYTES + HEADER_BYTES * u64::from(SECTIONS);
    let mut file = vec![0x7f, b'E', b'L', b'F', 2, 1, 1, 0];
    file.resize(16, 0);
    // Relocatable, x86-64, version 1, no entry point and program headers, section table behind the header.
    file.extend([1, 0, 62, 0, 1, 0, 0, 0]);
    file.extend([0; 16]);
    file.extend(HEADER_BYTES.to_le_bytes());
    file.extend([0; 4]);
    file.extend([64, 0, 0, 0, 0, 0, 64, 0]);
    file.extend(SECTIONS.to_le_bytes());
    file.extend([0, 0]);
    for _ in 0..SECTIONS {
        // Name 7 is an empty one; the type is "program bits".
        file.extend([7, 0, 0, 0, 1, 0, 0, 0]);
        file.extend([0; 16]);
        file.extend(0_u64.to_le_bytes());
        file.extend(size.to_le_bytes());
        file.extend([0; 24]);
    }
    file
}

fn refused(bytes: &[u8], expected: &str) -> Result<(), Failed> {
    match read(bytes, &Limits::default()) {
        Ok(_) => Err("it was read".into()),
        Err(error) if error.expected() == expected => Ok(()),
        Err(error) => Err(format!("another error: {error}").into()),
    }
}
