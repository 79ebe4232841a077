//! Why a part of a package is not read.

use std::sync::Arc;

use blockgate_findings::Severity;

/// A part of a package that could not be read, or that asks for more than is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// The rule that it falls under.
    pub(crate) rule: &'static str,
    /// The full name of the file; `None` for the input itself.
    pub(crate) member: Option<Arc<str>>,
    /// Where in the package that holds the file, in bytes.
    pub(crate) offset_bytes: Option<u64>,
    /// What should have been there.
    pub(crate) expected: String,
    /// What was there.
    pub(crate) found: String,
}

/// Something is damaged, encrypted or of a method that is not read.
pub(crate) const UNREADABLE: &str = "unreadable";

/// A cap of [`PackageLimits`](super::PackageLimits) is exceeded.
pub(crate) const LIMIT: &str = "package-limit";

impl Refusal {
    /// A part that is damaged or of a kind that is not read.
    pub(crate) fn unreadable(expected: impl Into<String>, found: impl Into<String>) -> Self {
        Self::new(UNREADABLE, expected, found)
    }

    /// A part that asks for more than is allowed.
    pub(crate) fn limit(expected: impl Into<String>, found: impl Into<String>) -> Self {
        Self::new(LIMIT, expected, found)
    }

    fn new(rule: &'static str, expected: impl Into<String>, found: impl Into<String>) -> Self {
        Self {
            rule,
            member: None,
            offset_bytes: None,
            expected: expected.into(),
            found: found.into(),
        }
    }

    /// The same, of the file `name`.
    pub(crate) fn of(mut self, name: &Arc<str>) -> Self {
        self.member = Some(Arc::clone(name));
        self
    }

    /// The same, at `offset_bytes` of the package.
    pub(crate) fn at(mut self, offset_bytes: u64) -> Self {
        self.offset_bytes = Some(offset_bytes);
        self
    }
}

/// Something about an entry that is worth saying and loses nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Note {
    /// The entry's full name, and for a link where it leads.
    pub(crate) what: String,
    /// What is to be said of it.
    pub(crate) kind: NoteKind,
}

/// What is to be said of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum NoteKind {
    /// A link to something that is read under its own name.
    LinkInside,
    /// A link of a package. Nothing is unpacked, so there is nothing to follow.
    LinkInPackage,
    /// A link out of the folder that was given.
    LinkOutside,
    /// A link to nothing.
    LinkToNothing,
    /// The same file under a second name.
    SameFile,
    /// A pipe, socket or device.
    SpecialFile,
    /// A second entry of the same name.
    NameTwice,
}

impl NoteKind {
    /// The rule, how much it matters, and what such entries are, in the plural.
    pub(crate) const fn rule(self) -> (&'static str, Severity, &'static str) {
        use Severity::{Info, Warning};
        match self {
            Self::LinkInside => ("link-skipped", Info, "links to what is read under its own name"),
            Self::LinkInPackage => ("link-skipped", Info, "links in the package, not followed"),
            Self::LinkOutside => ("link-skipped", Info, "links out of the folder, not followed"),
            Self::LinkToNothing => ("link-skipped", Info, "links that lead nowhere"),
            Self::SameFile => ("link-skipped", Info, "further names of a file that is read once"),
            Self::SpecialFile => ("special-file", Info, "pipes, sockets or devices, not opened"),
            Self::NameTwice => (
                "duplicate-member",
                Warning,
                "names that stand again; all are read, where an extractor keeps one",
            ),
        }
    }
}
