//! 64-bit little-endian ELF files, as far as cubins and host objects need them.

use super::{WriteError, field, pad};

/// A section to be written.
#[derive(Clone, Debug)]
pub(super) struct Section {
    pub(super) name: String,
    pub(super) kind: u32,
    pub(super) flags: u64,
    pub(super) link: u32,
    pub(super) info: u32,
    pub(super) alignment: u64,
    pub(super) entry_bytes: u64,
    pub(super) content: Vec<u8>,
}

impl Section {
    /// A section of type `kind`; what is not given is 0, alignment is 1.
    pub(super) fn new(name: impl Into<String>, kind: u32, content: Vec<u8>) -> Self {
        Self {
            name: name.into(),
            kind,
            flags: 0,
            link: 0,
            info: 0,
            alignment: 1,
            entry_bytes: 0,
            content,
        }
    }
}

/// What the ELF header says beside sizes and offsets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    pub(super) os_abi: u8,
    pub(super) abi_version: u8,
    pub(super) file_type: u16,
    pub(super) machine: u16,
    pub(super) version: u32,
    pub(super) flags: u32,
}

pub(super) const SHT_PROGBITS: u32 = 1;
pub(super) const SHT_SYMTAB: u32 = 2;
pub(super) const SHT_STRTAB: u32 = 3;
pub(super) const SHT_NOTE: u32 = 7;

const HEADER_BYTES: u16 = 64;
const SECTION_HEADER_BYTES: u16 = 64;

/// Strings one after the other, each with its NUL. The first is empty.
#[derive(Debug)]
pub(super) struct Strings(Vec<u8>);

impl Strings {
    pub(super) fn new() -> Self {
        Self(vec![0])
    }

    /// Adds `text` and gives its offset.
    pub(super) fn add(&mut self, text: &str) -> Result<u32, WriteError> {
        let at = field("the offset of a name", self.0.len() as u64)?;
        self.0.extend(text.bytes());
        self.0.push(0);
        Ok(at)
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

/// The file: header, name table and `sections` in order, then the section table. The first of `sections` has index 2.
pub(super) fn build(header: Header, sections: &[Section]) -> Result<Vec<u8>, WriteError> {
    let mut names = Strings::new();
    let table_name = names.add(".shstrtab")?;
    let section_names = sections
        .iter()
        .map(|section| names.add(&section.name))
        .collect::<Result<Vec<u32>, WriteError>>()?;
    let mut table = Section::new(".shstrtab", SHT_STRTAB, names.into_bytes());
    table.alignment = 1;

    let mut bytes = vec![0; usize::from(HEADER_BYTES)];
    let mut section_table = vec![0; usize::from(SECTION_HEADER_BYTES)];
    let all = std::iter::once((&table, table_name)).chain(sections.iter().zip(section_names));
    for (section, name) in all {
        let alignment = usize::try_from(section.alignment.max(1)).unwrap_or(1);
        pad(&mut bytes, alignment);
        write_section_header(&mut section_table, section, name, bytes.len() as u64);
        bytes.extend(&section.content);
    }
    pad(&mut bytes, 8);
    let section_table_at = bytes.len() as u64;
    bytes.extend(section_table);

    let mut start = vec![0x7f, b'E', b'L', b'F', 2, 1, 1, header.os_abi, header.abi_version];
    start.resize(16, 0);
    start.extend(header.file_type.to_le_bytes());
    start.extend(header.machine.to_le_bytes());
    start.extend(header.version.to_le_bytes());
    // No entry point, no program headers.
    start.extend([0; 16]);
    start.extend(section_table_at.to_le_bytes());
    start.extend(header.flags.to_le_bytes());
    let count: u16 = field("the number of sections", sections.len() as u64 + 2)?;
    for number in [HEADER_BYTES, 0, 0, SECTION_HEADER_BYTES, count, 1] {
        start.extend(number.to_le_bytes());
    }
    for (byte, new) in bytes.iter_mut().zip(start) {
        *byte = new;
    }
    Ok(bytes)
}

fn write_section_header(table: &mut Vec<u8>, section: &Section, name: u32, at: u64) {
    table.extend(name.to_le_bytes());
    table.extend(section.kind.to_le_bytes());
    for number in [section.flags, 0, at, section.content.len() as u64] {
        table.extend(number.to_le_bytes());
    }
    table.extend(section.link.to_le_bytes());
    table.extend(section.info.to_le_bytes());
    table.extend(section.alignment.to_le_bytes());
    table.extend(section.entry_bytes.to_le_bytes());
}
