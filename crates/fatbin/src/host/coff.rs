//! COFF: Windows objects, plain and large, the stubs of import libraries, and the section table that PE files share.
//!
//! Source: "PE Format" of Microsoft's documentation; `ANON_OBJECT_HEADER_BIGOBJ` of `winnt.h`.

use super::run_time::{self, Evidence};
use super::{Holds, HostFile, Section, named};
use crate::artifact::FileFormat;
use crate::error::Error;
use crate::names::Names;
use crate::view::View;

/// What a file that is not PE and starts with a COFF header is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An object.
    Object,
    /// An object with a header for more than 65279 sections (`/bigobj`).
    BigObject,
    /// The stub of an import library.
    Import,
}

/// The machines whose objects are read: i386, x86-64, Arm64, Arm64EC and Arm64X.
const MACHINES: [u16; 5] = [0x14c, 0x8664, 0xaa64, 0xa641, 0xa64e];

/// How large objects, imports and objects of other compilers start: no machine, and a number that is no section count.
const ANONYMOUS: [u8; 4] = [0, 0, 0xff, 0xff];

/// The class of a large object.
const BIG_OBJECT_CLASS: [u8; 16] = [
    0xc7, 0xa1, 0xba, 0xd1, 0xee, 0xba, 0xa9, 0x4b, 0xaf, 0x20, 0xfa, 0xf6, 0x6a, 0xa4, 0xdc, 0xb8,
];

/// Sizes of an object's header, by kind, in bytes.
const OBJECT_HEADER_BYTES: u64 = 20;
const BIG_OBJECT_HEADER_BYTES: u64 = 56;

/// Flags of a section.
mod flag {
    pub(super) const CODE: u32 = 0x20;
    pub(super) const INITIALIZED_DATA: u32 = 0x40;
    pub(super) const INFO: u32 = 0x200;
    pub(super) const REMOVE: u32 = 0x800;
    pub(super) const DISCARDABLE: u32 = 0x0200_0000;
    pub(super) const EXECUTE: u32 = 0x2000_0000;
}

/// What `bytes` are, if they start with a COFF header. Two bytes name the machine, which alone would say little.
pub(super) fn recognise(bytes: &[u8]) -> Option<Kind> {
    let u16_at = |at: usize| Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
    if bytes.starts_with(&ANONYMOUS) {
        return match u16_at(4)? {
            0 if MACHINES.contains(&u16_at(6)?) => Some(Kind::Import),
            2.. if bytes.get(12..28) == Some(&BIG_OBJECT_CLASS) => Some(Kind::BigObject),
            _ => None,
        };
    }
    let no_optional_header = u16_at(16)? == 0;
    (MACHINES.contains(&u16_at(0)?) && no_optional_header).then_some(Kind::Object)
}

/// Reads an object or an import.
pub(super) fn read<'a>(view: &View<'a>, kind: Kind) -> Result<HostFile<'a>, Error> {
    let (count, symbols) = match kind {
        Kind::Import => return read_import(view),
        Kind::Object => {
            let symbols = Symbols::read(view, 8, 12, SymbolLayout::PLAIN)?;
            (u32::from(view.u16(2).unwrap_or(0)), symbols)
        }
        Kind::BigObject => {
            let symbols = Symbols::read(view, 48, 52, SymbolLayout::BIG)?;
            (number(view, 44, "the number of sections")?, symbols)
        }
    };
    let table_at = if kind == Kind::BigObject {
        BIG_OBJECT_HEADER_BYTES
    } else {
        OBJECT_HEADER_BYTES
    };
    let headers = section_headers(view, table_at, count, &symbols)?;
    let sections = headers
        .iter()
        .filter_map(|header| header.section(view, header.raw_bytes, 0))
        .collect();
    Ok(HostFile {
        format: FileFormat::CoffObject,
        sections,
        references: Box::new(move || symbols.run_time_compiler()),
    })
}

/// The stub names a function and the library that has it, and that is all: header and two names.
fn read_import<'a>(view: &View<'a>) -> Result<HostFile<'a>, Error> {
    const IMPORT_HEADER_BYTES: u64 = 20;
    let size = number(view, 12, "the size of an import's names")?;
    view.range(12, IMPORT_HEADER_BYTES, size.into(), "the names of an import")?;
    Ok(HostFile {
        format: FileFormat::CoffImport,
        sections: Vec::new(),
        references: Box::new(|| None),
    })
}

fn number(view: &View<'_>, at: u64, what: &str) -> Result<u32, Error> {
    Ok(u32::from_le_bytes(*view.array_at(at, what)?))
}

/// The header of a section.
#[derive(Clone, Copy, Debug)]
pub(super) struct SectionHeader<'a> {
    name: &'a [u8],
    at: u64,
    /// Bytes in memory; 0 in objects.
    pub(super) memory_bytes: u32,
    /// Where it is in memory, from the start of the image; 0 in objects.
    pub(super) address: u32,
    /// Bytes in the file, in PE files with padding.
    pub(super) raw_bytes: u32,
    pub(super) raw_at: u32,
    flags: u32,
}

impl<'a> SectionHeader<'a> {
    /// The section of `bytes` bytes, if it is one that is looked into. A device section that has `missing` bytes in
    /// memory and none in the file is an error.
    pub(super) fn section(&self, view: &View<'a>, bytes: u32, missing: u32) -> Option<Section<'a>> {
        const SKIPPED: u32 = flag::CODE | flag::INFO | flag::REMOVE | flag::DISCARDABLE | flag::EXECUTE;
        let is_data = self.flags & flag::INITIALIZED_DATA != 0 && self.flags & SKIPPED == 0;
        let named = named(self.name);
        let holds = named.or(is_data.then_some(Holds::Data))?;
        let what = format!(
            "section `{}`",
            String::from_utf8_lossy(self.name.get(..64).unwrap_or(self.name))
        );
        let absent = self.raw_at == 0 && (bytes != 0 || missing != 0);
        let data = if absent && named.is_some() {
            let found = format!("{:#x} bytes and none of them there", bytes.max(missing));
            Err(view.error(self.at + 20, format!("{what} with content in the file"), found))
        } else if absent {
            return None;
        } else {
            view.range(self.at + 16, self.raw_at.into(), bytes.into(), what)
        };
        Some(Section::new(self.name, holds, self.address.into(), data))
    }
}

/// Reads `count` section headers from `table_at` on, with their long names.
pub(super) fn section_headers<'a>(
    view: &View<'a>,
    table_at: u64,
    count: u32,
    symbols: &Symbols<'a>,
) -> Result<Vec<SectionHeader<'a>>, Error> {
    const SECTION_HEADER_BYTES: u64 = 40;
    let size = u64::from(count) * SECTION_HEADER_BYTES;
    let table = view.range(2, table_at, size, "the section table")?;
    let mut long_names = symbols.names();
    let mut headers = Vec::new();
    let (rows, _) = table.bytes().as_chunks::<40>();
    for (index, row) in rows.iter().enumerate() {
        let at = table_at + index as u64 * SECTION_HEADER_BYTES;
        let u32_at = |at: usize| u32::from_le_bytes([row[at], row[at + 1], row[at + 2], row[at + 3]]);
        let short = until_nul(row.get(..8).unwrap_or_default());
        let name = match long_name_at(short) {
            Some(name_at) => long_names.get(name_at, [0, 0]).ok_or_else(|| {
                let found = format!("`{}`", String::from_utf8_lossy(short));
                view.error(at, "a section name in the string table", found)
            })?,
            None => short,
        };
        headers.push(SectionHeader {
            name,
            at,
            memory_bytes: u32_at(8),
            address: u32_at(12),
            raw_bytes: u32_at(16),
            raw_at: u32_at(20),
            flags: u32_at(36),
        });
    }
    Ok(headers)
}

/// Where a name of more than eight bytes is in the string table: `/123`, or `//` and six digits of base 64.
fn long_name_at(short: &[u8]) -> Option<usize> {
    let rest = short.strip_prefix(b"/")?;
    let (digits, base): (&[u8], usize) = match rest.strip_prefix(b"/") {
        Some(digits) => (digits, 64),
        None => (rest, 10),
    };
    let value = |digit: u8| match digit {
        b'A'..=b'Z' => Some(digit - b'A'),
        b'a'..=b'z' => Some(digit - b'a' + 26),
        b'0'..=b'9' => Some(digit - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    digits.iter().try_fold(0_usize, |sum, &digit| {
        let value = match base {
            64 => value(digit)?,
            _ => digit.is_ascii_digit().then(|| digit - b'0')?,
        };
        sum.checked_mul(base)?.checked_add(value.into())
    })
}

fn until_nul(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    bytes.get(..end).unwrap_or(bytes)
}

/// Where a symbol has its section number and its storage class, and how long it is, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct SymbolLayout {
    bytes: usize,
    section_bytes: usize,
    class_at: usize,
}

impl SymbolLayout {
    /// That of plain objects and PE files.
    pub(super) const PLAIN: Self = Self {
        bytes: 18,
        section_bytes: 2,
        class_at: 16,
    };
    /// That of large objects.
    const BIG: Self = Self {
        bytes: 20,
        section_bytes: 4,
        class_at: 18,
    };
}

/// The symbol table and the string table behind it.
#[derive(Clone, Debug)]
pub(super) struct Symbols<'a> {
    table: Option<View<'a>>,
    /// With the size that it starts with, so that names are found from its first byte.
    strings: &'a [u8],
    layout: SymbolLayout,
}

impl<'a> Symbols<'a> {
    /// Reads where the tables are from the two fields that say so. None at all is fine.
    pub(super) fn read(
        view: &View<'a>,
        offset_at: u64,
        count_at: u64,
        layout: SymbolLayout,
    ) -> Result<Self, Error> {
        let at = u64::from(number(view, offset_at, "the offset of the symbol table")?);
        let count = u64::from(number(view, count_at, "the number of symbols")?);
        if at == 0 {
            return Ok(Self {
                table: None,
                strings: &[],
                layout,
            });
        }
        let table = view.range(offset_at, at, count * layout.bytes as u64, "the symbol table")?;
        let strings_at = at + table.len();
        // A file may end where the strings would start.
        let strings = match view.u32(strings_at) {
            Some(size) => view.range(strings_at, strings_at, size.into(), "the string table")?,
            None => view.range(strings_at, strings_at, 0, "the string table")?,
        };
        Ok(Self {
            table: Some(table),
            strings: strings.bytes(),
            layout,
        })
    }

    fn names(&self) -> Names<'a> {
        Names::new(self.strings)
    }

    /// The first function of the run-time compiler that is not defined here.
    fn run_time_compiler(&self) -> Option<Evidence> {
        /// The storage class of what other files can see.
        const EXTERNAL: u8 = 2;
        let SymbolLayout {
            bytes,
            section_bytes,
            class_at,
        } = self.layout;
        let table = self.table.as_ref()?;
        let mut names = self.names();
        let mut rows = table.bytes().chunks_exact(bytes).enumerate();
        while let Some((index, row)) = rows.next() {
            let is_undefined = row.get(12..12 + section_bytes)?.iter().all(|&byte| byte == 0);
            if is_undefined && row.get(class_at) == Some(&EXTERNAL) {
                let name = match row.get(..8)? {
                    [0, 0, 0, 0, at @ ..] => {
                        let at = u32::from_le_bytes(at.try_into().ok()?);
                        names.get(at as usize, [0, 0]).unwrap_or_default()
                    }
                    short => until_nul(short),
                };
                if run_time::is_symbol(name) {
                    let place = table.place((index * bytes) as u64);
                    return Some(Evidence::reference(place, "the function", name));
                }
            }
            // Rows of another layout follow a symbol and belong to it.
            for _ in 0..row.get(class_at + 1).copied().unwrap_or(0) {
                rows.next();
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::long_name_at;

    #[test]
    fn long_names_have_two_spellings() {
        assert_eq!(long_name_at(b"/123"), Some(123));
        assert_eq!(long_name_at(b"//AAmJaA"), Some(10_000_000));
        assert_eq!(long_name_at(b".nv_fatb"), None);
        assert_eq!(long_name_at(b"/x"), None);
    }
}
