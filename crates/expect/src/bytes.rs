//! Sizes in bytes with their units.

use std::fmt;

/// A number of bytes; printed in the largest binary unit that divides it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteCount(u64);

/// Unit names and what they multiply by. Binary and decimal units differ, so a bare `K` or `M` is no unit.
const UNITS: [(&str, u64); 7] = [
    ("B", 1),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
];

impl ByteCount {
    /// A number of bytes.
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// The number of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// `count` of `unit`, or `None` for an unknown unit or a size above `u64::MAX`.
    pub(crate) fn of(count: u64, unit: &str) -> Option<Self> {
        let (_, factor) = UNITS.iter().find(|(name, _)| *name == unit)?;
        count.checked_mul(*factor).map(Self)
    }
}

impl fmt::Display for ByteCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = UNITS
            .iter()
            .filter(|(name, factor)| name.ends_with("iB") && self.0 != 0 && self.0.is_multiple_of(*factor))
            .max_by_key(|(_, factor)| *factor);
        match unit {
            Some((name, factor)) => write!(f, "{} {name}", self.0 / factor),
            None => write!(f, "{}", self.0),
        }
    }
}
