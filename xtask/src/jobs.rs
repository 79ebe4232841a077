//! How much runs at once, the same option for every task.

use std::num::{NonZeroU16, NonZeroUsize};

/// The option, to be flattened into the arguments of a task.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct Jobs {
    /// How many run at once; as many as there are processors if not given.
    #[arg(long, short, value_name = "N")]
    jobs: Option<NonZeroU16>,
}

impl Jobs {
    /// The number, which is not 0.
    pub(crate) fn count(self) -> usize {
        let given = self.jobs.map(|jobs| usize::from(jobs.get()));
        given.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, NonZeroUsize::get))
    }
}
