//! What libFuzzer says at the end, and the table of it.

use std::io::{self, Write};
use std::path::Path;

/// How the run of one target ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Outcome {
    executions: u64,
    /// Edges of the control flow that some input reached.
    edges: u64,
    /// Inputs in the corpus that each reach something that no other does.
    corpus: u64,
    /// What was found wrong; `None` where nothing was.
    fault: Option<String>,
}

impl Outcome {
    pub(super) fn of_log(log: &str, succeeded: bool, log_path: &Path) -> Self {
        let executions = log.lines().rev().find_map(|line| {
            line.strip_prefix("stat::number_of_executed_units:")?
                .trim()
                .parse()
                .ok()
        });
        // `#1234 DONE cov: 3051 ft: 11543 corp: 703/12Mb exec/s: 2 rss: 500Mb`
        let number = |key: &str| {
            log.lines()
                .rev()
                .filter(|line| line.starts_with('#'))
                .find_map(|line| {
                    let mut words = line.split_whitespace();
                    words.find(|word| *word == key)?;
                    words.next()?.split('/').next()?.parse().ok()
                })
                .unwrap_or_default()
        };
        let line = |start: &str| {
            log.lines()
                .find(|line| line.contains(start))
                .map(|line| line.trim().to_owned())
        };
        let fault = match (succeeded, executions) {
            (true, Some(_)) => None,
            // Without an execution nothing was shown.
            (true, None) => Some("it ended without a count of executions".to_owned()),
            (false, _) => Some(
                line("panicked at")
                    .or_else(|| line("ERROR: "))
                    .unwrap_or_else(|| "it failed".to_owned()),
            ),
        };
        Self {
            executions: executions.unwrap_or_default(),
            edges: number("cov:"),
            corpus: number("corp:"),
            fault: fault.map(|fault| {
                let artifact = line("Test unit written to").unwrap_or_default();
                format!("{fault}; {artifact} (all of it in {})", log_path.display())
            }),
        }
    }

    pub(super) fn is_clean(&self) -> bool {
        self.fault.is_none()
    }
}

pub(super) fn write(out: &mut dyn Write, outcomes: &[(&str, Outcome)]) -> io::Result<()> {
    writeln!(
        out,
        "{:<12}{:>14}{:>9}{:>9}  result",
        "target", "executions", "edges", "corpus"
    )?;
    for (name, outcome) in outcomes {
        let result = if outcome.is_clean() { "ok" } else { "FAILED" };
        writeln!(
            out,
            "{name:<12}{:>14}{:>9}{:>9}  {result}",
            outcome.executions, outcome.edges, outcome.corpus
        )?;
    }
    for (name, outcome) in outcomes {
        if let Some(fault) = &outcome.fault {
            writeln!(out, "{name}: {fault}")?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "INFO: Seed: 1\n#2\tINITED cov: 10 ft: 11 corp: 1/1b exec/s: 0 rss: 40Mb\n\
        #524288\tpulse  cov: 3051 ft: 11543 corp: 703/12Mb lim: 65536 exec/s: 2 rss: 500Mb\n\
        #600000\tDONE   cov: 3052 ft: 11544 corp: 704/12Mb lim: 65536 exec/s: 2 rss: 500Mb\n\
        stat::number_of_executed_units: 600000\nstat::average_exec_per_sec:     2\n";

    #[test]
    fn counts_are_the_last_ones() {
        let outcome = Outcome::of_log(LOG, true, Path::new("x.log"));
        let expected = Outcome {
            executions: 600_000,
            edges: 3052,
            corpus: 704,
            fault: None,
        };
        assert_eq!(outcome, expected);
    }

    #[test]
    fn a_failure_names_what_and_where() {
        let log = format!(
            "{LOG}thread '<unnamed>' panicked at fuzz/src/lib.rs:1:2:\n\
             artifact_prefix='x'; Test unit written to fuzz/artifacts/region/crash-1\n"
        );
        let outcome = Outcome::of_log(&log, false, Path::new("x.log"));
        let fault = outcome.fault.unwrap();
        assert!(fault.contains("panicked at fuzz/src/lib.rs"), "{fault}");
        assert!(fault.contains("crash-1") && fault.contains("x.log"), "{fault}");
    }

    #[test]
    fn a_run_without_executions_is_no_success() {
        assert!(!Outcome::of_log("", true, Path::new("x.log")).is_clean());
        assert!(!Outcome::of_log(LOG, false, Path::new("x.log")).is_clean());
    }
}
