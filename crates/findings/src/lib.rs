//! What a check found: rule, severity, place, notes, and the exit status that follows from it.
//!
//! This crate knows no rule. A rule makes a [`Finding`]; a renderer shows it; [`ExitStatus`] sums up.
#![forbid(unsafe_code)]

mod exit;
mod finding;
mod location;
mod nearest;
pub mod render;
mod rule;

pub use exit::ExitStatus;
pub use finding::{Edit, Finding, Fix, Severity};
pub use location::{ArtifactPlace, LineColumn, Location, TextPlace, line_column};
pub use nearest::nearest;
pub use rule::RuleInfo;
