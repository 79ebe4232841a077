//! Printers: functions from a report to a writer.

mod demangle;
mod github;
mod human;
mod json;
mod markdown;
mod rows;
mod sarif;
mod units;
mod verdict;

pub use github::github;
pub use human::{HumanOptions, human};
pub use json::{JsonEvaluation, JsonTotals, Mnemonics, json, json_schema};
pub use markdown::markdown;
pub use sarif::sarif;
pub use units::{bytes, count, signed_bytes};
pub use verdict::verdict;
