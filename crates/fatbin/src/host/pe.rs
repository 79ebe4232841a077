//! PE: Windows executables and libraries.
//!
//! Source: "PE Format" of Microsoft's documentation.

use super::HostFile;
use super::coff::{SectionHeader, SymbolLayout, Symbols, section_headers};
use super::run_time::{self, Evidence};
use crate::artifact::FileFormat;
use crate::error::Error;
use crate::names::Names;
use crate::view::{View, first_bytes};

/// Where a program for DOS, as which each of these files starts, says where the PE header is.
const PE_OFFSET_AT: usize = 0x3c;

/// Whether `bytes` start like a program for DOS and have a PE header where that says.
pub(super) fn recognise(bytes: &[u8]) -> bool {
    bytes.starts_with(b"MZ") && pe_header_at(bytes).is_some()
}

fn pe_header_at(bytes: &[u8]) -> Option<usize> {
    let at = u32::from_le_bytes(*bytes.get(PE_OFFSET_AT..)?.first_chunk()?) as usize;
    bytes.get(at..)?.starts_with(b"PE\0\0").then_some(at)
}

/// Reads the headers.
pub(super) fn read<'a>(view: &View<'a>) -> Result<HostFile<'a>, Error> {
    /// Size of the signature, and of the COFF header behind it, in bytes.
    const SIGNATURE_BYTES: u64 = 4;
    const HEADER_BYTES: u64 = 20;
    /// The flag of a library.
    const DLL: u16 = 0x2000;
    let at = pe_header_at(view.bytes()).ok_or_else(|| {
        let found = first_bytes(view.bytes());
        view.error(PE_OFFSET_AT as u64, "the offset of a PE header", found)
    })? as u64;
    let header_at = at + SIGNATURE_BYTES;
    let header: &[u8; 20] = view.array_at(header_at, "a COFF header")?;
    let u16_at = |at: usize| u16::from_le_bytes([header[at], header[at + 1]]);
    let optional_at = header_at + HEADER_BYTES;
    // How far the list of tables is from the start of the optional header, by the size of addresses.
    let directories = match view.u16(optional_at) {
        Some(0x10b) => 96,
        Some(0x20b) => 112,
        other => {
            let expected = "the optional header of a 32-bit (0x10b) or 64-bit (0x20b) program";
            let found = other.map_or("the end".to_owned(), |magic| format!("{magic:#x}"));
            return Err(view.error(optional_at, expected, found));
        }
    };
    let symbols = Symbols::read(view, header_at + 8, header_at + 12, SymbolLayout::PLAIN)?;
    let table_at = optional_at + u64::from(u16_at(16));
    let headers = section_headers(view, table_at, u16_at(2).into(), &symbols)?;
    let sections = headers
        .iter()
        .filter_map(|header| {
            // In the file the content is padded, or has the zeros at its end left out.
            let bytes = match header.memory_bytes {
                0 => header.raw_bytes,
                memory => memory.min(header.raw_bytes),
            };
            header.section(view, bytes, header.memory_bytes)
        })
        .collect();
    let format = if u16_at(18) & DLL != 0 {
        FileFormat::PeDll
    } else {
        FileFormat::PeExecutable
    };
    let view = view.clone();
    Ok(HostFile {
        format,
        sections,
        references: Box::new(move || {
            let directories_at = optional_at + directories;
            let addresses = Addresses::of(&headers);
            IMPORTS
                .iter()
                .find_map(|table| table.run_time_compiler(&view, directories_at, &addresses))
        }),
    })
}

/// A table of libraries that the program is linked with.
struct ImportTable {
    /// Which of the tables of the optional header it is, from 0.
    index: u64,
    /// Size of a row, and where in it the address of the library's name is, in bytes.
    row_bytes: u64,
    name_at: u64,
}

/// The libraries that are loaded with the program, and those that are when they are first called.
const IMPORTS: [ImportTable; 2] = [
    ImportTable {
        index: 1,
        row_bytes: 20,
        name_at: 12,
    },
    ImportTable {
        index: 13,
        row_bytes: 32,
        name_at: 4,
    },
];

impl ImportTable {
    fn run_time_compiler(
        &self,
        view: &View<'_>,
        directories_at: u64,
        addresses: &Addresses,
    ) -> Option<Evidence> {
        /// Size of a row of the optional header's tables: address and size.
        const DIRECTORY_BYTES: u64 = 8;
        // How many tables there are stands in front of them.
        let count = view.u32(directories_at - 4)?;
        if u64::from(count) <= self.index {
            return None;
        }
        let address = view.u32(directories_at + self.index * DIRECTORY_BYTES)?;
        let mut at = addresses.file_offset(address)?;
        let mut names = Names::new(view.bytes());
        loop {
            let row = view.get(at, self.row_bytes)?;
            let name = row.u32(self.name_at).filter(|&name| name != 0)?;
            let name_at = usize::try_from(addresses.file_offset(name)?).ok()?;
            let name = names.get(name_at, [0, 0])?;
            if run_time::is_library(name) {
                return Some(Evidence::reference(row.place(0), "the shared library", name));
            }
            at += self.row_bytes;
        }
    }
}

/// Where the sections are in memory and in the file, in the order of their addresses: a file may have tens of thousands of
/// sections and millions of addresses to look up.
struct Addresses {
    /// Address, size in the file and offset there, in bytes.
    sections: Vec<(u32, u32, u32)>,
}

impl Addresses {
    fn of(headers: &[SectionHeader<'_>]) -> Self {
        let mut sections: Vec<(u32, u32, u32)> = headers
            .iter()
            .map(|header| (header.address, header.raw_bytes, header.raw_at))
            .collect();
        sections.sort_unstable();
        Self { sections }
    }

    /// Where in the file the byte at `address` of the loaded image is. Sections share no addresses.
    fn file_offset(&self, address: u32) -> Option<u64> {
        let after = self.sections.partition_point(|&(start, ..)| start <= address);
        let &(start, raw_bytes, raw_at) = self.sections.get(after.checked_sub(1)?)?;
        let within = address - start;
        (within < raw_bytes).then(|| u64::from(raw_at) + u64::from(within))
    }
}
