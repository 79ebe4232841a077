//! Host files of every format, read by `goblin` too: each image lies in the section that it names.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use blockgate_fatbin::{DeviceCode, FileFormat, Limits, Member, read};
use goblin::Object;
use goblin::mach::{Mach, MachO, SingleArch};
use libtest_mimic::{Failed, Trial};

use crate::goldens::inputs;
use crate::support::fixtures;

/// Folders with host files that other formats or other sections make harder to read than usual ones.
pub(crate) const FOLDERS: [&str; 3] = ["windows/", "macos/", "odd/"];

/// The sections of device code, by the names that the formats give them.
const DEVICE_SECTIONS: [&str; 6] = [
    ".nv_fatbin",
    "__nv_relfatbin",
    ".nv_fatb",
    "__nv_rel",
    "__NV_CUDA,__nv_fatbin",
    "__NV_CUDA,__nv_relfatbin",
];

/// What each state looks like, and the file that shows it.
const STATES: [(&str, DeviceCode); 17] = [
    ("windows/kernels.dll", DeviceCode::Present),
    ("windows/run-time.dll", DeviceCode::NvrtcOnly),
    ("windows/run-time.obj", DeviceCode::NvrtcOnly),
    ("windows/source.obj", DeviceCode::NvrtcOnly),
    ("macos/run-time.dylib", DeviceCode::NvrtcOnly),
    ("macos/run-time.o", DeviceCode::NvrtcOnly),
    ("odd/run-time.so", DeviceCode::NvrtcOnly),
    ("odd/run-time.o", DeviceCode::NvrtcOnly),
    ("odd/source.o", DeviceCode::NvrtcOnly),
    ("odd/by-name.so", DeviceCode::NvrtcOnly),
    // A library with source text that never names the compiler, and the compiler itself.
    ("odd/source.so", DeviceCode::None),
    ("odd/libnvrtc.so", DeviceCode::None),
    ("odd/offloading.o", DeviceCode::Unreadable),
    ("odd/missing-region.o", DeviceCode::PtxOnly),
    ("odd/elf32.o", DeviceCode::PtxOnly),
    ("toolkits/p_lto.o", DeviceCode::LtoOnly),
    ("hosts/without-device-code.o", DeviceCode::None),
];

pub(crate) fn trials() -> Result<Vec<Trial>, Failed> {
    let mut trials = Vec::new();
    for (name, path) in inputs()? {
        let is_host = FOLDERS
            .iter()
            .chain(&["hosts/"])
            .any(|folder| name.starts_with(folder));
        // Without a section table there is nothing to compare with.
        if is_host && !name.contains("headless") && !name.ends_with("core.elf") {
            trials.push(Trial::test(format!("sections/{name}"), move || check(&path)));
        }
    }
    trials.extend(STATES.iter().map(|&(name, state)| {
        Trial::test(format!("state/{name}"), move || {
            let bytes = std::fs::read(fixtures().join(name))?;
            let artifact = read(&bytes, &Limits::default())?;
            let states: Vec<_> = artifact.members.iter().map(|member| member.device_code).collect();
            if states == [state] {
                Ok(())
            } else {
                Err(format!("{states:?} instead of {state:?}").into())
            }
        })
    }));
    Ok(trials)
}

fn check(path: &Path) -> Result<(), Failed> {
    let bytes = std::fs::read(path)?;
    let artifact = read(&bytes, &Limits::default())?;
    let mut placed = 0;
    for member in &artifact.members {
        let sections = sections(member, artifact.format)?;
        let images = || artifact.images.iter().filter(|image| image.member == member.name);
        for (name, ranges) in &sections {
            let is_inside = |offset: u64| {
                ranges
                    .iter()
                    .any(|range| range.contains(&(offset - member.offset)))
            };
            let of_section = || images().filter(|image| image.section.as_deref() == Some(name));
            let inside = of_section().filter(|image| is_inside(image.offset)).count();
            if inside != of_section().count() {
                return Err(format!("images outside of `{name}`").into());
            }
            if inside == 0 && DEVICE_SECTIONS.contains(&name.as_str()) {
                return Err(format!("`{name}` has no image").into());
            }
            placed += inside;
        }
    }
    if placed == artifact.images.len() {
        Ok(())
    } else {
        Err(format!("{placed} of {} images lie in a section", artifact.images.len()).into())
    }
}

/// Where the sections of each name are in the member, as the other reader sees it.
fn sections(member: &Member<'_>, format: FileFormat) -> Result<BTreeMap<String, Vec<Range<u64>>>, Failed> {
    let mut sections: BTreeMap<String, Vec<Range<u64>>> = BTreeMap::new();
    let mut add = |name: String, at: u64, size: u64| sections.entry(name).or_default().push(at..at + size);
    // The other reader knows neither large objects nor imports.
    if format == FileFormat::CoffImport || member.data.starts_with(&[0, 0, 0xff, 0xff, 0, 0]) {
        return Ok(sections);
    }
    if member.data.starts_with(&[0, 0, 0xff, 0xff]) {
        // Behind a header of 56 bytes stand the same rows as in a plain object; the names are found by the symbols.
        let plain = member.data;
        let count = u32::from_le_bytes(*plain[44..].first_chunk().ok_or("no header")?) as usize;
        let symbols = u32::from_le_bytes(*plain[48..].first_chunk().ok_or("no header")?) as usize;
        let strings =
            symbols + 20 * u32::from_le_bytes(*plain[52..].first_chunk().ok_or("no header")?) as usize;
        for row in plain[56..56 + 40 * count].chunks_exact(40) {
            let number = |at: usize| {
                u64::from(u32::from_le_bytes([
                    row[at],
                    row[at + 1],
                    row[at + 2],
                    row[at + 3],
                ]))
            };
            let short = String::from_utf8_lossy(&row[..8])
                .trim_end_matches('\0')
                .to_owned();
            let name = match short.strip_prefix('/') {
                Some(at) => {
                    let rest = &plain[strings + at.parse::<usize>()?..];
                    let end = rest.iter().position(|&byte| byte == 0).ok_or("no end")?;
                    String::from_utf8_lossy(&rest[..end]).into_owned()
                }
                None => short,
            };
            add(name, number(20), number(16));
        }
        return Ok(sections);
    }
    match Object::parse(member.data)? {
        Object::Elf(elf) => {
            for header in &elf.section_headers {
                let name = elf.shdr_strtab.get_at(header.sh_name).unwrap_or_default();
                if header.sh_type != goblin::elf::section_header::SHT_NOBITS {
                    add(name.to_owned(), header.sh_offset, header.sh_size);
                }
            }
        }
        Object::PE(pe) => {
            for header in &pe.sections {
                let (at, size) = (header.pointer_to_raw_data, header.size_of_raw_data);
                add(header.name()?.to_owned(), at.into(), size.into());
            }
        }
        Object::COFF(coff) => {
            for header in &coff.sections {
                let (at, size) = (header.pointer_to_raw_data, header.size_of_raw_data);
                add(header.name()?.to_owned(), at.into(), size.into());
            }
        }
        Object::Mach(Mach::Binary(file)) => add_mach(&file, &mut add)?,
        Object::Mach(Mach::Fat(files)) => {
            for index in 0..files.narches {
                if let SingleArch::MachO(file) = files.get(index)? {
                    add_mach(&file, &mut add)?;
                }
            }
        }
        other => return Err(format!("no host file: {other:?}").into()),
    }
    Ok(sections)
}

fn add_mach(file: &MachO<'_>, add: &mut impl FnMut(String, u64, u64)) -> Result<(), Failed> {
    for segment in &file.segments {
        for (section, _) in segment.sections()? {
            let name = format!("{},{}", section.segname()?, section.name()?);
            add(name, section.offset.into(), section.size);
        }
    }
    Ok(())
}
