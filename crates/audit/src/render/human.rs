//! Tables for a terminal, at most 100 columns wide.

use std::collections::BTreeMap;
use std::io::{self, Write};

use blockgate_fatbin::Compression;
use blockgate_findings::Severity;
use blockgate_findings::render::{Palette, printable};
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

use super::files::write_files;
use super::json::Mnemonics;
use super::kernels::{write_kernels, write_ptx_text};
use super::rows::census_rows;
use super::table::Lines;
use super::units::{bytes, count, number_of};
use crate::census::Totals;
use crate::evaluate::Outcome;
use crate::report::{FileReport, Report};

/// The widest table that is printed, in columns.
pub(super) const MAX_WIDTH_COLUMNS: u16 = 100;

/// What a table shows beside the census.
#[derive(Clone, Debug, Default)]
pub struct HumanOptions {
    /// Which mnemonics are listed with their counts.
    pub mnemonics: Mnemonics,
    /// Headers only were read, so that there are no instructions to show.
    pub list_only: bool,
    /// List the code sections of every image.
    pub kernels: bool,
    /// Show names of kernels in full, however wide.
    pub wide: bool,
    /// Colours.
    pub palette: Palette,
}

/// Writes one census per input, then the expectations and findings.
pub fn human(out: &mut dyn Write, report: &Report, options: &HumanOptions) -> io::Result<()> {
    if let Some(policy) = &report.policy {
        writeln!(out, "policy: {}", printable(policy))?;
    }
    for file in &report.files {
        write_file(out, file, options)?;
    }
    write_expectations(out, report, options.palette)?;
    blockgate_findings::render::human(out, &report.findings, options.palette)?;
    write_unchecked(out, report)?;
    write_waived(out, report)
}

/// Rules that nothing was found of only because they could not be checked: one line for each reason.
fn write_unchecked(out: &mut dyn Write, report: &Report) -> io::Result<()> {
    let mut by_reason: BTreeMap<(Option<&str>, &str), Vec<&str>> = BTreeMap::new();
    for row in &report.unchecked {
        let key = (row.artifact.as_deref(), row.reason.as_str());
        by_reason.entry(key).or_default().push(row.rule);
    }
    for ((artifact, reason), rules) in by_reason {
        let number = number_of(rules.len() as u64, "rule");
        let on = artifact.map_or_else(String::new, |artifact| format!(" on {artifact}"));
        writeln!(
            out,
            "not checked{}: {number} ({}), because {}",
            printable(&on),
            rules.join(", "),
            printable(reason)
        )?;
    }
    Ok(())
}

fn write_waived(out: &mut dyn Write, report: &Report) -> io::Result<()> {
    for row in &report.waived {
        writeln!(
            out,
            "waived: {} [{}]: {} ({})",
            printable(row.finding.location.path()),
            row.finding.rule,
            printable(&row.finding.message),
            printable(&row.reason)
        )?;
    }
    Ok(())
}

fn write_file(out: &mut dyn Write, file: &FileReport, options: &HumanOptions) -> io::Result<()> {
    let images = number_of(file.images.len() as u64, "image");
    writeln!(
        out,
        "{}: {}, {}, device code: {}, {images}",
        options.palette.strong(&printable(&file.path)),
        file.format,
        bytes(file.size_bytes),
        file.device_code.as_str(),
    )?;
    write_files(out, file)?;
    if !file.images.is_empty() {
        writeln!(out, "{}", Lines(&census_table(file, options)))?;
    }
    if file.totals.left_out > 0 {
        writeln!(
            out,
            "left out: {} that linked ones were made from",
            number_of(file.totals.left_out, "relocatable image")
        )?;
    }
    if file.shared_bytes() > 0 {
        writeln!(
            out,
            "stored together: {} of images that one container compresses",
            bytes(file.shared_bytes())
        )?;
    }
    if let Some(floor) = file.driver_floor() {
        let compressed = file
            .images
            .iter()
            .filter(|image| image.compression == Compression::Zstd)
            .count();
        writeln!(
            out,
            "zstd: {}, for a driver of CUDA {floor} (550) or later",
            number_of(compressed as u64, "image")
        )?;
    }
    if file.unattributed_bytes > 0 {
        writeln!(
            out,
            "unattributed: {} in device-code sections",
            bytes(file.unattributed_bytes)
        )?;
    }
    let uncertain = file.images.iter().filter(|image| !image.arch_certain).count();
    if uncertain > 0 {
        writeln!(
            out,
            "uncertain: {uncertain} images without a note could be plain or family-specific"
        )?;
    }
    let uncounted = file
        .images
        .iter()
        .filter(|image| image.counted && image.is_cubin() && image.instructions.is_none())
        .count();
    if uncounted > 0 && !options.list_only {
        writeln!(
            out,
            "not disassembled: {uncounted} of the cubins, which no count here includes"
        )?;
    }
    if !options.list_only {
        write_mnemonics(out, &file.totals, &options.mnemonics)?;
        write_ptx_text(out, file)?;
    }
    if options.kernels {
        write_kernels(out, file, options)?;
    }
    writeln!(out)
}

/// One row per architecture and kind: cubins first, then PTX, then what can only be listed.
fn census_table(file: &FileReport, options: &HumanOptions) -> Table {
    let rows = census_rows(file);
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(MAX_WIDTH_COLUMNS);
    let mut header = vec!["arch", "kind", "images"];
    if !options.list_only {
        header.extend(["kernels", "instructions", "E2M1"]);
    }
    header.extend(["stored", "size"]);
    table.set_header(header);
    for (key, row) in &rows {
        let mut cells = vec![key.name.clone(), key.kind_name.to_owned(), count(row.images)];
        if !options.list_only {
            let counted = |number: Option<u64>| number.map_or_else(|| "–".to_owned(), count);
            let machine_code = key.kind_name == "cubin";
            cells.push(counted(row.kernels));
            cells.push(counted(row.instructions.filter(|_| machine_code)));
            cells.push(counted(row.conversions.filter(|_| machine_code)));
        }
        cells.push(bytes(row.stored_bytes));
        cells.push(row.size_bytes.map_or_else(|| "?".to_owned(), bytes));
        table.add_row(cells);
    }
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// One row per mnemonic that was asked for, one column per architecture; absent means zero and is printed as 0.
fn write_mnemonics(out: &mut dyn Write, totals: &Totals, mnemonics: &Mnemonics) -> io::Result<()> {
    let mut rows: BTreeMap<&str, BTreeMap<usize, u64>> = BTreeMap::new();
    for (column, (_, histogram)) in totals.sass.iter().enumerate() {
        for (mnemonic, number) in histogram.iter().filter(|(mnemonic, _)| mnemonics.shows(mnemonic)) {
            rows.entry(mnemonic).or_default().insert(column, number);
        }
    }
    if rows.is_empty() {
        if mnemonics.all || !mnemonics.patterns.is_empty() {
            writeln!(out, "no instruction has a mnemonic like that")?;
        }
        return Ok(());
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let mut header = vec!["mnemonic".to_owned()];
    header.extend(totals.sass.iter().map(|(arch, _)| arch.to_string()));
    table.set_header(header);
    for (mnemonic, by_column) in &rows {
        let mut cells = vec![(*mnemonic).to_owned()];
        cells
            .extend((0..totals.sass.len()).map(|column| count(by_column.get(&column).copied().unwrap_or(0))));
        table.add_row(cells);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    writeln!(out, "{}", Lines(&table))
}

fn write_expectations(out: &mut dyn Write, report: &Report, palette: Palette) -> io::Result<()> {
    for row in &report.evaluations {
        let of = row
            .artifact
            .as_ref()
            .map_or_else(String::new, |artifact| format!(" of {artifact}"));
        let expression = printable(&format!("{}{of}", row.expectation.source)).into_owned();
        match &row.outcome {
            Outcome::Checked { found, holds: true } => {
                writeln!(out, "holds: {expression} (found {})", count(*found))?;
            }
            Outcome::Checked { found, holds: false } => {
                let label = palette.severity(Severity::Error, "fails:");
                writeln!(out, "{label} {expression} (found {})", count(*found))?;
            }
            Outcome::NotChecked { reason } => {
                let label = palette.severity(Severity::Error, "not checked:");
                writeln!(out, "{label} {expression} ({})", printable(reason))?;
            }
        }
    }
    Ok(())
}
