//! What went wrong in a build, grouped by cause.

/// A cause in one word and in plain words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cause {
    /// The word of list files and summaries: `gate-mismatch`.
    pub(crate) id: &'static str,
    /// One sentence for a person.
    pub(crate) words: String,
}

/// The sources that failed for one cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FailureGroup {
    pub(crate) cause: Cause,
    /// The first error of each source, as the compiler wrote it.
    pub(crate) first_errors: Vec<SourceError>,
}

/// The first error of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SourceError {
    /// File name of the source; empty where the error is about the whole build.
    pub(crate) source: String,
    pub(crate) message: String,
}
