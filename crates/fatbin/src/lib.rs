//! Zero-copy reader of CUDA fat binaries, cubins and PTX.
#![forbid(unsafe_code)]

mod archive;
mod artifact;
mod concat;
mod elf;
mod entry;
mod error;
mod host;
mod image;
mod limits;
mod ptx;
mod region;
mod view;

pub use artifact::{Artifact, DeviceCode, ExternalMember, FileFormat, Member, read};
pub use error::{Defect, DefectSeverity, Error, Place};
pub use image::{Compression, Container, Image, ImageKind};
pub use limits::Limits;
