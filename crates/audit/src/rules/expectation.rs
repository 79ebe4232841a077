//! `expectation`: failed expectations as findings, for outputs that know nothing else.

use std::borrow::Cow;

use blockgate_findings::{ArtifactPlace, Finding, Location, RuleInfo, Severity};

use super::SINCE;
use crate::evaluate::Outcome;
use crate::report::Report;

pub(super) const INFO: RuleInfo = RuleInfo {
    id: "expectation",
    summary: "something that was expected of an artifact does not hold, or could not be checked",
    severity: Some(Severity::Error),
    since: SINCE,
    page: Cow::Borrowed(include_str!("../../../../docs/rules/expectation.md")),
};

/// One finding for each expectation that does not hold or could not be checked: at the line of the configuration that
/// demands it, or at the artifact where the command line does.
pub fn failed_expectations(report: &Report) -> Vec<Finding> {
    report
        .evaluations
        .iter()
        .filter_map(|row| {
            let expression = &row.expectation.source;
            let of = row
                .artifact
                .as_ref()
                .map_or_else(String::new, |artifact| format!(" of {artifact}"));
            let message = match &row.outcome {
                Outcome::Checked { holds: true, .. } => return None,
                Outcome::Checked { found, .. } => format!("`{expression}` does not hold{of}: found {found}"),
                Outcome::NotChecked { reason } => {
                    format!("`{expression}` could not be checked{of}: {reason}")
                }
            };
            let location = match &row.place {
                Some(place) => Location::Text(place.clone()),
                None => Location::Artifact(ArtifactPlace {
                    path: report
                        .files
                        .first()
                        .map_or_else(String::new, |file| file.path.clone()),
                    member: None,
                    offset_bytes: None,
                }),
            };
            Some(Finding {
                rule: INFO.id,
                severity: Severity::Error,
                message,
                location,
                notes: Vec::new(),
                fix: None,
            })
        })
        .collect()
}
