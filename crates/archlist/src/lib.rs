//! Architecture list files: their model, validation, and the rule for lists that ship.
//!
//! A list says for which architectures the kernels are compiled, why, and what must be found in the result.
//! [`parse`] reads one file and checks what it can by itself; [`check_set`] checks lists against each other;
//! [`ArchList::check_sources`] and [`ArchList::check_toolkit`] against the sources and toolkit at hand.
//! Nothing is built from a list with findings.
#![forbid(unsafe_code)]

mod check;
mod keys;
mod model;

mod read;
mod rules;
mod set;
mod ships;

pub use model::{ArchList, ExpectedFailure, PerSource, Places, SameCode, SourceSet, Span};
pub use read::parse;
pub use set::{build_order, check_set};
