//! The comparison table: what each list really ships, in 100 columns.

use std::io::{self, Write};

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

use super::facts::Repeat;
use super::outcome::{Checked, Row, Status};
use crate::output::MAX_WIDTH_COLUMNS;

/// Writes the table, what is wrong, and a last line that counts.
pub(crate) fn write(out: &mut dyn Write, rows: &[Row]) -> io::Result<()> {
    for line in comparison(rows).to_string().lines() {
        writeln!(out, "{}", line.trim_end())?;
    }
    for row in rows {
        notes(out, row)?;
    }
    writeln!(out, "{}", last_line(rows))
}

fn comparison(rows: &[Row]) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(MAX_WIDTH_COLUMNS)
        .set_header([
            "list",
            "arch",
            "cubins",
            "PTX",
            "E2M1",
            "size, bytes",
            "over baseline",
            "code changed in",
        ]);
    for row in rows {
        match &row.checked {
            Some(checked) => add_checked(&mut table, &row.name, checked),
            None => {
                let mut cells = vec![row.name.clone()];
                cells.extend(std::iter::repeat_with(dash).take(6));
                cells.push(format!("({})", status_word(row.status)));
                table.add_row(cells);
            }
        }
    }
    for column in table.column_iter_mut().skip(2).take(5) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// One row an architecture; what concerns the whole archive stands in the first.
fn add_checked(table: &mut Table, name: &str, checked: &Checked) {
    let facts = &checked.facts;
    let compared = checked.baseline.as_ref();
    let whole = [
        facts_count(facts.size_bytes),
        compared.map_or_else(dash, |compared| signed(compared.size_over_baseline_bytes)),
        changed(checked),
    ];
    let mut first = true;
    for census in &facts.census {
        let mut cells = vec![
            if first { name.to_owned() } else { String::new() },
            census.arch.to_string(),
            facts_count(census.cubins),
            facts_count(census.ptx),
            census.conversions.map_or_else(dash, facts_count),
        ];
        if first {
            cells.extend(whole.iter().cloned());
        }
        first = false;
        table.add_row(cells);
    }
    if first {
        let [size, over, changed] = whole;
        table.add_row([
            name.to_owned(),
            "none".to_owned(),
            "0".to_owned(),
            "0".to_owned(),
            dash(),
            size,
            over,
            changed,
        ]);
    }
}

/// The sources whose loaded code differs from the baseline's, else those of which only the object does.
fn changed(checked: &Checked) -> String {
    let Some(compared) = &checked.baseline else {
        return dash();
    };
    let code: Vec<&str> = compared
        .same
        .iter()
        .filter(|(_, same)| same.code == Some(false))
        .map(|(source, _)| source.as_str())
        .collect();
    if code.is_empty() {
        "none".to_owned()
    } else {
        code.join(", ")
    }
}

fn notes(out: &mut dyn Write, row: &Row) -> io::Result<()> {
    let name = &row.name;
    for reason in &row.reasons {
        let label = match row.status {
            Status::Failed => "failed",
            Status::FailedAsExpected => "failed as expected",
            Status::NotBuilt => "not built",
            Status::Built => "note",
        };
        writeln!(out, "{name}: {label}: {reason}")?;
    }
    for group in &row.failures {
        for error in &group.first_errors {
            let source = if error.source.is_empty() {
                "build"
            } else {
                &error.source
            };
            writeln!(out, "  {source}: {}", error.message)?;
        }
    }
    if row.status == Status::Failed && !row.failures.is_empty() {
        writeln!(out, "  log: build.log in the folder of {name}")?;
    }
    match row.checked.as_ref().map(|checked| &checked.facts.repeat) {
        Some(Repeat::Identical) => writeln!(out, "{name}: built again, the same bytes"),
        Some(Repeat::Differs(members)) => {
            writeln!(out, "{name}: built again, other bytes in {}", members.join(", "))
        }
        Some(Repeat::Nothing) | None => Ok(()),
    }
}

/// How many lists came to what, each list that is not simply built with its reason in a few words.
fn last_line(rows: &[Row]) -> String {
    let parts: Vec<String> = [
        Status::Built,
        Status::FailedAsExpected,
        Status::NotBuilt,
        Status::Failed,
    ]
    .into_iter()
    .map(|status| {
        let names: Vec<String> = rows
            .iter()
            .filter(|row| row.status == status)
            .map(|row| match &row.short {
                Some(short) => format!("{}: {short}", row.name),
                None => row.name.clone(),
            })
            .collect();
        let count = names.len();
        if status == Status::Built || names.is_empty() {
            format!("{count} {}", status_word(status))
        } else {
            format!("{count} {} ({})", status_word(status), names.join("; "))
        }
    })
    .collect();
    parts.join(", ")
}

const fn status_word(status: Status) -> &'static str {
    match status {
        Status::Built => "built",
        Status::Failed => "failed",
        Status::FailedAsExpected => "failed as expected",
        Status::NotBuilt => "not built",
    }
}

fn dash() -> String {
    "–".to_owned()
}

fn facts_count(number: u64) -> String {
    blockgate_audit::render::count(number)
}

fn signed(difference: i64) -> String {
    let digits = facts_count(difference.unsigned_abs());
    match difference {
        0 => digits,
        1.. => format!("+{digits}"),
        _ => format!("-{digits}"),
    }
}
