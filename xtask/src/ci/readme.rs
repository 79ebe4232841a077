//! The test step runs what the README tells people to run, so that the README stays true.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use anyhow::Context as _;

use crate::ci::{Verdict, run};
use crate::context::{Context, StatusError};
use crate::output;
use crate::test::{cargo, is_counts};

/// Runs the README's test command. Its closing line is kept back in `counts`, to be the last one of all.
pub(super) fn tests(context: &Context, counts: &mut Option<String>) -> anyhow::Result<Verdict> {
    let path = context.root().join("README.md");
    let text = std::fs::read_to_string(&path)
        .map_err(|error| StatusError::unreadable(format!("cannot read {}: {error}", path.display())))?;
    let arguments = test_command(&text).ok_or_else(|| {
        StatusError::unreadable("README.md has no code block with a line `cargo xtask test`")
    })?;
    let mut child = cargo()
        .args(arguments)
        .current_dir(context.root())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .context("cargo cannot be run")?;
    let output = child.stdout.take().context("standard output is not piped")?;
    for line in BufReader::new(output).split(b'\n') {
        let line = line.context("the test command's output cannot be read")?;
        let line = String::from_utf8_lossy(&line);
        if is_counts(&line) {
            *counts = Some(line.into_owned());
        } else {
            output::line(&line)?;
        }
    }
    let status = child.wait().context("the test command cannot be waited for")?;
    Ok(run::verdict_of_ours(status))
}

/// The arguments of the first line `cargo xtask test …` in a fenced code block, without a comment.
fn test_command(readme: &str) -> Option<Vec<&str>> {
    let mut in_block = false;
    for line in readme.lines() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
            continue;
        }
        let command = line.split(" #").next().unwrap_or(line);
        let mut words = command
            .trim()
            .trim_start_matches("$ ")
            .split_whitespace()
            .peekable();
        if in_block && words.next() == Some("cargo") {
            let arguments: Vec<&str> = words.collect();
            if arguments.starts_with(&["xtask", "test"]) {
                return Some(arguments);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_is_the_one_in_a_code_block() {
        let cases: [(&str, Option<&[&str]>); 5] = [
            (
                "Run `cargo xtask test`.\n```sh\n$ cargo xtask build-arch\n$ cargo xtask test  # all of them\n```\n",
                Some(&["xtask", "test"]),
            ),
            (
                "```\ncargo xtask test --no-oracles\n```",
                Some(&["xtask", "test", "--no-oracles"]),
            ),
            ("cargo xtask test\n", None),
            ("```\ncargo xtask tests\n```\ncargo xtask test\n", None),
            ("", None),
        ];
        for (readme, expected) in cases {
            assert_eq!(test_command(readme).as_deref(), expected, "{readme}");
        }
    }
}
