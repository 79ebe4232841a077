//! Why a text is not an expectation.

use std::fmt;
use std::ops::Range;

/// What should have stood at a place of an expectation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expected {
    /// One of the subjects.
    Subject,
    /// `(` after a subject.
    OpeningParenthesis,
    /// `)` that ends what the subject is about.
    ClosingParenthesis,
    /// An architecture, perhaps with `*`.
    Architecture,
    /// A regular expression; the reason why it is none.
    Regex(String),
    /// One of `== != < <= > >=`.
    Operator,
    /// A count.
    Count,
    /// A size in bytes.
    Bytes,
    /// Nothing more, or ` in MEMBER-GLOB`.
    EndOrMember,
    /// Nothing more.
    End,
    /// A glob over member names; the reason why it is none.
    Glob(String),
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Subject => f.write_str(
                "one of `cubins(ARCH)`, `ptx(ARCH)`, `images(ARCH)`, `sass(REGEX)`, `ptx_text(REGEX)`, `size`",
            ),
            Self::OpeningParenthesis => f.write_str("`(`"),
            Self::ClosingParenthesis => f.write_str("`)`"),
            Self::Architecture => f.write_str("an architecture such as `sm_121a` or `sm_12*a`"),
            Self::Regex(reason) => write!(f, "a regular expression ({reason})"),
            Self::Operator => f.write_str("one of `==`, `!=`, `<`, `<=`, `>`, `>=`"),
            Self::Count => f.write_str("a count such as `1`"),
            Self::Bytes => f.write_str("a size such as `4096`, `512 KiB` or `1 MiB`"),
            Self::EndOrMember => f.write_str("the end, or ` in MEMBER-GLOB`"),
            Self::End => f.write_str("the end"),
            Self::Glob(reason) => write!(f, "a glob over member names ({reason})"),
        }
    }
}

/// A text that is not an expectation: where it goes wrong, and what should have stood there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected}, found {}", Found(found))]
pub struct ExpectationError {
    expected: Expected,
    found: String,
    span: (usize, usize),
}

impl ExpectationError {
    pub(crate) fn new(text: &str, span: Range<usize>, expected: Expected) -> Self {
        Self {
            expected,
            found: text.get(span.clone()).unwrap_or_default().to_owned(),
            span: (span.start, span.end),
        }
    }

    /// What should have stood there.
    pub fn expected(&self) -> &Expected {
        &self.expected
    }

    /// What stood there; empty at the end of the text.
    pub fn found(&self) -> &str {
        &self.found
    }

    /// The bytes of the text that are wrong; empty, at its end, where something is missing.
    pub fn span(&self) -> Range<usize> {
        self.span.0..self.span.1
    }
}

struct Found<'a>(&'a str);

impl fmt::Display for Found<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            f.write_str("the end")
        } else {
            write!(f, "`{}`", self.0)
        }
    }
}
