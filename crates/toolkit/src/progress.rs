//! Progress on standard error: a spinner where a person looks, one line a step where a log is kept.

use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// Where progress goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// A spinner on standard error.
    Spinner,
    /// A line for each step on standard error.
    Lines,
    /// Nowhere.
    Hidden,
}

impl Progress {
    /// A spinner where standard error is a terminal, lines elsewhere.
    pub fn stderr() -> Self {
        if std::io::stderr().is_terminal() {
            Self::Spinner
        } else {
            Self::Lines
        }
    }

    /// Shows `message` until the returned step is dropped.
    pub(crate) fn step(self, message: String) -> Step {
        let bar = match self {
            Self::Spinner => {
                let bar = ProgressBar::new_spinner().with_message(message);
                if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} ({elapsed})") {
                    bar.set_style(style);
                }
                bar.enable_steady_tick(Duration::from_millis(120));
                bar
            }
            Self::Lines => {
                // Progress that cannot be written is no reason to stop.
                let _ignored = writeln!(std::io::stderr(), "{message}");
                ProgressBar::hidden()
            }
            Self::Hidden => ProgressBar::hidden(),
        };
        Step { bar }
    }
}

/// A step that is going on.
#[derive(Debug)]
pub(crate) struct Step {
    bar: ProgressBar,
}

impl Drop for Step {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
