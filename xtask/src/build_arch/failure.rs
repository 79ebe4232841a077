//! What went wrong in a build, grouped by cause.

use blockgate_arch::Arch;
use blockgate_arch::ToolkitVersion;
use blockgate_arch::diagnostics::{Context, diagnose, grouped};
use blockgate_archlist::ArchList;

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

/// Reads the log of a build of `list` that failed.
pub(crate) fn read(log: &str, list: &ArchList, toolkit: ToolkitVersion) -> Vec<FailureGroup> {
    let mut archs: Vec<Arch> = Vec::new();
    for target in list.targets() {
        if !archs.contains(&target.arch) {
            archs.push(target.arch);
        }
    }
    // The compiler's front end names no pass in its errors, so that only a list of one architecture tells it.
    let pass = match archs.as_slice() {
        [only] if list.per_source.is_empty() => Some(*only),
        _ => None,
    };
    let context = Context {
        pass,
        ..Context::of(toolkit)
    };
    grouped(diagnose(log, &context))
        .into_iter()
        .map(|group| FailureGroup {
            cause: Cause {
                id: group.cause.name(),
                words: group.cause.to_string(),
            },
            first_errors: first_of_each_source(group.diagnoses.into_iter().map(|diagnosis| SourceError {
                source: diagnosis.source.unwrap_or_default(),
                message: diagnosis.messages.into_iter().next().unwrap_or_default(),
            })),
        })
        .collect()
}

fn first_of_each_source(errors: impl Iterator<Item = SourceError>) -> Vec<SourceError> {
    let mut first: Vec<SourceError> = Vec::new();
    for error in errors {
        if !first.iter().any(|earlier| earlier.source == error.source) {
            first.push(error);
        }
    }
    first
}
