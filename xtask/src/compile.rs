//! One source for one target: nvcc runs, and our own reader says what came of it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::Context as _;
use blockgate_arch::diagnostics::{self, Cause, Diagnosis, Tool};
use blockgate_arch::{Arch, ToolkitRequirement};
use blockgate_fatbin::{ImageKind, InspectOptions, Inspection, Limits, SassDetail};
use blockgate_toolkit::process::{Finished, Outcome, run_bounded};
use blockgate_toolkit::{BuildTools, ChildEnvironment, ListNeeds, Toolkit, process};

use crate::context::Context;
use crate::output::note;
use crate::toolkit::{provisioner, unreadable};

/// What one translation unit may cost. Real ones of template libraries take minutes.
const LIMITS: process::Limits = process::Limits {
    time: Duration::from_secs(1800),
    output_bytes: 64 << 20,
};

/// A toolkit that is ready to compile.
pub(crate) struct Compiler {
    pub(crate) toolkit: Toolkit,
    assembler: Option<Tool>,
    host_compiler: PathBuf,
    environment: ChildEnvironment,
}

/// A source and how it is compiled.
pub(crate) struct Unit {
    /// The source.
    pub(crate) source: PathBuf,
    /// Its flags, without target, input and output.
    pub(crate) flags: Vec<OsString>,
    /// The folder that relative paths in the flags start from.
    pub(crate) directory: PathBuf,
}

impl Unit {
    /// A source without flags of its own, compiled where it lies.
    pub(crate) fn bare(source: PathBuf) -> anyhow::Result<Self> {
        let directory = source
            .parent()
            .with_context(|| format!("{} lies in no folder", source.display()))?
            .to_owned();
        Ok(Self {
            source,
            flags: Vec::new(),
            directory,
        })
    }
}

/// What came of one source for one target.
pub(crate) enum Compiled {
    /// It compiled; this is what the image holds.
    Image(Facts),
    /// It did not; at least one diagnosis.
    Failed(Vec<Diagnosis>),
    /// No verdict: the compiler did not end by itself, or what it made could not be read.
    Unchecked(String),
}

/// What a cubin holds, by our own reader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Facts {
    /// The target, by all the evidence in the image.
    pub(crate) arch: Arch,
    /// The names of its kernels, functions that they call left out.
    pub(crate) kernels: Vec<String>,
    /// Instructions; `None` for targets whose code is not counted.
    pub(crate) instructions: Option<u64>,
    /// Instructions whose mnemonic begins with F2 or I2, by mnemonic; `None` for targets whose code is not counted.
    pub(crate) conversions: Option<BTreeMap<String, u64>>,
    /// E2M1 conversions; `None` for targets whose code is not counted.
    pub(crate) e2m1: Option<u64>,
    /// Bytes of code, padding included.
    pub(crate) code_bytes: u64,
}

impl Compiler {
    /// Finds the toolkit or installs it, and says on standard error which it is.
    pub(crate) fn obtain(requirement: &ToolkitRequirement, context: &Context) -> anyhow::Result<Self> {
        let provisioner = provisioner(context);
        let obtained = Toolkit::obtain(requirement, &provisioner).map_err(unreadable)?;
        let tools = BuildTools::obtain(ListNeeds::Ordinary, &provisioner).map_err(unreadable)?;
        for passed_over in &obtained.passed_over {
            note(&passed_over.to_string());
        }
        note(&obtained.toolkit.describe());
        let mut toolkit = obtained.toolkit;
        // Compilers run in the folder of their source.
        toolkit.nvcc = std::path::absolute(&toolkit.nvcc).context("nvcc's path cannot be completed")?;
        let assembler = toolkit.ptxas(provisioner.places()).ok().map(|tool| Tool {
            path: tool.path.display().to_string(),
            version: tool.version,
        });
        Ok(Self {
            environment: toolkit.environment(&tools),
            host_compiler: tools.cxx,
            assembler,
            toolkit,
        })
    }

    /// Compiles `unit` to machine code for `arch` alone, and reads it back.
    ///
    /// # Errors
    /// When nvcc cannot be started or a temporary folder cannot be made.
    pub(crate) fn compile(&self, unit: &Unit, arch: Arch) -> anyhow::Result<Compiled> {
        let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
        let output = folder.path().join("image.fatbin");
        let mut command = Command::new(&self.toolkit.nvcc);
        self.environment.apply(&mut command);
        command
            .current_dir(&unit.directory)
            .args(&unit.flags)
            .arg("-ccbin")
            .arg(&self.host_compiler)
            .arg(format!(
                "--generate-code=arch={},code=[{}]",
                arch.compute(),
                arch.sm()
            ))
            .arg("-fatbin")
            .arg(&unit.source)
            .arg("-o")
            .arg(&output);
        let finished = run_bounded(&mut command, LIMITS)
            .with_context(|| format!("cannot run {}", self.toolkit.nvcc.display()))?;
        Ok(match finished.outcome {
            Outcome::TimedOut => {
                Compiled::Unchecked(format!("nvcc did not end within {} s", LIMITS.time.as_secs()))
            }
            Outcome::PrintedTooMuch => Compiled::Unchecked("nvcc printed without end".to_owned()),
            Outcome::Ended(_) if finished.succeeded() => match read_back(&output, arch) {
                Ok(facts) => Compiled::Image(facts),
                Err(reason) => Compiled::Unchecked(reason),
            },
            Outcome::Ended(status) if status.code().is_none() => {
                Compiled::Unchecked(format!("nvcc was ended from outside ({status})"))
            }
            Outcome::Ended(status) => Compiled::Failed(self.diagnose(unit, arch, &finished, status)),
        })
    }

    fn diagnose(
        &self,
        unit: &Unit,
        arch: Arch,
        finished: &Finished,
        status: std::process::ExitStatus,
    ) -> Vec<Diagnosis> {
        let source = unit
            .source
            .file_name()
            .map(|name| name.to_string_lossy().into_owned());
        let context = diagnostics::Context {
            toolkit: self.toolkit.version,
            assembler: self.assembler.clone(),
            pass: Some(arch),
            source: source.clone(),
        };
        let mut diagnoses = diagnostics::diagnose(&finished.text(), &context);
        if diagnoses.is_empty() {
            // A failure without an error line is still a failure; its last words are the best there is.
            let words = finished.last_lines(3);
            let message = if words.is_empty() {
                format!("nvcc says nothing and ends with {status}")
            } else {
                words.join("; ")
            };
            diagnoses.push(Diagnosis {
                source,
                arch: Some(arch),
                messages: vec![message.clone()],
                cause: Cause::Other { message },
                further_errors: 0,
            });
        }
        diagnoses
    }
}

/// Runs `task` on every item, `jobs` at a time, with a bar on standard error. Results keep the order.
pub(crate) fn in_parallel<T: Sync, R: Send>(
    what: &str,
    jobs: usize,
    items: &[T],
    task: impl Fn(&T) -> anyhow::Result<R> + Sync,
) -> anyhow::Result<Vec<R>> {
    use rayon::prelude::*;
    let bar = indicatif::ProgressBar::new(items.len() as u64).with_message(what.to_owned());
    if let Ok(style) = indicatif::ProgressStyle::with_template("{msg} {bar:30} {pos}/{len} ({elapsed})") {
        bar.set_style(style);
    }
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(jobs)
        .build()
        .context("cannot start threads")?;
    let results = pool.install(|| {
        items
            .par_iter()
            .map(|item| {
                let result = task(item);
                bar.inc(1);
                result
            })
            .collect()
    });
    bar.finish_and_clear();
    results
}

/// What the fat binary at `path` holds: one cubin for `arch`, or a reason why that cannot be said.
fn read_back(path: &Path, arch: Arch) -> Result<Facts, String> {
    let bytes = std::fs::read(path).map_err(|error| format!("nvcc made no readable image: {error}"))?;
    let artifact = blockgate_fatbin::read(&bytes, &Limits::default()).map_err(|error| error.to_string())?;
    let cubins: Vec<_> = artifact
        .images
        .iter()
        .filter(|image| image.kind == ImageKind::Cubin)
        .collect();
    let [cubin] = cubins.as_slice() else {
        return Err(format!("expected one cubin for {arch}, found {}", cubins.len()));
    };
    let inspection = cubin
        .inspect(
            &Limits::default(),
            &InspectOptions {
                sass: SassDetail::Image,
            },
        )
        .map_err(|error| error.to_string())?;
    if inspection.arch != arch {
        return Err(format!("asked for {arch}, and the image is {}", inspection.arch));
    }
    Ok(facts(&inspection))
}

fn facts(inspection: &Inspection) -> Facts {
    // A count that could not be made is not 0.
    let counted = inspection.instructions.is_some();
    let named = |wanted: fn(&str) -> bool| inspection.sass.iter().filter(move |(name, _)| wanted(name));
    Facts {
        arch: inspection.arch,
        kernels: inspection
            .kernels
            .iter()
            .filter(|kernel| kernel.is_entry)
            .map(|kernel| kernel.name.clone())
            .collect(),
        instructions: inspection.instructions,
        conversions: counted.then(|| {
            named(|name| name.starts_with("F2") || name.starts_with("I2"))
                .map(|(name, count)| (name.to_owned(), count))
                .collect()
        }),
        e2m1: counted.then(|| {
            named(blockgate_fatbin::converts_to_e2m1)
                .map(|(_, count)| count)
                .sum()
        }),
        code_bytes: inspection.kernels.iter().map(|kernel| kernel.code_bytes).sum(),
    }
}

/// The first diagnosis as one line: the cause, and what else there was.
pub(crate) fn first_error(diagnoses: &[Diagnosis]) -> String {
    let Some(first) = diagnoses.first() else {
        return "it failed without a word".to_owned();
    };
    match first.further_errors + diagnoses.len() - 1 {
        0 => first.cause.to_string(),
        more => format!("{} (and {more} more)", first.cause),
    }
}
