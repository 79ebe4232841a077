//! Printers: functions from a report to a writer.

mod demangle;
mod diff;
mod files;
mod html;
mod human;
mod json;
mod kernels;
mod resolve;
mod units;

pub(crate) use demangle::demangled;
pub use diff::{DiffOptions, diff_human, diff_json, diff_json_schema};
pub use html::{HtmlOptions, html};
pub use human::{HumanOptions, human};
pub use json::{JsonEvaluation, JsonTotals, Mnemonics, json, json_schema};
pub use resolve::{ResolveOptions, devices, resolve_human, resolve_json, resolve_json_schema};
pub use units::{bytes, count, signed_bytes};
