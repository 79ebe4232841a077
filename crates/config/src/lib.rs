//! `blockgate.yaml`: what a project demands of its artifacts, how much each rule matters to it, and what it waives.
//!
//! [`parse`] turns text into a [`Config`] in which every demand knows its line. The rules themselves belong to those
//! who check them: their ids come in as data. The `lint` part is the linter's and is not looked into here.
#![forbid(unsafe_code)]

mod model;
mod read;
mod rules;

pub use model::{
    ArtifactPolicy, AuditPolicy, Config, FILE_NAMES, KnownRules, Level, Placed, RuleLevel, Waiver,
};
pub use read::parse;
pub use rules::CONFIG_RULES;
