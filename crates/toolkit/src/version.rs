//! Asking a CUDA program for its version.

use std::path::{Path, PathBuf};
use std::process::Command;

use blockgate_arch::ToolkitVersion;

use crate::places::Rejection;
use crate::process::{Limits, Outcome, run_bounded};

/// A CUDA program and its version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tool {
    /// Where it is.
    pub path: PathBuf,
    /// What it says it is.
    pub version: ToolkitVersion,
}

/// Runs `program --version` and reads the line that nvcc, ptxas, cuobjdump and nvdisasm have in common:
/// `Cuda compilation tools, release 13.0, V13.0.88`.
///
/// # Errors
/// A program that cannot be run, fails, hangs or prints anything else.
pub fn read_version(program: &Path, limits: Limits) -> Result<Tool, Rejection> {
    let finished = run_bounded(Command::new(program).arg("--version"), limits).map_err(|error| {
        Rejection::CannotRun {
            reason: error.to_string(),
        }
    })?;
    match finished.outcome {
        Outcome::TimedOut => return Err(Rejection::Hangs { limit: limits.time }),
        Outcome::Ended(status) if !status.success() => {
            return Err(Rejection::Fails {
                status: status.to_string(),
                last_line: finished.last_lines(1).concat(),
            });
        }
        Outcome::Ended(_) | Outcome::PrintedTooMuch => {}
    }
    let text = finished.text();
    let version = ToolkitVersion::of_tool_text(&text).ok_or_else(|| Rejection::NoVersion {
        first_line: text.lines().next().unwrap_or_default().chars().take(80).collect(),
    })?;
    Ok(Tool {
        path: program.to_owned(),
        version,
    })
}
