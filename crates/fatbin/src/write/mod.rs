//! Writes what this crate reads: regions and entries, cubins, PTX, host objects and archives.
//!
//! The layouts are those of the toolkits (CUDA 11.8 to 13.5), so that tests need no vendor's bytes and fuzzers have a
//! generator. What is written is well formed for a reader; it is not meant to be loaded by a driver. Nothing here does
//! I/O: every `build` gives bytes.
//!
//! ```
//! use blockgate_arch::{Arch, Scope, ToolkitVersion};
//! use blockgate_fatbin::write::{Cubin, Entry, Kernel, Region, instruction};
//! use blockgate_fatbin::{Compression, InspectOptions, Limits, read};
//!
//! let arch = Arch::new(12, 1, Scope::Specific);
//! let kernel = Kernel::new("scale", [instruction(0x221), instruction(0x94d)]);
//! let cubin = Cubin::new(arch, ToolkitVersion::new(13, 0)).kernel(kernel).build()?;
//! let entry = Entry::cubin(arch, cubin).compression(Compression::Zstd);
//! let fatbin = Region::new().entry(entry).build()?;
//!
//! let artifact = read(&fatbin, &Limits::default())?;
//! let image = artifact.images[0].inspect(&Limits::default(), &InspectOptions::default())?;
//! assert_eq!(image.arch, arch);
//! assert_eq!(image.sass.get("FADD"), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod archive;
mod cubin;
mod elf;
mod entry;
mod host;
mod ptx;
mod region;

pub use archive::{Archive, MemberNames};
pub use cubin::{Cubin, Instruction, Kernel, instruction};
pub use entry::{Entry, HostSystem};
pub use host::{HostKind, HostObject};
pub use ptx::Ptx;
pub use region::{Concat, Region};

/// Something that has no place in the format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// A size or number is larger than its field.
    #[error("{what}: {value:#x} does not fit into {bits} bits")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// Its value.
        value: u64,
        /// The width of the field.
        bits: usize,
    },
    /// The compressor refused.
    #[error("{what} cannot be compressed: {reason}")]
    Compression {
        /// What should have been compressed.
        what: &'static str,
        /// What the compressor says.
        reason: String,
    },
}

/// `value` as a field of 8, 16 or 32 bits.
fn field<T: TryFrom<u64>>(what: &'static str, value: u64) -> Result<T, WriteError> {
    T::try_from(value).map_err(|_| WriteError::TooLarge {
        what,
        value,
        bits: 8 * size_of::<T>(),
    })
}

/// Appends zeros up to the next multiple of `alignment`.
fn pad(bytes: &mut Vec<u8>, alignment: usize) {
    bytes.resize(bytes.len().next_multiple_of(alignment), 0);
}
