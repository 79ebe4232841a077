//! The rules that a list can break, and findings about them.

use std::ops::Range;

use blockgate_findings::{Finding, Location, Severity, TextPlace, line_column};

pub(crate) const YAML: &str = "list-yaml";
pub(crate) const UNKNOWN_KEY: &str = "list-unknown-key";
pub(crate) const DUPLICATE_KEY: &str = "list-duplicate-key";
pub(crate) const MISSING_KEY: &str = "list-missing-key";
pub(crate) const VALUE: &str = "list-value";
pub(crate) const TARGET: &str = "list-target";
pub(crate) const DUPLICATE_TARGET: &str = "list-duplicate-target";
pub(crate) const COMBINATION: &str = "list-combination";
pub(crate) const TOOLKIT: &str = "list-toolkit";
pub(crate) const EXPECTATION: &str = "list-expectation";
pub(crate) const SOURCE: &str = "list-source";
pub(crate) const BASELINE: &str = "list-baseline";
pub(crate) const SHIPS: &str = "list-ships-without-converter";

/// Every rule with one sentence about what it demands.
pub const RULES: [(&str, &str); 13] = [
    (YAML, "A list is one YAML document."),
    (UNKNOWN_KEY, "A list has only the keys that mean something."),
    (DUPLICATE_KEY, "A key appears once."),
    (
        MISSING_KEY,
        "A list says why it exists, whether it ships, and for which architectures it is built.",
    ),
    (VALUE, "A value is of the kind that its key wants."),
    (TARGET, "An architecture exists, and the toolkit in use knows it."),
    (DUPLICATE_TARGET, "An image is asked for once."),
    (COMBINATION, "nvcc refuses some architectures together."),
    (
        TOOLKIT,
        "Some toolkit satisfies the list's requirement and knows its architectures.",
    ),
    (EXPECTATION, "An expectation is a sentence of the grammar."),
    (SOURCE, "`per_source` names sources that are built."),
    (
        BASELINE,
        "A baseline is another list that is built, and the chain of baselines ends.",
    ),
    (
        SHIPS,
        "A list that ships plain Blackwell code also ships the architecture-specific image, and expects its converter.",
    ),
];

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
