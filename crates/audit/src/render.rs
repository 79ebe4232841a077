//! Printers: functions from a report to a writer.

mod demangle;
mod html;
mod human;
mod json;
mod units;

pub use html::{HtmlOptions, html};
pub use human::{HumanOptions, human};
pub use json::{JsonEvaluation, JsonTotals, Mnemonics, json, json_schema};
pub use units::{bytes, count, signed_bytes};
