//! What a file is, by its first bytes and never by its name.

use super::stream::Coding;

/// How many bytes are enough to tell.
pub(super) const PREFIX_BYTES: usize = 4096;

/// What a file turns out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Something with files in it.
    Package(Format),
    /// Of a format that holds device code: it must be possible to read it.
    Object,
    /// Text, which is PTX or no concern of ours.
    Text,
    /// Of a format that may hold device code, and that nothing here reads.
    Opaque(&'static str),
    /// Anything else: no loader and no linker would find device code in it.
    Other,
}

/// A format with files in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// A zip file, which wheels and conda packages are too.
    Zip,
    /// A tar file.
    Tar,
    /// A Debian package.
    Deb,
    /// A compressed stream of one file, or of a tar file.
    Stream(Coding),
}

impl Format {
    /// The name, where no more is known than the first bytes.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Zip => "zip",
            Self::Tar => "tar",
            Self::Deb => "deb",
            Self::Stream(coding) => coding.as_str(),
        }
    }
}

/// First bytes and what they mean. Sources: the specifications of the formats; PE and COFF (Microsoft), `mach-o/loader.h`.
const MAGICS: &[(&[u8], Kind)] = &[
    (b"PK\x03\x04", Kind::Package(Format::Zip)),
    // A zip file without entries.
    (b"PK\x05\x06", Kind::Package(Format::Zip)),
    // The checks of the bytes behind these are in `refined`.
    (b"\x1f\x8b\x08", Kind::Package(Format::Stream(Coding::Gzip))),
    (b"BZh", Kind::Package(Format::Stream(Coding::Bzip2))),
    (b"\xfd7zXZ\0", Kind::Package(Format::Stream(Coding::Xz))),
    (b"\x28\xb5\x2f\xfd", Kind::Package(Format::Stream(Coding::Zstd))),
    (b"\x7fELF", Kind::Object),
    (b"!<arch>\n", Kind::Object),
    (b"!<thin>\n", Kind::Object),
    (b"\x50\xed\x55\xba", Kind::Object),
    (b"MZ", Kind::Object),
    (b"\x64\x86", Kind::Object),
    (b"\x64\xaa", Kind::Object),
    (b"\x00\x00\xff\xff", Kind::Object),
    (b"\xcf\xfa\xed\xfe", Kind::Object),
    (b"\xce\xfa\xed\xfe", Kind::Object),
    (b"\xfe\xed\xfa\xcf", Kind::Object),
    (b"\xfe\xed\xfa\xce", Kind::Object),
    (b"\xca\xfe\xba\xbe", Kind::Object),
    (b"\xca\xfe\xba\xbf", Kind::Object),
    (b"BC\xc0\xde", Kind::Opaque("LLVM bitcode")),
    (b"\xde\xc0\x17\x0b", Kind::Opaque("LLVM bitcode")),
    (b"\x04\x22\x4d\x18", Kind::Opaque("an LZ4 frame")),
    (b"7z\xbc\xaf\x27\x1c", Kind::Opaque("a 7z file")),
    (b"Rar!\x1a\x07", Kind::Opaque("a RAR file")),
    (b"MSCF\0\0\0\0", Kind::Opaque("a cabinet file")),
    (b"\xed\xab\xee\xdb", Kind::Opaque("an RPM package")),
    (b"hsqs", Kind::Opaque("a squashfs image")),
    (b"070701", Kind::Opaque("a cpio archive")),
    (
        b"version https://git-lfs",
        Kind::Opaque("a Git LFS pointer instead of the file"),
    ),
];

/// What a file is that starts with `prefix`. No more than [`PREFIX_BYTES`] are looked at: more of them are at hand where a
/// file is stored as it is than where it is decompressed, and it must be the same file.
pub(crate) fn recognise(prefix: &[u8]) -> Kind {
    let prefix = prefix.get(..PREFIX_BYTES).unwrap_or(prefix);
    let by_magic = MAGICS
        .iter()
        .find(|(magic, _)| prefix.starts_with(magic))
        .and_then(|&(_, kind)| refined(kind, prefix));
    if let Some(kind) = by_magic {
        kind
    } else if prefix.starts_with(b"#!") && memchr::memmem::find(prefix, b"\nPK\x03\x04").is_some() {
        // A Python program in one file.
        Kind::Package(Format::Zip)
    } else if is_tar(prefix) {
        Kind::Package(Format::Tar)
    } else if is_text(prefix) || may_be_ptx(prefix) {
        Kind::Text
    } else {
        Kind::Other
    }
}

/// `kind`, unless what stands behind a short magic says that it is chance.
fn refined(kind: Kind, prefix: &[u8]) -> Option<Kind> {
    let byte = |at: usize| prefix.get(at).copied().unwrap_or(0);
    let keeps = match prefix {
        [0x1f, 0x8b, ..] => byte(3) & 0xe0 == 0,
        // The first block, or the end of a stream without blocks.
        [b'B', b'Z', b'h', ..] => {
            let block = prefix.get(4..10);
            matches!(byte(3), b'1'..=b'9')
                && (block == Some(b"\x31\x41\x59\x26\x53\x59") || block == Some(b"\x17\x72\x45\x38\x50\x90"))
        }
        // The header of an object of this kind has no optional header and few sections.
        [0x64, 0x86 | 0xaa, ..] => byte(16) == 0 && byte(17) == 0 && byte(3) < 0x80,
        // Anonymous objects have version 1 or 2; a run of blank pixels looks the same up to there.
        [0, 0, 0xff, 0xff, ..] => matches!(byte(4), 1 | 2) && byte(5) == 0,
        // Java classes have the same magic, and a version above 44 where Mach-O has a number of architectures.
        [0xca, 0xfe, 0xba, ..] => byte(4) == 0 && byte(5) == 0 && byte(6) == 0 && byte(7) < 45,
        [b'M', b'Z', ..] => !is_text(prefix),
        _ => true,
    };
    let is_deb = prefix.starts_with(b"!<arch>\ndebian-binary");
    keeps.then_some(if is_deb { Kind::Package(Format::Deb) } else { kind })
}

/// Whether `prefix` starts with the header of a tar entry. Old tars have no magic, where the checksum must do; one with the
/// magic and a wrong checksum is a damaged tar.
pub(super) fn is_tar(prefix: &[u8]) -> bool {
    const CHECKSUM_AT: std::ops::Range<usize> = 148..156;
    let Some(header) = prefix.get(..512) else {
        return false;
    };
    let stated = std::str::from_utf8(&header[CHECKSUM_AT])
        .ok()
        .and_then(|text| u32::from_str_radix(text.trim_matches(['\0', ' ']), 8).ok());
    let sum: u32 = header
        .iter()
        .enumerate()
        .map(|(at, &byte)| u32::from(if CHECKSUM_AT.contains(&at) { b' ' } else { byte }))
        .sum();
    header[0] != 0 && (stated == Some(sum) || header[257..262] == *b"ustar")
}

/// Whether a file that starts like this may be text.
fn is_text(prefix: &[u8]) -> bool {
    prefix.iter().all(|&byte| {
        !byte.is_ascii_control() || matches!(byte, b'\t' | b'\n' | b'\r' | b'\x0c' | b'\x0b' | 0x1b)
    })
}

/// Whether text leads up to the directive that PTX starts with. What follows may be no text: the run-time compiler ends its
/// PTX with a zero byte, and fat binaries fill theirs up with more.
fn may_be_ptx(prefix: &[u8]) -> bool {
    memchr::memmem::find(prefix, b".version").is_some_and(|at| is_text(&prefix[..at]))
}

#[cfg(test)]
mod tests {
    use super::{Format, Kind, PREFIX_BYTES, recognise};
    use crate::open::stream::Coding;

    #[test]
    fn short_magics_need_more_than_chance() {
        let rows: &[(&[u8], Kind)] = &[
            (b"", Kind::Text),
            (b"BZh is how the text starts", Kind::Text),
            (
                b"BZh91AY&SY\x01\x02",
                Kind::Package(Format::Stream(Coding::Bzip2)),
            ),
            (b"MZ, said the text", Kind::Text),
            (b"MZ\x90\0\x03\0\0\0", Kind::Object),
            (b"\xca\xfe\xba\xbe\0\0\0\x34", Kind::Other),
            (b"\xca\xfe\xba\xbe\0\0\0\x02", Kind::Object),
            (b"\x1f\x8b\x08\xff", Kind::Other),
            (b"!<arch>\ndebian-binary   ", Kind::Package(Format::Deb)),
            (b"!<arch>\nx.o/            ", Kind::Object),
            (b"\x89PNG\r\n\x1a\n", Kind::Other),
            (b"7z\xbc\xaf\x27\x1c", Kind::Opaque("a 7z file")),
            (b"// by hand\n.version 9.0\n.target sm_90\n\0", Kind::Text),
            (b"\x01\x02.version 9.0\n", Kind::Other),
        ];
        for (prefix, kind) in rows {
            assert_eq!(recognise(prefix), *kind, "{}", prefix.escape_ascii());
        }
    }

    /// A compressed file is judged by its prefix, and one that is stored must not be judged by more.
    #[test]
    fn what_stands_behind_the_prefix_changes_nothing() {
        for (prefix, behind) in [
            (&b"text"[..], &b"\0"[..]),
            (b"#!x\n", b"\nPK\x03\x04"),
            (b"\0", b"x"),
        ] {
            let mut file = prefix.to_vec();
            file.resize(PREFIX_BYTES, b' ');
            let kind = recognise(&file);
            file.extend(behind);
            assert_eq!(recognise(&file), kind, "{}", prefix.escape_ascii());
        }
    }
}
