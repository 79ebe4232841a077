//! Tests on real binaries: one named trial per input.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::use_debug,
    reason = "tests read their inputs, run other readers and show the values that differ"
)]

mod cases;
mod edge;
mod edits;
mod examples;
mod goldens;
mod hostile;
mod hosts;
mod listing;
mod modifiers;
mod opcodes;
mod oracles;
mod oracles_resources;
mod resources;
mod support;
mod written;

use std::process::ExitCode;

use libtest_mimic::{Failed, Trial};

fn trials() -> Result<Vec<Trial>, Failed> {
    let mut trials = opcodes::trials();
    trials.extend(goldens::trials()?);
    trials.extend(cases::trials());
    trials.extend(hosts::trials()?);
    trials.extend(edge::trials()?);
    trials.extend(edits::trials());
    trials.extend(hostile::trials());
    trials.extend(oracles::trials()?);
    trials.extend(resources::trials()?);
    trials.extend(oracles_resources::trials()?);
    trials.extend(modifiers::trials());
    trials.extend(written::trials()?);
    trials.extend(examples::trials());
    Ok(trials)
}

fn main() -> ExitCode {
    let arguments = libtest_mimic::Arguments::from_args();
    match trials() {
        Ok(trials) => libtest_mimic::run(&arguments, trials).exit_code(),
        Err(error) => {
            eprintln!("the fixtures cannot be listed: {error:?}");
            ExitCode::FAILURE
        }
    }
}
