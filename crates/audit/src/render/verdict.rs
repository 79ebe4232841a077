//! The verdict of a run in one line.

use blockgate_findings::{ExitStatus, Severity};

use crate::evaluate::Outcome;
use crate::report::Report;

/// What came out, and the numbers that it rests on: `failed: 1 error, 2 warnings; 1 of 3 expectations holds`.
pub fn verdict(report: &Report, strict: bool) -> String {
    let word = match report.status(strict) {
        ExitStatus::Clean => "clean",
        ExitStatus::Failed => "failed",
        _ => "not checked in full",
    };
    let number = |severity: Severity, one: &str, many: &str| {
        let count = report
            .findings
            .iter()
            .filter(|finding| finding.severity == severity)
            .count();
        format!("{count} {}", if count == 1 { one } else { many })
    };
    let mut line = format!(
        "{word}: {}, {}, {}",
        number(Severity::Error, "error", "errors"),
        number(Severity::Warning, "warning", "warnings"),
        number(Severity::Info, "info", "infos"),
    );
    let expectations = report.evaluations.len();
    if expectations > 0 {
        let held = report
            .evaluations
            .iter()
            .filter(|row| matches!(row.outcome, Outcome::Checked { holds: true, .. }))
            .count();
        line.push_str(&format!("; {held} of {expectations} expectations held"));
    }
    if !report.waived.is_empty() {
        line.push_str(&format!("; {} waived", report.waived.len()));
    }
    if !report.unchecked.is_empty() {
        line.push_str(&format!("; {} rules not checked", report.unchecked.len()));
    }
    line
}
