//! ELF files: host objects, executables and shared objects, and bare cubins.

use crate::artifact::{FileFormat, Reader};
use crate::elf::{Elf, MACHINE_CUDA};
use crate::error::Error;
use crate::image::{Image, ImageKind};
use crate::region;
use crate::view::View;

/// Host sections that hold regions.
///
/// Source: the host objects that nvcc 11.8 to 13.5 make; `fatbinary_section.h` of the toolkit.
pub(crate) const DEVICE_SECTIONS: [&str; 2] = [LINKED_SECTION, RELOCATABLE_SECTION];

/// Images that the driver loads.
pub(crate) const LINKED_SECTION: &str = ".nv_fatbin";

/// Images from before device linking, which stay in the linked file and are not what runs.
pub(crate) const RELOCATABLE_SECTION: &str = "__nv_relfatbin";

/// Reads an ELF file: device sections of a host file, or the file itself where it is a cubin.
pub(crate) fn read<'a>(reader: &mut Reader<'a, '_>, view: &View<'a>) -> Result<FileFormat, Error> {
    /// Where the ELF header says for which machine the file is.
    const MACHINE_AT: u64 = 18;
    if view.u16(MACHINE_AT) == Some(MACHINE_CUDA) {
        reader.images.push(Image::bare(view, ImageKind::Cubin));
        return Ok(FileFormat::Cubin);
    }
    let elf = Elf::parse(view.clone())?;
    let format = match elf.file_type() {
        1 => FileFormat::ElfRelocatable,
        3 if !elf.has_interpreter() => FileFormat::ElfShared,
        2 | 3 => FileFormat::ElfExecutable,
        other => {
            let expected = "an ELF object (1), executable (2) or shared object (3)";
            return Err(view.error(16, expected, format!("ELF type {other}")));
        }
    };
    for section in elf.sections() {
        let Some(name) = DEVICE_SECTIONS
            .into_iter()
            .find(|name| name.as_bytes() == section.name)
        else {
            continue;
        };
        if let Some(defect) = elf.odd_type(section) {
            reader.defect(defect);
        }
        match elf.data(section) {
            Ok(data) => region::read(reader, &data, Some(name)),
            Err(error) => reader.defect(error.into_defect("device-section-out-of-file")),
        }
    }
    Ok(format)
}
