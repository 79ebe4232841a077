//! What can stop a build before it starts, each with what to do about it.

use std::path::PathBuf;

use blockgate_arch::{ToolkitRequirement, ToolkitVersion};

use crate::places::PassedOver;

/// Why a toolkit or a tool is not to be had.
#[derive(Debug, thiserror::Error)]
pub enum ToolkitError {
    /// No toolkit that was found satisfies the requirement, nor does the one that could be installed.
    #[error(
        "no CUDA toolkit {requirement} was found{}; the one that can be installed here is {pinned}",
        passed_over_text(passed_over)
    )]
    Unsatisfied {
        /// What was asked for.
        requirement: ToolkitRequirement,
        /// The version that would be installed.
        pinned: ToolkitVersion,
        /// What was found and why it would not do.
        passed_over: Vec<PassedOver>,
    },
    /// There are no packages for this platform.
    #[error(
        "{what} can be installed on Linux x86_64 and Linux aarch64 only: there are no packages for {platform}. {advice}"
    )]
    Platform {
        /// What would have been installed.
        what: &'static str,
        /// This platform.
        platform: String,
        /// What to do.
        advice: &'static str,
    },
    /// A program of the system is missing.
    #[error("{0}")]
    Missing(Missing),
    /// A program of the system is there and does not answer.
    #[error("{0}")]
    Unusable(String),
    /// The installation failed.
    #[error(
        "cannot install {what}: {reason}\n{}Without a connection, run once with one, or {advice}",
        indented(last_lines)
    )]
    Install {
        /// What was being installed.
        what: &'static str,
        /// What happened.
        reason: String,
        /// The last lines of the installer's output.
        last_lines: Vec<String>,
        /// What to do instead.
        advice: &'static str,
    },
    /// Files could not be read or written.
    #[error("{action} {}: {error}", path.display())]
    Io {
        /// What was being done, such as `cannot read`.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        error: std::io::Error,
    },
}

/// A program that the system's own packages bring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Missing {
    /// No `python3`.
    #[error(
        "python3 is needed to install tools from PyPI, and is not in PATH. \
         Install it: `apt install python3 python3-venv` (Debian, Ubuntu), `dnf install python3` (Fedora)"
    )]
    Python,
    /// `python3` has neither pip nor a working venv.
    #[error(
        "python3 has neither pip nor a venv module that can bring it. \
         Install one: `apt install python3-venv` (Debian, Ubuntu), `dnf install python3-pip` (Fedora)"
    )]
    Pip,
    /// No C++ compiler.
    #[error(
        "a C++ compiler is needed: nvcc compiles host code with it. \
         Install one: `apt install g++` (Debian, Ubuntu), `dnf install gcc-c++` (Fedora), or set CXX"
    )]
    CxxCompiler,
    /// `CXX` names no program.
    #[error("CXX names no program: give the C++ compiler's name or path alone, without options")]
    NamedCxxCompiler,
}

fn passed_over_text(passed_over: &[PassedOver]) -> String {
    passed_over.iter().map(|one| format!("; {one}")).collect()
}

fn indented(lines: &[String]) -> String {
    lines.iter().map(|line| format!("  {line}\n")).collect()
}
