//! Tests on real binaries: one named trial per input.

mod opcodes;
mod support;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = libtest_mimic::Arguments::from_args();
    let trials = opcodes::trials();
    libtest_mimic::run(&arguments, trials).exit_code()
}
