//! `cargo xtask build-arch`: build every architecture list, read the archives back, say what they ship.
//!
//! Lists are read and checked first, then compiled one after the other, baselines first. What an archive holds is
//! read back with our own reader and judged by pure functions; the table and the summary are printed from the
//! result.

mod cmake;
mod converters;
mod facts;
mod failure;
mod inject;
mod inspect;
mod leftovers;
mod lists;
mod objects;
mod one;
mod outcome;
mod progress;
mod project;
mod record;
mod requested;
mod same;
mod summary;
mod table;
#[cfg(test)]
mod tests;
mod tools;

pub(crate) use summary::json_schema;

use std::path::PathBuf;

use anyhow::Context as _;
use blockgate_arch::ToolkitRequirement;
use blockgate_expect::Glob;
use blockgate_findings::{ExitStatus, Severity};

use self::one::{Run, build_one};
use self::outcome::{Row, exit_status};
use self::progress::Progress;
use self::project::Project;
use crate::context::{Context, StatusError, publish};
use crate::jobs::Jobs;
use crate::measured;
use crate::output::{note, print};
use blockgate::Format;

/// Build every architecture list, audit the result, and compare.
///
/// Installs a pinned CUDA toolkit if none is found. Exit status: 0 everything holds, 1 a failed expectation or
/// comparison, 2 usage or a wrong list file, 3 something could not be built or read.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Build this list and its baseline only; may be given several times.
    #[arg(long = "list", value_name = "NAME")]
    lists: Vec<String>,

    /// Build someone else's CMake project instead of our kernels.
    #[arg(long, value_name = "DIR", requires_all = ["arch_var", "artifact"])]
    source: Option<PathBuf>,

    /// The variable through which that project takes its architectures, such as `CMAKE_CUDA_ARCHITECTURES`.
    #[arg(long, value_name = "NAME", requires = "source")]
    arch_var: Option<String>,

    /// Which files of its build folder are audited, such as `*.a` or `lib/libx.so`.
    #[arg(long, value_name = "GLOB", requires = "source")]
    artifact: Option<Glob>,

    /// Where the list files are.
    #[arg(long, value_name = "DIR", default_value = "arch-lists")]
    lists_folder: PathBuf,

    /// Build with this toolkit only, such as `13.0` or `>=12.9`.
    #[arg(long, value_name = "VERSION")]
    toolkit: Option<ToolkitRequirement>,

    #[command(flatten)]
    jobs: Jobs,

    /// How to print the comparison; JSON is schema `blockgate.build/1`, the same as in summary.json.
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,

    /// Treat an optional list without its toolkit as one that could not be built.
    #[arg(long)]
    require_all: bool,

    /// Compile everything again instead of what changed.
    #[arg(long)]
    fresh: bool,

    /// Write docs/records/build-arch.json, which the table in the README is rendered from.
    #[arg(long, conflicts_with_all = ["lists", "source", "lists_folder"])]
    record: bool,
}

pub(crate) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitStatus> {
    let project = project_of(args, context)?;
    let folder = context.root().join(&args.lists_folder);
    let loaded = lists::load(&folder, context.root(), &project)?;
    report(&loaded.findings)?;
    if loaded
        .findings
        .iter()
        .any(|finding| finding.severity == Severity::Error)
    {
        return Ok(ExitStatus::Usage);
    }
    let selected = lists::selected(&loaded.lists, &args.lists)?;
    let progress = Progress::stderr();
    for list in &selected {
        if !args.lists.is_empty() && !args.lists.contains(&list.name) {
            progress.note(&format!("{} is built too, as a baseline", list.name));
        }
    }

    let output = project.output_folder(&context.target());
    std::fs::create_dir_all(&output).with_context(|| format!("cannot make {}", output.display()))?;
    let _lock = lock(&output, &progress)?;
    leftovers::remove_unfinished(&output)?;
    // A run that ends early must not leave the summary of another one.
    let summary_path = output.join("summary.json");
    leftovers::remove(&summary_path)?;

    progress.step("looking for a CUDA toolkit".to_owned());
    let prepared = tools::prepare(&selected, args.toolkit.as_ref(), &project, context, &progress)?;
    report(&prepared.findings)?;
    if !prepared.findings.is_empty() {
        return Ok(prepared.status);
    }

    let run = Run {
        project: &project,
        root: context.root(),
        output: &output,
        sources_sha256: record::sources_digest(project.folder())?,
        jobs: args.jobs.count(),
        fresh: args.fresh,
        require_all: args.require_all,
        progress: &progress,
    };
    let mut rows: Vec<Row> = Vec::new();
    for (index, (list, tools)) in selected.iter().zip(prepared.tools).enumerate() {
        progress.step(format!(
            "building {} ({} of {})",
            list.name,
            index + 1,
            selected.len()
        ));
        let row = build_one(&run, list, tools, &rows).with_context(|| format!("building {}", list.name))?;
        rows.push(row);
    }
    progress.clear();

    let mut document = Vec::new();
    summary::write(&mut document, &rows)?;
    publish(&summary_path, &document)?;
    print(|out| match args.format {
        Format::Human => table::write(out, &rows),
        Format::Json => out.write_all(&document),
    })?;
    let status = exit_status(&rows);
    if args.record {
        if status != ExitStatus::Clean {
            note("nothing was recorded, because not everything holds");
            return Ok(status);
        }
        let circumstances = summary::Circumstances {
            measured_at_utc: measured::now_utc(),
            machine: measured::machine(),
            sources_sha256: run.sources_sha256,
            lists_sha256: selected
                .iter()
                .map(|list| (list.name.clone(), record::list_digest(list)))
                .collect(),
        };
        let mut kept = Vec::new();
        summary::write_kept(&mut kept, &rows, &circumstances)?;
        publish(&context.root().join(RECORD), &kept)?;
    }
    Ok(status)
}

/// Where `--record` writes, relative to the workspace.
const RECORD: &str = "docs/records/build-arch.json";

fn project_of(args: &Args, context: &Context) -> anyhow::Result<Project> {
    let (Some(source), Some(arch_var), Some(artifact)) = (&args.source, &args.arch_var, &args.artifact)
    else {
        return Ok(Project::Own {
            folder: context.root().join("crates/kernels"),
        });
    };
    let folder = source
        .canonicalize()
        .map_err(|error| StatusError::usage(format!("{}: {error}", source.display())))?;
    if !folder.join("CMakeLists.txt").is_file() {
        return Err(StatusError::usage(format!(
            "{} has no CMakeLists.txt",
            folder.display()
        )));
    }
    let valid = |char: char| char.is_ascii_alphanumeric() || char == '_';
    if arch_var.is_empty() || !arch_var.chars().all(valid) {
        return Err(StatusError::usage(format!(
            "`{arch_var}` is not the name of a CMake variable"
        )));
    }
    Ok(Project::Foreign {
        folder,
        arch_var: arch_var.clone(),
        artifacts: artifact.clone(),
    })
}

/// Keeps other processes from building in the same folder; waits for the one that does.
fn lock(output: &std::path::Path, progress: &Progress) -> anyhow::Result<std::fs::File> {
    let path = output.join(".lock");
    let say = || progress.step("another build-arch is at work here; waiting for it".to_owned());
    blockgate_toolkit::lock_or_wait(&path, say).with_context(|| format!("cannot lock {}", path.display()))
}

fn report(findings: &[blockgate_findings::Finding]) -> anyhow::Result<()> {
    let mut out = std::io::stderr().lock();
    blockgate_findings::render::human(&mut out, findings, blockgate_findings::render::Palette::Plain)
        .context("cannot write to standard error")
}
