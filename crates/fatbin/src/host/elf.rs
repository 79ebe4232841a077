//! 64-bit little-endian ELF files: host objects, executables and shared objects, and bare cubins.

use object::LittleEndian as LE;
use object::elf;

use super::run_time::{self, Evidence};
use super::{Holds, HostFile, Section, named};
use crate::artifact::{Content, FileFormat, Reader};
use crate::elf::{Elf, MACHINE_CUDA};
use crate::error::Error;
use crate::image::{Image, ImageKind};
use crate::view::View;

/// Whether the file is a cubin.
pub(super) fn is_cubin(view: &View<'_>) -> bool {
    /// Where the ELF header says for which machine the file is.
    const MACHINE_AT: u64 = 18;
    view.u16(MACHINE_AT) == Some(MACHINE_CUDA)
}

/// Takes the whole file as an image.
pub(super) fn read_cubin<'a>(reader: &mut Reader<'a, '_>, view: &View<'a>) -> Content {
    reader.images.push(Image::bare(view, ImageKind::Cubin));
    FileFormat::Cubin.into()
}

/// The sections of a host file; `None` where it has no section table.
pub(super) fn read<'a>(reader: &mut Reader<'a, '_>, view: &View<'a>) -> Result<Option<HostFile<'a>>, Error> {
    if super::segments::has_no_section_table(view) {
        return Ok(None);
    }
    let elf = Elf::parse(view.clone())?;
    let format = format(view, elf.file_type(), elf.has_interpreter())?;
    let mut sections = Vec::new();
    for section in elf.sections() {
        let named = named(section.name);
        if named.is_some()
            && let Some(defect) = elf.odd_type(section)
        {
            reader.defect(defect);
        }
        let flags = section.header.sh_flags.get(LE);
        let is_data = section.header.sh_type.get(LE) == elf::SHT_PROGBITS
            && flags.contains(elf::SHF_ALLOC)
            && !flags.contains(elf::SHF_EXECINSTR);
        let Some(holds) = named.or(is_data.then_some(Holds::Data)) else {
            continue;
        };
        let address = section.header.sh_addr.get(LE);
        sections.push(Section::new(section.name, holds, address, elf.data(section)));
    }
    Ok(Some(HostFile {
        format,
        sections,
        references: Box::new(move || references(&elf)),
    }))
}

/// The format by the ELF header's type.
pub(super) fn format(view: &View<'_>, file_type: u16, has_interpreter: bool) -> Result<FileFormat, Error> {
    match file_type {
        1 => Ok(FileFormat::ElfRelocatable),
        3 if !has_interpreter => Ok(FileFormat::ElfShared),
        2 | 3 => Ok(FileFormat::ElfExecutable),
        other => {
            let expected = "an ELF object (1), executable (2) or shared object (3)";
            let what = if other == 4 { ", the core of a process" } else { "" };
            Err(view.error(16, expected, format!("ELF type {other}{what}")))
        }
    }
}

fn references(elf: &Elf<'_>) -> Option<Evidence> {
    // A damaged table hides evidence, and never makes any.
    let needed = elf.needed_library(run_time::is_library).ok()?;
    let found = match needed {
        Some(place) => Some((place, "the shared library")),
        None => elf
            .undefined_symbol(run_time::is_symbol)
            .ok()?
            .map(|place| (place, "the function")),
    };
    found.map(|((place, name), what)| Evidence::reference(place, what, name))
}
