//! What devices take, for a terminal and as schema `blockgate.resolve/1`.

mod json;

pub use json::{resolve_json, resolve_json_schema};

use std::io::{self, Write};

use blockgate_arch::devices::DEVICES;
use blockgate_arch::{CodeKind, Device};
use blockgate_findings::Severity;
use blockgate_findings::render::{Palette, printable};
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

use super::demangle::demangled;
use super::table::Lines;
use super::units::count;
use crate::resolve::{
    DeviceResolution, Library, Module, Resolution, Summary, Tally, TensorCode, Verdict, advice,
};

/// The widest table that is printed, in columns.
const MAX_WIDTH_COLUMNS: u16 = 100;
/// How many kernels stand for those of one kind.
const MOST_NAMES: usize = 5;
/// The longest name in a list, in characters.
const MOST_NAME_CHARS: usize = 90;

/// What is shown beside the summary.
#[derive(Clone, Copy, Debug, Default)]
pub struct ResolveOptions {
    /// List every kernel with the image that it gets.
    pub kernels: bool,
    /// Colours.
    pub palette: Palette,
}

/// Writes one table per library, a row per device and image; then what needs attention.
pub fn resolve_human(
    out: &mut dyn Write,
    resolution: &Resolution<'_>,
    options: ResolveOptions,
) -> io::Result<()> {
    for library in &resolution.libraries {
        write_library(out, library, resolution, options)?;
    }
    if resolution
        .libraries
        .iter()
        .all(|library| library.modules.is_empty())
    {
        let label = options.palette.severity(Severity::Error, "not checked:");
        writeln!(
            out,
            "{label} there is no kernel that an image could be chosen for"
        )?;
    }
    blockgate_findings::render::human(out, resolution.findings, options.palette)
}

fn write_library(
    out: &mut dyn Write,
    library: &Library<'_>,
    resolution: &Resolution<'_>,
    options: ResolveOptions,
) -> io::Result<()> {
    let name = match library.file {
        Some(file) => format!("{}: {file}", library.path),
        None => library.path.to_owned(),
    };
    let driver = resolution
        .driver
        .map_or_else(String::new, |driver| format!(", driver of CUDA {driver}"));
    writeln!(
        out,
        "{}: {} in {}{driver}",
        options.palette.strong(&printable(&name)),
        number(library.kernel_count(), "kernel"),
        number(library.modules.len() as u64, "module"),
    )?;
    let summaries: Vec<Summary<'_>> = library
        .devices
        .iter()
        .map(|device| Summary::of(library, device, resolution.driver))
        .collect();
    if !library.modules.is_empty() {
        writeln!(out, "{}", Lines(&table(library, &summaries)))?;
    }
    write_notes(out, library)?;
    for (device, summary) in library.devices.iter().zip(&summaries) {
        write_exceptions(out, device, summary, options)?;
    }
    if options.kernels {
        for device in &library.devices {
            write_kernels(out, library, device)?;
        }
    }
    writeln!(out)
}

fn table(library: &Library<'_>, summaries: &[Summary<'_>]) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(MAX_WIDTH_COLUMNS);
    table.set_header([
        "device",
        "takes",
        "by",
        "modules",
        "kernels",
        "tensor code",
        "driver",
    ]);
    for (device, summary) in library.devices.iter().zip(summaries) {
        let mut name = device.device.to_string();
        for row in &summary.taken {
            table.add_row([
                std::mem::take(&mut name),
                row.target.to_string(),
                match row.target.kind {
                    CodeKind::Cubin => "machine code".to_owned(),
                    CodeKind::Ptx => "JIT".to_owned(),
                },
                count(row.tally.modules),
                count(row.tally.kernels),
                match row.target.kind {
                    CodeKind::Cubin => tensor_code(&row.code),
                    CodeKind::Ptx => "–".to_owned(),
                },
                row.driver_floor
                    .map_or_else(|| "any".to_owned(), |floor| format!("{floor}+")),
            ]);
        }
        if summary.no_image != Tally::default() {
            table.add_row([
                std::mem::take(&mut name),
                "NO IMAGE".to_owned(),
                "–".to_owned(),
                count(summary.no_image.modules),
                count(summary.no_image.kernels),
                "–".to_owned(),
                "–".to_owned(),
            ]);
        }
    }
    for column in [3, 4] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// `E2M1 216, OMMA 12`, or `none`.
fn tensor_code(code: &TensorCode) -> String {
    let mut parts = Vec::new();
    if code.e2m1_conversions > 0 {
        parts.push(format!("E2M1 {}", count(code.e2m1_conversions)));
    }
    parts.extend(
        code.mma
            .iter()
            .map(|(family, number)| format!("{family} {}", count(*number))),
    );
    if code.unknown_images > 0 {
        parts.push(format!("? in {}", number(code.unknown_images, "image")));
    }
    if parts.is_empty() {
        "none".to_owned()
    } else {
        parts.join(", ")
    }
}

fn write_notes(out: &mut dyn Write, library: &Library<'_>) -> io::Result<()> {
    if let Some(device) = library.only_device() {
        writeln!(
            out,
            "every image is for {device} alone: no other device, now or later, can run this"
        )?;
    }
    if library.modules_without_kernels > 0 {
        writeln!(
            out,
            "without kernels: {}",
            number(library.modules_without_kernels, "module")
        )?;
    }
    if library.opaque_modules > 0 {
        writeln!(
            out,
            "not checked: {} of LTO-IR or unknown images, whose kernels are not known",
            number(library.opaque_modules, "module")
        )?;
    }
    if library.relocatable_images > 0 {
        writeln!(
            out,
            "{} input of a device link: the driver loads what is linked from them",
            match library.relocatable_images {
                1 => "1 image is".to_owned(),
                images => format!("{} images are", count(images)),
            }
        )?;
    }
    Ok(())
}

fn write_exceptions(
    out: &mut dyn Write,
    device: &DeviceResolution<'_>,
    summary: &Summary<'_>,
    options: ResolveOptions,
) -> io::Result<()> {
    let name = device.device;
    let error = |text: &str| options.palette.severity(Severity::Error, text);
    for group in &summary.no_image_groups {
        writeln!(
            out,
            "{name}: {} for {} in {}",
            error("no image"),
            number(group.tally.kernels, "kernel"),
            number(group.tally.modules, "module")
        )?;
        for (image, reason) in &group.excluded {
            writeln!(out, "  {image}: {reason}")?;
        }
        let kernels: Vec<&str> = group
            .modules
            .iter()
            .flat_map(|module| module.kernels.iter().copied())
            .collect();
        write_names(out, &kernels, options)?;
    }
    if summary.no_image != Tally::default() && device.driver_problem.is_none() {
        writeln!(out, "  would do: {}", would_do(device.device.device))?;
    }
    for (images, tally) in &summary.undocumented {
        writeln!(
            out,
            "{name}: not documented which is taken, {images}, in {}",
            number(tally.modules, "module")
        )?;
    }
    if summary.doubtful != Tally::default() {
        writeln!(
            out,
            "{name}: {} another image, which could not be looked into, may be taken in {}",
            error("not checked:"),
            number(summary.doubtful.modules, "module")
        )?;
    }
    for contradiction in &summary.contradictions {
        writeln!(
            out,
            "{name}: {} says {}, the code is {}, which {} here ({})",
            if contradiction.loads {
                "the header".to_owned()
            } else {
                error("the header")
            },
            contradiction.declared,
            contradiction.code,
            if contradiction.loads {
                "loads"
            } else {
                "does not load"
            },
            number(contradiction.modules, "module")
        )?;
    }
    if !summary.missing.is_empty() {
        writeln!(
            out,
            "{name}: {} in the image that is taken, though another image has it",
            error(&format!(
                "missing: {}",
                number(summary.missing.len() as u64, "kernel")
            ))
        )?;
        let kernels: Vec<&str> = summary.missing.iter().map(|(_, kernel)| *kernel).collect();
        write_names(out, &kernels, options)?;
    }
    if summary.newer_major != Tally::default() {
        writeln!(
            out,
            "{name}: {} of a later CUDA major release than the driver's: not promised to load",
            number(summary.newer_major.modules, "module")
        )?;
    }
    Ok(())
}

/// `sm_103a, sm_100f or sm_100, or plain PTX of this or an earlier capability`.
fn would_do(device: Device) -> String {
    let images: Vec<String> = advice(device).iter().map(ToString::to_string).collect();
    let images = match images.as_slice() {
        [] => return "plain PTX of this or an earlier capability".to_owned(),
        [rest @ .., last] if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        [last, ..] => last.clone(),
    };
    format!("{images}, or plain PTX of this or an earlier capability")
}

fn write_names(out: &mut dyn Write, kernels: &[&str], options: ResolveOptions) -> io::Result<()> {
    let shown = if options.kernels {
        kernels.len()
    } else {
        MOST_NAMES
    };
    for kernel in kernels.iter().take(shown) {
        writeln!(out, "    {}", shortened(kernel))?;
    }
    if kernels.len() > shown {
        writeln!(
            out,
            "    and {} more (--kernels lists them)",
            count((kernels.len() - shown) as u64)
        )?;
    }
    Ok(())
}

fn write_kernels(
    out: &mut dyn Write,
    library: &Library<'_>,
    device: &DeviceResolution<'_>,
) -> io::Result<()> {
    writeln!(out, "{}, by module:", device.device)?;
    for (module, verdict) in library.modules.iter().zip(&device.verdicts) {
        let taken = match verdict {
            Verdict::Taken(taken) => taken.target.to_string(),
            Verdict::NoImage { .. } => "NO IMAGE".to_owned(),
        };
        writeln!(out, "  {}: {taken}", printable(&place(module)))?;
        for kernel in &module.kernels {
            let lacks = matches!(verdict, Verdict::Taken(taken) if taken.missing.contains(kernel));
            let mark = if lacks { "  MISSING" } else { "" };
            writeln!(out, "    {}{mark}", shortened(kernel))?;
        }
    }
    Ok(())
}

/// `quantize.cu.o, region 0`.
fn place(module: &Module<'_>) -> String {
    let section = module.section.unwrap_or("file");
    match module.member {
        Some(member) => format!("{member}, {section} region {}", module.region),
        None => format!("{section} region {}", module.region),
    }
}

fn shortened(kernel: &str) -> String {
    let name = demangled(kernel);
    let name = printable(&name);
    match name.char_indices().nth(MOST_NAME_CHARS) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.into_owned(),
    }
}

fn number(number: u64, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {what}{plural}", count(number))
}

/// Writes the table of devices that `--device` knows by name.
pub fn devices(out: &mut dyn Write) -> io::Result<()> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["device", "compute capability", "also", "note", "known"]);
    for row in DEVICES {
        table.add_row([
            row.name.to_owned(),
            row.capability.to_string(),
            row.aliases.join(", "),
            row.note.to_owned(),
            row.evidence.to_string(),
        ]);
    }
    writeln!(out, "{}", Lines(&table))
}
