//! From what happened with a list to its status, reason and exit status. Nothing here reads or runs anything.

use blockgate_archlist::{ArchList, ExpectedFailure, SameCode, SourceSet};
use blockgate_findings::ExitStatus;
use blockgate_kernels::HIDDEN_CONVERTER;
use schemars::JsonSchema;
use serde::Serialize;

use super::facts::{Facts, SameBySource, ToolkitFacts};
use super::failure::{FailureGroup, SourceError};
use super::same;

/// The word for a list in the summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Status {
    /// Compiled, and everything that was checked holds.
    Built,
    /// It did not compile, or a check failed.
    Failed,
    /// It must not compile, and did not, for the cause that it names.
    FailedAsExpected,
    /// There is no toolkit for it.
    NotBuilt,
}

/// What happened with a list.
#[derive(Debug)]
pub(crate) enum Attempt {
    /// No toolkit, or no other tool, is to be had.
    NoTools {
        /// Why, in one or more sentences.
        reason: String,
        /// The requirement that nothing satisfies, in a few words.
        short: String,
    },
    /// Configuring or compiling failed.
    Failed(Vec<FailureGroup>),
    /// The build, or what it made, could not be read or written.
    Broken(String),
    /// The archives are there and were looked at.
    Built(Box<Checked>),
}

/// What was found in the archives.
#[derive(Debug, Default)]
pub(crate) struct Checked {
    pub(crate) facts: Facts,
    /// Comparison with the baseline, where the list has one that was built.
    pub(crate) baseline: Option<Compared>,
    /// What is wrong with the images or kernels, each a sentence.
    pub(crate) wrong: Vec<String>,
}

/// Comparison with the baseline.
#[derive(Clone, Debug, Default)]
pub(crate) struct Compared {
    pub(crate) size_over_baseline_bytes: i64,
    pub(crate) same: SameBySource,
}

/// One list of a finished run.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) status: Status,
    /// Why the list is not simply built; one sentence a line.
    pub(crate) reasons: Vec<String>,
    /// The reason in a few words, for the last line.
    pub(crate) short: Option<String>,
    pub(crate) exit: ExitStatus,
    pub(crate) toolkit: Option<ToolkitFacts>,
    pub(crate) failures: Vec<FailureGroup>,
    pub(crate) checked: Option<Checked>,
}

/// Judges one list. `require_all` makes a missing toolkit a failure for optional lists too.
pub(crate) fn judge(
    list: &ArchList,
    toolkit: Option<ToolkitFacts>,
    attempt: Attempt,
    require_all: bool,
) -> Row {
    let mut row = Row {
        name: list.name.clone(),
        status: Status::Failed,
        reasons: Vec::new(),
        short: None,
        exit: ExitStatus::Clean,
        toolkit,
        failures: Vec::new(),
        checked: None,
    };
    match attempt {
        Attempt::NoTools { reason, short } => {
            row.status = Status::NotBuilt;
            row.reasons.push(reason);
            row.short = Some(short);
            if require_all || !list.optional {
                row.exit = ExitStatus::Unreadable;
            }
        }
        Attempt::Failed(failures) => {
            judge_failure(list, &failures, &mut row);
            row.failures = failures;
        }
        Attempt::Broken(reason) => {
            row.exit = ExitStatus::Unreadable;
            row.reasons.push(reason);
            row.short = Some("unreadable".to_owned());
        }
        Attempt::Built(checked) => {
            judge_build(list, &checked, &mut row);
            row.checked = Some(*checked);
        }
    }
    row
}

/// Whether a build failed for the cause that its list names, and for no other. The markers must miss the function that one
/// of their gates hides: any other name that is undefined in a family pass is a mistake in the markers.
fn is_expected(list: &ArchList, expected: ExpectedFailure, failures: &[FailureGroup]) -> bool {
    let hidden = |error: &SourceError| error.message.contains(&format!("\"{HIDDEN_CONVERTER}\""));
    !failures.is_empty()
        && failures.iter().all(|failure| {
            failure.cause.id == expected.name()
                && (list.sources != SourceSet::Markers || failure.first_errors.iter().all(hidden))
        })
}

fn judge_failure(list: &ArchList, failures: &[FailureGroup], row: &mut Row) {
    let causes: Vec<&str> = failures.iter().map(|failure| failure.cause.id).collect();
    match list.expect_failure {
        Some(expected) if is_expected(list, expected, failures) => {
            row.status = Status::FailedAsExpected;
            row.reasons
                .extend(failures.iter().map(|failure| failure.cause.words.clone()));
            row.short = Some(expected.name().to_owned());
        }
        Some(expected) => {
            row.exit = ExitStatus::Failed;
            row.short = Some(format!("not for {}", expected.name()));
            let found = if causes.is_empty() {
                "no known cause".to_owned()
            } else if causes.iter().all(|cause| *cause == expected.name()) {
                format!("another name than `{HIDDEN_CONVERTER}`")
            } else {
                causes.join(", ")
            };
            let name = expected.name();
            row.reasons.push(format!(
                "the list must fail for {name} alone, and failed for {found}"
            ));
        }
        None => {
            // Nothing could be checked, which is worse than a failed check.
            row.exit = ExitStatus::Unreadable;
            row.short = causes.first().map(|cause| (*cause).to_owned());
            row.reasons
                .extend(failures.iter().map(|failure| failure.cause.words.clone()));
            if row.reasons.is_empty() {
                row.reasons
                    .push("the build stopped without an error message".to_owned());
            }
        }
    }
}

fn judge_build(list: &ArchList, checked: &Checked, row: &mut Row) {
    let fail = |row: &mut Row, exit: ExitStatus, short: &str, reason: String| {
        row.exit = row.exit.and(exit);
        row.short.get_or_insert_with(|| short.to_owned());
        row.reasons.push(reason);
    };
    if let Some(expected) = list.expect_failure {
        let reason = format!("the list must fail for {}, and was built", expected.name());
        fail(row, ExitStatus::Failed, "was built", reason);
    }
    for error in &checked.facts.audit_errors {
        fail(row, ExitStatus::Unreadable, "unreadable", error.clone());
    }
    for expectation in &checked.facts.expectations {
        match (expectation.holds, expectation.found) {
            (Some(true), _) => {}
            (Some(false), found) => {
                let found = found.map_or_else(|| "nothing".to_owned(), |found| found.to_string());
                let reason = format!("expected {}, found {found}", expectation.expr);
                fail(row, ExitStatus::Failed, "expectation", reason);
            }
            (None, _) => {
                let why = expectation.reason.as_deref().unwrap_or("no reason is known");
                let reason = format!("{} could not be checked: {why}", expectation.expr);
                fail(row, ExitStatus::Unreadable, "not checked", reason);
            }
        }
    }
    for wrong in &checked.wrong {
        fail(row, ExitStatus::Failed, "images", wrong.clone());
    }
    match (&checked.baseline, &list.baseline) {
        (Some(compared), Some(baseline)) => {
            if list.same_code == Some(SameCode::AllButPerSource) {
                // A list names its sources by file name, whatever project it is built with.
                let has_extra = |source: &str| {
                    let path = source.split(" (").next().unwrap_or(source);
                    let file = path.rsplit('/').next().unwrap_or(path);
                    list.extra(file).is_some()
                };
                for (source, what) in same::violations(&compared.same, has_extra) {
                    let reason = format!("{source}: {what} is not the one of {baseline}");
                    fail(row, ExitStatus::Failed, "same_code", reason);
                }
            }
            let over = compared.size_over_baseline_bytes;
            if let Some(bound) = list.size_over_baseline
                && !bound.holds_for_difference(over)
            {
                let reason = format!("{over:+} bytes over {baseline}; the list allows {bound}");
                fail(row, ExitStatus::Failed, "size", reason);
            }
        }
        (None, Some(baseline)) if list.same_code.is_some() || list.size_over_baseline.is_some() => {
            let reason = format!("nothing to compare with: {baseline} was not built");
            fail(row, ExitStatus::Unreadable, "no baseline", reason);
        }
        _ => {}
    }
    if row.exit == ExitStatus::Clean {
        row.status = Status::Built;
    }
}

/// The exit status of a run.
pub(crate) fn exit_status(rows: &[Row]) -> ExitStatus {
    rows.iter()
        .fold(ExitStatus::Clean, |status, row| status.and(row.exit))
}
