//! How a report is printed.

use clap::ValueEnum;

/// For a person or for a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A table.
    Human,
    /// One JSON document of a versioned schema.
    Json,
}

/// How the report of an audit is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// A table.
    Human,
    /// One JSON document of a versioned schema.
    Json,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
    /// Annotations of a GitHub Actions run.
    Github,
    /// A job summary.
    Markdown,
    /// One self-contained page for a browser.
    Html,
}
