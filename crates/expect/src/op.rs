//! Comparison operators, and bounds on sizes.

use std::fmt;
use std::str::FromStr;

use crate::bytes::ByteCount;
use crate::error::ExpectationError;
use crate::parse::Cursor;

/// How a count is compared with its threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    Greater,
    /// `>=`
    AtLeast,
}

impl Op {
    /// Every operator with its spelling; an operator that another one begins with comes after that one.
    pub(crate) const ALL: [(&'static str, Self); 6] = [
        ("==", Self::Equal),
        ("!=", Self::NotEqual),
        ("<=", Self::AtMost),
        (">=", Self::AtLeast),
        ("<", Self::Less),
        (">", Self::Greater),
    ];

    /// Whether `found OP threshold` is true.
    pub fn holds<T: PartialOrd>(self, found: T, threshold: T) -> bool {
        match self {
            Self::Equal => found == threshold,
            Self::NotEqual => found != threshold,
            Self::Less => found < threshold,
            Self::AtMost => found <= threshold,
            Self::Greater => found > threshold,
            Self::AtLeast => found >= threshold,
        }
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::AtMost => "<=",
            Self::Greater => ">",
            Self::AtLeast => ">=",
        })
    }
}

/// A bound on a size or on a difference of sizes: `<= 512 KiB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SizeBound {
    /// The comparison.
    pub op: Op,
    /// What the size is compared with.
    pub bytes: ByteCount,
}

impl SizeBound {
    /// Whether a signed difference of sizes, in bytes, is within the bound.
    pub fn holds_for_difference(self, difference_bytes: i64) -> bool {
        self.op
            .holds(i128::from(difference_bytes), i128::from(self.bytes.get()))
    }
}

impl fmt::Display for SizeBound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.op, self.bytes)
    }
}

impl FromStr for SizeBound {
    type Err = ExpectationError;

    fn from_str(text: &str) -> Result<Self, ExpectationError> {
        let mut cursor = Cursor::new(text);
        let op = cursor.op()?;
        let bytes = cursor.bytes()?;
        cursor.end()?;
        Ok(Self { op, bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::{Op, SizeBound};

    #[test]
    fn operators_compare() {
        let rows = [
            (Op::Equal, [false, true, false]),
            (Op::NotEqual, [true, false, true]),
            (Op::Less, [true, false, false]),
            (Op::AtMost, [true, true, false]),
            (Op::Greater, [false, false, true]),
            (Op::AtLeast, [false, true, true]),
        ];
        for (op, expected) in rows {
            assert_eq!([1, 2, 3].map(|found| op.holds(found, 2_u64)), expected, "{op}");
        }
    }

    #[test]
    fn a_difference_may_be_negative() {
        let bound: SizeBound = "<= 512 KiB".parse().unwrap();
        assert!(bound.holds_for_difference(-1));
        assert!(bound.holds_for_difference(524_288));
        assert!(!bound.holds_for_difference(524_289));
        assert_eq!(bound.to_string(), "<= 512 KiB");
        let error = "<= 512 KiB or so".parse::<SizeBound>().unwrap_err();
        assert_eq!(error.span(), 11..16);
    }
}
