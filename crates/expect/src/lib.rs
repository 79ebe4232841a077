//! The expectation grammar: what an artifact must hold.
//!
//! One sentence of the grammar is an [`Expectation`]. The same text means the same thing on a command line,
//! in an architecture list and in a project's configuration:
//!
//! ```text
//! cubins(ARCH) OP N        machine-code images for ARCH
//! ptx(ARCH) OP N           PTX images for ARCH
//! images(ARCH) OP N        both
//! sass(REGEX)[@ARCH] OP N  instructions whose mnemonic the expression finds, on ARCH or everywhere
//! ptx_text(REGEX) OP N     places in PTX text that the expression finds
//! size OP BYTES            the artifact itself
//! … in MEMBER-GLOB         the same, in members of that name only
//! ```
//!
//! This crate says what is expected; counting is the business of whoever reads artifacts.
#![forbid(unsafe_code)]

mod arch_pattern;
mod bytes;
mod error;
mod expectation;
mod op;
mod parse;
mod pattern;

pub use arch_pattern::ArchPattern;
pub use bytes::ByteCount;
pub use error::{ExpectationError, Expected};
pub use expectation::{Expectation, Subject};
pub use op::{Op, SizeBound};
pub use pattern::{Glob, Pattern};
