//! Archives: GNU, BSD, thin, and the libraries (`.lib`) of Windows.

use std::sync::Arc;

use object::archive::Header;

use crate::artifact::{DeviceCode, ExternalMember, LFS_POINTER, Reader};
use crate::names::Names;
use crate::view::{View, first_bytes};
use blockgate_findings::Severity;

const MAGIC: &[u8; 8] = b"!<arch>\n";
const THIN_MAGIC: &[u8; 8] = b"!<thin>\n";
const HEADER_BYTES: u64 = size_of::<Header>() as u64;

/// Whether `bytes` are an archive, and whether it is a thin one.
pub(crate) fn recognise(bytes: &[u8]) -> Option<bool> {
    if bytes.starts_with(MAGIC) {
        Some(false)
    } else if bytes.starts_with(THIN_MAGIC) {
        Some(true)
    } else {
        None
    }
}

/// Where an archive lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    /// It is the file.
    Outer,
    /// It is a member of an archive.
    Inner,
}

/// Reads every member. A header that makes no sense ends the walk, since there is no way to find the next one.
pub(crate) fn read<'a>(reader: &mut Reader<'a, '_>, view: &View<'a>, thin: bool, depth: Depth) {
    let mut names: Option<Names<'a>> = None;
    let mut at = MAGIC.len() as u64;
    while at < view.len() {
        // Some writers pad the last member too.
        if view.len() - at == 1 && view.bytes().ends_with(b"\n") {
            return;
        }
        let header: &Header = match view.pod(at, "an archive member header") {
            Ok(header) => header,
            Err(error) => return reader.defect(error.into_defect("archive-cut")),
        };
        if header.terminator != object::archive::TERMINATOR {
            let found = first_bytes(&header.terminator);
            let error = view.error(at + 58, "the end of a member header (60 0a)", found);
            return reader.defect(error.into_defect("archive-member-header"));
        }
        let Some(size) = decimal(&header.size) else {
            let found = format!("`{}`", String::from_utf8_lossy(&header.size));
            let error = view.error(at + 48, "a member size in decimal digits", found);
            return reader.defect(error.into_defect("archive-member-header"));
        };
        let name = header.name.trim_ascii_end();
        let special = is_special(name);
        let content_at = at + HEADER_BYTES;
        if thin && !special {
            match long_name(name, names.as_mut()) {
                Some(path) => reader.external.push(ExternalMember {
                    path,
                    offset: view.place(at).offset,
                }),
                None => {
                    let error = view.error(at, "a path from the archive's name table", quoted(name));
                    reader.defect(error.into_defect("archive-member-name"));
                }
            }
            if reader.external.len() >= reader.limits.max_members {
                return too_many(reader, view, at);
            }
            at = content_at;
            continue;
        }
        let content = match view.range(at + 48, content_at, size, "an archive member") {
            Ok(content) => content,
            Err(error) => {
                let mut defect = error.into_defect("archive-cut");
                defect.member = long_name(name, names.as_mut()).map(|name| full_name(view, &name));
                return reader.defect(defect);
            }
        };
        if name == b"//" {
            names = Some(Names::new(content.bytes()));
        } else if !special {
            read_member(reader, view, &content, at, name, names.as_mut(), depth);
            if reader.members.len() >= reader.limits.max_members {
                return too_many(reader, view, at);
            }
        }
        // A size within the file was checked above, so this cannot overflow.
        at = content_at + size + size % 2;
    }
}

fn read_member<'a>(
    reader: &mut Reader<'a, '_>,
    view: &View<'a>,
    content: &View<'a>,
    header_at: u64,
    name: &[u8],
    names: Option<&mut Names<'_>>,
    depth: Depth,
) {
    let mut content_at = header_at + HEADER_BYTES;
    let mut bytes = content.bytes();
    let name = if let Some(length) = name.strip_prefix(b"#1/") {
        // BSD: the name stands before the content and counts in its size.
        let split = decimal(length)
            .and_then(|length| usize::try_from(length).ok())
            .and_then(|length| bytes.split_at_checked(length));
        let Some((name, rest)) = split else {
            let error = view.error(header_at, "a name within the member", quoted(name));
            return reader.defect(error.into_defect("archive-member-name"));
        };
        content_at += name.len() as u64;
        bytes = rest;
        let end = name.iter().position(|&byte| byte == 0).unwrap_or(name.len());
        String::from_utf8_lossy(name.get(..end).unwrap_or(name)).into_owned()
    } else if let Some(name) = long_name(name, names) {
        name
    } else {
        let error = view.error(header_at, "a name from the archive's name table", quoted(name));
        reader.defect(error.into_defect("archive-member-name"));
        String::from_utf8_lossy(name).into_owned()
    };
    if SYMBOL_TABLES.contains(&name.as_bytes()) {
        return;
    }
    let member = View::new(bytes, Some(full_name(view, &name)), view.place(content_at).offset);
    let unread = match (recognise(bytes), depth) {
        (Some(false), Depth::Outer) => return read(reader, &member, false, Depth::Inner),
        (Some(thin), _) => {
            let expected = "a member that is no archive, or one whose members lie in it";
            let found = if thin {
                "a thin archive"
            } else {
                "an archive in an archive in an archive"
            };
            Some(member.error(0, expected, found))
        }
        (None, _) => reader.read_member(&member).err(),
    };
    if let Some(error) = unread {
        // Archives may carry text, which holds no device code. Anything else may, and so must be read.
        let mut defect = error.into_defect("unreadable-member");
        let device_code = if holds_no_code(bytes) {
            defect.rule = "member-of-other-kind";
            defect.severity = Severity::Info;
            DeviceCode::None
        } else {
            DeviceCode::Unreadable
        };
        reader.defect(defect);
        reader.add_member(&member, device_code);
    }
}

/// The name of a member: with that of its archive in front, where the archive is itself a member.
fn full_name(archive: &View<'_>, name: &str) -> Arc<str> {
    match archive.member() {
        Some(outer) => Arc::from(format!("{outer}/{name}")),
        None => Arc::from(name),
    }
}

/// Whether a member of a format that is not read is known to hold no device code: it is text or nothing at all, or the
/// metadata in Rust libraries.
fn holds_no_code(bytes: &[u8]) -> bool {
    const RUST_METADATA: &[u8] = b"rust\0\0\0";
    let is_text = |text: &str| {
        let is_blank = |byte: u8| matches!(byte, b'\t' | b'\n' | b'\r' | b'\x0c');
        text.bytes()
            .all(|byte| !byte.is_ascii_control() || is_blank(byte))
    };
    // Text that is an archive, or stands for a file, is not what it looks like.
    let stands_for_others = recognise(bytes).is_some() || bytes.starts_with(LFS_POINTER);
    bytes.starts_with(RUST_METADATA) || (!stands_for_others && std::str::from_utf8(bytes).is_ok_and(is_text))
}

fn too_many(reader: &mut Reader<'_, '_>, view: &View<'_>, at: u64) {
    let expected = format!("at most {} members", reader.limits.max_members);
    let error = view.error(at, expected, "more");
    reader.defect(error.into_defect("limit-members"));
}

/// The names of symbol tables in BSD archives. Other names that start like this are ordinary.
const SYMBOL_TABLES: [&[u8]; 4] = [
    b"__.SYMDEF",
    b"__.SYMDEF SORTED",
    b"__.SYMDEF_64",
    b"__.SYMDEF_64 SORTED",
];

/// The symbol tables and name table of GNU archives, those that Windows libraries have besides (a second table `/`, and
/// three for Arm64EC and control-flow guards), and the symbol tables of Darwin's short names.
fn is_special(name: &[u8]) -> bool {
    matches!(
        name,
        b"/" | b"//" | b"/SYM64/" | b"/<HYBRIDMAP>/" | b"/<ECSYMBOLS>/" | b"/<XFGHASHMAP>/"
    ) || SYMBOL_TABLES.contains(&name.strip_suffix(b"/").unwrap_or(name))
}

/// A name in the header, ended by `/` in GNU archives, or `/123`: byte 123 of the name table, up to `/` and newline.
fn long_name(name: &[u8], names: Option<&mut Names<'_>>) -> Option<String> {
    let name = match name.strip_prefix(b"/") {
        Some(start) => names?.get(usize::try_from(decimal(start)?).ok()?, *b"\n\0")?,
        None => name,
    };
    let name = name.strip_suffix(b"/").unwrap_or(name);
    (!name.is_empty()).then(|| String::from_utf8_lossy(name).into_owned())
}

fn decimal(field: &[u8]) -> Option<u64> {
    let digits = field.trim_ascii();
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

fn quoted(name: &[u8]) -> String {
    format!("`{}`", String::from_utf8_lossy(name))
}
