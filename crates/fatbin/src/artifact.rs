//! What an input holds: members, images, defects.

use std::sync::Arc;

use blockgate_findings::Severity;

use crate::error::{Defect, Defects, Error};
use crate::image::{Image, ImageKind};
use crate::view::{View, first_bytes};
use crate::{Limits, archive, host, ptx, region};

/// An input, read as far as headers go. Nothing is decompressed yet.
#[derive(Debug)]
#[non_exhaustive]
pub struct Artifact<'a> {
    /// What kind of file it is.
    pub format: FileFormat,
    /// The members of an archive, in file order; otherwise one, without a name, which is the whole file.
    pub members: Vec<Member<'a>>,
    /// Members of a thin archive, which lie in files of their own.
    pub external: Vec<ExternalMember>,
    /// Every image, in file order.
    pub images: Vec<Image<'a>>,
    /// What is wrong in a file that could be read in part or in whole.
    pub defects: Vec<Defect>,
    /// Bytes of device sections, or of a raw fat binary, that belong to no header, no image and no zero padding.
    pub unattributed_bytes: u64,
}

/// What kind of file an input is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FileFormat {
    /// An ELF object.
    ElfRelocatable,
    /// An ELF executable, position-independent or not.
    ElfExecutable,
    /// An ELF shared object.
    ElfShared,
    /// An archive with its members in it.
    Archive,
    /// An archive that names its members' files.
    ThinArchive,
    /// A raw fat binary: regions from the first byte on.
    Fatbin,
    /// Machine code alone: an ELF file for CUDA.
    Cubin,
    /// PTX text.
    Ptx,
}

impl FileFormat {
    /// The name in machine output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ElfRelocatable => "elf-relocatable",
            Self::ElfExecutable => "elf-executable",
            Self::ElfShared => "elf-shared",
            Self::Archive => "archive",
            Self::ThinArchive => "thin-archive",
            Self::Fatbin => "fatbin",
            Self::Cubin => "cubin",
            Self::Ptx => "ptx",
        }
    }
}

/// A member of an archive, or the whole file.
#[derive(Clone, Debug)]
pub struct Member<'a> {
    /// The name in the archive; `None` for the whole file. Two members may have one name.
    pub name: Option<Arc<str>>,
    /// Where its content starts in the file, in bytes.
    pub offset: u64,
    /// Its content.
    pub data: &'a [u8],
    /// What device code it holds.
    pub device_code: DeviceCode,
}

/// What device code a member holds, by its entry headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DeviceCode {
    /// Machine code, whatever else.
    Present,
    /// PTX and no machine code.
    PtxOnly,
    /// LTO intermediate code alone, which a later link compiles.
    LtoOnly,
    /// None.
    None,
    /// It could not be read, or is of kinds that this crate does not know.
    Unreadable,
}

impl DeviceCode {
    /// The name in machine output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Present => "present",
            Self::PtxOnly => "ptx-only",
            Self::LtoOnly => "lto-only",
            Self::None => "none",
            Self::Unreadable => "unreadable",
        }
    }

    fn of(images: &[Image<'_>], unreadable: bool) -> Self {
        let has = |kind| images.iter().any(|image| image.kind == kind);
        if has(ImageKind::Cubin) {
            Self::Present
        } else if has(ImageKind::Ptx) {
            Self::PtxOnly
        } else if has(ImageKind::LtoIr) {
            Self::LtoOnly
        } else if unreadable || !images.is_empty() {
            Self::Unreadable
        } else {
            Self::None
        }
    }
}

/// A member of a thin archive. Whoever may open files reads it on its own.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExternalMember {
    /// The path that the archive names, relative to the archive's folder unless absolute.
    pub path: String,
    /// Where the member's header is in the archive, in bytes.
    pub offset: u64,
}

/// Reads `bytes`: what kind of file it is, which members and images it holds, what is wrong with it.
///
/// Only headers are looked at, so this costs next to nothing per image. A part that cannot be read becomes a
/// [`Defect`] of severity error, and everything else is kept.
///
/// ```
/// use blockgate_fatbin::{DeviceCode, FileFormat, Limits, read};
/// # use blockgate_fatbin::write::{HostKind, HostObject, Region};
/// # let bytes = HostObject::new(HostKind::Relocatable).linked(Region::new().build()?).build()?;
///
/// let artifact = read(&bytes, &Limits::default())?;
/// assert_eq!(artifact.format, FileFormat::ElfRelocatable);
/// // It was read in full, and there is nothing in it.
/// assert_eq!(artifact.members[0].device_code, DeviceCode::None);
///
/// let error = read(b"PK\x03\x04", &Limits::default()).unwrap_err();
/// assert_eq!(error.offset(), 0);
/// assert!(error.found().starts_with("a zip file"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// When nothing can be said: the file is of no known format, or an ELF file has no section table.
pub fn read<'a>(bytes: &'a [u8], limits: &Limits) -> Result<Artifact<'a>, Error> {
    let view = View::new(bytes, None, 0);
    let mut reader = Reader::new(limits);
    if let Some(thin) = archive::recognise(bytes) {
        archive::read(&mut reader, &view, thin, archive::Depth::Outer);
        let format = if thin {
            FileFormat::ThinArchive
        } else {
            FileFormat::Archive
        };
        return Ok(reader.finish(format));
    }
    let format = reader.read_member(&view)?;
    Ok(reader.finish(format))
}

/// Collects what the parts of the reader find, and holds it against the caps.
pub(crate) struct Reader<'a, 'l> {
    pub(crate) limits: &'l Limits,
    pub(crate) members: Vec<Member<'a>>,
    pub(crate) external: Vec<ExternalMember>,
    pub(crate) images: Vec<Image<'a>>,
    pub(crate) unattributed_bytes: u64,
    pub(crate) regions: usize,
    defects: Defects,
    errors: usize,
}

impl<'a, 'l> Reader<'a, 'l> {
    fn new(limits: &'l Limits) -> Self {
        Self {
            limits,
            members: Vec::new(),
            external: Vec::new(),
            images: Vec::new(),
            unattributed_bytes: 0,
            regions: 0,
            defects: Defects::new(limits),
            errors: 0,
        }
    }

    pub(crate) fn defect(&mut self, defect: Defect) {
        self.errors += usize::from(defect.severity == Severity::Error);
        self.defects.push(defect);
    }

    /// Reads the content of one member, which is no archive, and adds the member.
    pub(crate) fn read_member(&mut self, view: &View<'a>) -> Result<FileFormat, Error> {
        let first_image = self.images.len();
        let errors_before = self.errors;
        let format = self.read_content(view)?;
        let unreadable = self.errors > errors_before;
        self.add_member(
            view,
            DeviceCode::of(self.images.get(first_image..).unwrap_or_default(), unreadable),
        );
        Ok(format)
    }

    pub(crate) fn add_member(&mut self, view: &View<'a>, device_code: DeviceCode) {
        self.members.push(Member {
            name: view.member().cloned(),
            offset: view.place(0).offset,
            data: view.bytes(),
            device_code,
        });
    }

    fn read_content(&mut self, view: &View<'a>) -> Result<FileFormat, Error> {
        let bytes = view.bytes();
        if bytes.starts_with(&object::elf::ELFMAG) {
            return host::read(self, view);
        }
        if bytes.starts_with(&region::MAGIC) {
            region::read(self, view, None);
            return Ok(FileFormat::Fatbin);
        }
        if ptx::looks_like_ptx(bytes) {
            self.images.push(Image::bare(view, ImageKind::Ptx));
            return Ok(FileFormat::Ptx);
        }
        Err(view.error(
            0,
            "an ELF file, an archive, a fat binary (50 ed 55 ba), a cubin or PTX text",
            describe(bytes),
        ))
    }

    fn finish(self, format: FileFormat) -> Artifact<'a> {
        Artifact {
            format,
            members: self.members,
            external: self.external,
            images: self.images,
            defects: self.defects.finish(),
            unattributed_bytes: self.unattributed_bytes,
        }
    }
}

/// How a file starts that only stands for another one.
pub(crate) const LFS_POINTER: &[u8] = b"version https://git-lfs";

/// Formats that are known by their first bytes and not read.
const FOREIGN: [(&[u8], &str); 23] = [
    (b"MZ", "a Windows executable (PE)"),
    (&[0x64, 0x86], "a Windows object (COFF)"),
    (&[0x64, 0xaa], "a Windows object (COFF)"),
    (&[0x00, 0x00, 0xff, 0xff], "a Windows object (COFF)"),
    (&[0xcf, 0xfa, 0xed, 0xfe], "a Mach-O file"),
    (&[0xce, 0xfa, 0xed, 0xfe], "a Mach-O file"),
    (&[0xfe, 0xed, 0xfa, 0xcf], "a Mach-O file"),
    (&[0xfe, 0xed, 0xfa, 0xce], "a Mach-O file"),
    (&[0xca, 0xfe, 0xba, 0xbe], "a Mach-O universal file"),
    (&[0xca, 0xfe, 0xba, 0xbf], "a Mach-O universal file"),
    (b"BC\xc0\xde", "LLVM bitcode"),
    (&[0xde, 0xc0, 0x17, 0x0b], "LLVM bitcode"),
    (b"!<arch>\n", "an archive"),
    (b"!<thin>\n", "a thin archive"),
    (b"PK\x03\x04", "a zip file"),
    (&[0x1f, 0x8b], "gzip data"),
    (b"BZh", "bzip2 data"),
    (&[0xfd, b'7', b'z', b'X', b'Z', 0], "xz data"),
    (&[0x28, 0xb5, 0x2f, 0xfd], "a zstd frame"),
    (&[0x04, 0x22, 0x4d, 0x18], "an LZ4 frame"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z file"),
    (b"\0asm", "a WebAssembly file"),
    (LFS_POINTER, "a Git LFS pointer instead of the file"),
];

fn describe(bytes: &[u8]) -> String {
    FOREIGN
        .iter()
        .find(|(magic, _)| bytes.starts_with(magic))
        .map_or_else(
            || first_bytes(bytes),
            |(_, what)| format!("{what}, which is not read here"),
        )
}
