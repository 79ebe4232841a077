//! The two models side by side, for a person and as JSON.

use std::fmt::Write as _;

use blockgate_arch::gates::Verdict;
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use serde::Serialize;

use crate::output::MAX_WIDTH_COLUMNS;
use crate::toolkit::JsonToolkit;

use super::observe::{Observation, Outcome, Report, Row};

/// A table, then what differs or could not be checked, then a line that counts.
pub(super) fn human(report: &Report) -> String {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(MAX_WIDTH_COLUMNS)
        .set_header([
            "target",
            "SPECIFIC",
            "FAMILY",
            "FEAT",
            "| converter",
            "fast path",
            "two gates",
            "E2M1",
            "| one gate",
            "E2M1",
        ]);
    let mut notes = String::new();
    let (mut agree, mut differ, mut unchecked, mut skipped) = (0, 0, 0, 0);
    for row in &report.rows {
        let name = row.arch().token().to_string();
        match row {
            Row::Checked(observation) => {
                table.add_row(cells(&name, observation));
                for difference in &observation.differences {
                    let _infallible = writeln!(notes, "{name} differs: {difference}");
                }
                for reason in &observation.unchecked {
                    let _infallible = writeln!(notes, "{name} was not checked: {reason}");
                }
                if !observation.unchecked.is_empty() {
                    unchecked += 1;
                } else if observation.differences.is_empty() {
                    agree += 1;
                } else {
                    differ += 1;
                }
            }
            Row::Skipped(unknown) => {
                skipped += 1;
                let _infallible = writeln!(notes, "{name} was skipped: {unknown}");
            }
        }
    }
    for column in [1, 2, 7, 9] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    format!(
        "{table}\n{notes}CUDA {}: {agree} targets as the table says, {differ} differ, {unchecked} not checked, {skipped} skipped\n",
        report.toolkit.version
    )
}

fn cells(name: &str, observation: &Observation) -> [String; 10] {
    let dash = || "-".to_owned();
    let yes = |value: bool| if value { "yes" } else { "-" }.to_owned();
    let value = |value: Option<u32>| value.map_or_else(dash, |value| value.to_string());
    let verdict = |outcome: Option<Outcome>| {
        outcome.map_or_else(|| "?".to_owned(), |outcome| outcome.verdict.to_string())
    };
    let count = |outcome: Option<Outcome>| {
        outcome
            .and_then(|outcome| outcome.e2m1)
            .map_or_else(dash, |count| count.to_string())
    };
    let macros = observation.macros;
    let or_unknown = |cell: Option<String>| cell.unwrap_or_else(|| "?".to_owned());
    [
        name.to_owned(),
        or_unknown(macros.map(|macros| value(macros.specific))),
        or_unknown(macros.map(|macros| value(macros.family_specific))),
        or_unknown(macros.map(|macros| yes(macros.feature_all))),
        format!("| {}", or_unknown(observation.converter_defined().map(yes))),
        or_unknown(observation.fast_path().map(yes)),
        verdict(observation.two_gates),
        count(observation.two_gates),
        format!("| {}", verdict(observation.one_gate)),
        count(observation.one_gate),
    ]
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    toolkit: JsonToolkit,
    targets: Vec<Target<'a>>,
}

#[derive(Serialize)]
struct Target<'a> {
    arch: String,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    macros: Option<Macros>,
    two_gates: Option<Model>,
    one_gate: Option<Model>,
    differences: &'a [String],
    unchecked: &'a [String],
}

#[derive(Serialize)]
struct Macros {
    arch: u32,
    specific: Option<u32>,
    family_specific: Option<u32>,
    feature_all: bool,
}

#[derive(Serialize)]
struct Model {
    #[serde(skip_serializing_if = "Option::is_none")]
    converter_defined: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fast_path: Option<bool>,
    verdict: &'static str,
    e2m1: Option<u64>,
}

/// One versioned document.
pub(super) fn json(report: &Report) -> serde_json::Result<String> {
    let document = Document {
        schema: "blockgate.gates/1",
        toolkit: JsonToolkit::from(&report.toolkit),
        targets: report.rows.iter().map(target).collect(),
    };
    serde_json::to_string_pretty(&document).map(|text| text + "\n")
}

fn target(row: &Row) -> Target<'_> {
    let arch = row.arch().sm().to_string();
    match row {
        Row::Skipped(unknown) => Target {
            arch,
            status: "skipped",
            reason: Some(unknown.to_string()),
            macros: None,
            two_gates: None,
            one_gate: None,
            differences: &[],
            unchecked: &[],
        },
        Row::Checked(observation) => Target {
            arch,
            status: match (
                observation.unchecked.is_empty(),
                observation.differences.is_empty(),
            ) {
                (false, _) => "not-checked",
                (true, false) => "differs",
                (true, true) => "agrees",
            },
            reason: None,
            macros: observation.macros.map(|macros| Macros {
                arch: macros.arch,
                specific: macros.specific,
                family_specific: macros.family_specific,
                feature_all: macros.feature_all,
            }),
            two_gates: observation.two_gates.map(|outcome| Model {
                converter_defined: observation.converter_defined(),
                fast_path: observation.fast_path(),
                ..model(outcome)
            }),
            one_gate: observation.one_gate.map(model),
            differences: &observation.differences,
            unchecked: &observation.unchecked,
        },
    }
}

fn model(outcome: Outcome) -> Model {
    Model {
        converter_defined: None,
        fast_path: None,
        verdict: match outcome.verdict {
            Verdict::Software => "software",
            Verdict::Hardware => "hardware",
            Verdict::DoesNotCompile => "does-not-compile",
        },
        e2m1: outcome.e2m1,
    }
}
