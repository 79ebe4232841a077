//! Zero-copy reader of CUDA fat binaries, cubins and PTX.
//!
//! [`read`] walks a file (ELF host file, archive, raw fat binary, cubin or PTX) and lists its images from their
//! headers alone. [`Image::inspect`] decompresses one image and says for which architecture it is, by which
//! evidence, which kernels it has and which instructions they are made of. Images are independent of each other.
//!
//! Nothing here does I/O, and nothing is trusted: every size is held against the file and against [`Limits`], and
//! every [`Error`] and [`Defect`] says member, absolute offset, what was expected and what was found.
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
mod view;
#[cfg(feature = "write")]
pub mod write;

pub use artifact::{Artifact, DeviceCode, ExternalMember, FileFormat, Member, read};
pub use blockgate_findings::Severity;
pub use cubin::{CodeSection, Cubin};
pub use error::{Defect, Error, Place};
pub use image::{Compression, Container, Image, ImageKind};
pub use inspect::{ArchEvidence, InspectOptions, Inspection, Kernel, SassDetail};
pub use limits::Limits;
pub use ptx::PtxFacts;
pub use rules::{DEFECT_RULES, DefectRule};
pub use sass::{Histogram, can_name, converts_to_e2m1};
