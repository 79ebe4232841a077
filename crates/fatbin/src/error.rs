//! What went wrong, where, what was expected there and what was found.

use std::fmt;
use std::sync::Arc;

use blockgate_findings::Severity;

use crate::Limits;

/// A place in an input.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Place {
    /// The archive member, where the file is an archive.
    pub member: Option<Arc<str>>,
    /// Absolute offset in the file, in bytes. For a place inside a decompressed image: the offset of its entry.
    pub offset: u64,
    /// Offset inside the decompressed image, in bytes, where the place is in one.
    pub image_offset: Option<u64>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(member) = &self.member {
            write!(f, "member `{member}`, ")?;
        }
        write!(f, "at {:#x}", self.offset)?;
        if let Some(offset) = self.image_offset {
            write!(f, " (byte {offset:#x} of the decompressed image)")?;
        }
        Ok(())
    }
}

/// An input, or a part of one, that could not be read.
///
/// ```
/// use blockgate_fatbin::{Limits, read};
///
/// let error = read(b"\x7fELF, or so it says", &Limits::default()).unwrap_err();
/// assert_eq!(error.to_string(), "at 0x0: expected an ELF header of 0x40 bytes, found 0x13 bytes before the end");
/// assert_eq!((error.offset(), error.member()), (0, None));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: expected {}, found {}", .0.place, .0.expected, .0.found)]
pub struct Error(Box<Parts>);

// Boxed so that a `Result` of this crate stays one word larger than its value.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Parts {
    place: Place,
    expected: String,
    found: String,
}

impl Error {
    pub(crate) fn new(place: Place, expected: impl Into<String>, found: impl Into<String>) -> Self {
        Self(Box::new(Parts {
            place,
            expected: expected.into(),
            found: found.into(),
        }))
    }

    /// Where it is.
    pub fn place(&self) -> &Place {
        &self.0.place
    }

    /// The archive member, where the file is an archive.
    pub fn member(&self) -> Option<&Arc<str>> {
        self.0.place.member.as_ref()
    }

    /// Absolute offset in the file, in bytes.
    pub fn offset(&self) -> u64 {
        self.0.place.offset
    }

    /// What should have been there.
    pub fn expected(&self) -> &str {
        &self.0.expected
    }

    /// What was there.
    pub fn found(&self) -> &str {
        &self.0.found
    }

    /// The same as a defect of an artifact that could otherwise be read.
    pub fn into_defect(self, rule: &'static str) -> Defect {
        let Parts {
            place,
            expected,
            found,
        } = *self.0;
        Defect {
            rule,
            severity: Severity::Error,
            member: place.member,
            offset: place.offset,
            image_offset: place.image_offset,
            expected,
            found,
        }
    }
}

/// Something wrong in an artifact that could otherwise be read.
///
/// ```
/// use blockgate_fatbin::{Limits, Severity, read};
/// # use blockgate_fatbin::write::Region;
///
/// let mut bytes = Region::new().build()?;
/// bytes.extend(b"some tail");
/// let artifact = read(&bytes, &Limits::default())?;
/// let defect = &artifact.defects[0];
/// assert_eq!((defect.rule, defect.severity), ("garbage-between-regions", Severity::Error));
/// assert_eq!(defect.offset, 16);
/// assert_eq!(artifact.unattributed_bytes, 9);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Defect {
    /// What kind of defect, in kebab case; one of [`DEFECT_RULES`](crate::DEFECT_RULES).
    pub rule: &'static str,
    /// How much it matters. Info: unusual, and read without loss. Warning: the artifact contradicts itself, but
    /// everything in it was read. Error: part of it could not be read, so that what was read may not be all there is.
    pub severity: Severity,
    /// The archive member, where the file is an archive.
    pub member: Option<Arc<str>>,
    /// Absolute offset in the file, in bytes. For a place inside a decompressed image: the offset of its entry.
    pub offset: u64,
    /// Offset inside the decompressed image, in bytes, where the defect is in one.
    pub image_offset: Option<u64>,
    /// What should have been there.
    pub expected: String,
    /// What was there.
    pub found: String,
}

impl Defect {
    /// Where it is.
    pub fn place(&self) -> Place {
        Place {
            member: self.member.clone(),
            offset: self.offset,
            image_offset: self.image_offset,
        }
    }
}

impl fmt::Display for Defect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            rule,
            severity,
            expected,
            found,
            ..
        } = self;
        let place = self.place();
        write!(
            f,
            "{severity}[{rule}] {place}: expected {expected}, found {found}"
        )
    }
}

/// Collects defects up to a cap, so that a hostile file cannot buy memory with them.
#[derive(Debug)]
pub(crate) struct Defects {
    kept: Vec<Defect>,
    max: usize,
    dropped: usize,
    first_dropped: Option<Place>,
}

impl Defects {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            kept: Vec::new(),
            max: limits.max_defects,
            dropped: 0,
            first_dropped: None,
        }
    }

    pub(crate) fn push(&mut self, defect: Defect) {
        if self.kept.len() < self.max {
            self.kept.push(defect);
        } else {
            self.dropped += 1;
            self.first_dropped.get_or_insert_with(|| defect.place());
        }
    }

    /// Everything that was kept. Dropped ones may have been errors, so their summary is one.
    pub(crate) fn finish(mut self) -> Vec<Defect> {
        if let Some(place) = self.first_dropped {
            let found = format!("{} more from here on", self.dropped);
            let expected = format!("at most {} defects", self.max);
            self.kept
                .push(Error::new(place, expected, found).into_defect("too-many-defects"));
        }
        self.kept
    }
}
