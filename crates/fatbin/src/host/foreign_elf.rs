//! ELF host files that are 32-bit or big-endian. CUDA 9 and later make none for such hosts.

use object::Endianness;
use object::elf::{FileHeader32, FileHeader64, SHF_ALLOC, SHF_EXECINSTR, SHT_PROGBITS};
use object::read::SectionIndex;
use object::read::elf::{FileHeader, SectionHeader};

use super::{Holds, HostFile, Section, elf, named};
use crate::error::Error;
use crate::names::Names;
use crate::view::View;

/// Whether the ELF file is of another class or byte order than those of today's hosts.
pub(super) fn recognise(view: &View<'_>) -> bool {
    matches!(view.bytes().get(4..6), Some(&[1 | 2, 1 | 2])) && view.bytes().get(4..6) != Some(&[2, 1])
}

/// The sections of the file. Regions in them are little-endian all the same.
pub(super) fn read<'a>(view: &View<'a>) -> Result<HostFile<'a>, Error> {
    if view.bytes().get(4) == Some(&1) {
        read_as::<FileHeader32<Endianness>>(view)
    } else {
        read_as::<FileHeader64<Endianness>>(view)
    }
}

fn read_as<'a, H: FileHeader<Endian = Endianness>>(view: &View<'a>) -> Result<HostFile<'a>, Error> {
    let refuse = |error: object::Error| {
        let expected = "an ELF file with a section table";
        view.error(0, expected, format!("{error}"))
    };
    let header = H::parse(view.bytes()).map_err(refuse)?;
    let endian = header.endian().map_err(refuse)?;
    let table = header.sections(endian, view.bytes()).map_err(refuse)?;
    if table.is_empty() {
        return Err(view.error(0, "an ELF file with a section table", "none"));
    }
    let names = table
        .section(SectionIndex(
            header.shstrndx(endian, view.bytes()).map_err(refuse)? as usize,
        ))
        .and_then(|section| section.data(endian, view.bytes()))
        .map_err(refuse)?;
    let mut names = Names::new(names);
    let mut sections = Vec::new();
    for section in table.iter() {
        let name = names
            .get(section.sh_name(endian) as usize, [0, 0])
            .ok_or_else(|| {
                let found = format!("{:#x}", section.sh_name(endian));
                view.error(0, "the offset of a section name", found)
            })?;
        let flags = section.sh_flags(endian);
        let is_data = section.sh_type(endian) == SHT_PROGBITS
            && flags.contains(SHF_ALLOC)
            && !flags.contains(SHF_EXECINSTR);
        if let Some(holds) = named(name).or(is_data.then_some(Holds::Data)) {
            let (at, size) = section.file_range(endian).unwrap_or((0, 0));
            let data = view.range(0, at, size, "a section");
            sections.push(Section::new(name, holds, section.sh_addr(endian).into(), data));
        }
    }
    Ok(HostFile {
        format: elf::format(view, header.e_type(endian).0, false)?,
        sections,
        references: Box::new(|| None),
    })
}
