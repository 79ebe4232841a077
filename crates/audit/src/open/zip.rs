//! Zip files: wheels, conda packages and others. The central directory over bytes in memory says where each entry is,
//! so that entries are decompressed in parallel. Source: PKWARE's APPNOTE.TXT; PEP 427 for wheels.

use std::borrow::Cow;

use rawzip::{CompressionMethod, ZipArchive, ZipArchiveEntryWayfinder, ZipSliceArchive, ZipSliceEntry};

use super::formats::{PREFIX_BYTES, recognise};
use super::refusal::Refusal;
use super::stream::{Coding, Decoder, read_prefix};
use super::{Arrived, Item, Level, Note, NoteKind, PackageLimits, Walker, is_worth_reading, name_of};

/// An entry of the central directory.
struct Entry<'a> {
    raw_name: &'a [u8],
    at: u64,
    stored_bytes: u64,
    declared_bytes: u64,
    method: CompressionMethod,
    encrypted: bool,
    symlink: bool,
    wayfinder: ZipArchiveEntryWayfinder,
}

/// Walks the entries of the zip file `bytes`.
pub(super) fn walk<T: Send>(
    walker: &mut Walker<'_, T>,
    bytes: &[u8],
    level: &Level,
) -> Result<&'static str, Refusal> {
    let archive = ZipArchive::from_slice(bytes)
        .map_err(|error| Refusal::unreadable("the central directory of a zip file", error.to_string()))?;
    let entries = directory(walker, &archive, level)?;
    refuse_overlaps(&archive, &entries)?;
    let format = variety(&entries);
    let limits = walker.limits;
    let mut wave = Vec::new();
    let mut wave_bytes = 0;
    for entry in entries {
        // Stored entries are read where they lie.
        let held = if entry.method == CompressionMethod::STORE {
            0
        } else {
            entry
                .declared_bytes
                .min(limits.max_decoded_bytes(entry.stored_bytes))
        };
        if !wave.is_empty() && wave_bytes + held > level.wave_bytes() {
            walker.wave(std::mem::take(&mut wave), level, |entry| {
                arrive(&archive, entry, level, limits)
            });
            wave_bytes = 0;
        }
        walker.count_bytes(held)?;
        wave_bytes += held;
        wave.push(entry);
    }
    walker.wave(wave, level, |entry| arrive(&archive, entry, level, limits));
    Ok(format)
}

/// The files of the central directory, folders left out.
fn directory<'a, T: Send>(
    walker: &mut Walker<'_, T>,
    archive: &'a ZipSliceArchive<&[u8]>,
    level: &Level,
) -> Result<Vec<Entry<'a>>, Refusal> {
    let mut entries = Vec::new();
    let mut found: u64 = 0;
    let mut names = std::collections::BTreeSet::new();
    let mut records = archive.entries();
    loop {
        let record = match records.next_entry() {
            Ok(Some(record)) => record,
            Ok(None) => break,
            Err(error) => {
                let expected = "an entry of the central directory";
                return Err(Refusal::unreadable(expected, error.to_string()).at(archive.directory_offset()));
            }
        };
        found += 1;
        walker.count_entries(1)?;
        let raw_name = record.file_path().as_bytes();
        if !names.insert(raw_name) {
            (walker.take)(Item::Noted(Note {
                what: level.full_name(&String::from_utf8_lossy(raw_name)).to_string(),
                kind: NoteKind::NameTwice,
            }));
        }
        if record.is_dir() && record.uncompressed_size_hint() == 0 {
            continue;
        }
        entries.push(Entry {
            raw_name,
            at: record.local_header_offset(),
            stored_bytes: record.compressed_size_hint(),
            declared_bytes: record.uncompressed_size_hint(),
            method: record.compression_method(),
            encrypted: record.flags().is_encrypted(),
            symlink: record.mode().is_symlink(),
            wayfinder: record.wayfinder(),
        });
    }
    // The count has 16 bits where the file has no zip64 record.
    let stated = archive.entries_hint();
    if stated != found && (stated > 0xffff || stated != found & 0xffff) {
        let expected = format!("{stated} entries, as the end of the central directory says");
        return Err(Refusal::unreadable(expected, found.to_string()).at(archive.directory_offset()));
    }
    Ok(entries)
}

/// Entries that share bytes are how a small file unpacks to an enormous one.
fn refuse_overlaps(archive: &ZipSliceArchive<&[u8]>, entries: &[Entry<'_>]) -> Result<(), Refusal> {
    let mut ranges: Vec<(u64, u64, usize)> = entries
        .iter()
        .enumerate()
        .map(|(index, entry)| {
            let end = archive
                .get_entry(entry.wayfinder)
                .map_or(entry.at, |local| local.compressed_data_range().1);
            (entry.at, end, index)
        })
        .collect();
    ranges.sort_unstable();
    for pair in ranges.windows(2) {
        let [(_, end, first), (start, _, second)] = [pair[0], pair[1]];
        if start < end {
            let name = |index: usize| String::from_utf8_lossy(entries[index].raw_name);
            return Err(Refusal::limit(
                "entries that share no bytes",
                format!("`{}` and `{}`, which do", name(first), name(second)),
            )
            .at(start));
        }
    }
    Ok(())
}

/// What kind of zip file has these entries.
fn variety(entries: &[Entry<'_>]) -> &'static str {
    let any = |is: &dyn Fn(&[u8]) -> bool| entries.iter().any(|entry| is(entry.raw_name));
    if any(&|name| name.ends_with(b".dist-info/WHEEL")) {
        "wheel"
    } else if any(&|name| name == b"metadata.json")
        && any(&|name| name.starts_with(b"pkg-") && name.ends_with(b".tar.zst"))
    {
        "conda"
    } else {
        "zip"
    }
}

/// Brings one entry into memory, where it is worth it.
fn arrive<'a>(
    archive: &'a ZipSliceArchive<&[u8]>,
    entry: Entry<'_>,
    level: &Level,
    limits: &PackageLimits,
) -> Arrived<'a> {
    let name = match name_of(entry.raw_name) {
        Ok(name) => level.full_name(&name),
        Err(refusal) => return Arrived::Refused(refusal.at(entry.at)),
    };
    if entry.symlink {
        return Arrived::Noted(Note {
            what: name.to_string(),
            kind: NoteKind::LinkInPackage,
        });
    }
    match content(archive, &entry, limits) {
        Ok(Some(content)) => Arrived::File { name, content },
        Ok(None) => Arrived::Other,
        Err(refusal) => Arrived::Refused(refusal.of(&name).at(entry.at)),
    }
}

/// The content of an entry, or `None` where it is no binary.
fn content<'a>(
    archive: &'a ZipSliceArchive<&[u8]>,
    entry: &Entry<'_>,
    limits: &PackageLimits,
) -> Result<Option<Cow<'a, [u8]>>, Refusal> {
    if entry.encrypted {
        return Err(Refusal::unreadable(
            "an entry without encryption",
            "an encrypted one",
        ));
    }
    let local = archive
        .get_entry(entry.wayfinder)
        .map_err(|error| Refusal::unreadable("an entry within the file", error.to_string()))?;
    if local.local_header().file_path().as_bytes() != entry.raw_name {
        let found = String::from_utf8_lossy(local.local_header().file_path().as_bytes()).into_owned();
        return Err(Refusal::unreadable(
            "the name that the central directory has",
            format!("`{found}`"),
        ));
    }
    let data = local.data();
    let Some(coding) = coding_of(entry.method)? else {
        check(&local, entry, data)?;
        return Ok(is_worth_reading(recognise(data))?.then_some(Cow::Borrowed(data)));
    };
    let most = limits.max_decoded_bytes(entry.stored_bytes);
    if entry.declared_bytes > most {
        let expected = format!("at most {most:#x} bytes from {:#x}", entry.stored_bytes);
        return Err(Refusal::limit(expected, format!("{:#x}", entry.declared_bytes)));
    }
    // What is larger than declared is wrong, and is not decompressed to find out how much.
    let most = entry.declared_bytes;
    let start = || {
        Decoder::new(coding, data, most, limits)
            .map_err(|error| Refusal::unreadable(format!("{} data", coding.as_str()), error.to_string()))
    };
    let more_than_declared = |refusal: Refusal| {
        if refusal.rule == super::refusal::LIMIT {
            Refusal::unreadable(format!("{most:#x} bytes"), "more")
        } else {
            refusal
        }
    };
    let mut decoder = start()?;
    let meter = decoder.meter();
    let explain = |error: std::io::Error| more_than_declared(Decoder::refusal(coding, &meter, most, &error));
    let prefix = read_prefix(&mut decoder, PREFIX_BYTES).map_err(explain)?;
    if !is_worth_reading(recognise(&prefix))? {
        // A damaged library may look like this, so that the rest is checked, and not kept.
        let mut summed = Summed::default();
        summed.update(&prefix);
        std::io::copy(&mut decoder, &mut summed).map_err(explain)?;
        summed.check(&local, entry)?;
        return Ok(None);
    }
    let content = start()?.read_all(most).map_err(more_than_declared)?;
    check(&local, entry, &content)?;
    Ok(Some(Cow::Owned(content)))
}

/// The coding of a method; `None` for stored entries.
fn coding_of(method: CompressionMethod) -> Result<Option<Coding>, Refusal> {
    Ok(match method {
        CompressionMethod::STORE => None,
        CompressionMethod::DEFLATE => Some(Coding::Deflate),
        CompressionMethod::BZIP2 => Some(Coding::Bzip2),
        CompressionMethod::ZSTD => Some(Coding::Zstd),
        CompressionMethod::XZ => Some(Coding::Xz),
        other => {
            return Err(Refusal::unreadable(
                "an entry that is stored, or compressed by deflate, bzip2, zstd or xz",
                format!("method {other}"),
            ));
        }
    })
}

/// Holds the content against the size and checksum of the central directory.
fn check(local: &ZipSliceEntry<'_>, entry: &Entry<'_>, content: &[u8]) -> Result<(), Refusal> {
    let mut summed = Summed::default();
    summed.update(content);
    summed.check(local, entry)
}

/// Size and checksum of content that has passed by.
#[derive(Default)]
struct Summed {
    bytes: u64,
    crc: flate2::Crc,
}

impl Summed {
    fn update(&mut self, content: &[u8]) {
        self.bytes += content.len() as u64;
        self.crc.update(content);
    }

    fn check(&self, local: &ZipSliceEntry<'_>, entry: &Entry<'_>) -> Result<(), Refusal> {
        if self.bytes != entry.declared_bytes {
            let expected = format!("{:#x} bytes", entry.declared_bytes);
            return Err(Refusal::unreadable(expected, format!("{:#x}", self.bytes)));
        }
        let (stated, found) = (local.claim_verifier().crc, self.crc.sum());
        if found != stated {
            let expected = format!("content with the checksum {stated:08x}");
            return Err(Refusal::unreadable(expected, format!("{found:08x}")));
        }
        Ok(())
    }
}

impl std::io::Write for Summed {
    fn write(&mut self, content: &[u8]) -> std::io::Result<usize> {
        self.update(content);
        Ok(content.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
