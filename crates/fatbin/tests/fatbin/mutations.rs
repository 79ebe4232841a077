//! Damaged inputs: whatever is changed or cut, reading ends, does not panic, and points into the file.

use std::path::Path;

use blockgate_fatbin::{DEFECT_RULES, Defect, InspectOptions, Limits, Place, read};
use libtest_mimic::{Failed, Trial};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};

use crate::goldens::inputs;

/// Larger inputs are mostly host code, where a random change hits nothing.
const MAX_INPUT_BYTES: u64 = 64 << 10;

pub(crate) fn trials() -> Result<Vec<Trial>, Failed> {
    let mut trials = Vec::new();
    for (name, path) in inputs()? {
        if std::fs::metadata(&path)?.len() <= MAX_INPUT_BYTES {
            trials.push(Trial::test(format!("mutation/{name}"), move || check(&path)));
        }
    }
    trials.push(Trial::test("hostile/overlapping-sections", || {
        refused(&overlapping_sections(), "sections that do not overlap")
    }));
    trials.push(Trial::test("hostile/one-name-for-all-sections", names_are_capped));
    trials.push(Trial::test("hostile/overlapping-coff-sections", || {
        refused(&coff_object(&[0; 1000], 1000), "sections that do not overlap")
    }));
    trials.push(Trial::test("hostile/regions-in-regions", search_is_capped));
    Ok(trials)
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

/// A COFF object with `sections` sections of data, each of which is `data`.
fn coff_object(data: &[u8], sections: u16) -> Vec<u8> {
    let bytes = u32::try_from(data.len()).unwrap_or(u32::MAX);
    const HEADER_BYTES: u32 = 20;
    const ROW_BYTES: u32 = 40;
    let mut file = vec![0x64, 0x86];
    file.extend(sections.to_le_bytes());
    file.resize(HEADER_BYTES as usize, 0);
    let at = HEADER_BYTES + ROW_BYTES * u32::from(sections);
    for _ in 0..sections {
        file.extend(b".data\0\0\0");
        file.extend([0; 8]);
        file.extend(bytes.to_le_bytes());
        file.extend(at.to_le_bytes());
        file.extend([0; 12]);
        // Initialized data that can be read.
        file.extend(0x4000_0040_u32.to_le_bytes());
    }
    file.extend(data);
    file
}

/// Entries without payload, in each of which a region starts that has all that follow: looking at each of them whole would
/// take time in the square of their number. At the end nothing is an entry, so that none of the regions holds up.
fn regions_in_regions(count: usize) -> Vec<u8> {
    let mut data = Vec::new();
    for index in 0..count {
        data.extend([8, 0, 1, 1, 64, 0, 0, 0]);
        data.extend([0; 20]);
        data.extend(90_u32.to_le_bytes());
        data.extend([0; 16]);
        data.extend([0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0]);
        data.extend(((count - index) as u64 * 64).to_le_bytes());
    }
    data.extend([0xff; 64]);
    data
}

fn search_is_capped() -> Result<(), Failed> {
    let bytes = coff_object(&regions_in_regions(100_000), 1);
    let start = std::time::Instant::now();
    let artifact = read(&bytes, &Limits::default())?;
    let rules: Vec<_> = artifact.defects.iter().map(|defect| defect.rule).collect();
    if rules != ["limit-search", "near-miss"] || !artifact.images.is_empty() {
        return Err(format!("{} images, {rules:?}", artifact.images.len()).into());
    }
    // Without the cap it would be five thousand million headers, and minutes.
    if start.elapsed() > std::time::Duration::from_secs(10) {
        return Err(format!("it took {:?}", start.elapsed()).into());
    }
    Ok(())
}

fn refused(bytes: &[u8], expected: &str) -> Result<(), Failed> {
    match read(bytes, &Limits::default()) {
        Ok(_) => Err("it was read".into()),
        Err(error) if error.expected() == expected => Ok(()),
        Err(error) => Err(format!("another error: {error}").into()),
    }
}

/// One change.
#[derive(Clone, Debug)]
enum Change {
    /// Write `value`, `width` bytes wide, at a place given as a fraction of the file.
    Write {
        at: prop::sample::Index,
        width: usize,
        value: u64,
    },
    /// Cut the file there.
    Cut { at: prop::sample::Index },
    /// Repeat the bytes from `from` on at the end.
    Repeat { from: prop::sample::Index },
}

/// Sizes and offsets at the edges of what a field can hold are likelier to break something than random ones.
fn value() -> impl Strategy<Value = u64> {
    prop_oneof![
        any::<u64>(),
        0..0x100_u64,
        (0..64_u32).prop_map(|shift| 1 << shift),
        (0..0x40_u64).prop_map(|below| u64::MAX - below),
    ]
}

fn change() -> impl Strategy<Value = Change> {
    let index = any::<prop::sample::Index>;
    let width = prop_oneof![Just(1_usize), Just(2), Just(4), Just(8)];
    prop_oneof![
        8 => (index(), width, value()).prop_map(|(at, width, value)| Change::Write { at, width, value }),
        1 => index().prop_map(|at| Change::Cut { at }),
        1 => index().prop_map(|from| Change::Repeat { from }),
    ]
}

fn apply(change: &Change, bytes: &mut Vec<u8>) {
    if bytes.is_empty() {
        return;
    }
    match change {
        Change::Write { at, width, value } => {
            // Fields are aligned, so aligned places are hit more often by rounding down.
            let at = at.index(bytes.len()) / width * width;
            for (byte, new) in bytes.iter_mut().skip(at).zip(value.to_le_bytes()).take(*width) {
                *byte = new;
            }
        }
        Change::Cut { at } => bytes.truncate(at.index(bytes.len())),
        Change::Repeat { from } => bytes.extend_from_within(from.index(bytes.len())..),
    }
}

fn check(path: &Path) -> Result<(), Failed> {
    let original = std::fs::read(path)?;
    let mut runner = TestRunner::new(Config {
        failure_persistence: None,
        ..Config::default()
    });
    let header = 0..0x200_usize;
    let strategy = (
        prop::collection::vec(change(), 1..4),
        header,
        any::<bool>(),
        value(),
    );
    runner
        .run(&strategy, |(changes, near_start, write_there, value)| {
            let mut bytes = original.clone();
            for change in &changes {
                apply(change, &mut bytes);
            }
            if write_there {
                // The first bytes hold the headers that everything else depends on.
                for (byte, new) in bytes
                    .iter_mut()
                    .skip(near_start / 4 * 4)
                    .zip(value.to_le_bytes())
                    .take(4)
                {
                    *byte = new;
                }
            }
            read_all(&bytes)
        })
        .map_err(|error| error.to_string().into())
}

/// Reads and inspects everything, and checks that whatever is reported has a place in the file.
fn read_all(bytes: &[u8]) -> Result<(), TestCaseError> {
    let limits = Limits::default();
    let len = bytes.len() as u64;
    let inside = |place: &Place| {
        prop_assert!(place.offset <= len, "{place} is not within {len:#x} bytes");
        Ok(())
    };
    let artifact = match read(bytes, &limits) {
        Ok(artifact) => artifact,
        Err(error) => return inside(error.place()),
    };
    prop_assert!(artifact.unattributed_bytes <= len);
    let known = |defect: &Defect| {
        let listed = DEFECT_RULES.iter().any(|rule| rule.id == defect.rule);
        prop_assert!(listed, "{} is not listed", defect.rule);
        inside(&defect.place())
    };
    for defect in &artifact.defects {
        known(defect)?;
    }
    for image in &artifact.images {
        prop_assert!(image.offset <= len);
        match image.inspect(&limits, &InspectOptions::default()) {
            Ok(inspection) => {
                for defect in &inspection.defects {
                    known(defect)?;
                }
                let counted: u64 = inspection.kernels.iter().map(|kernel| kernel.sass.total()).sum();
                prop_assert_eq!(inspection.instructions.unwrap_or(0), counted);
                prop_assert_eq!(inspection.sass.total(), counted);
            }
            Err(error) => inside(error.place())?,
        }
    }
    Ok(())
}
