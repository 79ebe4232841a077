//! How a report is printed.

use clap::ValueEnum;

/// For a person or for a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A table.
    Human,
    /// One JSON document of a versioned schema.
    Json,
    /// One self-contained page for a browser.
    Html,
}
