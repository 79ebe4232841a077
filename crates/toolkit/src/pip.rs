//! Installing a hash-pinned requirements file into a folder.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::error::{Missing, ToolkitError};
use crate::places::Places;
use crate::process::{Finished, Limits, run_bounded};
use crate::provision::{Package, PackageForm};

/// An installation of a toolkit is about 130 MB to fetch; a slow line needs its time.
const INSTALL_LIMITS: Limits = Limits {
    time: Duration::from_mins(30),
    output_bytes: 16 << 20,
};

const ADVICE: &str = "set PIP_FIND_LINKS to a folder that holds the wheels and PIP_NO_INDEX=1.";

/// Installs `requirements` into `target`, or puts the wheels there. `scratch` is an empty folder for a virtual environment, which is
/// made only where python3 has no pip of its own: it is not relocatable, so nothing is installed into it.
pub(crate) fn install(
    package: &Package,
    requirements: &Path,
    target: &Path,
    scratch: &Path,
    places: &Places,
) -> Result<(), ToolkitError> {
    let failed = |reason: String, last_lines| ToolkitError::Install {
        what: package.what,
        reason,
        last_lines,
        advice: ADVICE,
    };
    let python = python_with_pip(scratch, places)?;
    let mut command = Command::new(&python);
    command
        .args(["-m", "pip"])
        .args(match package.form {
            PackageForm::Installed => &["install", "--no-compile", "--target"][..],
            PackageForm::Wheels => &["download", "--dest"][..],
        })
        .arg(target)
        .args([
            "--require-hashes",
            "--no-deps",
            "--only-binary=:all:",
            "--no-input",
        ])
        .arg("--requirement")
        .arg(requirements)
        .env("PIP_DISABLE_PIP_VERSION_CHECK", "1")
        // A person's own settings may ask for these; neither goes together with --target.
        .env("PIP_USER", "0")
        .env("PIP_REQUIRE_VIRTUALENV", "0");
    if let Some(platform) = package.wheel_platform {
        command.args(["--platform", platform]);
    }
    let finished = run_bounded(&mut command, INSTALL_LIMITS)
        .map_err(|error| failed(format!("{} cannot be run: {error}", python.display()), Vec::new()))?;
    if finished.succeeded() {
        return Ok(());
    }
    Err(failed(
        format!("pip ended with {}; its last lines:", finished.outcome),
        finished.last_lines(8),
    ))
}

/// A python that has pip: the system's, or that of a virtual environment in `scratch`.
fn python_with_pip(scratch: &Path, places: &Places) -> Result<PathBuf, ToolkitError> {
    let python = ["python3", "python"]
        .iter()
        .find_map(|name| places.program(name.as_ref()))
        .ok_or(ToolkitError::Missing(Missing::Python))?;
    if runs(Command::new(&python).args(["-m", "pip", "--version"])) {
        return Ok(python);
    }
    if !runs(Command::new(&python).args(["-m", "venv"]).arg(scratch)) {
        return Err(ToolkitError::Missing(Missing::Pip));
    }
    let python = scratch.join("bin/python");
    if runs(Command::new(&python).args(["-m", "pip", "--version"])) {
        Ok(python)
    } else {
        Err(ToolkitError::Missing(Missing::Pip))
    }
}

fn runs(command: &mut Command) -> bool {
    let limits = Limits {
        time: Duration::from_mins(2),
        ..Limits::QUERY
    };
    run_bounded(command, limits).is_ok_and(|finished: Finished| finished.succeeded())
}
