//! Printers: functions from a report to a writer.

mod demangle;
mod diff;
mod files;
mod github;
mod html;
mod human;
mod json;
mod kernels;
mod markdown;
mod resolve;
mod rows;
mod sarif;
mod table;
mod units;
mod verdict;

pub(crate) use demangle::demangled;
pub use diff::{DiffOptions, diff_human, diff_json, diff_json_schema};
pub use github::github;
pub use html::{HtmlOptions, html};
pub use human::{HumanOptions, human};
pub use json::{JsonEvaluation, JsonTotals, Mnemonics, json, json_schema};
pub use markdown::markdown;
pub use resolve::{ResolveOptions, devices, resolve_human, resolve_json, resolve_json_schema};
pub use sarif::sarif;
pub use units::{bytes, count, signed_bytes};
pub use verdict::verdict;
