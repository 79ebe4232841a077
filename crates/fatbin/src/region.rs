//! Regions, one after the other in a section or a file, and the entries in them.

use crate::artifact::Reader;
use crate::concat;
use crate::entry::{EntryHeader, EntryTexts, HEADER_BYTES as ENTRY_HEADER_BYTES, KIND_CONCAT};
use crate::image::{Image, Position};
use crate::view::{View, first_bytes};
use blockgate_findings::Severity::{Error as Unread, Info, Warning};

/// First bytes of a region: the number 0xba55ed50.
pub(crate) const MAGIC: [u8; 4] = [0x50, 0xed, 0x55, 0xba];

/// Size of a region header in bytes: magic, version, own size, size of all entries.
pub(crate) const REGION_HEADER_BYTES: u64 = 16;

/// Regions and images are aligned to this many bytes.
pub(crate) const ALIGNMENT_BYTES: u64 = 8;

/// Reads every region of `data`, which is the section of `position` or a whole file.
///
/// Regions are found by walking the sizes, never by searching for the magic, which may occur in a payload. Gives the index
/// that the next region would have, where `position` has the index of the first.
pub(crate) fn read<'a>(reader: &mut Reader<'a, '_>, data: &View<'a>, position: &Position) -> u32 {
    let mut at = 0;
    let mut position = position.clone();
    while let Some(start) = skip_padding(data, at) {
        if !bytes_from(data, start).starts_with(&MAGIC) {
            let expected = "a region (50 ed 55 ba) or zeros up to the next multiple of 8";
            let found = first_bytes(bytes_from(data, start));
            reader.defect(data.defect(start, "garbage-between-regions", Unread, expected, found));
            reader.unattributed_bytes += data.len() - start;
            break;
        }
        let Some(next) = read_one(reader, data, start, position.clone()) else {
            position.region += 1;
            break;
        };
        at = next;
        position.region += 1;
    }
    position.region
}

/// Reads the region at `start`, where the limit allows another one, and says where the next one may begin; `None`
/// where that is not known.
pub(crate) fn read_one<'a>(
    reader: &mut Reader<'a, '_>,
    data: &View<'a>,
    start: u64,
    position: Position,
) -> Option<u64> {
    if reader.regions >= reader.limits.max_regions {
        let expected = format!("at most {} regions", reader.limits.max_regions);
        reader.defect(data.defect(start, "limit-regions", Unread, expected, "more"));
        reader.unattributed_bytes += data.len() - start;
        return None;
    }
    reader.regions += 1;
    read_region(reader, data, start, position)
}

/// Skips zeros in steps of eight. `None` where only zeros are left.
fn skip_padding(data: &View<'_>, at: u64) -> Option<u64> {
    let zeros = bytes_from(data, at).iter().position(|&byte| byte != 0)? as u64;
    Some(at + zeros / ALIGNMENT_BYTES * ALIGNMENT_BYTES)
}

fn bytes_from<'a>(data: &View<'a>, at: u64) -> &'a [u8] {
    usize::try_from(at)
        .ok()
        .and_then(|at| data.bytes().get(at..))
        .unwrap_or_default()
}

/// Reads the region at `start` and says where the next one may begin; `None` where that is not known.
fn read_region<'a>(
    reader: &mut Reader<'a, '_>,
    data: &View<'a>,
    start: u64,
    mut position: Position,
) -> Option<u64> {
    let header: &[u8; 16] = match data.array_at(start, "a region header") {
        Ok(header) => header,
        Err(error) => {
            reader.unattributed_bytes += data.len() - start;
            reader.defect(error.into_defect("region-cut"));
            return None;
        }
    };
    let [_, _, _, _, v0, v1, h0, h1, size @ ..] = *header;
    let version = u16::from_le_bytes([v0, v1]);
    let header_bytes = u64::from(u16::from_le_bytes([h0, h1]));
    let size = u64::from_le_bytes(size);
    if version != 1 {
        let found = format!("{version}");
        reader.defect(data.defect(start + 4, "region-version", Info, "region version 1", found));
    }
    if header_bytes != REGION_HEADER_BYTES {
        let too_small = header_bytes < REGION_HEADER_BYTES;
        let severity = if too_small { Unread } else { Warning };
        let found = format!("{header_bytes}");
        let expected = "a region header of 16 bytes";
        reader.defect(data.defect(start + 6, "region-header-size", severity, expected, found));
        if too_small {
            reader.unattributed_bytes += data.len() - start;
            return None;
        }
    }
    // Offsets in a file are far from overflowing; the size that the header states may be anything.
    let first_entry = start + header_bytes;
    let declared_end = first_entry.checked_add(size).filter(|&end| end <= data.len());
    if declared_end.is_none() {
        let expected = format!("a region that ends within {:#x} bytes", data.len());
        let found = format!("entries of {size:#x} bytes from {first_entry:#x}");
        reader.defect(data.defect(start + 8, "region-cut", Unread, expected, found));
    }
    // Of a region that is cut short, every entry that is all there is kept.
    let end = declared_end.unwrap_or(data.len());
    let mut at = first_entry;
    while at < end {
        let rest = data.get(at, end - at)?;
        if rest.bytes().iter().all(|&byte| byte == 0) {
            return declared_end;
        }
        match read_entry(reader, data, at, end, &mut position) {
            Next::Entry(next) => at = next,
            Next::Region => {
                reader.unattributed_bytes += end - at;
                return declared_end;
            }
        }
    }
    declared_end.map(|end| end.max(at))
}

/// Where reading goes on.
enum Next {
    /// At the next entry of the region.
    Entry(u64),
    /// Behind the region: where the next entry starts is not known.
    Region,
}

fn read_entry<'a>(
    reader: &mut Reader<'a, '_>,
    data: &View<'a>,
    at: u64,
    region_end: u64,
    position: &mut Position,
) -> Next {
    let header = match EntryHeader::parse(data, at) {
        Ok(header) => header,
        Err(error) => {
            reader.defect(error.into_defect("entry-cut"));
            return Next::Region;
        }
    };
    let header_bytes = u64::from(header.header_bytes);
    let left = data.len() - at;
    if header_bytes < ENTRY_HEADER_BYTES || header_bytes > left {
        let expected = format!("an entry header of 0x40 to {left:#x} bytes");
        let found = format!("{header_bytes:#x}");
        reader.defect(data.defect(at + 4, "entry-header-size", Unread, expected, found));
        return Next::Region;
    }
    let payload_at = at + header_bytes;
    let (Some(payload), Some(whole_header)) = (
        data.get(payload_at, header.payload_bytes),
        data.get(at, header_bytes),
    ) else {
        let what = header.image_kind().as_str();
        let left = data.len() - payload_at;
        let expected = format!(
            "a payload ({what}, arch {}) of at most {left:#x} bytes",
            header.arch
        );
        let found = format!("{:#x} bytes", header.payload_bytes);
        reader.defect(data.defect(at + 8, "entry-cut", Unread, expected, found));
        return Next::Region;
    };
    let next = payload_at + header.payload_bytes;
    if next > region_end {
        let overrun = next - region_end;
        // A region header fits into no less, so a shorter overrun hides nothing.
        let hides_nothing = overrun < REGION_HEADER_BYTES;
        let severity = if hides_nothing { Warning } else { Unread };
        let expected = "an entry that ends with its region";
        let found = format!("{overrun:#x} bytes behind it");
        reader.defect(data.defect(at + 8, "entry-past-region", severity, expected, found));
        if !hides_nothing {
            return Next::Region;
        }
    }
    if reader.images.len() >= reader.limits.max_images {
        let expected = format!("at most {} images", reader.limits.max_images);
        reader.defect(data.defect(at, "limit-images", Unread, expected, "more"));
        return Next::Region;
    }
    for defect in header.oddities(&whole_header) {
        reader.defect(defect);
    }
    if header.kind == KIND_CONCAT {
        concat::read(reader, &header, &whole_header, &payload, position);
    } else {
        let mut defects = Vec::new();
        let texts = EntryTexts::read(&header, &whole_header, &mut defects);
        for defect in defects {
            reader.defect(defect);
        }
        let image = Image::of_entry(&header, texts, &whole_header, payload, position.clone());
        reader.images.push(image);
        position.entry += 1;
    }
    Next::Entry(next)
}
