//! Doc tests. rustdoc compiles and runs them itself, each in a process of its own; here they are listed first
//! and held against their verdicts like all others.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use blockgate_toolkit::process::{Finished, Limits, run_bounded};

use crate::test::TestName;
use crate::test::cargo::{cargo, selection};
use crate::test::report::{Report, Verdict};

/// All doc tests together, compilation among it.
const LIMITS: Limits = Limits {
    time: Duration::from_mins(10),
    output_bytes: 64 << 20,
};

/// The doc tests of the selected packages, by rustdoc's names.
pub(crate) fn list(root: &Path, packages: &[String]) -> anyhow::Result<Vec<TestName>> {
    let finished = rustdoc(root, packages, &["--list", "--format=terse"])?;
    // Cargo's words where each selected package is a program.
    if !finished.succeeded() && finished.text().contains("no library targets found") {
        return Ok(Vec::new());
    }
    ensure!(
        finished.succeeded(),
        "`cargo test --doc` ended with {}: {}",
        finished.outcome,
        finished.last_lines(5).join(" / ")
    );
    let text = String::from_utf8_lossy(&finished.stdout);
    Ok(text
        .lines()
        .filter_map(|line| line.strip_suffix(": test"))
        .map(|test| TestName {
            program: "doc".to_owned(),
            test: test.to_owned(),
        })
        .collect())
}

/// Runs them, and takes only the verdicts of those in `tests`.
pub(crate) fn run(
    root: &Path,
    packages: &[String],
    tests: &[TestName],
    mut report: Report,
) -> anyhow::Result<Report> {
    if tests.is_empty() {
        return Ok(report);
    }
    let finished = rustdoc(root, packages, &["--color=never"])?;
    let output = String::from_utf8_lossy(&finished.stdout);
    for test in tests {
        let verdict = verdict(&test.test, &output).unwrap_or_else(|| Verdict::Failed {
            what: format!("ended without a verdict; rustdoc ended with {}", finished.outcome),
            output: finished.text(),
        });
        report.record(test.clone(), verdict)?;
    }
    Ok(report)
}

fn rustdoc(root: &Path, packages: &[String], arguments: &[&str]) -> anyhow::Result<Finished> {
    let mut command = cargo();
    command
        .current_dir(root)
        .args(["test", "--doc", "--no-fail-fast"])
        .args(selection(packages))
        .arg("--")
        .args(arguments);
    run_bounded(&mut command, LIMITS).context("cargo cannot be run")
}

/// `test NAME ... ok`, or `test NAME - compile fail ... ok`: rustdoc adds how it is run.
fn verdict(test: &str, output: &str) -> Option<Verdict> {
    let word = output.lines().find_map(|line| {
        let rest = line.strip_prefix("test ")?.strip_prefix(test)?;
        let (how, word) = rest.split_once(" ... ")?;
        (how.is_empty() || how.starts_with(" - ")).then_some(word)
    })?;
    match word {
        // rustdoc gives no time of a single one.
        "ok" => Some(Verdict::Passed {
            elapsed: Duration::ZERO,
        }),
        "ignored" => Some(Verdict::Skipped {
            reason: "its code block says `ignore`".to_owned(),
        }),
        _ => Some(Verdict::Failed {
            what: "failed".to_owned(),
            output: section(test, output),
        }),
    }
}

/// What stands between `---- NAME stdout ----` and the next heading.
fn section(test: &str, output: &str) -> String {
    let heading = format!("---- {test}");
    output
        .lines()
        .skip_while(|line| !line.starts_with(&heading))
        .skip(1)
        .take_while(|line| !line.starts_with("---- ") && *line != "failures:")
        .map(|line| format!("{line}\n"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "
running 4 tests
test src/lib.rs - (line 1) ... FAILED
test src/lib.rs - (line 14) - compile fail ... ok
test src/lib.rs - (line 2) ... ok
test src/lib.rs - (line 5) ... ignored

failures:

---- src/lib.rs - (line 1) stdout ----
Test executable failed (terminated by signal).

failures:
    src/lib.rs - (line 1)
";

    #[test]
    fn verdicts_are_found_by_name() {
        assert!(matches!(
            verdict("src/lib.rs - (line 14)", OUTPUT),
            Some(Verdict::Passed { .. })
        ));
        assert!(matches!(
            verdict("src/lib.rs - (line 2)", OUTPUT),
            Some(Verdict::Passed { .. })
        ));
        assert!(matches!(
            verdict("src/lib.rs - (line 5)", OUTPUT),
            Some(Verdict::Skipped { .. })
        ));
        match verdict("src/lib.rs - (line 1)", OUTPUT) {
            Some(Verdict::Failed { output, .. }) => {
                assert_eq!(output, "Test executable failed (terminated by signal).\n\n");
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(verdict("src/lib.rs - (line 99)", OUTPUT), None);
    }
}
