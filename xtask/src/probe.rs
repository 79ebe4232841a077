//! `cargo xtask probe`: one translation unit, with its own flags, under each of several targets.

mod commands;
mod render;

use std::path::PathBuf;

use blockgate_arch::{Arch, ToolkitRequirement};
use blockgate_findings::ExitStatus;
use blockgate_toolkit::Toolkit;

use crate::compile::{Compiled, Compiler, Unit, in_parallel};
use crate::context::{Context, StatusError};
use crate::jobs::Jobs;
use crate::output::{note, print};
use blockgate::Format;

/// Compile one CUDA source under each target, and say what comes of it.
///
/// The source's own flags come from a compile_commands.json; its targets, input and output are replaced. Exit status:
/// 0 if it compiles for every target, 1 if for some it does not, 3 if one could not be checked.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The source.
    #[arg(value_name = "FILE.cu")]
    file: PathBuf,
    /// The targets, such as `120,120a,121f`.
    #[arg(long = "arch", value_delimiter = ',', required = true)]
    archs: Vec<Arch>,
    /// The file with the source's flags. Default: the first that names the source, of those in the folders from the
    /// source upwards (also in their `build/`), and of those of `build-arch`.
    #[arg(long, value_name = "PATH")]
    compile_commands: Option<PathBuf>,
    /// Which toolkits will do, such as `13.0` or `>=12.9`.
    #[arg(long, value_name = "VERSION", default_value = ">=12.9")]
    toolkit: ToolkitRequirement,
    #[command(flatten)]
    jobs: Jobs,
    /// How the result is printed; JSON is schema `blockgate.probe/1`.
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
}

/// What one run found.
struct Report {
    toolkit: Toolkit,
    source: PathBuf,
    /// The file that the flags come from, if any.
    commands: Option<PathBuf>,
    rows: Vec<(Arch, Compiled)>,
}

impl Report {
    fn status(&self) -> ExitStatus {
        self.rows
            .iter()
            .fold(ExitStatus::Clean, |status, (_, compiled)| match compiled {
                Compiled::Image(_) => status,
                Compiled::Failed(_) => status.and(ExitStatus::Failed),
                Compiled::Unchecked(_) => status.and(ExitStatus::Unreadable),
            })
    }
}

pub(crate) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitStatus> {
    let source = std::path::absolute(&args.file)?;
    if !source.is_file() {
        return Err(StatusError::unreadable(format!(
            "{}: there is no such file",
            args.file.display()
        )));
    }
    let mut archs: Vec<Arch> = Vec::new();
    for arch in &args.archs {
        if archs.contains(arch) {
            return Err(StatusError::usage(format!(
                "--arch names `{}` twice",
                arch.token()
            )));
        }
        archs.push(*arch);
    }
    let found = commands::find(&source, args.compile_commands.as_deref(), context)?;
    let (unit, commands) = match found {
        Some(found) => (found.unit, Some(found.path)),
        None => {
            note(&format!(
                "no compile_commands.json names {}: it is compiled without flags of its own",
                args.file.display()
            ));
            (Unit::bare(source.clone())?, None)
        }
    };
    let compiler = Compiler::obtain(&args.toolkit, context)?;
    let compiled = in_parallel("compiling", args.jobs.count(), &archs, |arch| {
        compiler.compile(&unit, *arch)
    })?;
    let report = Report {
        toolkit: compiler.toolkit,
        source,
        commands,
        rows: archs.into_iter().zip(compiled).collect(),
    };
    let text = match args.format {
        Format::Human => render::human(&report),
        Format::Json => render::json(&report)?,
    };
    print(|out| out.write_all(text.as_bytes()))?;
    Ok(report.status())
}
