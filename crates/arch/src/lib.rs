//! GPU architectures as values: names, list dialects, toolkits and gates.
//!
//! A target such as `sm_121a` is an [`Arch`]: a compute capability and a [`Scope`]. It is never an integer
//! (which loses the suffix) and never a string (which has five spellings). There is no order on
//! architectures, because "greater" answers no question about what runs where.
#![forbid(unsafe_code)]

mod arch;
mod combos;
mod device;
pub mod devices;
pub mod diagnostics;
pub mod dialect;
mod evidence;
pub mod gates;
mod parse;
pub mod ptx_isa;
pub mod toolkits;
mod version;

pub use arch::{Arch, CodeKind, DisplayKey, Scope};
pub use combos::{COMBOS, ComboRow, forbidden_pair};
pub use device::{Device, FAMILIES, FamilyRow, Open, RunsOn, Selection, Why, WhyNot, select};
pub use evidence::Evidence;
pub use parse::{ArchError, ArchProblem, SpelledArch, Spelling, Target};
pub use version::{ToolkitRequirement, ToolkitVersion, VersionError};
