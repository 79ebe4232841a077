//! The result of a probe, for a person and as JSON.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use serde::Serialize;

use crate::output::MAX_WIDTH_COLUMNS;
use crate::toolkit::JsonToolkit;

use super::Report;
use crate::compile::{Compiled, Facts, first_error};

/// A table, then the first error of each target that has one, then a line that counts.
pub(super) fn human(report: &Report) -> String {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(MAX_WIDTH_COLUMNS)
        .set_header([
            "target",
            "result",
            "kernels",
            "instructions",
            "conversions",
            "E2M1",
            "code, bytes",
        ]);
    let mut notes = String::new();
    let (mut compiled, mut failed, mut unchecked) = (0, 0, 0);
    for (arch, result) in &report.rows {
        let name = arch.token().to_string();
        match result {
            Compiled::Image(facts) => {
                compiled += 1;
                table.add_row([
                    name,
                    "ok".to_owned(),
                    facts.kernels.len().to_string(),
                    count(facts.instructions),
                    count(conversions(facts)),
                    count(facts.e2m1),
                    facts.code_bytes.to_string(),
                ]);
            }
            Compiled::Failed(diagnoses) => {
                failed += 1;
                table.add_row([name.as_str(), "failed"]);
                let _infallible = writeln!(notes, "{name}: {}", first_error(diagnoses));
            }
            Compiled::Unchecked(reason) => {
                unchecked += 1;
                table.add_row([name.as_str(), "not checked"]);
                let _infallible = writeln!(notes, "{name} was not checked: {reason}");
            }
        }
    }
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    format!(
        "{table}\n{notes}{} under CUDA {}: {compiled} compiled, {failed} failed, {unchecked} not checked\n",
        report.source.display(),
        report.toolkit.version
    )
}

fn conversions(facts: &Facts) -> Option<u64> {
    Some(facts.conversions.as_ref()?.values().sum())
}

/// A question mark where nothing could be counted.
fn count(number: Option<u64>) -> String {
    number.map_or_else(|| "?".to_owned(), |number| number.to_string())
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    source: String,
    compile_commands: Option<String>,
    toolkit: JsonToolkit,
    targets: Vec<Target<'a>>,
}

#[derive(Serialize)]
struct Target<'a> {
    arch: String,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Failure<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<Code<'a>>,
}

#[derive(Serialize)]
struct Failure<'a> {
    cause: &'static str,
    message: String,
    compiler: &'a [String],
}

#[derive(Serialize)]
struct Code<'a> {
    kernels: &'a [String],
    instructions: Option<u64>,
    conversions: Option<u64>,
    conversions_by_mnemonic: Option<&'a BTreeMap<String, u64>>,
    e2m1: Option<u64>,
    code_bytes: u64,
}

/// One versioned document.
pub(super) fn json(report: &Report) -> serde_json::Result<String> {
    let document = Document {
        schema: "blockgate.probe/1",
        source: report.source.display().to_string(),
        compile_commands: report.commands.as_ref().map(|path| path.display().to_string()),
        toolkit: JsonToolkit::from(&report.toolkit),
        targets: report
            .rows
            .iter()
            .map(|(arch, compiled)| {
                let (status, error, code) = match compiled {
                    Compiled::Image(facts) => ("compiled", None, Some(code(facts))),
                    Compiled::Failed(diagnoses) => (
                        "failed",
                        diagnoses.first().map(|first| Failure {
                            cause: first.cause.name(),
                            message: first_error(diagnoses),
                            compiler: &first.messages,
                        }),
                        None,
                    ),
                    Compiled::Unchecked(reason) => (
                        "not-checked",
                        Some(Failure {
                            cause: "not-checked",
                            message: reason.clone(),
                            compiler: &[],
                        }),
                        None,
                    ),
                };
                Target {
                    arch: arch.sm().to_string(),
                    status,
                    error,
                    code,
                }
            })
            .collect(),
    };
    serde_json::to_string_pretty(&document).map(|text| text + "\n")
}

fn code(facts: &Facts) -> Code<'_> {
    Code {
        kernels: &facts.kernels,
        instructions: facts.instructions,
        conversions: conversions(facts),
        conversions_by_mnemonic: facts.conversions.as_ref(),
        e2m1: facts.e2m1,
        code_bytes: facts.code_bytes,
    }
}
