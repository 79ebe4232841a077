//! Regular expressions and globs that can be compared and printed.

use std::fmt;

/// An unanchored regular expression.
#[derive(Clone, Debug)]
pub struct Pattern(regex::Regex);

impl Pattern {
    pub(crate) fn new(text: &str) -> Result<Self, regex::Error> {
        regex::Regex::new(text).map(Self)
    }

    /// Whether the expression finds something in `text`.
    pub fn is_match(&self, text: &str) -> bool {
        self.0.is_match(text)
    }

    /// How many places of `text` the expression finds, not overlapping.
    pub fn count_in(&self, text: &str) -> usize {
        self.0.find_iter(text).count()
    }

    /// The expression as it was written.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl std::str::FromStr for Pattern {
    type Err = regex::Error;

    fn from_str(text: &str) -> Result<Self, regex::Error> {
        Self::new(text)
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Pattern {}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A glob over member names: `*` and `?` match any character, `/` too; `[…]` and `{…,…}` as usual.
#[derive(Clone, Debug)]
pub struct Glob(globset::GlobMatcher);

impl Glob {
    pub(crate) fn new(text: &str) -> Result<Self, globset::Error> {
        globset::Glob::new(text).map(|glob| Self(glob.compile_matcher()))
    }

    /// Whether the member name matches as a whole.
    pub fn is_match(&self, member: &str) -> bool {
        self.0.is_match(member)
    }

    /// The glob as it was written.
    pub fn as_str(&self) -> &str {
        self.0.glob().glob()
    }
}

impl std::str::FromStr for Glob {
    type Err = globset::Error;

    fn from_str(text: &str) -> Result<Self, globset::Error> {
        Self::new(text)
    }
}

impl PartialEq for Glob {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Glob {}

impl fmt::Display for Glob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
