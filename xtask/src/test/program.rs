//! One test program: its list, and one of its tests in a process of its own.
//!
//! The command line is the one that libtest and libtest-mimic share: `--list --format terse`, `--exact NAME`.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use blockgate_toolkit::process::{Finished, Limits, Outcome, run_bounded};

use crate::test::report::Verdict;
use crate::test::{TestName, oracles_variable};

/// What a test may print before it is stopped.
const OUTPUT_BYTES: u64 = 64 << 20;

/// A program that holds tests.
#[derive(Clone, Debug)]
pub(crate) struct TestProgram {
    /// How people call it: package and target.
    pub(crate) label: String,
    /// The file.
    pub(crate) program: PathBuf,
    /// The package's folder, in which tests run.
    pub(crate) folder: PathBuf,
    /// What cargo sets for tests.
    pub(crate) environment: Vec<(OsString, OsString)>,
}

/// A test that a program says it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ListedTest {
    pub(crate) name: TestName,
    /// The word in brackets before a libtest-mimic test's name. A skipped test carries its reason there.
    kind: Option<String>,
}

/// The counts in a program's own summary line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Summary {
    passed: usize,
    failed: usize,
    ignored: usize,
}

impl TestProgram {
    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.current_dir(&self.folder);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    /// The tests that the program has.
    pub(crate) fn list(&self, limit: Duration) -> anyhow::Result<Vec<ListedTest>> {
        let mut command = self.command();
        command.args(["--list", "--format", "terse"]);
        let finished = run(&mut command, limit).with_context(|| format!("{} cannot be run", self.label))?;
        ensure!(
            finished.succeeded(),
            "{} --list ended with {}: {}",
            self.program.display(),
            finished.outcome,
            finished.last_lines(3).join(" / ")
        );
        self.listed(&String::from_utf8_lossy(&finished.stdout))
    }

    fn listed(&self, text: &str) -> anyhow::Result<Vec<ListedTest>> {
        let mut tests = Vec::new();
        let mut seen = BTreeSet::new();
        for line in text.lines().filter(|line| !line.is_empty()) {
            let Some((name, is)) = line.rsplit_once(": ") else {
                bail!("{}: expected `NAME: test`, found `{line}`", self.label);
            };
            match is {
                "test" => {}
                "bench" | "benchmark" => continue,
                _ => bail!("{}: expected `NAME: test`, found `{line}`", self.label),
            }
            let (kind, name) = split_kind(name);
            // They could not be run one by one, so one of them could hide the other's verdict.
            ensure!(seen.insert(name), "{}: two tests are called `{name}`", self.label);
            tests.push(ListedTest {
                name: TestName {
                    program: self.label.clone(),
                    test: name.to_owned(),
                },
                kind: kind.map(str::to_owned),
            });
        }
        Ok(tests)
    }

    /// Runs one test.
    pub(crate) fn run(&self, test: &ListedTest, limit: Duration, oracles: Option<&Path>) -> Verdict {
        let mut command = self.command();
        command.args(["--exact", &test.name.test]).args([
            "--test-threads=1",
            "--color=never",
            "--format=pretty",
        ]);
        match oracles_variable(oracles) {
            (name, Some(folder)) => command.env(name, folder),
            (name, None) => command.env_remove(name),
        };
        match run(&mut command, limit) {
            Ok(finished) => {
                let verdict = verdict(test, &finished, limit);
                // The harness keeps what a test prints until the test has ended, so a test that takes the process
                // with it takes its words along. They come from a second run, whose verdict counts for nothing.
                match verdict {
                    Verdict::Failed { what, output } if ended_early(&finished) => {
                        let again = run(command.arg("--nocapture"), limit).map(|finished| finished.text());
                        Verdict::Failed {
                            what,
                            output: format!(
                                "{output}run again with its output shown:\n{}",
                                again.unwrap_or_default()
                            ),
                        }
                    }
                    verdict => verdict,
                }
            }
            Err(error) => Verdict::Failed {
                what: format!("cannot be run: {error}"),
                output: String::new(),
            },
        }
    }
}

/// Whether the process ended before the harness could sum up.
fn ended_early(finished: &Finished) -> bool {
    matches!(finished.outcome, Outcome::Ended(_))
        && summary(&String::from_utf8_lossy(&finished.stdout)).is_none()
}

fn run(command: &mut Command, time: Duration) -> std::io::Result<Finished> {
    let limits = Limits {
        time,
        output_bytes: OUTPUT_BYTES,
    };
    run_bounded(command, limits)
}

/// `[kind] name` of libtest-mimic, or a plain name.
fn split_kind(name: &str) -> (Option<&str>, &str) {
    name.strip_prefix('[')
        .and_then(|rest| rest.split_once("] "))
        .map_or((None, name), |(kind, name)| (Some(kind), name))
}

fn verdict(test: &ListedTest, finished: &Finished, limit: Duration) -> Verdict {
    let failed = |what: String| Verdict::Failed {
        what,
        output: finished.text(),
    };
    let status = match finished.outcome {
        Outcome::TimedOut => return failed(format!("did not end within {} s", limit.as_secs_f32())),
        Outcome::PrintedTooMuch => {
            return failed(format!("printed more than {} MiB", OUTPUT_BYTES >> 20));
        }
        Outcome::Ended(status) => status,
    };
    let output = String::from_utf8_lossy(&finished.stdout);
    let one = |passed, failed, ignored| {
        Some(Summary {
            passed,
            failed,
            ignored,
        })
    };
    let summary = summary(&output);
    if status.success() && summary == one(1, 0, 0) {
        Verdict::Passed {
            elapsed: finished.elapsed,
        }
    } else if status.success() && summary == one(0, 0, 1) {
        Verdict::Skipped {
            reason: skip_reason(test, &output),
        }
    } else if status.success() {
        failed("ended without a verdict".to_owned())
    } else if summary == one(0, 1, 0) {
        failed("failed".to_owned())
    } else {
        failed(format!("ended without a verdict, by {status}"))
    }
}

/// `test result: ok. 1 passed; 0 failed; 0 ignored; …`, the last such line.
fn summary(output: &str) -> Option<Summary> {
    let (_, counts) = output
        .lines()
        .rev()
        .find_map(|line| line.strip_prefix("test result: "))?
        .split_once(". ")?;
    let count = |word: &str| {
        counts
            .split("; ")
            .find_map(|part| part.strip_suffix(word)?.trim().parse().ok())
    };
    Some(Summary {
        passed: count("passed")?,
        failed: count("failed")?,
        ignored: count("ignored")?,
    })
}

/// The kind in brackets, or what `#[ignore = "…"]` says.
fn skip_reason(test: &ListedTest, output: &str) -> String {
    let attribute = || {
        let line = output.lines().find(|line| line.starts_with("test "))?;
        let (_, reason) = line.split_once(" ... ignored, ")?;
        Some(reason.to_owned())
    };
    test.kind
        .clone()
        .or_else(attribute)
        .unwrap_or_else(|| "ignored, and it does not say why".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;
    use tempfile::TempDir;

    /// A program with libtest's command line whose tests do what real ones do when they go wrong.
    const PROGRAM: &str = r#"#!/bin/sh
if [ "$1" = --list ]; then
  for test in passes fails aborts leaves hangs 'is ignored' 'says why'; do echo "$test: test"; done
  echo '[no oracles] compared: test'
  echo 'is fast: bench'
  exit 0
fi
summary() { echo; echo "test result: $1. $2 passed; $3 failed; $4 ignored; 0 measured; 9 filtered out"; }
echo 'running 1 test'
case "$2" in
passes) echo "oracles: ${BLOCKGATE_ORACLES-none}"; echo 'test passes ... ok'; summary ok 1 0 0 ;;
fails) echo 'test fails ... FAILED'; echo 'assertion failed: left == right'; summary FAILED 0 1 0; exit 101 ;;
aborts) echo 'double free or corruption' >&2; kill -ABRT $$ ;;
leaves) exit 0 ;;
hangs) echo 'waiting for a lock'; exec sleep 5 ;;
'is ignored') echo 'test is ignored ... ignored'; summary ok 0 0 1 ;;
'says why') echo 'test says why ... ignored, needs a GPU'; summary ok 0 0 1 ;;
compared) echo 'test [no oracles] compared ... ignored'; summary ok 0 0 1 ;;
*) summary ok 0 0 0 ;;
esac
"#;

    fn program(text: &str) -> (TempDir, TestProgram) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("program");
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        let program = TestProgram {
            label: "fake".to_owned(),
            program: path,
            folder: folder.path().to_owned(),
            environment: Vec::new(),
        };
        (folder, program)
    }

    fn run_named(name: &str, limit: Duration) -> Verdict {
        let (_folder, program) = program(PROGRAM);
        let tests = program.list(Duration::from_secs(20)).unwrap();
        let test = tests.iter().find(|test| test.name.test == name).unwrap();
        program.run(test, limit, None)
    }

    fn failure(name: &str) -> (String, String) {
        match run_named(name, Duration::from_secs(20)) {
            Verdict::Failed { what, output } => (what, output),
            other => panic!("{name}: {other:?}"),
        }
    }

    fn skip(name: &str) -> String {
        match run_named(name, Duration::from_secs(20)) {
            Verdict::Skipped { reason } => reason,
            other => panic!("{name}: {other:?}"),
        }
    }

    #[test]
    fn the_list_has_every_test_and_no_benchmark() {
        let (_folder, program) = program(PROGRAM);
        let tests = program.list(Duration::from_secs(20)).unwrap();
        assert_eq!(tests.len(), 8);
        assert_eq!(tests[7].name.to_string(), "fake: compared");
        assert_eq!(tests[7].kind.as_deref(), Some("no oracles"));
    }

    #[test]
    fn a_test_that_ends_its_process_is_one_failure_with_its_output() {
        let (what, output) = failure("fails");
        assert_eq!(what, "failed");
        assert!(output.contains("left == right"));
        let (what, output) = failure("aborts");
        assert!(
            what.starts_with("ended without a verdict, by signal: 6"),
            "{what}"
        );
        assert!(output.contains("double free"));
        assert_eq!(failure("leaves").0, "ended without a verdict");
    }

    #[test]
    fn a_test_that_hangs_is_stopped() {
        match run_named("hangs", Duration::from_millis(200)) {
            Verdict::Failed { what, output } => {
                assert_eq!(what, "did not end within 0.2 s");
                assert!(output.contains("waiting for a lock"));
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_skip_has_a_reason() {
        assert_eq!(skip("is ignored"), "ignored, and it does not say why");
        assert_eq!(skip("says why"), "needs a GPU");
        assert_eq!(skip("compared"), "no oracles");
    }

    #[test]
    fn tests_are_told_where_the_oracles_are() {
        let (_folder, program) =
            program(&PROGRAM.replace("test result: $1.", "test result: $BLOCKGATE_ORACLES."));
        let tests = program.list(Duration::from_secs(20)).unwrap();
        let verdict = program.run(&tests[0], Duration::from_secs(20), Some(Path::new("/oracles")));
        assert!(matches!(verdict, Verdict::Passed { .. }), "{verdict:?}");
    }

    #[test]
    fn a_list_that_cannot_be_read_is_an_error() {
        let cases = [
            ("exit 1", "--list ended with"),
            ("echo 'usage: program'", "expected `NAME: test`"),
            ("echo 'no list'", "expected `NAME: test`"),
            ("echo 'a: test'; echo 'a: test'", "two tests are called `a`"),
        ];
        for (body, expected) in cases {
            let (_folder, program) = program(&format!("#!/bin/sh\n{body}\n"));
            let error = program.list(Duration::from_secs(20)).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
