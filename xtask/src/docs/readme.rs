//! The tables in README.md, rendered from the records of real runs.

use anyhow::Context as _;
use blockgate_audit::render::{bytes, count, signed_bytes};
use serde_json::Value;

use crate::context::Context;

/// A table in the README: what stands between `<!-- table: NAME -->` and `<!-- end -->`.
struct Table {
    name: &'static str,
    record: &'static str,
    render: fn(&Value) -> anyhow::Result<String>,
}

const TABLES: &[Table] = &[
    Table {
        name: "build-arch",
        record: "docs/records/build-arch.json",
        render: build_arch,
    },
    Table {
        name: "bench-audit",
        record: "docs/records/bench-audit.json",
        render: bench_audit,
    },
];

/// The README with its tables rendered anew.
pub(crate) fn with_tables(context: &Context, current: &str) -> anyhow::Result<String> {
    TABLES.iter().try_fold(current.to_owned(), |page, table| {
        let opening = format!("<!-- table: {} -->", table.name);
        let (before, rest) = page
            .split_once(&opening)
            .with_context(|| format!("README.md has no `{opening}`"))?;
        let (_, after) = rest
            .split_once("<!-- end -->")
            .with_context(|| format!("`{opening}` has no end"))?;
        let text = std::fs::read_to_string(context.root().join(table.record))
            .with_context(|| format!("{} cannot be read", table.record))?;
        let rendered = (table.render)(&serde_json::from_str(&text)?)
            .with_context(|| format!("{} has another shape", table.record))?;
        Ok(format!("{before}{opening}\n{rendered}<!-- end -->{after}"))
    })
}

/// One row per list: what it ships, how many conversions, what it costs.
fn build_arch(record: &Value) -> anyhow::Result<String> {
    let mut page = String::from(
        "| list | cubins | PTX | `F2FP.SATFINITE.E2M1` | archive | against baseline | other code changed |\n\
         |---|---|---|---:|---:|---:|---|\n",
    );
    for list in array(record, "lists")? {
        let name = text(list, "name")?;
        if text(list, "status")? != "built" {
            let status = text(list, "status")?;
            page.push_str(&format!("| {name} | – | – | – | – | – | {status} |\n"));
            continue;
        }
        let totals = &list["totals"];
        let difference = list["size_over_baseline"]
            .as_i64()
            .map_or_else(|| "–".to_owned(), signed_bytes);
        page.push_str(&format!(
            "| {name} | {} | {} | {} | {} | {difference} | {} |\n",
            architectures(&totals["cubins"]),
            architectures(&totals["ptx"]),
            count(conversions(&totals["sass"])),
            bytes(list["size"].as_u64().context("size")?),
            changed(list),
        ));
    }
    Ok(page)
}

fn architectures(counts: &Value) -> String {
    let names: Vec<String> = counts
        .as_object()
        .into_iter()
        .flatten()
        .map(|(arch, number)| format!("{} ×{number}", arch.trim_start_matches("sm_")))
        .collect();
    if names.is_empty() {
        "none".to_owned()
    } else {
        names.join(", ")
    }
}

fn conversions(sass: &Value) -> u64 {
    sass.as_object()
        .into_iter()
        .flatten()
        .flat_map(|(_, mnemonics)| mnemonics.as_object().into_iter().flatten())
        .filter(|(mnemonic, _)| mnemonic.starts_with("F2FP.SATFINITE") && mnemonic.contains(".E2M1."))
        .filter_map(|(_, number)| number.as_u64())
        .sum()
}

fn changed(list: &Value) -> String {
    let Some(same) = list["same"].as_object().filter(|same| !same.is_empty()) else {
        return "–".to_owned();
    };
    let changed: Vec<&str> = same
        .iter()
        .filter(|(_, row)| row["code"] == false)
        .map(|(source, _)| source.as_str())
        .collect();
    if changed.is_empty() {
        "none".to_owned()
    } else {
        changed.join(", ")
    }
}

/// One row per measurement, with its peer in the same run.
fn bench_audit(record: &Value) -> anyhow::Result<String> {
    let mut page = String::from(
        "| what | median | spread | peer | its median | ratio |\n|---|---:|---:|---|---:|---:|\n",
    );
    for row in array(record, "rows")? {
        let milliseconds = |key: &str| -> anyhow::Result<String> {
            Ok(format!(
                "{:.0} ms",
                row[key].as_f64().with_context(|| key.to_owned())? * 1e3
            ))
        };
        page.push_str(&format!(
            "| {} | {} | {} to {} | {} | {} | {:.2} |\n",
            text(row, "what")?,
            milliseconds("median_s")?,
            milliseconds("least_s")?,
            milliseconds("most_s")?,
            text(row, "peer")?,
            milliseconds("peer_median_s")?,
            row["ratio"].as_f64().context("ratio")?,
        ));
    }
    Ok(page)
}

fn array<'a>(value: &'a Value, key: &str) -> anyhow::Result<&'a Vec<Value>> {
    value[key]
        .as_array()
        .with_context(|| format!("`{key}` is missing"))
}

fn text<'a>(value: &'a Value, key: &str) -> anyhow::Result<&'a str> {
    value[key].as_str().with_context(|| format!("`{key}` is missing"))
}
