//! What an artifact ships for GPUs: reads files in parallel, counts what they hold, evaluates expectations.
//!
//! [`audit`] opens paths and gives a [`Report`]; [`render`] turns a report into a table or into versioned
//! JSON through a writer. The crate reads files and never prints.
#![allow(
    clippy::disallowed_methods,
    reason = "audit is a rim crate: it opens the files that it is given"
)]

mod census;
pub mod diff;
mod digest;
mod evaluate;
mod identical;
mod input;
mod mapped;
mod modules;
mod open;
mod policy;
pub mod render;
mod report;
pub mod resolve;
pub mod rules;
mod run;
mod scratch;
mod walk;

pub use census::{ArchCount, ByteCount, Totals};
pub use digest::Digest;
pub use evaluate::{Evaluation, Outcome};
pub use mapped::Bytes;
pub use open::PackageLimits;
pub use policy::{Policy, PolicyError};
pub use report::{
    FileReport, ImageReport, KernelReport, MemberReport, PtxTextCount, Report, Unchecked, Waived,
};
pub use run::{NoProgress, Options, Progress, audit, audit_bytes};
