//! Kernels of each image with what they take, and what PTX says, for a terminal.

use std::io::{self, Write};

use blockgate_fatbin::{PtxFacts, Resources, Tool};
use blockgate_findings::render::printable;
use comfy_table::{CellAlignment, Table, presets};

use super::demangle::demangled;
use super::human::{HumanOptions, MAX_WIDTH_COLUMNS};
use super::table::Lines;
use super::units::{bytes, count};
use crate::report::{FileReport, ImageReport, KernelReport};

/// Columns before the name, of these widths, each with a blank before it. Bytes without a unit in the number are plain.
const COLUMNS: [(&str, usize); 7] = [
    ("instr", 9),
    ("size", 8),
    ("regs", 5),
    ("shared", 7),
    ("local", 7),
    ("spilled", 8),
    ("const", 6),
];

/// Lists the kernels of every image, the largest first.
pub(super) fn write_kernels(
    out: &mut dyn Write,
    file: &FileReport,
    options: &HumanOptions,
) -> io::Result<()> {
    for image in &file.images {
        if let Some(ptx) = &image.ptx {
            write_ptx(out, image, ptx, options)?;
        }
        if !image.kernels.is_empty() {
            write_cubin(out, image, options)?;
        }
    }
    Ok(())
}

fn write_place(out: &mut dyn Write, image: &ImageReport) -> io::Result<()> {
    let arch = image.arch.map_or_else(|| "?".to_owned(), |arch| arch.to_string());
    let member = image
        .member
        .as_ref()
        .map_or_else(String::new, |member| format!(" of {member}"));
    let kind = image.kind.as_str();
    let offset = image.offset_bytes;
    writeln!(out, "{arch} {kind}{}, offset {offset:#x}:", printable(&member))
}

fn write_ptx(
    out: &mut dyn Write,
    image: &ImageReport,
    ptx: &PtxFacts,
    options: &HumanOptions,
) -> io::Result<()> {
    write_place(out, image)?;
    let target_options: String = ptx
        .target_options
        .iter()
        .map(|option| format!(", {option}"))
        .collect();
    // Source: PTX ISA, `.address_size`, which may be left out.
    let bits = ptx.address_size_bits.unwrap_or(32);
    writeln!(
        out,
        "  .version {}.{}, .target {}, {bits}-bit addresses, {} entries",
        ptx.version.0,
        ptx.version.1,
        printable(&format!("{}{target_options}", ptx.target)),
        count(ptx.entries.len() as u64),
    )?;
    for name in &ptx.entries {
        writeln!(out, "    {}", shown_name(&demangled(name), 4, options))?;
    }
    Ok(())
}

fn write_cubin(out: &mut dyn Write, image: &ImageReport, options: &HumanOptions) -> io::Result<()> {
    write_place(out, image)?;
    for tool in &image.tools {
        writeln!(out, "  {}", printable(&described(tool)))?;
    }
    if let (Some(toolkit), true) = (image.toolkit, image.tools.is_empty()) {
        writeln!(out, "  CUDA {toolkit}, without a note")?;
    }
    write!(out, " ")?;
    for (title, width) in COLUMNS {
        write!(out, " {title:>width$}")?;
    }
    writeln!(out, "  kernel")?;
    let mut kernels: Vec<&KernelReport> = image.kernels.iter().collect();
    kernels.sort_by(|a, b| b.code_bytes.cmp(&a.code_bytes).then_with(|| a.name.cmp(&b.name)));
    for kernel in kernels {
        write_kernel(out, kernel, options)?;
    }
    Ok(())
}

/// `ptxas 13.0.88 (cuda_13.0.r13.0/compiler.36424714_0) -arch sm_121a`.
fn described(tool: &Tool) -> String {
    let version = tool.version.rsplit(", V").next().unwrap_or(&tool.version);
    let build = tool.build.strip_prefix("Build ").unwrap_or(&tool.build);
    format!("{} {version} ({build}) {}", tool.name, tool.command)
}

fn write_kernel(out: &mut dyn Write, kernel: &KernelReport, options: &HumanOptions) -> io::Result<()> {
    let resources = kernel.resources.as_ref();
    let known = |number: Option<u64>| number.map_or_else(|| "–".to_owned(), |number| number.to_string());
    let cells = [
        kernel.instructions.map_or_else(|| "–".to_owned(), count),
        bytes(kernel.code_bytes),
        known(resources.and_then(|all| all.registers).map(u64::from)),
        known(resources.map(|all| all.static_shared_bytes)),
        known(resources.and_then(local_bytes)),
        known(
            resources
                .and_then(|all| all.spills)
                .map(|spills| spills.store_bytes + spills.shared_store_bytes),
        ),
        known(resources.map(constant_bytes)),
    ];
    write!(out, " ")?;
    let mut columns = 1;
    for (cell, (_, width)) in cells.iter().zip(COLUMNS) {
        write!(out, " {cell:>width$}")?;
        columns += 1 + width.max(cell.chars().count());
    }
    let mark = if kernel.is_entry { "" } else { "(device) " };
    let name = format!("{mark}{}", demangled(&kernel.name));
    writeln!(out, "  {}", shown_name(&name, columns + 2, options))?;
    let mut mnemonics = kernel
        .sass
        .iter()
        .filter(|(mnemonic, _)| options.mnemonics.shows(mnemonic))
        .peekable();
    if mnemonics.peek().is_some() {
        let counts: Vec<String> = mnemonics
            .map(|(name, number)| format!("{number} {name}"))
            .collect();
        writeln!(out, "             {}", counts.join("  "))?;
    }
    Ok(())
}

/// Local memory of a thread: with everything that is called where the cubin says so, else for the function alone.
fn local_bytes(resources: &Resources) -> Option<u64> {
    let stack = resources.stack_bytes.or(resources.frame_bytes)?;
    Some(u64::from(stack).saturating_add(resources.local_bytes))
}

/// Sizes are whatever section headers say, so that their sum could be too large.
fn constant_bytes(resources: &Resources) -> u64 {
    let banks = resources.constants.iter().map(|bank| bank.bytes);
    banks.fold(0, u64::saturating_add)
}

/// A name that starts behind `columns` others, cut where the line would be too wide.
fn shown_name(name: &str, columns: usize, options: &HumanOptions) -> String {
    let name = printable(name);
    let room = usize::from(MAX_WIDTH_COLUMNS).saturating_sub(columns).max(16);
    if options.wide || name.chars().count() <= room {
        return name.into_owned();
    }
    let mut cut: String = name.chars().take(room - 1).collect();
    cut.push('…');
    cut
}

/// One row per pattern that was counted in PTX text, one column per architecture.
pub(super) fn write_ptx_text(out: &mut dyn Write, file: &FileReport) -> io::Result<()> {
    let rows = file.ptx_text();
    if rows.is_empty() {
        return Ok(());
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let archs = file.totals.ptx.iter().map(|row| row.arch);
    let mut header = vec!["PTX text".to_owned()];
    header.extend(archs.clone().map(|arch| arch.to_string()));
    table.set_header(header);
    for (pattern, counts) in &rows {
        let mut cells = vec![printable(pattern).into_owned()];
        cells.extend(archs.clone().map(|arch| {
            let found = counts.iter().find(|row| row.arch == arch);
            found.map_or_else(|| "–".to_owned(), |row| count(row.count))
        }));
        table.add_row(cells);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    writeln!(out, "{}", Lines(&table))
}
