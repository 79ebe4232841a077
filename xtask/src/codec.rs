//! The software conversion of the kernels, held against its definition by the C++ compiler of this machine.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use blockgate_toolkit::Places;
use blockgate_toolkit::process::{Finished, Limits, run_bounded};

/// A slow machine compiles and runs the test in far less.
const LIMITS: Limits = Limits {
    time: Duration::from_mins(4),
    output_bytes: 1 << 20,
};

fn run(command: &mut Command) -> Finished {
    let finished = run_bounded(command, LIMITS).unwrap();
    assert!(
        finished.succeeded(),
        "{}: {}\n{}",
        command.get_program().display(),
        finished.outcome,
        finished.text()
    );
    finished
}

#[test]
fn the_software_conversion_is_the_nearest_value_with_ties_to_even() {
    // A machine without a compiler has not checked this: the message names the package that brings one.
    let compiler = Places::of_this_process()
        .cxx_compiler()
        .unwrap_or_else(|missing| panic!("{missing}"));
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/kernels");
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("codec_test");
    run(Command::new(compiler)
        .args(["-std=c++17", "-O2", "-Wall", "-Wextra", "-Werror", "-I"])
        .arg(kernels.join("src"))
        .arg(kernels.join("tests/host/codec_test.cpp"))
        .arg("-o")
        .arg(&program));
    let text = run(&mut Command::new(&program)).text();
    // Every 1021st of 2^32 patterns: a program that checked nothing would also end with success.
    assert!(
        text.starts_with("4206629 patterns by stride 1021") && text.ends_with(": 0 differences\n"),
        "{text}"
    );
}
