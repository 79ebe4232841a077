//! Zero-copy reader of CUDA fat binaries, cubins and PTX.
//!
//! [`read`] walks a file (ELF, PE, COFF or Mach-O host file, archive, raw fat binary, cubin or PTX) and lists its images from their
//! headers alone. [`Image::inspect`] decompresses one image and says for which architecture it is, by which
//! evidence, which kernels it has and which instructions they are made of. Images are independent of each other.
//!
//! Nothing here does I/O, and nothing is trusted: every size is held against the file and against [`Limits`], and
//! every [`Error`] and [`Defect`] says member, absolute offset, what was expected and what was found.
//!
//! ```
//! use blockgate_fatbin::{ImageKind, InspectOptions, Limits, read};
//!
//! # let bytes = blockgate_fatbin::write::Ptx::new("sm_121a".parse::<blockgate_arch::SpelledArch>()?.arch, (9, 0)).text();
//! # let bytes = bytes.as_bytes();
//! // `bytes` is the content of a file, mapped or read by whoever may open files.
//! let limits = Limits::default();
//! let artifact = read(bytes, &limits)?;
//! for image in &artifact.images {
//!     let inspection = image.inspect(&limits, &InspectOptions::default())?;
//!     println!("{} for {}, {} kernels", image.kind.as_str(), inspection.arch, inspection.kernels.len());
//! }
//! // What could not be read may hold more: an empty list alone is no answer.
//! assert!(artifact.defects.is_empty());
//! # assert_eq!(artifact.images[0].kind, ImageKind::Ptx);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Where to look
//!
//! | to find out | use |
//! |---|---|
//! | what kind of file it is, and which members and images it has | [`read`], [`Artifact`], [`Image`] |
//! | for which architecture an image is, by which evidence | [`Image::inspect`], [`Inspection`], [`ArchEvidence`] |
//! | which instructions it is made of | [`Inspection::sass`], [`Kernel::sass`], [`Histogram`] |
//! | what a PTX text says of itself | [`Inspection::ptx`], [`PtxFacts`] |
//! | the machine code itself | [`Image::decode`], [`Cubin`] |
//! | what is wrong, and how much that matters | [`Error`], [`Defect`], [`DEFECT_RULES`] |
//! | how much an input may cost | [`Limits`] |
//!
//! # Features and platforms
//!
//! `write` adds the module of the same name, which makes such files; it needs no further dependency.
//!
//! The crate needs `std`: the zstd decoder is a C library with a binding that uses it, payloads that several images share
//! are behind a `Mutex`, and tables are made once behind a `LazyLock`. Beyond these three it asks for an allocator only,
//! and it works on any platform that the decoder compiles for. All integers of the formats are read as little-endian,
//! whatever the platform's own order is.
//!
//! # Stability
//!
//! The public API is recorded, and a change that breaks users needs the version for it. What will grow (the facts about
//! files, images and kernels, and the lists of formats, states and errors) is `#[non_exhaustive]`. Rules of defects may
//! be added at any time.
#![forbid(unsafe_code)]

mod archive;
mod artifact;
mod concat;
mod cubin;
mod elf;
mod entry;
mod error;
mod host;
mod image;
mod inspect;
mod limits;
mod names;
mod ptx;
mod region;
mod rules;
mod sass;
mod scratch;
mod view;
#[cfg(feature = "write")]
pub mod write;

pub use artifact::{Artifact, DeviceCode, ExternalMember, FileFormat, Member, read};
pub use blockgate_findings::Severity;
pub use cubin::{CodeSection, ConstantBank, Cubin, CudaNote, ModuleResources, Resources, Spills, Tool};
pub use error::{Defect, Error, Place};
pub use host::is_device_section;
pub use image::{Compression, Container, Image, ImageKind};
pub use inspect::{ArchEvidence, Content, InspectOptions, Inspection, Kernel, SassDetail};
pub use limits::Limits;
pub use ptx::PtxFacts;
pub use rules::{DEFECT_RULES, DefectRule};
pub use sass::{Histogram, NOT_A_MNEMONIC, WITH_MODIFIERS, can_name, converts_to_e2m1, count_code};
pub use scratch::Scratch;
