//! Printers: functions from a report to a writer.

mod demangle;
mod human;
mod json;
mod resolve;
mod units;

pub use human::{HumanOptions, human};
pub use json::{JsonEvaluation, JsonTotals, Mnemonics, json, json_schema};
pub use resolve::{ResolveOptions, devices, resolve_human, resolve_json, resolve_json_schema};
pub use units::{bytes, count, signed_bytes};
