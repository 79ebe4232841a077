//! The programs of `examples/`, run on a fixture.

use std::process::Command;

use libtest_mimic::{Failed, Trial};

use crate::support::fixtures;

/// An example, what follows the file on its command line, and what it must print.
const RUNS: [(&str, &[&str], &str); 3] = [
    ("list", &[], LIST),
    ("count", &["EXIT"], COUNT),
    ("runs_on", &["12.0"], RUNS_ON),
];

/// The file that each is given.
const FILE: &str = "cases/a05_combined.o";

const LIST: &str = "\
    0x3d0 - cubin sm_121a 5312 bytes\n\
    0x1900 - cubin sm_121 5304 bytes\n\
    0x2e28 - ptx sm_121 275 bytes\n";
const COUNT: &str = "\
    sm_121 1\n\
    sm_121a 1\n";
const RUNS_ON: &str = "\
    0x3d0 cubin sm_121a: no\n\
    0x1900 cubin sm_121: no\n\
    0x2e28 ptx sm_121: no\n";

pub(crate) fn trials() -> Vec<Trial> {
    RUNS.iter()
        .map(|&(example, arguments, expected)| {
            Trial::test(format!("example/{example}"), move || {
                run(example, arguments, expected)
            })
        })
        .collect()
}

fn run(example: &str, arguments: &[&str], expected: &str) -> Result<(), Failed> {
    // Cargo builds the examples beside the folder of the tests.
    let tests = std::env::current_exe()?;
    let folder = tests.ancestors().nth(2).ok_or("no folder of programs")?;
    let program = folder.join("examples").join(example);
    let output = Command::new(&program)
        .arg(fixtures().join(FILE))
        .args(arguments)
        .output()
        .map_err(|error| format!("{}: {error}", program.display()))?;
    let printed = String::from_utf8(output.stdout)?;
    if output.status.success() && printed == expected {
        Ok(())
    } else {
        let errors = String::from_utf8_lossy(&output.stderr);
        Err(format!("{}:\n{printed}{errors}\nexpected:\n{expected}", output.status).into())
    }
}
