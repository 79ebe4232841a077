//! Device code among other data, found by its magic and taken only where all of it holds up.
//!
//! cuFFT keeps its regions in `.data` and `.ldata`, cuSPARSE some in `.rodata`, cuBLASLt some in `.cask_resource`, and
//! programs carry bare cubins in arrays. A magic proves nothing: every header from the first to the last byte must be
//! one that a toolkit writes, and what lies in a piece that was taken is never taken again.

use memchr::memmem;
use object::LittleEndian as LE;
use object::elf::{FileHeader64, SHT_NOBITS, SHT_NULL, SectionHeader64};

use crate::artifact::Reader;
use crate::elf::MACHINE_CUDA;
use crate::entry::{EntryHeader, HEADER_BYTES, KIND_CONCAT, KNOWN_KINDS, VERSION, flag};
use crate::error::{Defect, Error};
use crate::image::{Image, ImageKind, Position};
use crate::ptx;
use crate::region::{self, ALIGNMENT_BYTES, REGION_HEADER_BYTES};
use crate::view::{View, first_bytes};
use blockgate_findings::Severity;

/// How the header of a region starts: magic, version 1, header size 16. The magic alone occurs in the code and the tables
/// of programs that read fat binaries.
const REGION_START: [u8; 8] = [0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0];

/// How a 64-bit little-endian ELF file starts.
const ELF_START: [u8; 7] = [0x7f, b'E', b'L', b'F', 2, 1, 1];

/// Reads the regions and bare cubins in `data`, which the program has at `address` in memory. Gives the index that the
/// next region would have, where `position` has the index of the first.
pub(super) fn read<'a>(
    reader: &mut Reader<'a, '_>,
    data: &View<'a>,
    address: u64,
    position: &Position,
) -> u32 {
    let mut search = Search {
        data,
        address,
        headers_left: data.len() / HEADER_BYTES * 4 + 1024,
        near_misses: 0,
        first_near_miss: None,
    };
    let mut pieces = search.regions();
    let cubins = search.cubins(&pieces);
    pieces.extend(cubins);
    pieces.sort_unstable_by_key(Piece::start);
    let mut position = position.clone();
    for piece in pieces {
        match piece {
            Piece::Region { start, .. } => {
                if region::read_one(reader, data, start, position.clone()).is_none() {
                    return position.region;
                }
            }
            Piece::Cubin { start, cubin } => {
                if reader.images.len() >= reader.limits.max_images {
                    let expected = format!("at most {} images", reader.limits.max_images);
                    reader.defect(data.defect(start, "limit-images", Severity::Error, expected, "more"));
                    return position.region;
                }
                let image = Image::bare(&cubin, ImageKind::Cubin);
                reader.images.push(image.placed(position.clone()));
            }
        }
        position.region += 1;
    }
    for defect in search.defects() {
        reader.defect(defect);
    }
    position.region
}

/// Device code that was found.
enum Piece<'a> {
    Region { start: u64, end: u64 },
    Cubin { start: u64, cubin: View<'a> },
}

impl Piece<'_> {
    fn start(&self) -> u64 {
        match self {
            Self::Region { start, .. } | Self::Cubin { start, .. } => *start,
        }
    }

    fn end(&self) -> u64 {
        match self {
            Self::Region { end, .. } => *end,
            Self::Cubin { start, cubin } => start + cubin.len(),
        }
    }
}

struct Search<'s, 'a> {
    data: &'s View<'a>,
    address: u64,
    /// How many headers may still be looked at: many starts in one piece could make each look at all that follows.
    headers_left: u64,
    near_misses: u64,
    first_near_miss: Option<Error>,
}

impl<'a> Search<'_, 'a> {
    /// The regions, in order.
    fn regions(&mut self) -> Vec<Piece<'a>> {
        let mut found: Vec<Piece<'a>> = Vec::new();
        for start in memmem::find_iter(self.data.bytes(), &REGION_START) {
            let start = start as u64;
            if found.last().is_some_and(|last| start < last.end()) {
                continue;
            }
            match self.region_end(start) {
                Ok(end) => found.push(Piece::Region { start, end }),
                Err(error) => self.near_miss(error),
            }
            if self.headers_left == 0 {
                break;
            }
        }
        found
    }

    /// The bare cubins between `regions`, in order.
    fn cubins(&mut self, regions: &[Piece<'a>]) -> Vec<Piece<'a>> {
        /// Where an ELF header names the machine, from its start.
        const MACHINE_AT: u64 = 18;
        let mut regions = regions.iter().peekable();
        let mut found: Vec<Piece<'a>> = Vec::new();
        for start in memmem::find_iter(self.data.bytes(), &ELF_START) {
            let start = start as u64;
            while regions.next_if(|region| region.end() <= start).is_some() {}
            let is_taken = regions.peek().is_some_and(|region| region.start() < start)
                || found.last().is_some_and(|last| start < last.end());
            if is_taken || self.data.u16(start + MACHINE_AT) != Some(MACHINE_CUDA) {
                continue;
            }
            let room = regions.peek().map_or(self.data.len(), |region| region.start()) - start;
            match self.cubin(start, room) {
                Ok(cubin) => found.push(Piece::Cubin { start, cubin }),
                Err(error) => self.near_miss(error),
            }
            if self.headers_left == 0 {
                break;
            }
        }
        found
    }

    fn near_miss(&mut self, error: Error) {
        self.near_misses += 1;
        self.first_near_miss.get_or_insert(error);
    }

    /// What was not taken, and whether the search ended early.
    fn defects(self) -> impl Iterator<Item = Defect> {
        let given_up = (self.headers_left == 0).then(|| {
            let expected = "data in which few places start like device code and are none";
            let found = format!("{} of them, so that the search ended early", self.near_misses);
            self.data
                .defect(0, "limit-search", Severity::Error, expected, found)
        });
        let more = match self.near_misses.saturating_sub(1) {
            0 => String::new(),
            more => format!(" (and {more} more in this section)"),
        };
        let near_miss = self.first_near_miss.map(|error| {
            let expected = format!("{}, where it starts like device code", error.expected());
            let found = format!("{}{more}: not taken for device code", error.found());
            let mut defect = Error::new(error.place().clone(), expected, found).into_defect("near-miss");
            defect.severity = Severity::Warning;
            defect
        });
        given_up.into_iter().chain(near_miss)
    }

    /// Where the region at `at` ends, if all of its headers hold up.
    fn region_end(&mut self, at: u64) -> Result<u64, Error> {
        let data = self.data;
        if !self.address.wrapping_add(at).is_multiple_of(ALIGNMENT_BYTES) {
            let found = format!("one at {:#x}", self.address.wrapping_add(at));
            return Err(data.error(at, "a region at an address divisible by 8", found));
        }
        let size: &[u8; 8] = data.array_at(at + 8, "the size of a region")?;
        let size = u64::from_le_bytes(*size);
        let start = at + REGION_HEADER_BYTES;
        let entries = data
            .get(start, size)
            .filter(|_| size.is_multiple_of(ALIGNMENT_BYTES));
        let Some(entries) = entries else {
            let left = data.len().saturating_sub(start);
            let expected = format!("a region size of at most {left:#x} bytes, divisible by 8");
            return Err(data.error(at + 8, expected, format!("{size:#x}")));
        };
        let mut entry_at = 0;
        while entry_at < entries.len() {
            self.headers_left = self.headers_left.saturating_sub(1);
            if self.headers_left == 0 {
                return Err(entries.error(entry_at, "fewer headers", "more"));
            }
            let (end, payload) = entry(&entries, entry_at)?;
            if let Some(payload) = payload {
                self.cubin(at + REGION_HEADER_BYTES + payload, end - payload)?;
            }
            entry_at = end;
        }
        Ok(start + size)
    }

    /// The cubin that starts at `at` and takes at most `room` bytes, if its headers hold up.
    fn cubin(&mut self, at: u64, room: u64) -> Result<View<'a>, Error> {
        const SECTION_HEADER_BYTES: u64 = size_of::<SectionHeader64<LE>>() as u64;
        let rest = self.data.range(at, at, room, "a cubin")?;
        let header: &FileHeader64<LE> = rest.pod(0, "an ELF header")?;
        let machine = header.e_machine.get(LE).0;
        if !rest.bytes().starts_with(&ELF_START) || machine != MACHINE_CUDA {
            return Err(rest.error(0, "a cubin", first_bytes(rest.bytes())));
        }
        let count = u64::from(header.e_shnum.get(LE));
        let table_at = header.e_shoff.get(LE);
        let sizes = (header.e_ehsize.get(LE), header.e_shentsize.get(LE));
        if sizes != (64, 64) || count == 0 {
            let found = format!(
                "an ELF header of {} bytes, {count} section headers of {}",
                sizes.0, sizes.1
            );
            return Err(rest.error(0x34, "a cubin with headers of 64 bytes", found));
        }
        self.headers_left = self.headers_left.saturating_sub(count);
        let table = rest.range(
            0x28,
            table_at,
            count * SECTION_HEADER_BYTES,
            "the section table of a cubin",
        )?;
        let mut end = table_at + table.len();
        for index in 0..count {
            let section: &SectionHeader64<LE> =
                table.pod(index * SECTION_HEADER_BYTES, "a section header")?;
            let kind = section.sh_type.get(LE);
            if kind == SHT_NOBITS || kind == SHT_NULL {
                continue;
            }
            let (start, size) = (section.sh_offset.get(LE), section.sh_size.get(LE));
            let claimed_at = table_at + index * SECTION_HEADER_BYTES;
            rest.range(claimed_at, start, size, "a section of a cubin")?;
            end = end.max(start + size);
        }
        let program_headers = u64::from(header.e_phnum.get(LE)) * u64::from(header.e_phentsize.get(LE));
        let program_headers_at = header.e_phoff.get(LE);
        rest.range(
            0x20,
            program_headers_at,
            program_headers,
            "the program headers of a cubin",
        )?;
        end = end.max(program_headers_at + program_headers);
        rest.range(0x28, 0, end, "a cubin")
    }
}

/// How a zstd frame starts.
const ZSTD_START: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Where the entry at `at` of a region's `entries` ends, and where its payload starts if that is a cubin as it is; if it
/// is an entry that a toolkit writes.
fn entry(entries: &View<'_>, at: u64) -> Result<(u64, Option<u64>), Error> {
    /// The numbers of flags end below this one; the upper half is zero.
    const MAX_FLAGS: u64 = 1 << 32;
    let header = EntryHeader::parse(entries, at)?;
    let sound = KNOWN_KINDS.contains(&header.kind) && header.version == VERSION && header.flags < MAX_FLAGS;
    // A container of several images has no architecture of its own.
    let named = header.kind == KIND_CONCAT || (1..1000).contains(&header.arch);
    if !sound || !named {
        let found = format!(
            "kind {:#x}, version {:#06x}, flags {:#x}, arch {}",
            header.kind, header.version, header.flags, header.arch
        );
        return Err(entries.error(at, "an entry of a known kind, version 0x0101", found));
    }
    let left = entries.len() - at;
    let header_bytes = u64::from(header.header_bytes);
    let whole = header_bytes
        .checked_add(header.payload_bytes)
        .filter(|&bytes| bytes <= left)
        .filter(|_| header_bytes >= HEADER_BYTES && header_bytes.is_multiple_of(ALIGNMENT_BYTES))
        .filter(|_| header.payload_bytes.is_multiple_of(ALIGNMENT_BYTES))
        .filter(|_| u64::from(header.compressed_bytes) <= header.payload_bytes);
    let Some(whole) = whole else {
        let expected = format!("an entry of at most {left:#x} bytes, divisible by 8");
        let found = format!("{header_bytes:#x} and {:#x} bytes", header.payload_bytes);
        return Err(entries.error(at, expected, found));
    };
    let payload_at = at + header_bytes;
    let payload = entries.range(at, payload_at, header.payload_bytes, "a payload")?;
    // What is scrambled, as LTO-IR is whether or not its flags say so, can't be told from noise.
    let is_opaque =
        header.image_kind() == ImageKind::LtoIr || header.flags & (flag::SCRAMBLED | flag::LZ4) != 0;
    let (fits, expected) = if is_opaque {
        (true, "")
    } else if header.flags & flag::ZSTD != 0 {
        (payload.bytes().starts_with(&ZSTD_START), "a zstd frame")
    } else if header.image_kind() == ImageKind::Ptx {
        (ptx::looks_like_ptx(payload.bytes()), "PTX text")
    } else {
        (true, "")
    };
    if !fits {
        return Err(payload.error(0, expected, first_bytes(payload.bytes())));
    }
    let is_bare_cubin = header.image_kind() == ImageKind::Cubin && !header.is_compressed();
    Ok((at + whole, is_bare_cubin.then_some(payload_at)))
}
