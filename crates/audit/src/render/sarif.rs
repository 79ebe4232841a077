//! SARIF 2.1.0: findings, failed expectations, and what was waived.

use std::io::{self, Write};

use blockgate_findings::ExitStatus;
use blockgate_findings::render::sarif::{Row, Run};

use crate::report::Report;
use crate::rules;

/// Writes one log with one run. What could not be checked is a notification, and makes the run an unsuccessful one where
/// it could have failed.
///
/// # Errors
/// When `out` cannot be written.
pub fn sarif(out: &mut dyn Write, report: &Report, strict: bool) -> io::Result<()> {
    let expectations = rules::failed_expectations(report);
    let rows: Vec<Row<'_>> = expectations
        .iter()
        .chain(&report.findings)
        .map(|finding| Row {
            finding,
            accepted: None,
        })
        .chain(report.waived.iter().map(|waived| Row {
            finding: &waived.finding,
            accepted: Some(&waived.reason),
        }))
        .collect();
    let notifications: Vec<String> = report
        .unchecked
        .iter()
        .map(|row| {
            let on = row
                .artifact
                .as_ref()
                .map_or_else(String::new, |artifact| format!(" on {artifact}"));
            format!("{} was not checked{on}: {}", row.rule, row.reason)
        })
        .collect();
    let status = report.status(strict);
    let run = Run {
        version: env!("CARGO_PKG_VERSION"),
        rules: rules::all(),
        exit_code: status.code(),
        complete: status != ExitStatus::Unreadable,
        notifications: &notifications,
    };
    blockgate_findings::render::sarif::sarif(out, &rows, &run)
}
