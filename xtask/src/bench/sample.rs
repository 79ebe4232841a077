//! One measurement: a piece of work in a process of its own, so that its memory is its own too.
//!
//! The parent starts this program again as `cargo xtask measure WORK PATH`; the child does the work once and prints a
//! [`Sample`] as JSON.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::Context as _;
use blockgate_findings::ExitStatus;
use nix::sys::resource::{Usage, UsageWho, getrusage};
use serde::{Deserialize, Serialize};

use super::work::Work;
use crate::output;

/// Do one piece of work once and print what it cost; `bench` calls this.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The work.
    #[arg(value_enum)]
    work: Work,
    /// What it works on; for `program` the program and its arguments.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    operands: Vec<OsString>,
}

/// What one piece of work cost.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Sample {
    /// From start to end, in seconds; of a program, with its start.
    pub(super) wall_s: f64,
    /// User and system time of all threads, in seconds.
    pub(super) cpu_s: f64,
    /// The largest resident set, pages of a mapped input included, in bytes.
    pub(super) peak_bytes: u64,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    let who = if args.work == Work::Program {
        UsageWho::RUSAGE_CHILDREN
    } else {
        UsageWho::RUSAGE_SELF
    };
    let before = cpu_s(&getrusage(who)?);
    let start = Instant::now();
    args.work.run(&args.operands)?;
    let wall_s = start.elapsed().as_secs_f64();
    let after = getrusage(who)?;
    let sample = Sample {
        wall_s,
        cpu_s: cpu_s(&after) - before,
        peak_bytes: peak_bytes(&after, who)?,
    };
    output::line(&serde_json::to_string(&sample)?)?;
    Ok(ExitStatus::Clean)
}

fn cpu_s(usage: &Usage) -> f64 {
    #[allow(
        clippy::cast_precision_loss,
        reason = "times of minutes are far from the end of an f64's precision"
    )]
    let seconds = |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 * 1e-6;
    seconds(usage.user_time()) + seconds(usage.system_time())
}

/// The largest resident set, in bytes.
fn peak_bytes(usage: &Usage, who: UsageWho) -> anyhow::Result<u64> {
    // What a program takes over when it is started counts in `ru_maxrss` on Linux, that of a large parent too; the
    // high-water mark of its own memory starts anew.
    if let (UsageWho::RUSAGE_SELF, Ok(status)) = (who, std::fs::read_to_string("/proc/self/status")) {
        let kibibytes = status
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"))
            .context("the kernel says nothing of the peak of memory")?;
        return Ok(kibibytes.trim().parse::<u64>()? * 1024);
    }
    // The kernel counts in KiB, that of macOS in bytes.
    let unit = if cfg!(target_os = "macos") { 1 } else { 1024 };
    Ok(u64::try_from(usage.max_rss())? * unit)
}

/// Does `work` on `operands` in a process of its own.
pub(super) fn sample(work: Work, operands: &[OsString]) -> anyhow::Result<Sample> {
    let program = std::env::current_exe().context("this program cannot be found again")?;
    let output = Command::new(program)
        .args(["measure", work.name()])
        .args(operands)
        .stderr(Stdio::inherit())
        .output()?;
    anyhow::ensure!(
        output.status.success(),
        "measuring {} ends with {}",
        work.name(),
        output.status
    );
    serde_json::from_slice(&output.stdout).context("a measurement is not JSON")
}

/// `path` as the one operand.
pub(super) fn on(path: &Path) -> Vec<OsString> {
    vec![PathBuf::from(path).into_os_string()]
}
