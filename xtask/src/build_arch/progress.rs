//! Progress on standard error: a bar where a person looks, one line a step where a log is kept.

use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// One bar for a whole run.
pub(crate) struct Progress {
    bar: ProgressBar,
    lines: bool,
}

impl Progress {
    /// On standard error.
    pub(crate) fn stderr() -> Self {
        let lines = !std::io::stderr().is_terminal();
        let bar = if lines {
            ProgressBar::hidden()
        } else {
            ProgressBar::new_spinner()
        };
        let style = ProgressStyle::with_template("{spinner} {prefix} {msg} ({elapsed})");
        bar.set_style(style.expect("the template is constant"));
        if !lines {
            bar.enable_steady_tick(Duration::from_millis(120));
        }
        Self { bar, lines }
    }

    /// Starts a step; `what` stays until the next one.
    pub(crate) fn step(&self, what: String) {
        if self.lines {
            // Progress that cannot be written is no reason to stop.
            let _ignored = writeln!(std::io::stderr(), "{what}");
        }
        self.bar.set_prefix(what);
        self.bar.set_message("");
        self.bar.reset_elapsed();
    }

    /// Says how far a step is. Shown on a terminal only.
    pub(crate) fn detail(&self, detail: &str) {
        self.bar.set_message(detail.to_owned());
    }

    /// Takes the bar away, so that the results stand alone.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }

    /// A line that stays.
    pub(crate) fn note(&self, line: &str) {
        self.bar.suspend(|| {
            let _ignored = writeln!(std::io::stderr(), "{line}");
        });
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
