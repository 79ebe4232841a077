//! The writer against the toolkits: an entry written anew from what was read of it is the same, byte by byte.

use std::path::Path;

use blockgate_fatbin::write::Entry;
use blockgate_fatbin::{Compression, Image, ImageKind, Limits, read};
use libtest_mimic::{Failed, Trial};

use crate::goldens::inputs;

/// Where an entry header has the sizes of the payload, the offset of further data, and flags.
const SIZES: std::ops::Range<usize> = 8..20;
const EXTRA_AT: usize = 20;

pub(crate) fn trials() -> Result<Vec<Trial>, Failed> {
    let mut trials = Vec::new();
    for (name, path) in inputs()? {
        // The others are damaged on purpose.
        if ["toolkits/", "cases/", "hosts/"]
            .iter()
            .any(|folder| name.starts_with(folder))
        {
            trials.push(Trial::test(format!("written/{name}"), move || check(&path)));
        }
    }
    Ok(trials)
}

fn check(path: &Path) -> Result<(), Failed> {
    let file = std::fs::read(path)?;
    let artifact = read(&file, &Limits::default())?;
    for image in &artifact.images {
        let has_entry = image.declared_version.is_some() && image.container().is_none();
        if has_entry && matches!(image.kind, ImageKind::Cubin | ImageKind::Ptx) {
            check_entry(&file, image)?;
        }
    }
    Ok(())
}

fn check_entry(file: &[u8], image: &Image<'_>) -> Result<(), Failed> {
    let at = usize::try_from(image.offset)?;
    let original = &file[at..];
    let region = blockgate_fatbin::write::Region::new()
        .entry(rebuilt(original, image)?)
        .build()?;
    let written = &region[16..];
    let header_bytes = u32_at(original, 4) as usize;
    let differs = if image.compression == Compression::None {
        first_difference(original, written, written.len())
    } else {
        // Another compressor, or another level of the same one, gives another size.
        let mut original = original[..header_bytes].to_vec();
        original[SIZES].copy_from_slice(&written[SIZES]);
        first_difference(&original, written, header_bytes)
    };
    match differs {
        None => Ok(()),
        Some(byte) => Err(format!(
            "{} at {at:#x}: byte {byte:#x} is not what was written anew",
            image.kind.as_str()
        )
        .into()),
    }
}

fn rebuilt(original: &[u8], image: &Image<'_>) -> Result<Entry, Failed> {
    let arch = image.declared.ok_or("no architecture")?;
    let version = image.declared_version.ok_or("no version")?;
    let content = image.decode(&Limits::default())?.into_owned();
    let extra_at = u32_at(original, EXTRA_AT) as usize;
    let extra = (extra_at != 0).then(|| {
        let (data_at, length) = (u32_at(original, extra_at), u32_at(original, extra_at + 4));
        // A copy of a section stands behind one more byte.
        let start = data_at as usize + usize::from(image.kind == ImageKind::Cubin);
        &original[start..][..length as usize]
    });
    let mut entry = match image.kind {
        ImageKind::Ptx => {
            let entry = Entry::ptx(arch, version, String::from_utf8(content)?);
            entry.options(std::str::from_utf8(extra.ok_or("no options")?)?)
        }
        _ => match extra {
            Some(compat) => Entry::cubin(arch, content).compat(compat),
            None => Entry::cubin(arch, content),
        },
    };
    entry = entry.compression(image.compression).flags(image.flags);
    if let Some(ident) = &image.ident {
        return Ok(entry.ident(ident.as_str()));
    }
    let follows_at = match u32_at(original, EXTRA_AT) {
        0 => u32_at(original, 4),
        at => at,
    };
    let has_room = follows_at == 72;
    Ok(if has_room { entry.room_for_ident() } else { entry })
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn first_difference(one: &[u8], other: &[u8], len: usize) -> Option<usize> {
    (0..len).find(|&at| one.get(at) != other.get(at))
}
