//! Entry headers: what an image is, before its payload is looked at.

use blockgate_arch::{Arch, Scope};

use crate::error::{Defect, Error};
use crate::image::ImageKind;
use crate::view::View;
use blockgate_findings::Severity::{Info, Warning};

/// Size of the fixed part, in bytes. What follows, up to the header size that it states, is optional.
pub(crate) const HEADER_BYTES: u64 = 64;

/// The kind number of a container of several images (CUDA 13.5's `--concat`).
pub(crate) const KIND_CONCAT: u16 = 0x100;

/// Every kind number that NVIDIA's programs have a name for, read here or not: PTX, cubin, an older cubin, LTO-IR, an
/// unnamed one, an index, relocatable PTX, Tile IR, a container.
///
/// Source: names in `cuobjdump` of CUDA 13.5.
pub(crate) const KNOWN_KINDS: [u16; 9] = [1, 2, 4, 8, 0x10, 0x20, 0x40, 0x80, KIND_CONCAT];

/// The version of the entry layout that every known toolkit writes.
pub(crate) const VERSION: u16 = 0x0101;

/// Flags of an entry.
///
/// Source: entries that CUDA 11.8 to 13.5 made with the option that each stands for.
pub(crate) mod flag {
    /// The payload is a raw LZ4 block.
    pub(crate) const LZ4: u64 = 0x2000;
    /// The payload is a zstd frame.
    pub(crate) const ZSTD: u64 = 0x8000;
    /// The payload is scrambled.
    pub(crate) const SCRAMBLED: u64 = 0x1_0000;
    /// Built for one compute capability: suffix `a`.
    pub(crate) const SPECIFIC: u64 = 0x10_0000;
    /// Built for a family: suffix `f`. Since CUDA 12.9.
    pub(crate) const FAMILY: u64 = 0x20_0000;
}

/// The fixed part of an entry header, the same in CUDA 11.8 to 13.5.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EntryHeader {
    pub(crate) kind: u16,
    pub(crate) version: u16,
    /// Size of the header. In a concat container instead: where the image is in the decompressed payload.
    pub(crate) header_bytes: u32,
    pub(crate) payload_bytes: u64,
    /// 0 where the payload is not compressed.
    pub(crate) compressed_bytes: u32,
    pub(crate) extra_at: u32,
    pub(crate) minor: u16,
    pub(crate) major: u16,
    pub(crate) arch: u32,
    pub(crate) ident_at: u32,
    pub(crate) ident_bytes: u32,
    pub(crate) flags: u64,
    /// 0 where the payload is not compressed.
    pub(crate) decompressed_bytes: u64,
}

impl EntryHeader {
    /// The header at `at`.
    pub(crate) fn parse(view: &View<'_>, at: u64) -> Result<Self, Error> {
        let raw: &[u8; 64] = view.array_at(at, "an entry header")?;
        let u16_at = |at: usize| u16::from_le_bytes([raw[at], raw[at + 1]]);
        let u32_at = |at: usize| u32::from(u16_at(at)) | u32::from(u16_at(at + 2)) << 16;
        let u64_at = |at: usize| u64::from(u32_at(at)) | u64::from(u32_at(at + 4)) << 32;
        Ok(Self {
            kind: u16_at(0),
            version: u16_at(2),
            header_bytes: u32_at(4),
            payload_bytes: u64_at(8),
            compressed_bytes: u32_at(16),
            extra_at: u32_at(20),
            minor: u16_at(24),
            major: u16_at(26),
            arch: u32_at(28),
            ident_at: u32_at(32),
            ident_bytes: u32_at(36),
            flags: u64_at(40),
            decompressed_bytes: u64_at(56),
        })
    }

    pub(crate) fn image_kind(&self) -> ImageKind {
        match self.kind {
            1 => ImageKind::Ptx,
            2 => ImageKind::Cubin,
            8 => ImageKind::LtoIr,
            other => ImageKind::Unknown(other),
        }
    }

    pub(crate) fn is_compressed(&self) -> bool {
        self.flags & (flag::LZ4 | flag::ZSTD) != 0
    }

    /// The architecture that the builder claimed. `None` where no number was given or no name can have it.
    pub(crate) fn declared(&self) -> Option<Arch> {
        let scope = if self.flags & flag::SPECIFIC != 0 {
            Scope::Specific
        } else if self.flags & flag::FAMILY != 0 {
            Scope::Family
        } else {
            Scope::Plain
        };
        (self.arch != 0)
            .then(|| Arch::from_number(self.arch, scope))
            .flatten()
    }

    /// What is odd about the header itself, which starts `view`.
    pub(crate) fn oddities(&self, view: &View<'_>) -> Vec<Defect> {
        let mut defects = Vec::new();
        if self.version != VERSION {
            let found = format!("{:#06x}", self.version);
            defects.push(view.defect(2, "entry-version", Info, "entry version 0x0101", found));
        }
        if self.flags & flag::SPECIFIC != 0 && self.flags & flag::FAMILY != 0 {
            let expected = "at most one of the flags for suffix a and suffix f";
            defects.push(view.defect(40, "entry-flags", Warning, expected, "both"));
        }
        if !self.payload_bytes.is_multiple_of(8) {
            let found = format!("{:#x}", self.payload_bytes);
            defects.push(view.defect(8, "entry-alignment", Info, "a payload size divisible by 8", found));
        }
        defects
    }
}

/// The optional strings of an entry header.
#[derive(Clone, Debug, Default)]
pub(crate) struct EntryTexts {
    /// The source file's name.
    pub(crate) ident: Option<String>,
    /// Options for the compiler of PTX and LTO-IR.
    pub(crate) options: Option<String>,
}

impl EntryTexts {
    /// Reads them from `view`, which is the whole header with what follows it. What lies outside is left out and
    /// reported.
    pub(crate) fn read(header: &EntryHeader, view: &View<'_>, defects: &mut Vec<Defect>) -> Self {
        let mut texts = Self::default();
        if header.ident_at != 0 {
            let ident = view.get(u64::from(header.ident_at), u64::from(header.ident_bytes));
            match ident {
                Some(ident) => texts.ident = Some(text(ident.bytes())),
                None => defects.push(view.defect(
                    32,
                    "entry-ident",
                    Info,
                    format!("a source name within the header of {:#x} bytes", view.len()),
                    format!("{:#x} bytes from {:#x}", header.ident_bytes, header.ident_at),
                )),
            }
        }
        if header.extra_at != 0 {
            let at = u64::from(header.extra_at);
            let extra = view.u32(at).zip(view.u32(at + 4)).and_then(|(data_at, bytes)| {
                // Where the data starts is stated from the start of the entry.
                view.get(u64::from(data_at), u64::from(bytes))
            });
            match (extra, header.image_kind()) {
                (Some(extra), ImageKind::Ptx | ImageKind::LtoIr) => {
                    texts.options = Some(text(extra.bytes()).trim().to_owned());
                }
                // Of a cubin this is a copy of a section that the cubin has itself.
                (Some(_), _) => {}
                (None, _) => defects.push(view.defect(
                    20,
                    "entry-extra",
                    Info,
                    format!("further data within the header of {:#x} bytes", view.len()),
                    format!("its offset as {:#x}", header.extra_at),
                )),
            }
        }
        texts
    }
}

fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(bytes.get(..end).unwrap_or(bytes)).into_owned()
}
