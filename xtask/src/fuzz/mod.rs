//! `cargo xtask fuzz`: runs the fuzz targets under libFuzzer, from seeds that the fixtures give.

mod corpus;
mod outcome;

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Context as _;
use blockgate_findings::ExitStatus;
use blockgate_fuzz::{TARGETS, Target};
use blockgate_toolkit::{Package, PackageForm};

use crate::cargo_tool::CargoTool;
use crate::context::{Context, StatusError};
use crate::fuzz::outcome::Outcome;
use crate::jobs::Jobs;
use crate::output;

/// Run the fuzz targets under libFuzzer; exit 1 when one of them fails.
///
/// Needs a C++ compiler. The corpus grows in fuzz/corpus; an input that makes a target fail is kept in fuzz/artifacts.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Run these targets; all if none is given.
    targets: Vec<String>,
    /// Seconds that each target runs.
    #[arg(long, default_value_t = 60)]
    seconds: u32,
    /// What watches the memory that is used: `address`, or `none`, which is faster.
    #[arg(long, default_value = "address")]
    sanitizer: String,
    #[command(flatten)]
    jobs: Jobs,
}

const TOOL: CargoTool = CargoTool {
    program: "cargo-fuzz",
    package: Package {
        what: "cargo-fuzz 0.13.2",
        requirements: "ci/tools/cargo-fuzz.txt",
        folder: "tools/cargo-fuzz",
        files: &["bin/cargo-fuzz"],
        download_megabytes: 2,
        form: PackageForm::Installed,
        wheel_platform: None,
        macos: true,
        elsewhere: "have cargo-fuzz in PATH.",
    },
};

/// What one input may cost: seconds, and MiB at once and altogether.
const LIMITS: [&str; 3] = ["-timeout=10", "-malloc_limit_mb=256", "-rss_limit_mb=2048"];

/// Longer inputs are mostly repetitions of shorter ones.
const MAX_INPUT: &str = "-max_len=65536";

pub(crate) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitStatus> {
    let targets = selected(&args.targets)?;
    let cargo_fuzz = TOOL.obtain(context)?;
    corpus::fill(context, &targets)?;
    for target in &targets {
        // One after the other, so that running them does not wait for building.
        build(&cargo_fuzz, target, args, context)?;
    }
    let next = AtomicUsize::new(0);
    let outcomes = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..args.jobs.count() {
            scope.spawn(|| {
                while let Some(target) = targets.get(next.fetch_add(1, Ordering::Relaxed)) {
                    output::note(&format!("{}: {} s", target.name, args.seconds));
                    let outcome = run_one(&cargo_fuzz, target, args, context);
                    outcomes
                        .lock()
                        .unwrap_or_else(std::sync::PoisonError::into_inner)
                        .push((target.name, outcome));
                }
            });
        }
    });
    let mut outcomes = outcomes
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    outcomes.sort_by_key(|(name, _)| targets.iter().position(|target| target.name == *name));
    let outcomes = outcomes
        .into_iter()
        .map(|(name, outcome)| Ok((name, outcome?)))
        .collect::<anyhow::Result<Vec<_>>>()?;
    output::print(|out| outcome::write(out, &outcomes))?;
    Ok(if outcomes.iter().all(|(_, outcome)| outcome.is_clean()) {
        ExitStatus::Clean
    } else {
        ExitStatus::Failed
    })
}

fn selected(names: &[String]) -> anyhow::Result<Vec<Target>> {
    let is_known = |name: &&String| TARGETS.iter().any(|target| target.name == name.as_str());
    if let Some(unknown) = names.iter().find(|name| !is_known(name)) {
        let known: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
        return Err(StatusError::usage(format!(
            "`{unknown}` is not a fuzz target; the targets are {}",
            known.join(", ")
        )));
    }
    let is_asked_for = |target: &Target| names.is_empty() || names.iter().any(|name| name == target.name);
    Ok(TARGETS.into_iter().filter(is_asked_for).collect())
}

fn command(cargo_fuzz: &Path, verb: &str, args: &Args, context: &Context) -> Command {
    let mut command = Command::new(cargo_fuzz);
    command
        .current_dir(context.root())
        .args([verb, "--features", "libfuzzer", "--sanitizer", &args.sanitizer])
        .arg("--target-dir")
        .arg(context.target().join("fuzz"))
        // Instrumentation is an unstable option of the compiler, which is otherwise the stable one.
        .env("RUSTC_BOOTSTRAP", "1")
        .stdin(Stdio::null());
    command
}

fn build(cargo_fuzz: &Path, target: &Target, args: &Args, context: &Context) -> anyhow::Result<()> {
    let status = command(cargo_fuzz, "build", args, context)
        .arg(target.name)
        .status()
        .context("cargo-fuzz cannot be run")?;
    if status.success() {
        return Ok(());
    }
    Err(StatusError::unreadable(format!(
        "the target `{}` cannot be built ({status}); libFuzzer needs a C++ compiler",
        target.name
    )))
}

fn run_one(cargo_fuzz: &Path, target: &Target, args: &Args, context: &Context) -> anyhow::Result<Outcome> {
    let log_path = context.target().join("fuzz").join(format!("{}.log", target.name));
    let log = File::create(&log_path).with_context(|| format!("{} cannot be made", log_path.display()))?;
    let status = command(cargo_fuzz, "run", args, context)
        .arg(target.name)
        .arg("--")
        .args(LIMITS)
        .arg(MAX_INPUT)
        .arg(format!("-max_total_time={}", args.seconds))
        .arg("-print_final_stats=1")
        .stdout(Stdio::null())
        .stderr(log)
        .status()
        .context("cargo-fuzz cannot be run")?;
    let log = std::fs::read(&log_path).with_context(|| format!("{} cannot be read", log_path.display()))?;
    Ok(Outcome::of_log(
        &String::from_utf8_lossy(&log),
        status.success(),
        &log_path,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_selected_by_name_in_the_table_s_order() {
        let names = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(ToString::to_string).collect();
            selected(&names).map(|targets| targets.iter().map(|target| target.name).collect::<Vec<_>>())
        };
        assert_eq!(names(&[]).unwrap().len(), TARGETS.len());
        assert_eq!(names(&["ptx", "region"]).unwrap(), ["region", "ptx"]);
        assert!(names(&["regions"]).unwrap_err().to_string().contains("cubin"));
    }

    /// Cargo builds no target that the manifest does not name, and the table would never know.
    #[test]
    fn every_target_has_a_program_and_every_program_a_target() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz");
        let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        for target in TARGETS {
            let name = target.name;
            let bin = format!("[[bin]]\nname = \"{name}\"\npath = \"fuzz_targets/{name}.rs\"\n");
            assert!(manifest.contains(&bin), "{name}");
            let program = folder.join(format!("fuzz_targets/{name}.rs"));
            let program = std::fs::read_to_string(program).unwrap();
            let call = format!("libfuzzer_sys::fuzz_target!(|data: &[u8]| blockgate_fuzz::{name}(data));");
            assert!(program.lines().any(|line| line == call), "{name}");
        }
        assert_eq!(manifest.matches("[[bin]]").count(), TARGETS.len());
    }
}
