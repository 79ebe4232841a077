//! What an input holds: members, images, defects.

use std::sync::Arc;

use blockgate_findings::Severity;

use crate::error::{Defect, Defects, Error};
use crate::image::Position;
use crate::image::{Image, ImageKind};
use crate::view::{View, first_bytes};
use crate::{Limits, archive, host, ptx, region};

/// An input, read as far as headers go. Nothing is decompressed yet.
#[derive(Debug)]
#[non_exhaustive]
pub struct Artifact<'a> {
    /// What kind of file it is.
    pub format: FileFormat,
    /// The members of an archive, or the files in a universal file (named by processor, such as `arm64`), in file
    /// order; otherwise one, without a name, which is the whole file.
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
    /// A 64-bit or 32-bit Windows executable.
    PeExecutable,
    /// A Windows library.
    PeDll,
    /// A Windows object.
    CoffObject,
    /// The stub of an import library that stands for a function of a Windows library. It has no code of its own.
    CoffImport,
    /// A macOS object.
    MachOObject,
    /// A macOS executable.
    MachOExecutable,
    /// A macOS shared library, or a bundle.
    MachOShared,
    /// Several macOS files in one, each for another processor; they are the members.
    MachOUniversal,
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
            Self::PeExecutable => "pe-executable",
            Self::PeDll => "pe-dll",
            Self::CoffObject => "coff-object",
            Self::CoffImport => "coff-import",
            Self::MachOObject => "mach-o-object",
            Self::MachOExecutable => "mach-o-executable",
            Self::MachOShared => "mach-o-shared",
            Self::MachOUniversal => "mach-o-universal",
            Self::Archive => "archive",
            Self::ThinArchive => "thin-archive",
            Self::Fatbin => "fatbin",
            Self::Cubin => "cubin",
            Self::Ptx => "ptx",
        }
    }

    /// Whether a linker made it, so that nothing will be added.
    pub(crate) const fn is_linked(self) -> bool {
        matches!(
            self,
            Self::ElfExecutable
                | Self::ElfShared
                | Self::PeExecutable
                | Self::PeDll
                | Self::MachOExecutable
                | Self::MachOShared
        )
    }
}

/// A member of an archive or of a universal file, or the whole file.
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
    /// None, but CUDA source text that NVRTC compiles when the program runs. An empty listing of such a file says
    /// nothing about what it does on a GPU.
    ///
    /// The evidence, which is only looked for where there is no image and no error:
    /// - the file is linked with the library: `DT_NEEDED` of ELF, an (ordinary or delayed) import of PE, a load command
    ///   of Mach-O names `libnvrtc.*` or `nvrtc64_*`;
    /// - or it has an undefined symbol `nvrtc` with a capital behind it (ELF, COFF and Mach-O);
    /// - or its data hold the definition of a kernel, `__global__ void` and the like; of a linked file only where the
    ///   data hold the name `nvrtcCompileProgram` as well, by which it finds the function.
    ///
    /// The defect `compiled-at-run-time` says which one and where.
    NvrtcOnly,
    /// None, and no sign of any that is made when the program runs.
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
            Self::NvrtcOnly => "nvrtc-only",
            Self::None => "none",
            Self::Unreadable => "unreadable",
        }
    }

    fn of(images: &[Image<'_>], unreadable: bool, compiled_at_run_time: bool) -> Self {
        let has = |kind| images.iter().any(|image| image.kind == kind);
        if has(ImageKind::Cubin) {
            Self::Present
        } else if has(ImageKind::Ptx) {
            Self::PtxOnly
        } else if has(ImageKind::LtoIr) {
            Self::LtoOnly
        } else if unreadable || !images.is_empty() {
            Self::Unreadable
        } else if compiled_at_run_time {
            Self::NvrtcOnly
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
/// When nothing can be said: the file is of no known format, or its headers are damaged.
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
    if let Some(universal) = host::Universal::recognise(bytes) {
        host::read_universal(&mut reader, &view, universal)?;
        return Ok(reader.finish(FileFormat::MachOUniversal));
    }
    let format = reader.read_member(&view)?;
    Ok(reader.finish(format))
}

/// What the content of a member is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Content {
    pub(crate) format: FileFormat,
    /// Whether it holds no device code and there are signs that it compiles some when it runs.
    pub(crate) compiled_at_run_time: bool,
}

impl From<FileFormat> for Content {
    fn from(format: FileFormat) -> Self {
        Self {
            format,
            compiled_at_run_time: false,
        }
    }
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
        let content = self.read_content(view)?;
        let unreadable = self.errors > errors_before;
        let images = self.images.get(first_image..).unwrap_or_default();
        let device_code = DeviceCode::of(images, unreadable, content.compiled_at_run_time);
        self.add_member(view, device_code);
        Ok(content.format)
    }

    pub(crate) fn add_member(&mut self, view: &View<'a>, device_code: DeviceCode) {
        self.members.push(Member {
            name: view.member().cloned(),
            offset: view.place(0).offset,
            data: view.bytes(),
            device_code,
        });
    }

    /// How many defects of severity error there are so far.
    pub(crate) fn errors(&self) -> usize {
        self.errors
    }

    fn read_content(&mut self, view: &View<'a>) -> Result<Content, Error> {
        let bytes = view.bytes();
        if bytes.starts_with(&region::MAGIC) {
            region::read(self, view, &Position::default());
            return Ok(FileFormat::Fatbin.into());
        }
        if let Some(format) = host::recognise(bytes) {
            return host::read(self, view, format);
        }
        if ptx::looks_like_ptx(bytes) {
            self.images.push(Image::bare(view, ImageKind::Ptx));
            return Ok(FileFormat::Ptx.into());
        }
        Err(view.error(
            0,
            "an ELF, PE, COFF or Mach-O file, an archive, a fat binary (50 ed 55 ba), a cubin or PTX text",
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
const FOREIGN: [(&[u8], &str); 17] = [
    (b"MZ", "a DOS program"),
    (
        &[0x00, 0x00, 0xff, 0xff],
        "an anonymous object, as link-time code generation (/GL) makes",
    ),
    (
        &[0xca, 0xfe, 0xba, 0xbe],
        "a Java class or a Mach-O universal file within another file",
    ),
    (
        &[0xca, 0xfe, 0xba, 0xbf],
        "a Mach-O universal file within another file",
    ),
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
