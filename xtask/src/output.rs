//! Printing, the same for every task.

use std::io::{self, Write};

use anyhow::Context as _;
use clap::ValueEnum;

/// How a task prints what it found out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A table.
    Human,
    /// One JSON document of a versioned schema.
    Json,
}

/// The widest table that is printed, in columns.
pub(crate) const MAX_WIDTH_COLUMNS: u16 = 100;

/// Prints to standard output. A reader that went away, such as `head`, changes no verdict.
pub(crate) fn print(printer: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> anyhow::Result<()> {
    blockgate::print(printer).context("cannot write to standard output")
}

/// Prints a line to standard output.
pub(crate) fn line(text: &str) -> anyhow::Result<()> {
    print(|out| writeln!(out, "{text}"))
}

/// Says something to the person on standard error. What nobody can read is no reason to stop.
pub(crate) fn note(text: &str) {
    let _ignored = writeln!(io::stderr(), "{text}");
}
