//! The verbs of the command line, one file each. They parse arguments, call a library and print its report.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "the command line is a rim crate: it reads arguments and prints"
)]

pub mod audit;
pub mod diff;
pub mod explain;
mod format;
mod progress;
pub mod resolve;
mod terminal;

pub use format::{Format, ReportFormat};
pub use terminal::print;

use blockgate_findings::ExitStatus;
use clap::{Parser, Subcommand};

/// Says what a GPU build really ships.
#[derive(Debug, Parser)]
#[command(name = "blockgate", version, about, propagate_version = true)]
pub struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Audit(audit::Args),
    Diff(diff::Args),
    Explain(explain::Args),
    Resolve(resolve::Args),
}

/// Runs one command line.
///
/// # Errors
/// When standard output cannot be written.
pub fn run(cli: &Cli) -> anyhow::Result<ExitStatus> {
    match &cli.verb {
        Verb::Audit(args) => audit::run(args),
        Verb::Diff(args) => diff::run(args),
        Verb::Explain(args) => explain::run(args),
        Verb::Resolve(args) => resolve::run(args),
    }
}
