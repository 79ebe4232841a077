//! How a row of a table is known.

use std::fmt;

/// How a fact about a toolkit or an architecture is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Evidence {
    /// Compiled or assembled with the named release.
    Compiled,
    /// Stated in NVIDIA's documentation.
    Documented,
    /// Read in public source code or a report.
    Read,
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Compiled => "compiled",
            Self::Documented => "documented",
            Self::Read => "read",
        })
    }
}
