//! Running a step's program, with its output shown as it comes.

use std::process::{Command, Stdio};

use anyhow::Context as _;
use blockgate_findings::ExitStatus;

use crate::ci::Verdict;
use crate::context::Context;
use crate::test::cargo as cargo_command;

/// Cargo with `arguments` and these variables.
pub(super) fn cargo(
    context: &Context,
    arguments: &[&str],
    variables: &[(&str, &str)],
) -> anyhow::Result<Verdict> {
    let mut command = cargo_command();
    command.args(arguments).envs(variables.iter().copied());
    shown(context, &mut command)
}

/// This program with `arguments`.
pub(super) fn xtask(context: &Context, arguments: &[&str]) -> anyhow::Result<Verdict> {
    let program = std::env::current_exe().context("this program's own path is not known")?;
    shown(context, Command::new(program).args(arguments))
}

/// Runs `command` in the workspace root and says how it ended.
pub(super) fn shown(context: &Context, command: &mut Command) -> anyhow::Result<Verdict> {
    let status = command
        .current_dir(context.root())
        .stdin(Stdio::null())
        .status()
        .with_context(|| format!("{} cannot be run", command.get_program().display()))?;
    Ok(verdict(status))
}

/// Our own exit codes keep their meaning; every other failure is a failed check.
pub(super) fn verdict(status: std::process::ExitStatus) -> Verdict {
    if status.success() {
        return Verdict::Passed;
    }
    let ours = match status.code() {
        Some(3) => ExitStatus::Unreadable,
        _ => ExitStatus::Failed,
    };
    Verdict::Failed(ours, status.to_string())
}
