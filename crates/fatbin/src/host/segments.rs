//! ELF files without a section table: device code is looked for in what the program loads.

use object::LittleEndian as LE;
use object::elf::{FileHeader64, PT_LOAD, ProgramHeader64};

use super::{Holds, Section, check_overlap, elf, read_sections};
use crate::artifact::{Content, Reader};
use crate::error::Error;
use crate::view::View;
use blockgate_findings::Severity;

/// Where an ELF header states where the section table is.
const SHOFF_AT: u64 = 0x28;

/// Whether the file says that it has no section table. One that lies outside of the file is another matter.
pub(super) fn has_no_section_table(view: &View<'_>) -> bool {
    view.u32(SHOFF_AT) == Some(0) && view.u32(SHOFF_AT + 4) == Some(0)
}

/// Searches the segments that the program loads, with code or without. Nothing tells where device code would have to
/// be, so that finding none proves nothing.
///
/// # Errors
/// When the program headers are damaged, or no device code is found.
pub(super) fn read<'a>(reader: &mut Reader<'a, '_>, view: &View<'a>) -> Result<Content, Error> {
    let header: &FileHeader64<LE> = view.pod(0, "an ELF header")?;
    let (class, data) = (header.e_ident.class.0, header.e_ident.data.0);
    if (class, data) != (2, 1) {
        let found = format!("ELF class {class}, byte order {data}");
        return Err(view.error(
            4,
            "a 64-bit little-endian ELF file (class 2, byte order 1)",
            found,
        ));
    }
    let mut segments = Vec::new();
    for index in 0..u64::from(header.e_phnum.get(LE)) {
        let size = size_of::<ProgramHeader64<LE>>() as u64;
        // A table offset near the end of the number range lies outside of every file.
        let at = header.e_phoff.get(LE).saturating_add(index * size);
        let segment: &ProgramHeader64<LE> = view.pod(at, "a program header")?;
        if segment.p_type.get(LE) == PT_LOAD {
            segments.push(Section {
                name: None,
                holds: Holds::Data,
                address: segment.p_vaddr.get(LE),
                data: view.range(
                    at,
                    segment.p_offset.get(LE),
                    segment.p_filesz.get(LE),
                    "a segment",
                ),
            });
        }
    }
    check_overlap(view, &segments)?;
    // The interpreter is told by a program header that is of no further use here.
    let format = elf::format(view, header.e_type.get(LE).0, false)?;
    let before = reader.images.len();
    read_sections(reader, &segments);
    let expected = "the offset of a section table";
    if reader.images.len() == before {
        return Err(view.error(SHOFF_AT, expected, "0: it has none"));
    }
    let found = "0: device code was searched for in the segments, and may not be all there is";
    reader.defect(view.defect(SHOFF_AT, "no-section-table", Severity::Warning, expected, found));
    Ok(format.into())
}
