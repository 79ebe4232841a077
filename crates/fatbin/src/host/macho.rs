//! Mach-O: macOS objects, programs and libraries, and universal files with several of them.
//!
//! The last CUDA for macOS is 10.2, so that device code here is for sm_30 to sm_75.
//!
//! Source: `mach-o/loader.h`, `mach-o/fat.h` and `mach/machine.h` of the macOS SDK.

use std::sync::Arc;

use blockgate_findings::Severity;

use super::run_time::{self, Evidence};
use super::{Holds, HostFile, Section, named};
use crate::archive;
use crate::artifact::{DeviceCode, FileFormat, Reader};
use crate::error::Error;
use crate::names::Names;
use crate::view::{View, first_bytes};

/// The first four bytes, by byte order and size of addresses.
const MAGICS: [([u8; 4], Layout); 4] = [
    (
        [0xcf, 0xfa, 0xed, 0xfe],
        Layout {
            is_64: true,
            is_big: false,
        },
    ),
    (
        [0xce, 0xfa, 0xed, 0xfe],
        Layout {
            is_64: false,
            is_big: false,
        },
    ),
    (
        [0xfe, 0xed, 0xfa, 0xcf],
        Layout {
            is_64: true,
            is_big: true,
        },
    ),
    (
        [0xfe, 0xed, 0xfa, 0xce],
        Layout {
            is_64: false,
            is_big: true,
        },
    ),
];

/// How numbers are written.
#[derive(Clone, Copy, Debug)]
struct Layout {
    is_64: bool,
    is_big: bool,
}

impl Layout {
    fn of(bytes: &[u8]) -> Option<Self> {
        MAGICS
            .iter()
            .find(|(magic, _)| bytes.starts_with(magic))
            .map(|&(_, layout)| layout)
    }

    /// The number at `at`; `what` names it.
    fn u32(self, view: &View<'_>, at: u64, what: &str) -> Result<u32, Error> {
        let bytes = *view.array_at(at, what)?;
        Ok(if self.is_big {
            u32::from_be_bytes(bytes)
        } else {
            u32::from_le_bytes(bytes)
        })
    }

    /// The number at `at` that is as wide as an address; `what` names it.
    fn address(self, view: &View<'_>, at: u64, what: &str) -> Result<u64, Error> {
        if !self.is_64 {
            return self.u32(view, at, what).map(u64::from);
        }
        let bytes = *view.array_at(at, what)?;
        Ok(if self.is_big {
            u64::from_be_bytes(bytes)
        } else {
            u64::from_le_bytes(bytes)
        })
    }
}

/// Load commands that are read.
mod command {
    pub(super) const SEGMENT: u32 = 0x1;
    pub(super) const SYMBOLS: u32 = 0x2;
    pub(super) const SEGMENT_64: u32 = 0x19;
    /// Libraries: needed, weakly needed, passed on, upward, loaded when first called.
    pub(super) const LIBRARIES: [u32; 5] = [0xc, 0x8000_0018, 0x8000_001f, 0x8000_0023, 0x20];
}

/// Whether `bytes` start like a Mach-O file for one processor.
pub(super) fn recognise(bytes: &[u8]) -> bool {
    Layout::of(bytes).is_some()
}

/// Reads the headers.
pub(super) fn read<'a>(view: &View<'a>) -> Result<HostFile<'a>, Error> {
    let Some(layout) = Layout::of(view.bytes()) else {
        return Err(view.error(0, "a Mach-O file", first_bytes(view.bytes())));
    };
    let format = match layout.u32(view, 12, "the file type")? {
        1 => FileFormat::MachOObject,
        2 | 5 => FileFormat::MachOExecutable,
        6 | 8 => FileFormat::MachOShared,
        other => {
            let expected = "a Mach-O object (1), executable (2), library (6) or bundle (8)";
            return Err(view.error(12, expected, format!("file type {other}")));
        }
    };
    let commands = commands(view, layout)?;
    let mut sections = Vec::new();
    for command in &commands {
        if matches!(command.kind, command::SEGMENT | command::SEGMENT_64) {
            read_segment(view, layout, command, &mut sections)?;
        }
    }
    let view = view.clone();
    Ok(HostFile {
        format,
        sections,
        references: Box::new(move || references(&view, layout, &commands)),
    })
}

/// A load command.
#[derive(Clone, Debug)]
struct Command<'a> {
    kind: u32,
    view: View<'a>,
}

fn commands<'a>(view: &View<'a>, layout: Layout) -> Result<Vec<Command<'a>>, Error> {
    const MIN_COMMAND_BYTES: u64 = 8;
    let count = layout.u32(view, 16, "the number of load commands")?;
    let size = layout.u32(view, 20, "the size of the load commands")?;
    let header_bytes = if layout.is_64 { 32 } else { 28 };
    let table = view.range(20, header_bytes, size.into(), "the load commands")?;
    let mut commands = Vec::new();
    let mut at = 0;
    for _ in 0..count {
        let kind = layout.u32(&table, at, "a load command")?;
        let size = u64::from(layout.u32(&table, at + 4, "the size of a load command")?);
        if size < MIN_COMMAND_BYTES {
            let found = format!("{size:#x}");
            return Err(table.error(at + 4, "a load command of 8 bytes or more", found));
        }
        commands.push(Command {
            kind,
            view: table.range(at + 4, at, size, "a load command")?,
        });
        at += size;
    }
    Ok(commands)
}

/// Where the parts of a segment command and of the section headers in it are, in bytes.
struct SegmentLayout {
    header_bytes: u64,
    count_at: u64,
    section_bytes: u64,
    size_at: u64,
    offset_at: u64,
    flags_at: u64,
}

const SEGMENT_32: SegmentLayout = SegmentLayout {
    header_bytes: 56,
    count_at: 48,
    section_bytes: 68,
    size_at: 36,
    offset_at: 40,
    flags_at: 56,
};

const SEGMENT_64: SegmentLayout = SegmentLayout {
    header_bytes: 72,
    count_at: 64,
    section_bytes: 80,
    size_at: 40,
    offset_at: 48,
    flags_at: 64,
};

fn read_segment<'a>(
    view: &View<'a>,
    layout: Layout,
    command: &Command<'a>,
    sections: &mut Vec<Section<'a>>,
) -> Result<(), Error> {
    /// Section types, in the low byte of the flags, whose content is not in the file: zeros, and those of threads.
    const ZERO_FILLED: [u32; 3] = [0x1, 0xc, 0x12];
    /// Flags of sections with instructions.
    const CODE: u32 = 0x8000_0400;
    /// The flag of sections for debuggers.
    const DEBUG: u32 = 0x0200_0000;
    let parts = if command.kind == command::SEGMENT_64 {
        SEGMENT_64
    } else {
        SEGMENT_32
    };
    let layout = Layout {
        is_64: command.kind == command::SEGMENT_64,
        ..layout
    };
    let header = &command.view;
    let count = layout.u32(header, parts.count_at, "the number of sections")?;
    let size = u64::from(count) * parts.section_bytes;
    let table = header.range(parts.count_at, parts.header_bytes, size, "section headers")?;
    for index in 0..u64::from(count) {
        let at = index * parts.section_bytes;
        let text = |at: u64| -> Result<&'a [u8], Error> {
            let text: &[u8; 16] = table.array_at(at, "a section name")?;
            let end = text.iter().position(|&byte| byte == 0).unwrap_or(text.len());
            Ok(text.get(..end).unwrap_or(text))
        };
        let name = [text(at + 16)?, text(at)?].join(&b',');
        let address = layout.address(&table, at + 32, "the address of a section")?;
        let bytes = layout.address(&table, at + parts.size_at, "the size of a section")?;
        let offset = layout.u32(&table, at + parts.offset_at, "the offset of a section")?;
        let flags = layout.u32(&table, at + parts.flags_at, "the flags of a section")?;
        let is_absent = ZERO_FILLED.contains(&(flags & 0xff));
        let is_data = !is_absent && flags & (CODE | DEBUG) == 0;
        let named = named(&name);
        let Some(holds) = named.or(is_data.then_some(Holds::Data)) else {
            continue;
        };
        let what = format!("section `{}`", String::from_utf8_lossy(&name));
        let data = if bytes != 0 && (is_absent || offset == 0) {
            if named.is_none() {
                continue;
            }
            let expected = format!("{what} with content in the file");
            Err(table.error(
                at + parts.offset_at,
                expected,
                format!("{bytes:#x} bytes and none of them there"),
            ))
        } else {
            view.get(offset.into(), bytes).ok_or_else(|| {
                let expected = format!("{what} within {:#x} bytes", view.len());
                let found = format!("{bytes:#x} bytes from {offset:#x}");
                table.error(at + parts.offset_at, expected, found)
            })
        };
        sections.push(Section::new(&name, holds, address, data));
    }
    Ok(())
}

fn references(view: &View<'_>, layout: Layout, commands: &[Command<'_>]) -> Option<Evidence> {
    let library = commands.iter().find_map(|command| {
        let header = &command.view;
        let name_at = command::LIBRARIES
            .contains(&command.kind)
            .then(|| layout.u32(header, 8, "the name of a library").ok())??;
        let rest = header.bytes().get(name_at as usize..)?;
        let name = rest.split(|&byte| byte == 0).next()?;
        run_time::is_library(name).then(|| Evidence::reference(header.place(0), "the shared library", name))
    });
    library.or_else(|| {
        commands
            .iter()
            .find(|command| command.kind == command::SYMBOLS)
            .and_then(|command| undefined_function(view, layout, &command.view))
    })
}

/// The first function of the run-time compiler among the symbols that are not defined here.
fn undefined_function(view: &View<'_>, layout: Layout, command: &View<'_>) -> Option<Evidence> {
    /// In the byte behind the name: bits of debugging symbols, the type of the others, and visibility elsewhere.
    const DEBUG: u8 = 0xe0;
    const TYPE: u8 = 0x0e;
    const EXTERNAL: u8 = 0x01;
    let field = |at| layout.u32(command, at, "a field of the symbol table").ok();
    let row_bytes = if layout.is_64 { 16 } else { 12 };
    let table = view.get(field(8)?.into(), u64::from(field(12)?) * row_bytes)?;
    let strings = view.get(field(16)?.into(), field(20)?.into())?;
    let mut names = Names::new(strings.bytes());
    let mut at = 0;
    while at < table.len() {
        let row = table.get(at, row_bytes)?;
        let kind = *row.bytes().get(4)?;
        if kind & DEBUG == 0 && kind & TYPE == 0 && kind & EXTERNAL != 0 {
            let name_at = layout.u32(&row, 0, "the name of a symbol").ok()?;
            let name = names.get(name_at as usize, [0, 0]).unwrap_or_default();
            if run_time::is_symbol(name) {
                return Some(Evidence::reference(row.place(0), "the function", name));
            }
        }
        at += row_bytes;
    }
    None
}

/// A universal file: how its table of files is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Universal {
    is_64: bool,
}

/// Real ones have two or three files. The same magic starts Java classes, whose version, 45 and up, stands where the
/// number of files does.
const MAX_UNIVERSAL_FILES: u32 = 40;

impl Universal {
    /// Whether `bytes` are a universal file.
    pub(crate) fn recognise(bytes: &[u8]) -> Option<Self> {
        let is_64 = match bytes.first_chunk()? {
            [0xca, 0xfe, 0xba, 0xbe] => false,
            [0xca, 0xfe, 0xba, 0xbf] => true,
            _ => return None,
        };
        let count = u32::from_be_bytes(*bytes.get(4..)?.first_chunk()?);
        (count <= MAX_UNIVERSAL_FILES).then_some(Self { is_64 })
    }
}

/// Reads every file in a universal file as a member, named by its processor. One may be an archive.
///
/// # Errors
/// When the table of files is damaged, or files share bytes.
pub(crate) fn read_universal<'a>(
    reader: &mut Reader<'a, '_>,
    view: &View<'a>,
    universal: Universal,
) -> Result<(), Error> {
    const HEADER_BYTES: u64 = 8;
    let layout = Layout {
        is_64: universal.is_64,
        is_big: true,
    };
    let row_bytes = if universal.is_64 { 32 } else { 20 };
    let count = layout.u32(view, 4, "the number of files")?;
    let mut total = 0_u64;
    for index in 0..u64::from(count) {
        let at = HEADER_BYTES + index * row_bytes;
        let row = view.range(4, at, row_bytes, "the table of files")?;
        let processor = (
            layout.u32(&row, 0, "a processor")?,
            layout.u32(&row, 4, "a processor's variant")?,
        );
        let offset = layout.address(&row, 8, "the offset of a file")?;
        let size_at = if universal.is_64 { 16 } else { 12 };
        let size = layout.address(&row, size_at, "the size of a file")?;
        let content = view.range(at + 8, offset, size, "a file for one processor")?;
        total = total.saturating_add(size);
        if total > view.len() {
            let expected = format!("files that do not overlap in {:#x} bytes", view.len());
            return Err(view.error(at + size_at, expected, format!("{total:#x} bytes with this one")));
        }
        let name = processor_name(processor);
        let member = View::new(content.bytes(), Some(name), content.place(0).offset);
        let unread = match archive::recognise(member.bytes()) {
            Some(false) => {
                archive::read(reader, &member, false, archive::Depth::Outer);
                continue;
            }
            Some(true) => Some(member.error(
                0,
                "a Mach-O file or an archive with its members in it",
                "a thin archive",
            )),
            None => reader.read_member(&member).err(),
        };
        if let Some(error) = unread {
            let mut defect = error.into_defect("unreadable-member");
            defect.severity = Severity::Error;
            reader.defect(defect);
            reader.add_member(&member, DeviceCode::Unreadable);
        }
    }
    Ok(())
}

/// Processors by type and variant, as macOS's own tools name them. The upper byte of a variant holds flags.
const PROCESSORS: [(u32, u32, &str); 9] = [
    (7, 3, "i386"),
    (0x0100_0007, 3, "x86_64"),
    (0x0100_0007, 8, "x86_64h"),
    (0x0100_000c, 0, "arm64"),
    (0x0100_000c, 2, "arm64e"),
    (12, 9, "armv7"),
    (18, 0, "ppc"),
    (18, 10, "ppc7400"),
    (0x0100_0012, 0, "ppc64"),
];

fn processor_name((kind, variant): (u32, u32)) -> Arc<str> {
    let variant = variant & 0x00ff_ffff;
    PROCESSORS
        .iter()
        .find(|row| (row.0, row.1) == (kind, variant))
        .map_or_else(
            || format!("cpu-{kind:#x}-{variant:#x}").into(),
            |row| row.2.into(),
        )
}
