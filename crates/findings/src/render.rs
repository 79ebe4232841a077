//! Renderers: functions from findings to a writer or to a value. None of them knows a rule.

pub mod github;
mod human;
#[cfg(feature = "json")]
pub mod json;
pub mod markdown;
#[cfg(feature = "json")]
pub mod sarif;

pub use human::{Palette, human, printable};
