//! Running a step's program, with its output shown as it comes.

use std::process::{Command, Stdio};

use anyhow::Context as _;
use blockgate_findings::ExitStatus;

use crate::browser;
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
    let status = status_of(context, Command::new(program).args(arguments))?;
    Ok(verdict_of_ours(status))
}

/// The checks of the HTML report. Without a browser they are skipped, and the reason is told.
pub(super) fn browser(context: &Context) -> anyhow::Result<Verdict> {
    Ok(match browser::check(&[], context)? {
        browser::Outcome::Ran { failed: 0 } => Verdict::Passed,
        browser::Outcome::Ran { failed } => {
            Verdict::Failed(ExitStatus::Failed, format!("{failed} checks failed"))
        }
        browser::Outcome::Skipped(reason) => Verdict::Skipped(reason),
    })
}

/// Runs somebody else's program in the workspace root. Whatever it fails with is a failed check.
pub(super) fn shown(context: &Context, command: &mut Command) -> anyhow::Result<Verdict> {
    let status = status_of(context, command)?;
    Ok(if status.success() {
        Verdict::Passed
    } else {
        Verdict::Failed(ExitStatus::Failed, status.to_string())
    })
}

fn status_of(context: &Context, command: &mut Command) -> anyhow::Result<std::process::ExitStatus> {
    command
        .current_dir(context.root())
        .stdin(Stdio::null())
        .status()
        .with_context(|| format!("{} cannot be run", command.get_program().display()))
}

/// The exit codes of our own commands keep their meaning; any other end is a failed check.
pub(super) fn verdict_of_ours(status: std::process::ExitStatus) -> Verdict {
    let ours = match status.code() {
        Some(0) => return Verdict::Passed,
        Some(2) => ExitStatus::Usage,
        Some(3) => ExitStatus::Unreadable,
        Some(4) => ExitStatus::Internal,
        _ => ExitStatus::Failed,
    };
    Verdict::Failed(ours, status.to_string())
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;

    use super::*;

    #[test]
    fn our_exit_codes_keep_their_meaning() {
        for expected in [
            ExitStatus::Failed,
            ExitStatus::Usage,
            ExitStatus::Unreadable,
            ExitStatus::Internal,
        ] {
            let ended = std::process::ExitStatus::from_raw(i32::from(expected.code()) << 8);
            assert!(matches!(verdict_of_ours(ended), Verdict::Failed(found, _) if found == expected));
        }
        assert_eq!(
            verdict_of_ours(std::process::ExitStatus::from_raw(0)),
            Verdict::Passed
        );
        let killed = std::process::ExitStatus::from_raw(9);
        assert!(matches!(
            verdict_of_ours(killed),
            Verdict::Failed(ExitStatus::Failed, _)
        ));
    }
}
