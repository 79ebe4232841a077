//! Printers: functions from a report to a writer.

mod demangle;
mod files;
mod human;
mod json;
mod kernels;
mod units;

pub use human::{HumanOptions, human};
pub use json::{JsonEvaluation, JsonTotals, Mnemonics, json, json_schema};
pub use units::{bytes, count, signed_bytes};
