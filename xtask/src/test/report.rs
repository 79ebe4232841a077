//! Verdicts, and how they are shown.

use std::time::Duration;

use blockgate_findings::ExitStatus;

use crate::output;
use crate::test::TestName;

/// Lines of a failed test's output that are shown. Its first lines say what, its last lines say why.
const SHOWN_LINES: usize = 200;

/// How a test ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It passed.
    Passed {
        /// Wall-clock time.
        elapsed: Duration,
    },
    /// It was not run, for a reason that it names itself.
    Skipped {
        /// The reason.
        reason: String,
    },
    /// It failed, or ended without saying how.
    Failed {
        /// What happened, in a few words.
        what: String,
        /// Everything that it printed.
        output: String,
    },
}

/// The verdicts so far.
#[derive(Debug)]
pub(crate) struct Report {
    verbose: bool,
    passed: usize,
    skipped: Vec<(TestName, String)>,
    failed: Vec<(TestName, String, String)>,
}

impl Report {
    pub(crate) const fn new(verbose: bool) -> Self {
        Self {
            verbose,
            passed: 0,
            skipped: Vec::new(),
            failed: Vec::new(),
        }
    }

    /// Prints one line.
    pub(crate) fn note(&self, line: &str) -> anyhow::Result<()> {
        output::line(line)
    }

    /// Takes a verdict, and prints it where it is worth a line at once.
    pub(crate) fn record(&mut self, name: TestName, verdict: Verdict) -> anyhow::Result<()> {
        match verdict {
            Verdict::Passed { elapsed } => {
                self.passed += 1;
                if self.verbose {
                    self.note(&format!("pass  {name} ({:.2} s)", elapsed.as_secs_f32()))?;
                }
            }
            Verdict::Skipped { reason } => {
                self.note(&format!("skip  {name}: {reason}"))?;
                self.skipped.push((name, reason));
            }
            Verdict::Failed { what, output } => {
                self.note(&format!("FAIL  {name}: {what}"))?;
                self.failed.push((name, what, output));
            }
        }
        Ok(())
    }

    /// Prints the failures with their output and, last, the counts. `listed` tests must have a verdict.
    pub(crate) fn finish(mut self, listed: usize) -> anyhow::Result<ExitStatus> {
        self.failed.sort();
        let mut text = String::new();
        for (name, what, output) in &self.failed {
            text.push_str(&format!("\n---- {name}: {what}\n{}", shortened(output)));
        }
        if !text.is_empty() {
            self.note(&text)?;
        }
        let counted = self.passed + self.failed.len() + self.skipped.len();
        anyhow::ensure!(
            counted == listed,
            "{listed} tests were listed and {counted} have a verdict"
        );
        self.note(&self.counts())?;
        Ok(if self.failed.is_empty() {
            ExitStatus::Clean
        } else {
            ExitStatus::Failed
        })
    }

    /// The closing line.
    pub(crate) fn counts(&self) -> String {
        format!(
            "{} passed, {} failed, {} skipped",
            self.passed,
            self.failed.len(),
            self.skipped.len()
        )
    }
}

/// Whether `line` is the closing line of a test run.
pub(crate) fn is_counts(line: &str) -> bool {
    let mut words = line.split(' ');
    ["passed,", "failed,", "skipped"].iter().all(|expected| {
        words.next().is_some_and(|count| count.parse::<usize>().is_ok()) && words.next() == Some(*expected)
    }) && words.next().is_none()
}

/// The first and last lines of a long output, indented, so that no line of it can be taken for one of ours.
fn shortened(output: &str) -> String {
    let lines: Vec<&str> = output.lines().collect();
    let left_out = lines.len().saturating_sub(SHOWN_LINES);
    let head = if left_out == 0 {
        lines.len()
    } else {
        SHOWN_LINES / 4
    };
    let mut text = String::new();
    for line in &lines[..head] {
        text.push_str(&format!("  | {line}\n"));
    }
    if left_out > 0 {
        text.push_str(&format!("  | ({left_out} lines left out)\n"));
        for line in &lines[head + left_out..] {
            text.push_str(&format!("  | {line}\n"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_closing_line_is_one() {
        assert!(is_counts(&Report::new(false).counts()));
        for line in [
            "12 passed, 0 failed, 3 skipped.",
            "12 passed, 0 failed",
            "  | 1 passed, 0 failed, 0 skipped",
            "a passed, 0 failed, 0 skipped",
            "",
        ] {
            assert!(!is_counts(line), "{line}");
        }
    }

    #[test]
    fn long_output_keeps_its_beginning_and_its_end() {
        let output: String = (0..500).map(|line| format!("line {line}\n")).collect();
        let text = shortened(&output);
        assert!(text.starts_with("  | line 0\n"));
        assert!(text.contains("(300 lines left out)"));
        assert!(text.ends_with("  | line 499\n"));
        assert_eq!(text.lines().count(), SHOWN_LINES + 1);
        assert_eq!(shortened("a\nb"), "  | a\n  | b\n");
    }

    #[test]
    fn a_test_without_a_verdict_is_an_error() {
        let mut report = Report::new(false);
        let name = TestName {
            program: "p".to_owned(),
            test: "t".to_owned(),
        };
        let elapsed = Duration::ZERO;
        report.record(name, Verdict::Passed { elapsed }).unwrap();
        assert!(report.finish(2).is_err());
    }
}
