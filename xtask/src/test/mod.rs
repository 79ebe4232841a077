//! `cargo xtask test`: every test is listed first, runs in a process of its own, and must end with a verdict.
//!
//! `cargo test` runs the tests of a program in one process: one that aborts takes the others with it, and a
//! test that never reports is not missed. Here the list is the measure, and the last line counts it.

mod cargo;
mod doc;
mod program;
mod report;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::Context as _;
use blockgate_findings::ExitStatus;
use blockgate_toolkit::Oracles;
use indicatif::{ProgressBar, ProgressStyle};

use crate::context::{Context, StatusError};
use crate::jobs::Jobs;
pub(crate) use crate::test::cargo::cargo;
use crate::test::program::TestProgram;
use crate::test::report::Report;
pub(crate) use crate::test::report::is_counts;
use crate::toolkit::{provisioner, unreadable};

/// Run the tests; the last line is `N passed, N failed, N skipped`.
///
/// Exit 0 when none fails, 1 when one does, 3 when they could not be built or listed.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Run the tests whose name, as printed, contains one of these.
    names: Vec<String>,
    /// Only this package's tests.
    #[arg(long, short)]
    package: Vec<String>,
    /// Leave out cuobjdump and nvdisasm: the tests that compare with them are skipped.
    #[arg(long)]
    no_oracles: bool,
    #[command(flatten)]
    jobs: Jobs,
    /// Seconds that one test may take.
    #[arg(long, default_value_t = 300)]
    timeout: u64,
    /// Print the tests that pass, too.
    #[arg(long, short)]
    verbose: bool,
}

/// A test as it is named to people: `package target: path::of::test`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TestName {
    program: String,
    test: String,
}

impl std::fmt::Display for TestName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.program, self.test)
    }
}

impl TestName {
    fn is_asked_for(&self, names: &[String]) -> bool {
        let full = self.to_string();
        names.is_empty() || names.iter().any(|name| full.contains(name.as_str()))
    }
}

pub(crate) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitStatus> {
    let oracles = if args.no_oracles {
        None
    } else {
        Some(Oracles::obtain(&provisioner(context)).map_err(unreadable)?.folder)
    };
    let programs = cargo::test_programs(context.root(), &args.package)?;
    let limit = Duration::from_secs(args.timeout);
    let mut listed = Vec::new();
    for program in &programs {
        for test in program.list(limit).map_err(could_not_list)? {
            if test.name.is_asked_for(&args.names) {
                listed.push((program, test));
            }
        }
    }
    let mut doc_tests = doc::list(context.root(), &args.package).map_err(could_not_list)?;
    doc_tests.retain(|test| test.is_asked_for(&args.names));
    let total = listed.len() + doc_tests.len();
    if total == 0 {
        return Err(StatusError::usage("no test has such a name"));
    }

    let report = Report::new(args.verbose);
    report.note(&format!(
        "tests: {total}, programs: {}; each test in a process of its own, at most {} s; {}",
        programs.len(),
        args.timeout,
        oracles_note(oracles.as_deref())
    ))?;
    let report = run_all(&listed, args.jobs.count(), limit, oracles.as_deref(), report)?;
    let report = doc::run(context.root(), &args.package, &doc_tests, report)?;
    report.finish(total)
}

fn oracles_note(oracles: Option<&Path>) -> String {
    oracles.map_or_else(
        || "without oracles".to_owned(),
        |folder| format!("oracles in {}", folder.display()),
    )
}

fn could_not_list(error: anyhow::Error) -> anyhow::Error {
    StatusError::unreadable(format!("the tests could not be listed: {error:#}"))
}

/// Runs the tests on `jobs` threads. The report says each verdict as it comes.
fn run_all(
    listed: &[(&TestProgram, program::ListedTest)],
    jobs: usize,
    limit: Duration,
    oracles: Option<&Path>,
    report: Report,
) -> anyhow::Result<Report> {
    // Drawn on standard error, and only on a terminal.
    let bar = ProgressBar::new(listed.len() as u64).with_style(
        ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}").context("the template is wrong")?,
    );
    let next = AtomicUsize::new(0);
    let report = Mutex::new(report);
    let failure = Mutex::new(None);
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                while let Some((program, test)) = listed.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let verdict = program.run(test, limit, oracles);
                    let mut report = lock(&report);
                    bar.inc(1);
                    let recorded = bar.suspend(|| report.record(test.name.clone(), verdict));
                    if let Err(error) = recorded {
                        *lock(&failure) = Some(error);
                        return;
                    }
                }
            });
        }
    });
    bar.finish_and_clear();
    if let Some(error) = lock(&failure).take() {
        return Err(error);
    }
    Ok(report
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner))
}

/// A thread that panicked while it held the lock has left a report that is still whole: verdicts are added in
/// one step.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// The variable that names the oracles' folder, whatever the caller's environment says. Empty means that there are none:
/// without the variable a test would look for them.
fn oracles_variable(oracles: Option<&Path>) -> (&'static str, Option<PathBuf>) {
    (
        Oracles::VARIABLE,
        Some(oracles.map(Path::to_owned).unwrap_or_default()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test::report::Verdict;

    /// What the runner exists for, with a real libtest: the fakes elsewhere say only what we think it does.
    #[test]
    fn a_test_that_aborts_does_not_take_the_others_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write(
            "Cargo.toml",
            "[workspace]\n[package]\nname = \"victim\"\nedition = \"2024\"\n[lib]\npath = \"lib.rs\"\n",
        );
        write(
            "lib.rs",
            r#"#[test] fn aborts() { std::process::abort() }
            #[test] fn fails() { panic!("on purpose") }
            #[test] #[ignore = "needs a GPU"] fn ignored() {}
            #[test] fn leaves() { std::process::exit(0) }
            #[test] fn passes() {}
            #[test] #[should_panic] fn panics() { panic!() }"#,
        );
        let programs = cargo::test_programs(folder.path(), &[]).unwrap();
        assert_eq!(programs.len(), 1);
        let limit = Duration::from_mins(1);
        let verdicts: Vec<String> = programs[0]
            .list(limit)
            .unwrap()
            .iter()
            .map(|test| {
                let verdict = match programs[0].run(test, limit, None) {
                    Verdict::Passed { .. } => "passed".to_owned(),
                    Verdict::Skipped { reason } => format!("skipped: {reason}"),
                    Verdict::Failed { what, output } => {
                        assert_eq!(
                            output.contains("on purpose"),
                            test.name.test == "fails",
                            "{output}"
                        );
                        what.split(" (core dumped)").collect()
                    }
                };
                format!("{}: {verdict}", test.name)
            })
            .collect();
        assert_eq!(
            verdicts,
            [
                "victim lib: aborts: ended without a verdict, by signal: 6 (SIGABRT)",
                "victim lib: fails: failed",
                "victim lib: ignored: skipped: needs a GPU",
                "victim lib: leaves: ended without a verdict",
                "victim lib: panics: passed",
                "victim lib: passes: passed",
            ]
        );
    }
}
