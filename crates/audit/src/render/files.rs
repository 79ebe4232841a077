//! The files of a package or folder: which of them hold device code, and for what.

use std::collections::BTreeMap;
use std::io::{self, Write};

use blockgate_arch::{Arch, DisplayKey};
use blockgate_fatbin::{DeviceCode, ImageKind};
use blockgate_findings::render::printable;
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

use super::human::MAX_WIDTH_COLUMNS;
use super::table::Lines;
use super::units::{bytes, count};
use crate::report::{FileReport, ImageReport};

/// Files that are listed; the rest is counted.
const MAX_ROWS: usize = 25;

/// Writes which files hold device code, the largest first. Writes nothing for an input that holds no files.
pub(super) fn write_files(out: &mut dyn Write, input: &FileReport) -> io::Result<()> {
    let mut files: BTreeMap<&str, Row<'_>> = BTreeMap::new();
    for member in &input.members {
        let Some(file) = &member.file else { continue };
        let row = files.entry(file).or_default();
        row.size_bytes += member.size_bytes;
        row.states.push(member.device_code);
    }
    let binaries = files.len() as u64;
    if binaries + input.other_files == 0 && input.format != "directory" {
        return Ok(());
    }
    for image in input.images.iter().filter(|image| image.counted) {
        if let Some(row) = image.file.as_deref().and_then(|file| files.get_mut(file)) {
            row.images.push(image);
        }
    }
    files.retain(|_, row| row.states.iter().any(|&state| state != DeviceCode::None));
    let number = binaries + input.other_files;
    let all = format!(
        "{} {} (binaries: {}, others: {})",
        count(number),
        if number == 1 { "file" } else { "files" },
        count(binaries),
        count(input.other_files)
    );
    if files.is_empty() {
        let holds = if input.read_in_full {
            "no device code found in"
        } else {
            "no device code found in what could be read of"
        };
        return writeln!(out, "{holds} {all}");
    }
    writeln!(out, "device code in {} of {all}:", count(files.len() as u64))?;
    let mut rows: Vec<(&str, Row<'_>)> = files.into_iter().collect();
    rows.sort_by(|(a_name, a), (b_name, b)| b.size_bytes.cmp(&a.size_bytes).then(a_name.cmp(b_name)));
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(MAX_WIDTH_COLUMNS)
        .set_header(["file", "size", "device code", "cubins", "PTX"]);
    for (name, row) in rows.iter().take(MAX_ROWS) {
        table.add_row([
            printable(name).into_owned(),
            bytes(row.size_bytes),
            row.state(),
            row.summary(ImageKind::Cubin),
            row.summary(ImageKind::Ptx),
        ]);
    }
    if let Some(column) = table.column_mut(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    writeln!(out, "{}", Lines(&table))?;
    if rows.len() > MAX_ROWS {
        writeln!(out, " and {} more", count((rows.len() - MAX_ROWS) as u64))?;
    }
    Ok(())
}

#[derive(Default)]
struct Row<'a> {
    size_bytes: u64,
    states: Vec<DeviceCode>,
    images: Vec<&'a ImageReport>,
}

impl Row<'_> {
    /// The states of its members, each once.
    fn state(&self) -> String {
        let mut names: Vec<&str> = Vec::new();
        for state in &self.states {
            let name = state.as_str();
            if *state != DeviceCode::None && !names.contains(&name) {
                names.push(name);
            }
        }
        names.join(", ")
    }

    /// `sm_90a, sm_120a` where there is one image each, `sm_90a ×99` where there are more.
    fn summary(&self, kind: ImageKind) -> String {
        let mut by_arch: BTreeMap<(Option<DisplayKey>, String), u64> = BTreeMap::new();
        for image in self.images.iter().filter(|image| image.kind == kind) {
            let name = image.arch.map_or_else(|| "?".to_owned(), |arch| arch.to_string());
            *by_arch
                .entry((image.arch.map(Arch::display_key), name))
                .or_default() += 1;
        }
        let parts: Vec<String> = by_arch
            .into_iter()
            .map(|((_, name), number)| match number {
                1 => name,
                number => format!("{name} ×{}", count(number)),
            })
            .collect();
        if parts.is_empty() {
            "–".to_owned()
        } else {
            parts.join(", ")
        }
    }
}
