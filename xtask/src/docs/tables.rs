//! The tables in pages, rendered from the records of real runs.

use anyhow::Context as _;
use blockgate_arch::Arch;
use blockgate_audit::render::{bytes, count, signed_bytes};
use serde_json::Value;

use crate::context::Context;

/// A table in a page: what stands between `<!-- table: NAME -->` and `<!-- end -->`.
struct Table {
    page: &'static str,
    name: &'static str,
    records: &'static [&'static str],
    render: fn(&[Value]) -> anyhow::Result<String>,
}

const TABLES: &[Table] = &[
    Table {
        page: "README.md",
        name: "build-arch",
        records: &["docs/records/build-arch.json"],
        render: build_arch,
    },
    Table {
        page: "docs/performance.md",
        name: "bench-inspect",
        records: &["docs/records/bench-inspect.json"],
        render: bench_inspect,
    },
    Table {
        page: "docs/records/README.md",
        name: "kernels",
        records: &[
            "docs/records/kernels-h200-90a.json",
            "docs/records/kernels-h200-80-virtual.json",
            "docs/records/kernels-h200-75-virtual.json",
        ],
        render: kernel_runs,
    },
];

/// The page `name`, whose text is `current`, with its tables rendered anew.
pub(super) fn rendered(context: &Context, name: &str, current: &str) -> anyhow::Result<String> {
    TABLES
        .iter()
        .filter(|table| table.page == name)
        .try_fold(current.to_owned(), |page, table| {
            let opening = format!("<!-- table: {} -->", table.name);
            let (before, rest) = page
                .split_once(&opening)
                .with_context(|| format!("{name} has no `{opening}`"))?;
            let (_, after) = rest
                .split_once("<!-- end -->")
                .with_context(|| format!("`{opening}` has no end"))?;
            let records: Vec<Value> = table
                .records
                .iter()
                .map(|record| {
                    let text = std::fs::read_to_string(context.root().join(record))
                        .with_context(|| format!("{record} cannot be read"))?;
                    serde_json::from_str(&text).with_context(|| format!("{record} is not JSON"))
                })
                .collect::<anyhow::Result<_>>()?;
            let rows = (table.render)(&records)
                .with_context(|| format!("a record of `{}` has another shape", table.name))?;
            Ok(format!("{before}{opening}\n{rows}<!-- end -->{after}"))
        })
}

/// One row per compiled list that ran on a GPU.
fn kernel_runs(records: &[Value]) -> anyhow::Result<String> {
    let mut page = String::from(
        "| list | device | E2M1 conversion in hardware | cases | failed |\n|---|---|---|---:|---:|\n",
    );
    for record in records {
        page.push_str(&format!(
            "| `{}` | {} | {} | {} | {} |\n",
            text(record, "compiled_list")?,
            text(record, "device")?,
            text(record, "hardware_e2m1_conversion")?,
            record["cases_run"].as_u64().context("cases_run")?,
            record["cases_failed"].as_u64().context("cases_failed")?,
        ));
    }
    Ok(page)
}

/// One row per list: what it ships, how many conversions, what it costs.
fn build_arch(records: &[Value]) -> anyhow::Result<String> {
    let mut page = String::from(
        "| list | cubins | PTX | `F2FP.SATFINITE.E2M1` | archive | over baseline | machine code changed in |\n\
         |---|---|---|---:|---:|---:|---|\n",
    );
    for list in array(only(records)?, "lists")? {
        let name = text(list, "name")?;
        if text(list, "status")? != "built" {
            let status = text(list, "status")?;
            page.push_str(&format!(
                "| {name} | – | – | – | – | – | ({}) |\n",
                status.replace('-', " ")
            ));
            continue;
        }
        let totals = &list["totals"];
        let difference = list["size_over_baseline"]
            .as_i64()
            .map_or_else(|| "–".to_owned(), signed_bytes);
        page.push_str(&format!(
            "| {name} | {} | {} | {} | {} | {difference} | {} |\n",
            architectures(&totals["cubins"])?,
            architectures(&totals["ptx"])?,
            count(conversions(&totals["sass"])),
            bytes(list["size"].as_u64().context("size")?),
            changed(list),
        ));
    }
    Ok(page)
}

/// `90a ×6, 100 ×6`: how many images of each architecture, in the order of display.
fn architectures(counts: &Value) -> anyhow::Result<String> {
    let mut rows: Vec<(Arch, u64)> = Vec::new();
    for (name, number) in counts.as_object().context("counts by architecture")? {
        rows.push((name.parse()?, number.as_u64().context("a count")?));
    }
    rows.sort_by_key(|(arch, _)| arch.display_key());
    let names: Vec<String> = rows
        .iter()
        .map(|(arch, number)| format!("{} ×{number}", arch.token()))
        .collect();
    Ok(if names.is_empty() {
        "none".to_owned()
    } else {
        names.join(", ")
    })
}

fn conversions(sass: &Value) -> u64 {
    sass.as_object()
        .into_iter()
        .flatten()
        .flat_map(|(_, mnemonics)| mnemonics.as_object().into_iter().flatten())
        .filter(|(mnemonic, _)| blockgate_fatbin::converts_to_e2m1(mnemonic))
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
fn bench_inspect(records: &[Value]) -> anyhow::Result<String> {
    let mut page = String::from(
        "| what | wall | CPU | peak | peer | its wall | its CPU | its peak | ratio |\n|---|---:|---:|---:|---|---:|---:|---:|---:|\n",
    );
    for row in array(only(records)?, "rows")? {
        let (ours, theirs) = (cost(&row["ours"])?, cost(&row["theirs"])?);
        let number = |key: &str| row[key].as_f64().with_context(|| key.to_owned());
        page.push_str(&format!(
            "| {} | {ours} | {} | {theirs} | {} ({} to {}) |\n",
            text(row, "what")?,
            text(row, "peer")?,
            ratio(number("ratio")?),
            ratio(number("least_ratio")?),
            ratio(number("most_ratio")?),
        ));
    }
    Ok(page)
}

/// Wall time with its spread, CPU time and peak memory, in three cells.
fn cost(side: &Value) -> anyhow::Result<String> {
    let number = |key: &str| side[key].as_f64().with_context(|| key.to_owned());
    Ok(format!(
        "{} ({} to {}) | {} | {}",
        time(number("wall_median_s")?),
        time(number("wall_least_s")?),
        time(number("wall_most_s")?),
        time(number("cpu_median_s")?),
        bytes(side["peak_bytes"].as_u64().context("peak_bytes")?),
    ))
}

/// Seconds for a person: 3 ms, 0.38 s, 12.5 s, 4 min.
fn time(seconds: f64) -> String {
    match seconds {
        ..0.1 => format!("{:.0} ms", seconds * 1e3),
        ..10.0 => format!("{seconds:.2} s"),
        ..300.0 => format!("{seconds:.0} s"),
        _ => format!("{:.0} min", seconds / 60.0),
    }
}

/// Two decimals, or four where two would show nothing.
fn ratio(ratio: f64) -> String {
    let decimals = if ratio >= 0.1 { 2 } else { 4 };
    format!("{ratio:.decimals$}")
}

fn only(records: &[Value]) -> anyhow::Result<&Value> {
    records.first().context("no record")
}

fn array<'a>(value: &'a Value, key: &str) -> anyhow::Result<&'a Vec<Value>> {
    value[key]
        .as_array()
        .with_context(|| format!("`{key}` is missing"))
}

fn text<'a>(value: &'a Value, key: &str) -> anyhow::Result<&'a str> {
    value[key].as_str().with_context(|| format!("`{key}` is missing"))
}
