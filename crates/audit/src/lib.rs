//! What an artifact ships for GPUs: reads files in parallel, counts what they hold, evaluates expectations.
//!
//! [`audit`] opens paths and gives a [`Report`]; [`render`] turns a report into a table or into versioned
//! JSON through a writer. The crate reads files and never prints.
#![allow(
    clippy::disallowed_methods,
    reason = "audit is a rim crate: it opens the files that it is given"
)]

mod census;
mod evaluate;
mod identical;
mod mapped;
mod policy;
pub mod render;
mod report;
pub mod rules;
mod run;

pub use census::{ArchCount, ByteCount, Totals};
pub use evaluate::{Evaluation, Outcome};
pub use mapped::Bytes;
pub use policy::{Policy, PolicyError};
pub use report::{FileReport, ImageReport, KernelReport, MemberReport, Report, Unchecked, Waived};
pub use run::{NoProgress, Options, Progress, audit};
