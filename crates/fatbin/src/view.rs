//! Bytes that know where in the input they lie, so that every error can say so.

use std::fmt::Display;
use std::sync::Arc;

use blockgate_findings::Severity;
use object::pod::Pod;

use crate::error::{Defect, Error, Place};

/// A stretch of the input or of a decompressed image. All integers are little-endian.
#[derive(Clone, Debug)]
pub(crate) struct View<'a> {
    bytes: &'a [u8],
    member: Option<Arc<str>>,
    base: Base,
}

#[derive(Clone, Copy, Debug)]
enum Base {
    /// The first byte is at this offset of the file.
    File(u64),
    /// The first byte is at `at` of the decompressed image whose entry is at `entry` of the file.
    Decompressed { entry: u64, at: u64 },
}

impl<'a> View<'a> {
    /// The bytes of a file, or of a member of one, that start at `offset` of the file.
    pub(crate) fn new(bytes: &'a [u8], member: Option<Arc<str>>, offset: u64) -> Self {
        Self {
            bytes,
            member,
            base: Base::File(offset),
        }
    }

    /// The decompressed content of the entry at `entry` of the file.
    pub(crate) fn decompressed(bytes: &'a [u8], member: Option<Arc<str>>, entry: u64) -> Self {
        Self {
            bytes,
            member,
            base: Base::Decompressed { entry, at: 0 },
        }
    }

    pub(crate) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    pub(crate) fn member(&self) -> Option<&Arc<str>> {
        self.member.as_ref()
    }

    pub(crate) fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// The place of byte `at`; past the end means the end.
    pub(crate) fn place(&self, at: u64) -> Place {
        let at = at.min(self.len());
        let (offset, image_offset) = match self.base {
            Base::File(base) => (base.saturating_add(at), None),
            Base::Decompressed { entry, at: base } => (entry, Some(base.saturating_add(at))),
        };
        Place {
            member: self.member.clone(),
            offset,
            image_offset,
        }
    }

    pub(crate) fn error(&self, at: u64, expected: impl Into<String>, found: impl Into<String>) -> Error {
        Error::new(self.place(at), expected, found)
    }

    pub(crate) fn defect(
        &self,
        at: u64,
        rule: &'static str,
        severity: Severity,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Defect {
        Defect {
            severity,
            ..self.error(at, expected, found).into_defect(rule)
        }
    }

    /// `len` bytes from `at`, as `claimed_at` states; `what` names them.
    pub(crate) fn range(
        &self,
        claimed_at: u64,
        at: u64,
        len: u64,
        what: impl Display,
    ) -> Result<Self, Error> {
        self.get(at, len).ok_or_else(|| {
            self.error(
                claimed_at,
                format!("{what} within {:#x} bytes", self.len()),
                format!("{len:#x} bytes from {at:#x}"),
            )
        })
    }

    /// `len` bytes from `at`, or `None` where they are not all there.
    pub(crate) fn get(&self, at: u64, len: u64) -> Option<Self> {
        let end = usize::try_from(at.checked_add(len)?).ok()?;
        let start = usize::try_from(at).ok()?;
        let bytes = self.bytes.get(start..end)?;
        Some(Self {
            bytes,
            member: self.member.clone(),
            base: self.base.advanced(at),
        })
    }

    /// The structure at `at`; `what` names it.
    pub(crate) fn pod<T: Pod>(&self, at: u64, what: &str) -> Result<&'a T, Error> {
        let rest = usize::try_from(at).ok().and_then(|start| self.bytes.get(start..));
        let found = rest.and_then(|rest| object::pod::from_bytes(rest).ok());
        found
            .map(|(value, _)| value)
            .ok_or_else(|| self.cut(at, what, size_of::<T>()))
    }

    /// `N` bytes at `at`; `what` names them.
    pub(crate) fn array_at<const N: usize>(&self, at: u64, what: &str) -> Result<&'a [u8; N], Error> {
        self.array(at).ok_or_else(|| self.cut(at, what, N))
    }

    fn cut(&self, at: u64, what: &str, size: usize) -> Error {
        let left = self.len().saturating_sub(at);
        let expected = format!("{what} of {size:#x} bytes");
        self.error(at, expected, format!("{left:#x} bytes before the end"))
    }

    /// The integer at `at`, or `None` past the end.
    pub(crate) fn u16(&self, at: u64) -> Option<u16> {
        Some(u16::from_le_bytes(*self.array(at)?))
    }

    /// The integer at `at`, or `None` past the end.
    pub(crate) fn u32(&self, at: u64) -> Option<u32> {
        Some(u32::from_le_bytes(*self.array(at)?))
    }

    fn array<const N: usize>(&self, at: u64) -> Option<&'a [u8; N]> {
        self.bytes.get(usize::try_from(at).ok()?..)?.first_chunk()
    }
}

impl Base {
    fn advanced(self, by: u64) -> Self {
        match self {
            Self::File(base) => Self::File(base.saturating_add(by)),
            Self::Decompressed { entry, at } => Self::Decompressed {
                entry,
                at: at.saturating_add(by),
            },
        }
    }
}

/// The first bytes of something unexpected, for a message.
pub(crate) fn first_bytes(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    if bytes.is_empty() {
        return "nothing".to_owned();
    }
    let mut text = "bytes".to_owned();
    for byte in bytes.iter().take(8) {
        // Writing to a String cannot fail.
        let _ = write!(text, " {byte:02x}");
    }
    text
}
