//! The part of ELF that host files and cubins share: header, sections, symbols.

use std::fmt;

use blockgate_findings::Severity;
use object::LittleEndian as LE;
use object::elf;

use crate::error::{Defect, Error, Place};
use crate::names::{Names, clipped};
use crate::view::{View, first_bytes};
use crate::{cubin, host};

/// CUDA's machine number in an ELF header, `EM_CUDA`.
pub(crate) const MACHINE_CUDA: u16 = 190;

/// Where a section header has the type.
const TYPE_AT: u64 = 4;

/// What ends a name in an ELF file.
const NUL: [u8; 2] = [0, 0];

/// Types of sections whose content makes up a file: code and data, symbols, strings, notes and facts about kernels.
const CONTENT_TYPES: [u32; 7] = [
    elf::SHT_PROGBITS.0,
    elf::SHT_DYNSYM.0,
    elf::SHT_DYNAMIC.0,
    elf::SHT_SYMTAB.0,
    elf::SHT_STRTAB.0,
    elf::SHT_NOTE.0,
    cubin::SHT_CUDA_INFO,
];

/// Sections that are read for their name, whatever type they claim: a reader that believed the type would take what
/// is in them for absent.
const CONTENT_NAMES: [&[u8]; 7] = [
    host::LINKED_SECTION.as_bytes(),
    host::RELOCATABLE_SECTION.as_bytes(),
    cubin::COMPAT_SECTION,
    cubin::NOTE_SECTION,
    cubin::CUDA_NOTE_SECTIONS[0],
    cubin::CUDA_NOTE_SECTIONS[1],
    cubin::INFO_SECTION,
];

/// A 64-bit little-endian ELF file whose section table was found.
#[derive(Clone, Debug)]
pub(crate) struct Elf<'a> {
    view: View<'a>,
    header: &'a elf::FileHeader64<LE>,
    sections: Vec<Section<'a>>,
}

/// A section, with its name resolved.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Section<'a> {
    pub(crate) name: &'a [u8],
    pub(crate) header: &'a elf::SectionHeader64<LE>,
    /// Where the header is, for errors about what it says.
    header_at: u64,
}

impl<'a> Elf<'a> {
    /// Reads header, section table and section names.
    pub(crate) fn parse(view: View<'a>) -> Result<Self, Error> {
        let header: &elf::FileHeader64<LE> = view.pod(0, "an ELF header")?;
        if header.e_ident.magic != elf::ELFMAG {
            return Err(view.error(0, "an ELF file (7f 45 4c 46)", first_bytes(view.bytes())));
        }
        let (class, data) = (header.e_ident.class.0, header.e_ident.data.0);
        if (class, data) != (2, 1) {
            let found = format!("ELF class {class}, byte order {data}");
            return Err(view.error(
                4,
                "a 64-bit little-endian ELF file (class 2, byte order 1)",
                found,
            ));
        }
        let mut elf = Self {
            view,
            header,
            sections: Vec::new(),
        };
        elf.read_sections()?;
        Ok(elf)
    }

    fn read_sections(&mut self) -> Result<(), Error> {
        const SHOFF_AT: u64 = 0x28;
        const SHNUM_AT: u64 = 0x3c;
        const SHENTSIZE: u16 = 64;
        let view = &self.view;
        let table_at = self.header.e_shoff.get(LE);
        if table_at == 0 {
            return Err(view.error(SHOFF_AT, "the offset of a section table", "0: it has none"));
        }
        let entry_size = self.header.e_shentsize.get(LE);
        if entry_size != SHENTSIZE {
            let found = format!("{entry_size}");
            return Err(view.error(0x3a, "section headers of 64 bytes", found));
        }
        if view.get(table_at, u64::from(SHENTSIZE)).is_none() {
            return Err(view.error(
                SHOFF_AT,
                format!("a section table within {:#x} bytes", view.len()),
                format!("its offset as {table_at:#x}: the file is cut short or lies"),
            ));
        }
        let first: &elf::SectionHeader64<LE> = view.pod(table_at, "the first section header")?;
        // More sections than the header's fields can hold are counted in the otherwise unused first one.
        let count = match self.header.e_shnum.get(LE) {
            0 => first.sh_size.get(LE),
            count => u64::from(count),
        };
        let names_index = match self.header.e_shstrndx.get(LE) {
            elf::SHN_XINDEX => u64::from(first.sh_link.get(LE)),
            index => u64::from(index.0),
        };
        let table_size = count.saturating_mul(u64::from(SHENTSIZE));
        let table = view.range(SHNUM_AT, table_at, table_size, "the section table")?;
        let header_at = |index: u64| index * u64::from(SHENTSIZE);
        if names_index >= count {
            let found = format!("index {names_index}");
            return Err(view.error(0x3e, format!("a name table among {count} sections"), found));
        }
        let names_header: &elf::SectionHeader64<LE> =
            table.pod(header_at(names_index), "a section header")?;
        let names = view
            .range(
                table_at + header_at(names_index),
                names_header.sh_offset.get(LE),
                names_header.sh_size.get(LE),
                "the section name table",
            )?
            .bytes();
        let mut names = Names::new(names);
        let mut content_bytes = 0_u64;
        for index in 0..count {
            let header: &elf::SectionHeader64<LE> = table.pod(header_at(index), "a section header")?;
            let at = table_at + header_at(index);
            let name = names.get(header.sh_name.get(LE) as usize, NUL).ok_or_else(|| {
                let found = format!("{:#x}", header.sh_name.get(LE));
                self.view.error(at, "the offset of a section name", found)
            })?;
            let is_read = CONTENT_TYPES.contains(&header.sh_type.get(LE).0)
                || CONTENT_NAMES.contains(&name)
                || name.starts_with(cubin::CODE_PREFIX)
                || name.starts_with(cubin::INFO_PREFIX);
            if is_read {
                content_bytes = content_bytes.saturating_add(header.sh_size.get(LE).min(view.len()));
            }
            // Everything that is read lies in such sections, so this bounds what reading the file can cost.
            if content_bytes > view.len().saturating_mul(2) {
                let expected = "sections that do not overlap";
                let found = format!(
                    "{content_bytes:#x} bytes in sections of a file of {:#x}",
                    view.len()
                );
                return Err(view.error(at, expected, found));
            }
            self.sections.push(Section {
                name,
                header,
                header_at: at,
            });
        }
        Ok(())
    }

    pub(crate) fn view(&self) -> &View<'a> {
        &self.view
    }

    pub(crate) fn machine(&self) -> u16 {
        self.header.e_machine.get(LE).0
    }

    pub(crate) fn file_type(&self) -> u16 {
        self.header.e_type.get(LE).0
    }

    pub(crate) fn header(&self) -> &'a elf::FileHeader64<LE> {
        self.header
    }

    pub(crate) fn sections(&self) -> &[Section<'a>] {
        &self.sections
    }

    /// Whether the file names a program interpreter, which executables do and shared objects do not.
    pub(crate) fn has_interpreter(&self) -> bool {
        let size = size_of::<elf::ProgramHeader64<LE>>() as u64;
        (0..u64::from(self.header.e_phnum.get(LE))).any(|index| {
            let at = index
                .checked_mul(size)
                .and_then(|at| at.checked_add(self.header.e_phoff.get(LE)));
            let header = at.and_then(|at| {
                self.view
                    .pod::<elf::ProgramHeader64<LE>>(at, "a program header")
                    .ok()
            });
            header.is_some_and(|header| header.p_type.get(LE) == elf::PT_INTERP)
        })
    }

    /// The bytes of `section` in the file. One that has a size and says that it has no bytes is an error: in a file
    /// that was stripped of everything but debug information, the code is elsewhere.
    pub(crate) fn data(&self, section: &Section<'a>) -> Result<View<'a>, Error> {
        if section.header.sh_type.get(LE) == elf::SHT_NOBITS && section.header.sh_size.get(LE) != 0 {
            let expected = format!("{} with content in the file", SectionTitle(section.name));
            let found = format!("{:#x} bytes of type NOBITS", section.header.sh_size.get(LE));
            return Err(self.view.error(section.header_at + TYPE_AT, expected, found));
        }
        self.view.range(
            section.header_at,
            section.header.sh_offset.get(LE),
            section.header.sh_size.get(LE),
            SectionTitle(section.name),
        )
    }

    /// A word on a section of host code that holds device code and claims another type than program bits. It is read.
    pub(crate) fn odd_type(&self, section: &Section<'a>) -> Option<Defect> {
        let kind = section.header.sh_type.get(LE);
        let usual = matches!(kind, elf::SHT_PROGBITS | elf::SHT_NOBITS);
        (!usual).then(|| {
            let expected = format!("{} of type PROGBITS (1)", SectionTitle(section.name));
            let found = format!("type {:#x}", kind.0);
            let at = section.header_at + TYPE_AT;
            self.view
                .defect(at, "device-section-type", Severity::Info, expected, found)
        })
    }

    /// The symbols. There is one table of them at most.
    pub(crate) fn symbols(&self) -> Result<Vec<Symbol<'a>>, Error> {
        let mut symbols = Vec::new();
        let mut seen = false;
        for section in &self.sections {
            if section.header.sh_type.get(LE) != elf::SHT_SYMTAB {
                continue;
            }
            // Each could ask for all the names of one table anew.
            if std::mem::replace(&mut seen, true) {
                let expected = "one symbol table";
                return Err(self.view.error(section.header_at, expected, "another"));
            }
            let mut names = self.names_of(section)?;
            let table = self.data(section)?;
            let (entries, _) = object::pod::slice_from_bytes::<elf::Sym64<LE>>(
                table.bytes(),
                table.bytes().len() / size_of::<elf::Sym64<LE>>(),
            )
            .map_err(|()| table.error(0, "a symbol table", "a size that does not fit"))?;
            for (index, entry) in entries.iter().enumerate() {
                let name_at = entry.st_name.get(LE);
                let name = names.get(name_at as usize, NUL).ok_or_else(|| {
                    let at = (index * size_of_val(entry)) as u64;
                    table.error(at, "the offset of a symbol name", format!("{name_at:#x}"))
                })?;
                symbols.push(Symbol {
                    name,
                    kind: entry.st_info.0 & 0xf,
                    other: entry.st_other.0,
                });
            }
        }
        Ok(symbols)
    }
}

/// Something in an ELF file, and its name.
type Named<'a> = (Place, &'a [u8]);

impl<'a> Elf<'a> {
    /// The table of names that `section` uses.
    fn names_of(&self, section: &Section<'a>) -> Result<Names<'a>, Error> {
        let link = section.header.sh_link.get(LE) as usize;
        let names = self.sections.get(link).ok_or_else(|| {
            let expected = format!("a string table among {} sections", self.sections.len());
            self.view
                .error(section.header_at, expected, format!("index {link}"))
        })?;
        Ok(Names::new(self.data(names)?.bytes()))
    }

    fn of_type(&self, kind: elf::SectionType) -> impl Iterator<Item = &Section<'a>> {
        self.sections
            .iter()
            .filter(move |section| section.header.sh_type.get(LE) == kind)
    }

    /// The first symbol that is not defined here and for whose name `wanted` holds. Of several tables of a kind, which
    /// no sound file has, the first is looked at.
    pub(crate) fn undefined_symbol(
        &self,
        wanted: impl Fn(&[u8]) -> bool,
    ) -> Result<Option<Named<'a>>, Error> {
        let tables = [elf::SHT_DYNSYM, elf::SHT_SYMTAB].map(|kind| self.of_type(kind).next());
        for section in tables.into_iter().flatten() {
            let mut names = self.names_of(section)?;
            let table = self.data(section)?;
            let (symbols, _) = object::pod::slice_from_bytes::<elf::Sym64<LE>>(
                table.bytes(),
                table.bytes().len() / size_of::<elf::Sym64<LE>>(),
            )
            .map_err(|()| table.error(0, "a symbol table", "a size that does not fit"))?;
            for (index, symbol) in symbols.iter().enumerate() {
                if symbol.st_shndx.get(LE) != elf::SHN_UNDEF {
                    continue;
                }
                let name = names.get(symbol.st_name.get(LE) as usize, NUL);
                if let Some(name) = name.filter(|name| wanted(name)) {
                    return Ok(Some((table.place((index * size_of_val(symbol)) as u64), name)));
                }
            }
        }
        Ok(None)
    }

    /// The first shared library that the loader must find and for whose name `wanted` holds.
    pub(crate) fn needed_library(&self, wanted: impl Fn(&[u8]) -> bool) -> Result<Option<Named<'a>>, Error> {
        let Some(section) = self.of_type(elf::SHT_DYNAMIC).next() else {
            return Ok(None);
        };
        let mut names = self.names_of(section)?;
        let table = self.data(section)?;
        let (entries, _) = object::pod::slice_from_bytes::<elf::Dyn64<LE>>(
            table.bytes(),
            table.bytes().len() / size_of::<elf::Dyn64<LE>>(),
        )
        .map_err(|()| table.error(0, "a dynamic section", "a size that does not fit"))?;
        for (index, entry) in entries.iter().enumerate() {
            if entry.d_tag.get(LE) != elf::DT_NEEDED {
                continue;
            }
            let at = usize::try_from(entry.d_val.get(LE)).unwrap_or(usize::MAX);
            if let Some(name) = names.get(at, NUL).filter(|name| wanted(name)) {
                return Ok(Some((table.place((index * size_of_val(entry)) as u64), name)));
            }
        }
        Ok(None)
    }
}

/// Longer names are cut before they are looked at.
const MAX_TITLE_BYTES: usize = 1024;

/// Names a section in a message.
struct SectionTitle<'a>(&'a [u8]);

impl fmt::Display for SectionTitle<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A cap in bytes first: the name may be as long as the file.
        let start = self.0.get(..MAX_TITLE_BYTES).unwrap_or(self.0);
        write!(f, "section `{}`", clipped(&String::from_utf8_lossy(start)))
    }
}

/// A symbol of a cubin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Symbol<'a> {
    pub(crate) name: &'a [u8],
    /// One of the `STT_*` constants.
    pub(crate) kind: u8,
    pub(crate) other: u8,
}
