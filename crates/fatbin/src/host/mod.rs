//! Host files (ELF, PE, COFF, Mach-O) and the device code in their sections.

mod coff;
mod elf;
mod foreign_elf;
mod macho;
mod pe;
mod run_time;
mod search;
mod segments;

use std::collections::BTreeMap;
use std::sync::Arc;

use blockgate_findings::Severity;

use crate::artifact::{Content, FileFormat, Reader};
use crate::error::Error;
use crate::image::Position;
use crate::region;
use crate::view::View;

pub(crate) use macho::{Universal, read_universal};
use run_time::Evidence;

/// Images that the driver loads.
pub(crate) const LINKED_SECTION: &str = ".nv_fatbin";

/// Images from before device linking, which stay in the linked file and are not what runs.
pub(crate) const RELOCATABLE_SECTION: &str = "__nv_relfatbin";

/// What a section of a host file is read for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holds {
    /// Regions with what the driver loads.
    Linked,
    /// Regions with input of a device link.
    PreLink,
    /// What the program registers its regions with: pointers to them, one per region.
    Wrappers,
    /// Data of the program, in which device code may lie.
    Data,
    /// Device code in a wrapping that is not read here; what it is.
    Unread(&'static str),
}

/// Sections that are read for their name. COFF objects have long names, PE files the first eight bytes of them, and
/// Mach-O files a segment too.
///
/// Source: host files that nvcc 11.8 to 13.5 make; `fatbinary_section.h` of the toolkit; `CGCUDANV.cpp` of Clang, which
/// uses the same names; `OffloadWrapper` of LLVM for the last one.
const SECTION_ROWS: [(&str, Holds); 10] = [
    (LINKED_SECTION, Holds::Linked),
    (".nv_fatb", Holds::Linked),
    ("__NV_CUDA,__nv_fatbin", Holds::Linked),
    (RELOCATABLE_SECTION, Holds::PreLink),
    ("__nv_rel", Holds::PreLink),
    ("__NV_CUDA,__nv_relfatbin", Holds::PreLink),
    (".nvFatBinSegment", Holds::Wrappers),
    (".nvFatBi", Holds::Wrappers),
    ("__NV_CUDA,__fatbin", Holds::Wrappers),
    (".llvm.offloading", Holds::Unread("LLVM's offload packaging")),
];

/// Whether sections of this name are made for device code. In others it lies among other data, where it is something
/// that the program loads by its own means.
pub fn is_device_section(name: &str) -> bool {
    matches!(named(name.as_bytes()), Some(Holds::Linked | Holds::PreLink))
}

/// What a section of this name holds, whatever type it claims to have.
pub(crate) fn named(name: &[u8]) -> Option<Holds> {
    SECTION_ROWS
        .iter()
        .find(|(row, _)| row.as_bytes() == name)
        .map(|&(_, holds)| holds)
}

/// A section that is looked into.
#[derive(Debug)]
struct Section<'a> {
    /// As the file names it; `None` for a segment of a file without section table.
    name: Option<Arc<str>>,
    holds: Holds,
    /// Where the program has it in memory, in bytes; decides what is aligned.
    address: u64,
    /// Its content, or why there is none.
    data: Result<View<'a>, Error>,
}

impl<'a> Section<'a> {
    fn new(name: &[u8], holds: Holds, address: u64, data: Result<View<'a>, Error>) -> Self {
        /// Longer names are cut: each image repeats the name of its section.
        const MAX_NAME_BYTES: usize = 64;
        let name = name.get(..MAX_NAME_BYTES).unwrap_or(name);
        Self {
            name: Some(String::from_utf8_lossy(name).into()),
            holds,
            address,
            data,
        }
    }
}

/// Looks for signs that a host file compiles device code when it runs. Called where it holds none.
type References<'a> = Box<dyn FnOnce() -> Option<Evidence> + 'a>;

/// A host file whose headers were read.
struct HostFile<'a> {
    format: FileFormat,
    sections: Vec<Section<'a>>,
    references: References<'a>,
}

/// The formats of host files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HostFormat {
    /// ELF, a cubin among them.
    Elf,
    /// A PE executable or library.
    Pe,
    /// A COFF object, import or the like.
    Coff(coff::Kind),
    /// A Mach-O file for one processor.
    MachO,
}

/// The format of the host file that starts `bytes`.
pub(crate) fn recognise(bytes: &[u8]) -> Option<HostFormat> {
    if bytes.starts_with(&object::elf::ELFMAG) {
        Some(HostFormat::Elf)
    } else if pe::recognise(bytes) {
        Some(HostFormat::Pe)
    } else if macho::recognise(bytes) {
        Some(HostFormat::MachO)
    } else {
        coff::recognise(bytes).map(HostFormat::Coff)
    }
}

/// Reads a host file: its device sections, and the device code that lies among its data.
pub(crate) fn read<'a>(
    reader: &mut Reader<'a, '_>,
    view: &View<'a>,
    format: HostFormat,
) -> Result<Content, Error> {
    let file = match format {
        HostFormat::Elf if elf::is_cubin(view) => return Ok(elf::read_cubin(reader, view)),
        HostFormat::Elf if foreign_elf::recognise(view) => foreign_elf::read(view)?,
        HostFormat::Elf => match elf::read(reader, view)? {
            Some(file) => file,
            None => return segments::read(reader, view),
        },
        HostFormat::Pe => pe::read(view)?,
        HostFormat::Coff(kind) => coff::read(view, kind)?,
        HostFormat::MachO => macho::read(view)?,
    };
    check_overlap(view, &file.sections)?;
    let (images, errors) = (reader.images.len(), reader.errors());
    read_sections(reader, &file.sections);
    let evidence = if reader.images.len() == images && reader.errors() == errors {
        (file.references)().or_else(|| run_time::source_text(&file.sections, file.format.is_linked()))
    } else {
        None
    };
    let compiled_at_run_time = evidence.is_some();
    if let Some(Evidence { place, found }) = evidence {
        let expected = "device code, which this file has none of";
        let mut defect = Error::new(place, expected, found).into_defect("compiled-at-run-time");
        defect.severity = Severity::Info;
        reader.defect(defect);
    }
    Ok(Content {
        format: file.format,
        compiled_at_run_time,
    })
}

/// Bounds what reading the sections can cost: in a sound file they share no bytes.
fn check_overlap(view: &View<'_>, sections: &[Section<'_>]) -> Result<(), Error> {
    let lens = sections
        .iter()
        .filter_map(|section| Some(section.data.as_ref().ok()?.len()));
    let total = lens.fold(0_u64, u64::saturating_add);
    if total <= view.len().saturating_mul(2) {
        return Ok(());
    }
    let found = format!("{total:#x} bytes in sections of a file of {:#x}", view.len());
    Err(view.error(0, "sections that do not overlap", found))
}

fn read_sections<'a>(reader: &mut Reader<'a, '_>, sections: &[Section<'a>]) {
    // Several sections may have one name, and their regions are numbered through.
    let mut next_region: BTreeMap<Option<Arc<str>>, u32> = BTreeMap::new();
    let (mut wrappers, mut first_wrapper) = (0, None);
    let regions_before = reader.regions;
    for section in sections {
        let data = match &section.data {
            Ok(data) => data,
            Err(error) => {
                let rule = match section.holds {
                    Holds::Data | Holds::Wrappers => "data-section-out-of-file",
                    _ => "device-section-out-of-file",
                };
                reader.defect(error.clone().into_defect(rule));
                continue;
            }
        };
        let next_region = next_region.entry(section.name.clone()).or_default();
        let position = Position {
            section: section.name.clone(),
            pre_link: section.holds == Holds::PreLink,
            region: *next_region,
            entry: 0,
        };
        match section.holds {
            Holds::Linked | Holds::PreLink => *next_region = region::read(reader, data, &position),
            Holds::Data => *next_region = search::read(reader, data, section.address, &position),
            Holds::Wrappers => {
                wrappers += count_wrappers(data);
                first_wrapper.get_or_insert(data);
                *next_region = search::read(reader, data, section.address, &position);
            }
            Holds::Unread(what) => {
                let expected = "device code in regions (50 ed 55 ba)";
                let found = format!("{:#x} bytes of {what}, which is not read here", data.len());
                reader.defect(data.defect(0, "unread-packaging", Severity::Error, expected, found));
            }
        }
    }
    let regions = reader.regions - regions_before;
    if let Some(data) = first_wrapper.filter(|_| regions < wrappers) {
        let expected = format!("{wrappers} regions, which the program registers");
        let found = format!("{regions}");
        reader.defect(data.defect(0, "missing-regions", Severity::Error, expected, found));
    }
}

/// How many regions the program registers by pointers in `data`: the pointers themselves are filled in by the linker or
/// the loader, and say nothing in a file that will be relocated.
///
/// Source: `fatbinary_section.h` of the toolkit.
fn count_wrappers(data: &View<'_>) -> usize {
    const MAGIC: [u8; 4] = [0xb1, 0x43, 0x62, 0x46];
    let (words, _) = data.bytes().as_chunks::<8>();
    words
        .iter()
        .filter(|word| word.starts_with(&MAGIC) && matches!(word, [_, _, _, _, 1 | 2, 0, 0, 0]))
        .count()
}
