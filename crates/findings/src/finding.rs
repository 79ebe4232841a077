//! A finding and the fix that it may offer.

use std::fmt;

use crate::Location;

/// How much a finding matters. Errors fail a run; warnings do with `--strict`; the rest informs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing; never fails a run.
    Info,
    /// Probably wrong; fails a run under `--strict`.
    Warning,
    /// Wrong; fails a run.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

/// One thing that a rule found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The rule's id, in kebab case.
    pub rule: &'static str,
    /// How much it matters here.
    pub severity: Severity,
    /// One sentence for a person.
    pub message: String,
    /// Where it is.
    pub location: Location,
    /// Further sentences: why, what would help, where a value came from.
    pub notes: Vec<String>,
    /// A change that removes the finding, where one is known.
    pub fix: Option<Fix>,
}

/// A change of text that removes a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// What the change does, in a few words.
    pub title: String,
    /// The edits, not overlapping, all in the finding's file.
    pub edits: Vec<Edit>,
}

/// Replace a byte span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// First byte that is replaced.
    pub start_byte: usize,
    /// One past the last byte that is replaced.
    pub end_byte: usize,
    /// What stands there afterwards.
    pub replacement: String,
}
