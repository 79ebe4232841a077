//! What differs between two inputs, for a terminal and as schema `blockgate.diff/1`.

mod json;

pub use json::{diff_json, diff_json_schema};

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::{self, Write};

use blockgate_findings::render::{Palette, printable};
use blockgate_findings::{Finding, Severity};
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

use super::demangle::demangled;
use super::table::Lines;
use super::units::{bytes, count, signed_bytes};
use crate::diff::{
    ArchTotals, Before, Change, Code, Diff, Gate, GateOutcome, ImageDiff, KernelDiff, ModuleDiff, totals,
};

/// The widest table that is printed, in columns.
const MAX_WIDTH_COLUMNS: u16 = 100;
/// Rows of a table, where not all are asked for.
const MOST_ROWS: usize = 15;
/// Mnemonics that are shown of one architecture.
const MOST_MNEMONICS: usize = 6;
/// Lines that are shown of a gate that fails, where not all are asked for.
const MOST_DIFFERENCES: usize = 10;
/// The longest names in tables, in characters: of places and of kernels.
const PLACE_CHARS: usize = 34;
const KERNEL_CHARS: usize = 40;
/// The longest list of mnemonics beside a kernel, in characters.
const MNEMONICS_CHARS: usize = 24;

/// What is shown.
#[derive(Clone, Copy, Debug, Default)]
pub struct DiffOptions {
    /// Every change, not only the largest.
    pub all: bool,
    /// Colours.
    pub palette: Palette,
}

/// Writes the sums by architecture, the largest changes, the gates and the totals.
pub fn diff_human(out: &mut dyn Write, diff: &Diff<'_>, options: DiffOptions) -> io::Result<()> {
    let palette = options.palette;
    writeln!(
        out,
        "{} -> {}: {} -> {} ({})",
        palette.strong(&printable(&diff.old.path)),
        palette.strong(&printable(&diff.new.path)),
        bytes(diff.old.size_bytes),
        bytes(diff.new.size_bytes),
        signed_bytes(
            Before {
                old: diff.old.size_bytes,
                new: diff.new.size_bytes
            }
            .change()
        ),
    )?;
    let rows = totals(diff);
    if !rows.is_empty() {
        writeln!(out, "{}", Lines(&arch_table(&rows)))?;
    }
    for row in &rows {
        write_mnemonics(out, row)?;
    }
    write_members(out, diff, options)?;
    write_images(out, diff, options)?;
    write_kernels(out, diff, options)?;
    for gate in &diff.gates {
        write_gate(out, gate, options)?;
    }
    write_totals(out, diff, &rows)?;
    let findings: Vec<Finding> = diff.findings.iter().map(|finding| (*finding).clone()).collect();
    blockgate_findings::render::human(out, &findings, palette)
}

fn new_table(header: &[&str], numbers: &[usize]) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(MAX_WIDTH_COLUMNS);
    table.set_header(header.to_vec());
    for &number in numbers {
        if let Some(column) = table.column_mut(number) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

fn arch_table(rows: &[ArchTotals]) -> Table {
    let mut table = new_table(
        &[
            "arch",
            "kind",
            "images",
            "same code",
            "kernels same",
            "changed",
            "new",
            "gone",
            "instr.",
            "stored",
        ],
        &[2, 3, 4, 5, 6, 7, 8, 9],
    );
    for row in rows {
        let images = if row.images.old == row.images.new {
            count(row.images.new)
        } else {
            format!("{} -> {}", count(row.images.old), count(row.images.new))
        };
        let has_kernels = row.kind == "cubin";
        let kernels = |number: u64| {
            if has_kernels {
                count(number)
            } else {
                "–".to_owned()
            }
        };
        table.add_row([
            row.arch.map_or_else(|| "?".to_owned(), |arch| arch.to_string()),
            row.kind.to_owned(),
            images,
            count(row.identical_images),
            kernels(row.same_kernels),
            kernels(row.changed_kernels),
            kernels(row.added_kernels),
            kernels(row.removed_kernels),
            row.instructions
                .filter(|_| has_kernels)
                .map_or_else(|| "–".to_owned(), |instructions| signed(instructions.change())),
            signed_bytes(row.stored_bytes.change()),
        ]);
    }
    table
}

/// `sm_80: FMUL +8, NOP -8`, the largest first.
fn write_mnemonics(out: &mut dyn Write, row: &ArchTotals) -> io::Result<()> {
    let Some(arch) = row.arch else {
        return Ok(());
    };
    match mnemonics(&row.mnemonics(), MOST_MNEMONICS) {
        (shown, _) if shown.is_empty() => Ok(()),
        (shown, 0) => writeln!(out, "{arch}: {shown}"),
        (shown, rest) => writeln!(out, "{arch}: {shown}, and {rest} more"),
    }
}

/// The largest changes, and how many more there are.
fn mnemonics(numbers: &BTreeMap<&str, (u64, u64)>, most: usize) -> (String, usize) {
    let mut changes: Vec<(&str, i64)> = numbers
        .iter()
        .map(|(name, &(old, new))| (*name, Before { old, new }.change()))
        .collect();
    changes.sort_by_key(|(_, change)| Reverse(change.unsigned_abs()));
    let parts: Vec<String> = changes
        .iter()
        .take(most)
        .map(|(name, change)| format!("{} {}", printable(name), signed(*change)))
        .collect();
    (parts.join(", "), changes.len().saturating_sub(most))
}

/// Members without device code on either side are of no interest but for coming and going.
fn write_members(out: &mut dyn Write, diff: &Diff<'_>, options: DiffOptions) -> io::Result<()> {
    for (change, what) in [
        (Change::Added, "only in the new input"),
        (Change::Removed, "only in the old input"),
    ] {
        let names: Vec<&str> = diff
            .members
            .iter()
            .filter(|member| member.change() == change)
            .map(|member| member.name)
            .collect();
        if names.is_empty() {
            continue;
        }
        let shown = if options.all {
            names.len()
        } else {
            MOST_ROWS.min(names.len())
        };
        writeln!(out, "{what}: {}", number(names.len() as u64, "member"))?;
        for name in &names[..shown] {
            writeln!(out, "  {}", printable(name))?;
        }
        write_rest(out, names.len() - shown)?;
    }
    Ok(())
}

fn write_images(out: &mut dyn Write, diff: &Diff<'_>, options: DiffOptions) -> io::Result<()> {
    let mut changed: Vec<(&ModuleDiff<'_>, &ImageDiff<'_>)> = diff
        .modules
        .iter()
        .flat_map(|module| module.images.iter().map(move |image| (module, image)))
        .filter(|(_, image)| image.change() != Change::Same)
        .collect();
    if changed.is_empty() {
        return Ok(());
    }
    changed.sort_by_key(|(_, image)| {
        (
            Reverse(image.stored_change_bytes().unsigned_abs()),
            Reverse(image.instructions_change().unwrap_or(0).unsigned_abs()),
        )
    });
    let mut table = new_table(
        &["where", "arch", "kind", "change", "kernels", "instr.", "stored"],
        &[4, 5, 6],
    );
    let shown = if options.all {
        changed.len()
    } else {
        MOST_ROWS.min(changed.len())
    };
    for (module, image) in &changed[..shown] {
        let touched = image
            .kernels
            .iter()
            .filter(|kernel| kernel.change() != Change::Same)
            .count();
        let side = image.sides().next();
        table.add_row([
            place(module),
            side.and_then(|side| side.arch)
                .map_or_else(|| "?".to_owned(), |arch| arch.to_string()),
            side.map_or("?", |side| side.kind.as_str()).to_owned(),
            what(image).to_owned(),
            if image.kernels.is_empty() {
                "–".to_owned()
            } else {
                format!(
                    "{} of {}",
                    count(touched as u64),
                    count(image.kernels.len() as u64)
                )
            },
            image
                .instructions_change()
                .filter(|_| side.is_some_and(|side| side.is_cubin()))
                .map_or_else(|| "–".to_owned(), signed),
            signed_bytes(image.stored_change_bytes()),
        ]);
    }
    writeln!(out, "images, largest change first:\n{}", Lines(&table))?;
    write_rest(out, changed.len() - shown)
}

/// What is different about an image.
fn what(image: &ImageDiff<'_>) -> &'static str {
    match (image.change(), image.code) {
        (Change::Added, _) => "new",
        (Change::Removed, _) => "gone",
        (_, Code::Different) => "code",
        (_, Code::Identical) => "size alone",
        (_, Code::NotCompared) => "not compared",
    }
}

/// A kernel with the same change in several architectures.
struct KernelRow<'a> {
    name: &'a str,
    change: Change,
    /// Each architecture, with the largest change first.
    archs: Vec<(String, &'a KernelDiff<'a>)>,
}

fn write_kernels(out: &mut dyn Write, diff: &Diff<'_>, options: DiffOptions) -> io::Result<()> {
    let mut rows: BTreeMap<(&str, &str), KernelRow<'_>> = BTreeMap::new();
    // Kernels of images that came or went as a whole are told by the image.
    let images = diff.modules.iter().flat_map(|module| &module.images);
    for image in images.filter(|image| image.old.is_some() && image.new.is_some()) {
        let arch = image.sides().next().and_then(|side| side.arch);
        let arch = arch.map_or_else(|| "?".to_owned(), |arch| arch.to_string());
        for kernel in image
            .kernels
            .iter()
            .filter(|kernel| kernel.change() != Change::Same)
        {
            let change = kernel.change();
            let row = rows
                .entry((kernel.name, change.as_str()))
                .or_insert_with(|| KernelRow {
                    name: kernel.name,
                    change,
                    archs: Vec::new(),
                });
            row.archs.push((arch.clone(), kernel));
        }
    }
    if rows.is_empty() {
        return Ok(());
    }
    let size = |kernel: &KernelDiff<'_>| kernel.code_change_bytes().unsigned_abs();
    let mut rows: Vec<KernelRow<'_>> = rows.into_values().collect();
    for row in &mut rows {
        row.archs.sort_by_key(|(_, kernel)| Reverse(size(kernel)));
    }
    rows.sort_by_key(|row| row.archs.first().map(|(_, kernel)| Reverse(size(kernel))));
    let mut table = new_table(&["kernel", "arch", "change", "instr.", "mnemonics"], &[3]);
    table.set_content_arrangement(ContentArrangement::Disabled);
    let shown = if options.all {
        rows.len()
    } else {
        MOST_ROWS.min(rows.len())
    };
    for row in &rows[..shown] {
        let Some((arch, kernel)) = row.archs.first() else {
            continue;
        };
        table.add_row([
            cut(&short_name(row.name), KERNEL_CHARS),
            match row.archs.len() {
                1 => arch.clone(),
                number => format!("{arch} +{}", number - 1),
            },
            match row.change {
                Change::Added => "new",
                Change::Removed => "gone",
                _ => "code",
            }
            .to_owned(),
            kernel
                .instructions_change()
                .map_or_else(|| "–".to_owned(), signed),
            cut(&mnemonics(&kernel.mnemonics(), 2).0, MNEMONICS_CHARS),
        ]);
    }
    writeln!(
        out,
        "kernels, largest change first (with its architecture, and in how many more):\n{}",
        Lines(&table)
    )?;
    write_rest(out, rows.len() - shown)
}

/// The demangled name without its parameters and result, which most kernels have in common.
fn short_name(kernel: &str) -> String {
    let name = demangled(kernel);
    let name = name.strip_prefix("void ").unwrap_or(&name);
    // Template arguments may hold parentheses; the parameters are the last ones.
    match name.rfind('(') {
        Some(at) if at > 0 && name.ends_with(')') => name[..at].to_owned(),
        _ => name.to_owned(),
    }
}

fn write_rest(out: &mut dyn Write, rest: usize) -> io::Result<()> {
    if rest > 0 {
        writeln!(out, "  and {} more (--all lists them)", count(rest as u64))?;
    }
    Ok(())
}

fn write_gate(out: &mut dyn Write, gate: &Gate, options: DiffOptions) -> io::Result<()> {
    let error = |text: &str| options.palette.severity(Severity::Error, text);
    let glob = printable(gate.glob.as_str());
    match &gate.outcome {
        GateOutcome::Holds { compared, kernels } => {
            let what = if *kernels { "kernel" } else { "image" };
            writeln!(
                out,
                "holds: same code in {glob} ({} compared)",
                number(*compared, what)
            )
        }
        GateOutcome::Fails { differences } => {
            writeln!(
                out,
                "{} same code in {glob} ({})",
                error("fails:"),
                number(differences.len() as u64, "difference")
            )?;
            let shown = if options.all {
                differences.len()
            } else {
                MOST_DIFFERENCES.min(differences.len())
            };
            for difference in &differences[..shown] {
                writeln!(out, "  {}", printable(difference))?;
            }
            write_rest(out, differences.len() - shown)
        }
        GateOutcome::NotChecked { reason } => {
            writeln!(
                out,
                "{} same code in {glob} ({})",
                error("not checked:"),
                printable(reason)
            )
        }
    }
}

fn write_totals(out: &mut dyn Write, diff: &Diff<'_>, rows: &[ArchTotals]) -> io::Result<()> {
    if diff.is_identical() {
        writeln!(out, "total: the inputs are the same, byte for byte")?;
        return Ok(());
    }
    let modules = diff.modules.len() as u64;
    let changed = diff
        .modules
        .iter()
        .filter(|module| module.change() != Change::Same)
        .count() as u64;
    let sum = |number: fn(&ArchTotals) -> u64| count(rows.iter().map(number).sum());
    let stored: i64 = rows.iter().map(|row| row.stored_bytes.change()).sum();
    writeln!(
        out,
        "total: {} of {} changed; kernels {} same, {} changed, {} new, {} gone; images {}",
        count(changed),
        number(modules, "module"),
        sum(|row| row.same_kernels),
        sum(|row| row.changed_kernels),
        sum(|row| row.added_kernels),
        sum(|row| row.removed_kernels),
        signed_bytes(stored)
    )?;
    let not_compared: u64 = rows.iter().map(|row| row.not_compared_images).sum();
    if not_compared > 0 {
        writeln!(out, "not compared: {}", number(not_compared, "image"))?;
    }
    writeln!(
        out,
        "compared: the code of kernels byte by byte, and the text of PTX; not relocations, notes, debug data"
    )
}

/// `scale.cu.o`, or in a linked file `3: f<int>`.
fn place(module: &ModuleDiff<'_>) -> String {
    let region = match (module.old_region, module.new_region) {
        (_, Some(region)) | (Some(region), None) => region,
        (None, None) => 0,
    };
    let name = match (module.member, module.a_kernel()) {
        (Some(member), _) if region == 0 => {
            // The end of a path tells members apart, the beginning is common to all.
            let skipped = member.chars().count().saturating_sub(PLACE_CHARS);
            let shown: String = member.chars().skip(skipped).collect();
            if skipped > 0 { format!("…{shown}") } else { shown }
        }
        (_, Some(kernel)) => cut(&format!("{region}: {}", short_name(kernel)), PLACE_CHARS),
        (_, None) => format!("region {region}"),
    };
    printable(&name).into_owned()
}

fn cut(text: &str, most_chars: usize) -> String {
    let text = printable(text);
    match text.char_indices().nth(most_chars) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into_owned(),
    }
}

fn number(number: u64, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {what}{plural}", count(number))
}

fn signed(number: i64) -> String {
    let sign = match number {
        0 => "",
        1.. => "+",
        _ => "-",
    };
    format!("{sign}{}", count(number.unsigned_abs()))
}
