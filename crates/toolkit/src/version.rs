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
    let version = version_of_text(&text).ok_or_else(|| Rejection::NoVersion {
        first_line: text.lines().next().unwrap_or_default().chars().take(80).collect(),
    })?;
    Ok(Tool {
        path: program.to_owned(),
        version,
    })
}

/// The version in the `release` line. The exact version behind `V` wins over the release.
fn version_of_text(text: &str) -> Option<ToolkitVersion> {
    let (_, rest) = text.lines().find_map(|line| line.split_once(", release "))?;
    let (release, exact) = rest.split_once(',').unwrap_or((rest, ""));
    let exact = exact
        .trim()
        .strip_prefix('V')
        .and_then(|exact| exact.parse().ok());
    exact.or_else(|| release.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_as_tools_print_them() {
        let cases = [
            (
                "Cuda compilation tools, release 13.0, V13.0.88\n",
                Some("13.0.88"),
            ),
            (
                "ptxas: NVIDIA (R) Ptx optimizing assembler\nCuda compilation tools, release 12.8, V12.8.93\nBuild x",
                Some("12.8.93"),
            ),
            ("Cuda compilation tools, release 9.1\n", Some("9.1")),
            ("Cuda compilation tools, release banana, Vapple\n", None),
            ("clang version 19.1.7\n", None),
            ("", None),
        ];
        for (text, expected) in cases {
            let version = version_of_text(text).map(|version| version.to_string());
            assert_eq!(version.as_deref(), expected, "{text:?}");
        }
    }
}
