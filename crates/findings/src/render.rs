//! Renderers: functions from findings to a writer or to a value. None of them knows a rule.

mod human;
#[cfg(feature = "json")]
pub mod json;

pub use human::{Palette, human, printable};
