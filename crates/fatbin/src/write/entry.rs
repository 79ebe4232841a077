//! Entries: one image with its header.

use blockgate_arch::{Arch, Scope};

use super::{WriteError, field, pad};
use crate::Compression;

/// The system that the host code is for, as the flags of an entry state it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HostSystem {
    /// Linux.
    Linux,
    /// Windows.
    Windows,
}

/// Builds an entry: a header and the payload behind it.
#[derive(Clone, Debug)]
pub struct Entry {
    kind: u16,
    arch: Option<Arch>,
    /// Major and minor.
    version: (u16, u16),
    content: Vec<u8>,
    compression: Compression,
    ident: Option<String>,
    room_for_ident: bool,
    extra: Option<Extra>,
    flags: u64,
}

/// Data behind the fixed part of a header.
#[derive(Clone, Debug)]
enum Extra {
    Options(String),
    Compat(Vec<u8>),
}

/// Size of the fixed part of an entry header.
pub(super) const HEADER_BYTES: u8 = 64;

const PTX: u16 = 1;
const ELF: u16 = 2;
const LTO_IR: u16 = 8;

/// The version of the entry layout.
const VERSION: u16 = 0x0101;

const FLAG_64_BIT: u64 = 0x1;
const FLAG_DEBUG: u64 = 0x2;
const FLAG_LINUX: u64 = 0x10;
const FLAG_WINDOWS: u64 = 0x40;
const FLAG_LZ4: u64 = 0x2000;
const FLAG_ZSTD: u64 = 0x8000;
const FLAG_SCRAMBLED: u64 = 0x1_0000;
const FLAG_SPECIFIC: u64 = 0x10_0000;
const FLAG_FAMILY: u64 = 0x20_0000;
const FLAG_COMPAT: u64 = 0x100_0000;

impl Entry {
    /// Machine code for `arch`. The ELF ABI version is that of `cubin`.
    pub fn cubin(arch: Arch, cubin: impl Into<Vec<u8>>) -> Self {
        /// Where an ELF header has the version of its ABI.
        const ABI_VERSION_AT: usize = 8;
        let cubin = cubin.into();
        let abi_version = cubin.get(ABI_VERSION_AT).copied().unwrap_or(8);
        Self::new(ELF, Some(arch), (1, u16::from(abi_version)), cubin)
    }

    /// PTX text for `arch`. `version` is that of the PTX ISA, major and minor.
    pub fn ptx(arch: Arch, version: (u16, u16), text: impl Into<String>) -> Self {
        let mut text = text.into().into_bytes();
        text.push(0);
        Self::new(PTX, Some(arch), version, text).options("")
    }

    /// Intermediate code for link-time optimisation, of this version of NVVM IR, major and minor.
    pub fn lto_ir(arch: Arch, version: (u16, u16), code: impl Into<Vec<u8>>) -> Self {
        Self::new(LTO_IR, Some(arch), version, code.into()).flags(FLAG_SCRAMBLED)
    }

    /// An image of another kind number, for `arch` where it is for one.
    pub fn other(kind: u16, arch: Option<Arch>, content: impl Into<Vec<u8>>) -> Self {
        Self::new(kind, arch, (1, 0), content.into())
    }

    fn new(kind: u16, arch: Option<Arch>, version: (u16, u16), content: Vec<u8>) -> Self {
        Self {
            kind,
            arch,
            version,
            content,
            compression: Compression::None,
            ident: None,
            room_for_ident: false,
            extra: None,
            flags: FLAG_64_BIT | scope_flag(arch),
        }
    }

    /// How the payload is compressed; not at all where this isn't called.
    #[must_use]
    pub fn compression(mut self, compression: Compression) -> Self {
        self.compression = compression;
        self
    }

    /// The name of the source file, as debug and line information bring it in.
    #[must_use]
    pub fn ident(mut self, name: impl Into<String>) -> Self {
        self.ident = Some(name.into());
        self
    }

    /// Leaves eight bytes for a name where there is none, as CUDA 12.4 does.
    #[must_use]
    pub fn room_for_ident(mut self) -> Self {
        self.room_for_ident = true;
        self
    }

    /// Options for compiling PTX or LTO-IR.
    #[must_use]
    pub fn options(mut self, options: impl Into<String>) -> Self {
        self.extra = Some(Extra::Options(options.into()));
        self
    }

    /// A copy of the section `.nv.compat` of a cubin, as CUDA 12.8 and later put into the header from sm_100 on.
    #[must_use]
    pub fn compat(mut self, section: impl Into<Vec<u8>>) -> Self {
        self.extra = Some(Extra::Compat(section.into()));
        self.flags(FLAG_COMPAT)
    }

    /// Says that the image was built for debugging.
    #[must_use]
    pub fn debug(self) -> Self {
        self.flags(FLAG_DEBUG)
    }

    /// Says for which system the host code is.
    #[must_use]
    pub fn host(self, system: HostSystem) -> Self {
        self.flags(match system {
            HostSystem::Linux => FLAG_LINUX,
            HostSystem::Windows => FLAG_WINDOWS,
        })
    }

    /// Sets these flags too, whatever they mean.
    #[must_use]
    pub fn flags(mut self, flags: u64) -> Self {
        self.flags |= flags;
        self
    }

    /// The content, with the NUL behind PTX.
    pub(super) fn content(&self) -> &[u8] {
        &self.content
    }

    /// Header and payload, both padded to eight bytes.
    pub(super) fn write(&self, out: &mut Vec<u8>) -> Result<(), WriteError> {
        let tail = self.tail()?;
        let header_bytes = field(
            "an entry header",
            u64::from(HEADER_BYTES) + tail.bytes.len() as u64,
        )?;
        let payload = Payload::of(&self.content, self.compression)?;
        let numbers = Numbers {
            header_bytes,
            payload_bytes: payload.bytes.len() as u64,
            compressed_bytes: payload.compressed_bytes,
            flags: payload.flags,
            decompressed_bytes: payload.decompressed_bytes,
        };
        self.write_header(out, &numbers, &tail);
        out.extend(payload.bytes);
        Ok(())
    }

    /// The header as it stands in a concat container, for an image at `image_at` of the decompressed payload that has
    /// `size` bytes there.
    pub(super) fn write_sub_header(
        &self,
        out: &mut Vec<u8>,
        image_at: u32,
        size: u64,
    ) -> Result<(), WriteError> {
        let tail = self.tail()?;
        let numbers = Numbers {
            header_bytes: image_at,
            payload_bytes: size,
            ..Numbers::default()
        };
        self.write_header(out, &numbers, &tail);
        Ok(())
    }

    /// What stands behind the fixed part.
    fn tail(&self) -> Result<Tail, WriteError> {
        let at = HEADER_BYTES;
        let mut tail = Tail::default();
        match &self.ident {
            Some(ident) => {
                tail.ident_at = u32::from(at);
                tail.ident_bytes = field("the source name of an entry", ident.len() as u64)?;
                tail.bytes.extend(ident.bytes());
                tail.bytes.push(0);
                pad(&mut tail.bytes, 8);
            }
            None if self.room_for_ident => tail.bytes.extend([0; 8]),
            None => {}
        }
        let (data, skipped) = match &self.extra {
            None => return Ok(tail),
            Some(Extra::Options(options)) => (options.as_bytes(), 0),
            // The copy stands behind one zero byte, which neither its place nor its length counts.
            Some(Extra::Compat(section)) => (section.as_slice(), 1),
        };
        tail.extra_at = field(
            "the place of further data",
            u64::from(at) + tail.bytes.len() as u64,
        )?;
        let data_at: u32 = field("the place of further data", u64::from(tail.extra_at) + 8)?;
        let length: u32 = field("the further data of an entry", data.len() as u64)?;
        tail.bytes.extend(data_at.to_le_bytes());
        tail.bytes.extend(length.to_le_bytes());
        let start = tail.bytes.len();
        tail.bytes.resize(start + skipped, 0);
        tail.bytes.extend(data);
        let size = (data.len() + 1).next_multiple_of(8);
        tail.bytes.resize(start + size, 0);
        Ok(tail)
    }

    fn write_header(&self, out: &mut Vec<u8>, numbers: &Numbers, tail: &Tail) {
        let arch = self.arch.map_or(0, Arch::number);
        out.extend(self.kind.to_le_bytes());
        out.extend(VERSION.to_le_bytes());
        out.extend(numbers.header_bytes.to_le_bytes());
        out.extend(numbers.payload_bytes.to_le_bytes());
        out.extend(numbers.compressed_bytes.to_le_bytes());
        out.extend(tail.extra_at.to_le_bytes());
        out.extend(self.version.1.to_le_bytes());
        out.extend(self.version.0.to_le_bytes());
        out.extend(arch.to_le_bytes());
        out.extend(tail.ident_at.to_le_bytes());
        out.extend(tail.ident_bytes.to_le_bytes());
        out.extend((self.flags | numbers.flags).to_le_bytes());
        out.extend([0; 8]);
        out.extend(numbers.decompressed_bytes.to_le_bytes());
        out.extend(&tail.bytes);
    }
}

fn scope_flag(arch: Option<Arch>) -> u64 {
    match arch.map(Arch::scope) {
        Some(Scope::Specific) => FLAG_SPECIFIC,
        Some(Scope::Family) => FLAG_FAMILY,
        Some(Scope::Plain) | None => 0,
    }
}

/// Sizes, and the flags that depend on the payload.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Numbers {
    pub(super) header_bytes: u32,
    pub(super) payload_bytes: u64,
    pub(super) compressed_bytes: u32,
    pub(super) flags: u64,
    pub(super) decompressed_bytes: u64,
}

/// What follows the fixed part of a header.
#[derive(Clone, Debug, Default)]
pub(super) struct Tail {
    pub(super) ident_at: u32,
    pub(super) ident_bytes: u32,
    pub(super) extra_at: u32,
    pub(super) bytes: Vec<u8>,
}

/// A payload as it is stored, padded to eight bytes.
pub(super) struct Payload {
    pub(super) bytes: Vec<u8>,
    pub(super) flags: u64,
    pub(super) compressed_bytes: u32,
    pub(super) decompressed_bytes: u64,
}

impl Payload {
    pub(super) fn of(content: &[u8], compression: Compression) -> Result<Self, WriteError> {
        /// The level at which compressing costs little; readers do not care.
        const LEVEL: i32 = 1;
        let (flags, mut bytes) = match compression {
            Compression::None => (0, content.to_vec()),
            Compression::Lz4 => (FLAG_LZ4, lz4_flex::block::compress(content)),
            Compression::Zstd => {
                let compressed = zstd::bulk::compress(content, LEVEL);
                let compressed = compressed.map_err(|error| WriteError::Compression {
                    what: "an image",
                    reason: error.to_string(),
                })?;
                (FLAG_ZSTD, compressed)
            }
        };
        let is_compressed = flags != 0;
        let stored: u32 = if is_compressed {
            field("a compressed image", bytes.len() as u64)?
        } else {
            0
        };
        pad(&mut bytes, 8);
        Ok(Self {
            bytes,
            flags,
            compressed_bytes: stored,
            decompressed_bytes: if is_compressed { content.len() as u64 } else { 0 },
        })
    }
}

/// The header of a concat container: no architecture, version 0.1.
pub(super) fn container_header(numbers: &Numbers, tail: &Tail) -> Vec<u8> {
    /// Kind number of a container.
    const CONCAT: u16 = 0x100;
    let container = Entry::new(CONCAT, None, (0, 1), Vec::new()).flags(FLAG_LINUX);
    let mut header = Vec::new();
    container.write_header(&mut header, numbers, tail);
    header
}
