//! A progress bar on stderr for work that takes over a second.

use std::time::{Duration, Instant};

use blockgate_audit::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How long work may take before a bar is worth showing.
const QUIET_PERIOD: Duration = Duration::from_secs(1);

/// Counts images; hidden at first, where stderr is no terminal, and under `--quiet`.
pub(crate) struct Bar {
    bar: ProgressBar,
    started: Instant,
    wanted: bool,
}

impl Bar {
    pub(crate) fn new(quiet: bool) -> Self {
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::hidden());
        let style =
            ProgressStyle::with_template("{bar:40} {pos}/{len} images").expect("the template is constant");
        bar.set_style(style);
        Self {
            bar,
            started: Instant::now(),
            wanted: !quiet,
        }
    }

    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Progress for Bar {
    fn found(&self, count: u64) {
        self.bar.inc_length(count);
    }

    fn inspected(&self) {
        if self.wanted && self.bar.is_hidden() && self.started.elapsed() > QUIET_PERIOD {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.bar.inc(1);
    }
}
