//! Annotations of a GitHub Actions run.

use std::io::{self, Write};

use super::verdict;
use crate::report::Report;
use crate::rules::failed_expectations;

/// Writes annotations for findings and failed expectations, then the verdict.
///
/// # Errors
/// When `out` cannot be written.
pub fn github(out: &mut dyn Write, report: &Report, strict: bool) -> io::Result<()> {
    let mut findings = failed_expectations(report);
    findings.extend(report.findings.iter().cloned());
    blockgate_findings::render::github::github(out, &findings, &verdict(report, strict))
}
