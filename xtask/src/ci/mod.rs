//! `cargo xtask ci`: everything that must hold before a change lands, as one table of steps.

mod deny;
mod readme;
mod run;

use std::time::{Duration, Instant};

use blockgate_findings::ExitStatus;

use crate::context::{Context, StatusError};
use crate::output;

/// Run every check. All steps run, whatever fails before them; the last line counts the tests.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only these steps.
    steps: Vec<String>,
}

/// A check by name.
struct Step {
    name: &'static str,
    work: Work,
}

/// What a step does.
enum Work {
    /// Cargo with these arguments.
    Cargo(&'static [&'static str]),
    /// Cargo with these arguments, and warnings of rustdoc are errors.
    Rustdoc(&'static [&'static str]),
    /// This program with these arguments.
    Xtask(&'static [&'static str]),
    /// The HTML report in a browser.
    Browser,
    /// The test command that the README gives.
    ReadmeTests,
    /// Licences, bans and sources of dependencies.
    Deny,
    /// Known vulnerabilities of dependencies.
    Advisories,
}

/// In order of price: what fails soonest comes first.
const STEPS: &[Step] = &[
    Step {
        name: "format",
        work: Work::Cargo(&["fmt", "--all", "--check"]),
    },
    Step {
        name: "clippy",
        work: Work::Cargo(&[
            "clippy",
            "--workspace",
            "--all-targets",
            "--locked",
            "--",
            "-D",
            "warnings",
        ]),
    },
    Step {
        name: "deny",
        work: Work::Deny,
    },
    Step {
        name: "advisories",
        work: Work::Advisories,
    },
    Step {
        name: "test",
        work: Work::ReadmeTests,
    },
    Step {
        name: "browser",
        work: Work::Browser,
    },
    Step {
        name: "rustdoc",
        work: Work::Rustdoc(&["doc", "--workspace", "--no-deps", "--locked"]),
    },
    Step {
        name: "api",
        work: Work::Xtask(&["api", "--check"]),
    },
    Step {
        name: "docs",
        work: Work::Xtask(&["docs", "--check"]),
    },
    Step {
        name: "gates",
        work: Work::Xtask(&["gates"]),
    },
    Step {
        name: "build-arch",
        work: Work::Xtask(&["build-arch"]),
    },
    Step {
        name: "build-arch of another project",
        work: Work::Xtask(&[
            "build-arch",
            "--source",
            "fixtures/build/foreign",
            "--arch-var",
            "CMAKE_CUDA_ARCHITECTURES",
            "--artifact",
            "*.a",
            "--list",
            "gb10-per-source",
        ]),
    },
];

/// How a step ended.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Verdict {
    /// It holds.
    Passed,
    /// It does not, with the exit status that it ends with.
    Failed(ExitStatus, String),
    /// It could not be checked here, for a reason that does not fail the run.
    Skipped(String),
}

struct Outcome {
    name: &'static str,
    verdict: Verdict,
    elapsed: Duration,
}

pub(crate) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitStatus> {
    let steps = selected(&args.steps)?;
    let mut outcomes = Vec::new();
    let mut test_counts = None;
    for step in steps {
        output::line(&format!("ci: {}", step.name))?;
        let started = Instant::now();
        let verdict = match &step.work {
            Work::Cargo(arguments) => run::cargo(context, arguments, &[]),
            Work::Rustdoc(arguments) => run::cargo(context, arguments, &[("RUSTDOCFLAGS", "-D warnings")]),
            Work::Xtask(arguments) => run::xtask(context, arguments),
            Work::Browser => run::browser(context),
            Work::ReadmeTests => readme::tests(context, &mut test_counts),
            Work::Deny => deny::check(context),
            Work::Advisories => deny::advisories(context),
        };
        // A step that could not even start has failed, and the next one still runs.
        let verdict = verdict
            .unwrap_or_else(|error| Verdict::Failed(crate::context::status_of(&error), format!("{error:#}")));
        outcomes.push(Outcome {
            name: step.name,
            verdict,
            elapsed: started.elapsed(),
        });
    }
    output::line(&summary(&outcomes))?;
    if let Some(counts) = test_counts {
        output::line(&counts)?;
    }
    Ok(outcomes
        .iter()
        .fold(ExitStatus::Clean, |status, outcome| match outcome.verdict {
            Verdict::Failed(of_step, _) => status.and(of_step),
            Verdict::Passed | Verdict::Skipped(_) => status,
        }))
}

fn selected(names: &[String]) -> anyhow::Result<Vec<&'static Step>> {
    let unknown = names
        .iter()
        .find(|name| !STEPS.iter().any(|step| step.name == name.as_str()));
    if let Some(name) = unknown {
        let known: Vec<&str> = STEPS.iter().map(|step| step.name).collect();
        return Err(StatusError::usage(format!(
            "`{name}` is not a step; the steps are {}",
            known.join(", ")
        )));
    }
    Ok(STEPS
        .iter()
        .filter(|step| names.is_empty() || names.iter().any(|name| name == step.name))
        .collect())
}

fn summary(outcomes: &[Outcome]) -> String {
    let mut text = String::from("\n");
    let width = outcomes
        .iter()
        .map(|outcome| outcome.name.chars().count())
        .max()
        .unwrap_or_default();
    for outcome in outcomes {
        let verdict = match &outcome.verdict {
            Verdict::Passed => "ok".to_owned(),
            Verdict::Failed(_, what) => format!("FAILED: {what}"),
            Verdict::Skipped(reason) => format!("skipped: {reason}"),
        };
        text.push_str(&format!(
            "{:<width$}  {:>7.1} s  {verdict}\n",
            outcome.name,
            outcome.elapsed.as_secs_f32()
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_selected_by_name_in_the_table_s_order() {
        let names = |steps: &[&str]| {
            let steps: Vec<String> = steps.iter().map(ToString::to_string).collect();
            selected(&steps).map(|steps| steps.iter().map(|step| step.name).collect::<Vec<_>>())
        };
        assert_eq!(names(&[]).unwrap().len(), STEPS.len());
        assert_eq!(names(&["test", "format"]).unwrap(), ["format", "test"]);
        assert!(names(&["tests"]).unwrap_err().to_string().contains("build-arch"));
    }

    #[test]
    fn every_step_is_in_the_summary() {
        let outcomes = [
            ("format", Verdict::Passed),
            (
                "build-arch of another project",
                Verdict::Skipped("no database".to_owned()),
            ),
            ("test", Verdict::Failed(ExitStatus::Failed, "exit 1".to_owned())),
        ]
        .map(|(name, verdict)| Outcome {
            name,
            verdict,
            elapsed: Duration::from_millis(1500),
        });
        expect_lines(
            &summary(&outcomes),
            &[
                "",
                "format                             1.5 s  ok",
                "build-arch of another project      1.5 s  skipped: no database",
                "test                               1.5 s  FAILED: exit 1",
            ],
        );
    }

    fn expect_lines(text: &str, expected: &[&str]) {
        assert_eq!(text.lines().collect::<Vec<_>>(), expected);
    }
}
