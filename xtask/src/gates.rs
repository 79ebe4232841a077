//! `cargo xtask gates`: compile the marker kernels under every target and hold what comes of it against the table.

mod observe;
mod render;

use blockgate_arch::toolkits::check_known;
use blockgate_arch::{Arch, ToolkitRequirement};
use blockgate_findings::ExitStatus;

use crate::compile::{Compiler, in_parallel};
use crate::context::Context;
use crate::jobs::Jobs;
use crate::output::print;
use blockgate::Format;

use self::observe::{Markers, Report, Row};

/// The targets that are tried, in the order of the table.
const TARGETS: [&str; 19] = [
    "80", "89", "90", "90a", "100", "100f", "100a", "103", "103f", "103a", "110", "110f", "110a", "120",
    "120f", "120a", "121", "121f", "121a",
];

/// Compile the marker kernels for every target, and compare two gates with one.
///
/// Exit status: 0 if all targets that the toolkit knows behave as the table says, 1 if one differs, 3 if one could
/// not be checked.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Which toolkits will do, such as `13.0` or `>=12.9`.
    #[arg(long, value_name = "VERSION", default_value = ">=12.9")]
    toolkit: ToolkitRequirement,
    #[command(flatten)]
    jobs: Jobs,
    /// How the result is printed; JSON is schema `blockgate.gates/1`.
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
}

pub(crate) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitStatus> {
    let compiler = Compiler::obtain(&args.toolkit, context)?;
    let markers = Markers::of(&context.root().join("crates/kernels"));
    let version = compiler.toolkit.version;
    let targets = TARGETS
        .into_iter()
        .map(str::parse)
        .collect::<Result<Vec<Arch>, _>>()?;
    let (known, unknown): (Vec<Arch>, Vec<Arch>) = targets
        .iter()
        .partition(|arch| check_known(version, **arch).is_ok());
    let observed = in_parallel("compiling marker kernels", args.jobs.count(), &known, |arch| {
        observe::observe(&compiler, &markers, *arch)
    })?;
    let mut rows: Vec<Row> = observed.into_iter().map(Row::Checked).collect();
    rows.extend(
        unknown
            .into_iter()
            .filter_map(|arch| Some(Row::Skipped(check_known(version, arch).err()?))),
    );
    rows.sort_by_key(|row| targets.iter().position(|arch| *arch == row.arch()));
    let report = Report {
        toolkit: compiler.toolkit,
        rows,
    };
    let text = match args.format {
        Format::Human => render::human(&report),
        Format::Json => render::json(&report)?,
    };
    print(|out| out.write_all(text.as_bytes()))?;
    Ok(report.status())
}
