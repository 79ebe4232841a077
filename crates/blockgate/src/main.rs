//! The `blockgate` program.
#![allow(
    clippy::print_stderr,
    reason = "the last word on a fault of our own goes to stderr"
)]

use std::process::ExitCode;

use blockgate_findings::ExitStatus;
use clap::Parser;

fn main() -> ExitCode {
    // Wrong usage ends with 2, and help with 0, inside the parser.
    let cli = blockgate::Cli::parse();
    match blockgate::run(&cli) {
        Ok(status) => status.into(),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitStatus::Internal.into()
        }
    }
}
