//! The commands on the page `docs/inspect.md`: each ends with the status that stands behind it, and prints what is shown.
//!
//! `UPDATE_EXPECT=1` writes what the commands print into the page.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "the test runs the commands of a page"
)]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use assert_cmd::cargo::cargo_bin_cmd;

/// What stands before a status that is not 0.
const STATUS: &str = "# exit ";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Runs one line of a shell, in which `blockgate` is the program under test, and gives what it prints to standard output.
fn run(line: &str) -> String {
    let (command, status) = match line.split_once(STATUS) {
        Some((command, status)) => (command, status.trim().parse().unwrap()),
        None => (line, 0),
    };
    let program = PathBuf::from(cargo_bin_cmd!("blockgate").get_program());
    let path = std::env::var_os("PATH").unwrap();
    let folders = [program.parent().unwrap().to_owned()]
        .into_iter()
        .chain(std::env::split_paths(&path));
    let output = Command::new("sh")
        .args(["-c", command])
        .current_dir(root())
        .env("PATH", std::env::join_paths(folders).unwrap())
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{line}\n{stderr}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn every_command_does_what_the_page_shows() {
    let path = root().join("docs/inspect.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let mut fresh = String::new();
    let mut lines = page.lines();
    let mut commands = 0;
    let mut printed = String::new();
    while let Some(line) = lines.next() {
        writeln!(fresh, "{line}").unwrap();
        let block: Vec<&str> = match line {
            "```sh" | "```text" => lines.by_ref().take_while(|line| *line != "```").collect(),
            _ => continue,
        };
        if line == "```sh" {
            printed.clear();
            for command in &block {
                printed.push_str(&run(command));
                commands += 1;
                writeln!(fresh, "{command}").unwrap();
            }
        } else {
            fresh.push_str(&printed);
        }
        writeln!(fresh, "```").unwrap();
    }
    assert!(commands >= 12, "{commands} commands were found");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, fresh).unwrap();
        return;
    }
    for (number, (shown, found)) in page.lines().zip(fresh.lines()).enumerate() {
        assert_eq!(shown, found, "docs/inspect.md:{}", number + 1);
    }
    assert_eq!(page.lines().count(), fresh.lines().count(), "docs/inspect.md");
}
