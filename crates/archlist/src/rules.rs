//! The rules that a list can break, and findings about them.

use std::ops::Range;

use blockgate_findings::{Finding, Location, Severity, TextPlace, line_column};
use blockgate_yaml::ReaderRules;

/// A list is one YAML document.
pub(crate) const YAML: &str = "list-yaml";
/// A list has only the keys that mean something.
pub(crate) const UNKNOWN_KEY: &str = "list-unknown-key";
/// A key appears once.
pub(crate) const DUPLICATE_KEY: &str = "list-duplicate-key";
/// A list says why it exists, whether it ships, and for which architectures it is built.
pub(crate) const MISSING_KEY: &str = "list-missing-key";
/// A value is of the kind that its key wants.
pub(crate) const VALUE: &str = "list-value";
/// An architecture exists, and the toolkit in use knows it.
pub(crate) const TARGET: &str = "list-target";
/// An image is asked for once.
pub(crate) const DUPLICATE_TARGET: &str = "list-duplicate-target";
/// nvcc refuses some architectures together.
pub(crate) const COMBINATION: &str = "list-combination";
/// Some toolkit satisfies the list's requirement and knows its architectures.
pub(crate) const TOOLKIT: &str = "list-toolkit";
/// An expectation is a sentence of the grammar.
pub(crate) const EXPECTATION: &str = "list-expectation";
/// `per_source` names sources that are built.
pub(crate) const SOURCE: &str = "list-source";
/// A baseline is another list that is built, and the chain of baselines ends.
pub(crate) const BASELINE: &str = "list-baseline";
/// A list that ships plain Blackwell code also ships the architecture-specific image, and expects its converter.
pub(crate) const SHIPS: &str = "list-ships-without-converter";

/// What the reader of the document itself reports.
pub(crate) const READER: ReaderRules = ReaderRules {
    unknown_key: UNKNOWN_KEY,
    duplicate_key: DUPLICATE_KEY,
    value: VALUE,
};

/// An error about `span` of `text`.
pub(crate) fn finding(
    rule: &'static str,
    path: &str,
    text: &str,
    span: &Range<usize>,
    message: impl Into<String>,
) -> Finding {
    Finding {
        rule,
        severity: Severity::Error,
        message: message.into(),
        location: Location::Text(TextPlace {
            path: path.to_owned(),
            start_byte: span.start,
            end_byte: span.end,
            at: line_column(text, span.start),
        }),
        notes: Vec::new(),
        fix: None,
    }
}

/// The finding with one more note.
pub(crate) fn noted(mut finding: Finding, note: impl Into<String>) -> Finding {
    finding.notes.push(note.into());
    finding
}
