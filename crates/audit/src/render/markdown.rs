//! A job summary: the verdict first, then what is wrong, then the census.

use std::io::{self, Write};

use blockgate_findings::Finding;
use blockgate_findings::render::markdown::{self, Page, code, escaped};

use super::rows::census_rows;
use super::units::{bytes, count};
use super::verdict;
use crate::evaluate::Outcome;
use crate::report::{FileReport, Report};

/// Writes a summary that GitHub can take: at most 1 MiB, with a line that says what was left out.
///
/// # Errors
/// When `out` cannot be written.
pub fn markdown(out: &mut dyn Write, report: &Report, strict: bool) -> io::Result<()> {
    let mut page = Page::default();
    write(&mut page, report, strict);
    out.write_all(page.finish().as_bytes())
}

fn write(page: &mut Page, report: &Report, strict: bool) {
    page.heading(2, "Blockgate audit");
    page.line(&format!("**{}**", escaped(&verdict(report, strict))));
    if let Some(policy) = &report.policy {
        page.line("");
        page.line(&format!("Policy: {}", code(policy)));
    }
    if !report.evaluations.is_empty() {
        page.heading(3, "Expectations");
        expectations(page, report);
    }
    if !report.findings.is_empty() {
        page.heading(3, "Findings");
        let findings: Vec<&Finding> = report.findings.iter().collect();
        markdown::findings(page, &findings);
    }
    for file in &report.files {
        census(page, file);
    }
    if !report.unchecked.is_empty() {
        page.heading(3, "Not checked");
        page.table_head(&[("rule", false), ("on", false), ("because", false)]);
        for row in &report.unchecked {
            let on = row
                .artifact
                .as_deref()
                .map_or_else(|| "everything".to_owned(), code);
            page.row(&[code(row.rule), on, escaped(&row.reason)]);
        }
    }
    if !report.waived.is_empty() {
        page.heading(3, "Waived");
        page.table_head(&[
            ("rule", false),
            ("where", false),
            ("what", false),
            ("reason", false),
        ]);
        for row in &report.waived {
            page.row(&[
                code(row.finding.rule),
                code(row.finding.location.path()),
                escaped(&row.finding.message),
                escaped(&row.reason),
            ]);
        }
    }
}

fn expectations(page: &mut Page, report: &Report) {
    page.table_head(&[
        ("expected", false),
        ("of", false),
        ("found", true),
        ("verdict", false),
    ]);
    for row in &report.evaluations {
        let (found, verdict) = match &row.outcome {
            Outcome::Checked { found, holds: true } => (count(*found), "holds".to_owned()),
            Outcome::Checked { found, .. } => (count(*found), "**fails**".to_owned()),
            Outcome::NotChecked { reason } => {
                ("–".to_owned(), format!("**not checked**: {}", escaped(reason)))
            }
        };
        let of = row
            .artifact
            .as_deref()
            .map_or_else(|| "all inputs together".to_owned(), code);
        page.row(&[code(&row.expectation.source), of, found, verdict]);
    }
}

fn census(page: &mut Page, file: &FileReport) {
    page.heading(3, &code(&file.path));
    page.line(&format!(
        "{}, {}, device code: {}",
        escaped(file.format),
        bytes(file.size_bytes),
        file.device_code.as_str()
    ));
    let rows = census_rows(file);
    if rows.is_empty() {
        return;
    }
    page.line("");
    page.table_head(&[
        ("arch", false),
        ("kind", false),
        ("images", true),
        ("kernels", true),
        ("instructions", true),
        ("E2M1", true),
        ("stored", true),
        ("size", true),
    ]);
    for (key, row) in &rows {
        let counted = |number: Option<u64>| number.map_or_else(|| "–".to_owned(), count);
        let machine_code = key.kind_name == "cubin";
        page.row(&[
            code(&key.name),
            key.kind_name.to_owned(),
            count(row.images),
            counted(row.kernels),
            counted(row.instructions.filter(|_| machine_code)),
            counted(row.conversions.filter(|_| machine_code)),
            bytes(row.stored_bytes),
            row.size_bytes.map_or_else(|| "?".to_owned(), bytes),
        ]);
    }
}
