//! Architecture lists as text. One file per dialect; every entry keeps its byte span.

pub mod cmake;
mod validate;

use std::fmt;

use crate::arch::{Arch, CodeKind};
use crate::parse::{ArchError, Target};

pub use validate::{ListProblem, ProblemKind, validate};

/// A byte span of the list's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Span {
    /// First byte.
    pub start_byte: usize,
    /// One past the last byte.
    pub end_byte: usize,
}

impl Span {
    /// The text that the span covers, or nothing where it does not lie in `text`.
    pub fn of(self, text: &str) -> &str {
        text.get(self.start_byte..self.end_byte).unwrap_or_default()
    }
}

/// What one entry asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Images of one architecture.
    Arch {
        /// The architecture.
        arch: Arch,
        /// Which images of it.
        images: Images,
    },
    /// A word that leaves the choice to the build system.
    Word(Word),
}

/// Which images of an architecture an entry asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Images {
    /// Machine code (`121-real`).
    Cubin,
    /// PTX (`121-virtual`).
    Ptx,
    /// Both (`121`).
    Both,
}

impl Images {
    /// The kinds, machine code first.
    pub const fn kinds(self) -> &'static [CodeKind] {
        match self {
            Self::Cubin => &[CodeKind::Cubin],
            Self::Ptx => &[CodeKind::Ptx],
            Self::Both => &[CodeKind::Cubin, CodeKind::Ptx],
        }
    }
}

/// A word in place of architectures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// Every architecture that the toolkit knows.
    All,
    /// Every major architecture that the toolkit knows.
    AllMajor,
    /// Those of the devices in the machine that builds.
    Native,
    /// No architecture flag at all.
    Off,
}

impl Word {
    /// The word as CMake spells it.
    pub const fn text(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::AllMajor => "all-major",
            Self::Native => "native",
            Self::Off => "OFF",
        }
    }
}

/// An entry and where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What it asks for.
    pub request: Request,
    /// Where it stands.
    pub span: Span,
}

impl Entry {
    /// The images that the entry asks for; none for a word.
    pub fn targets(&self) -> impl Iterator<Item = Target> {
        let (arch, kinds) = match self.request {
            Request::Arch { arch, images } => (Some(arch), images.kinds()),
            Request::Word(_) => (None, [].as_slice()),
        };
        kinds.iter().filter_map(move |kind| {
            Some(Target {
                arch: arch?,
                kind: *kind,
            })
        })
    }
}

/// A list: its entries in the order of the text, and what could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ArchList {
    /// The entries that were understood.
    pub entries: Vec<Entry>,
    /// The entries that were not.
    pub errors: Vec<EntryError>,
}

impl ArchList {
    /// The entries, or the errors where there is any.
    pub fn into_entries(self) -> Result<Vec<Entry>, Vec<EntryError>> {
        if self.errors.is_empty() {
            Ok(self.entries)
        } else {
            Err(self.errors)
        }
    }

    /// Every image that the list asks for, in the order of the text, repetitions included.
    pub fn targets(&self) -> impl Iterator<Item = Target> {
        self.entries.iter().flat_map(Entry::targets)
    }
}

/// Something in a list that is no entry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct EntryError {
    /// Where it stands.
    pub span: Span,
    /// What is wrong.
    pub problem: EntryProblem,
}

/// What is wrong with a part of a list.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EntryProblem {
    /// The list has no entry.
    #[error("the list is empty; expected entries such as `121` or `121a-real`, or `OFF`")]
    EmptyList,
    /// Two separators in a row, or one at an end.
    #[error("an entry is empty; `{separator}` separates entries and ends none")]
    EmptyEntry {
        /// The separator of the dialect.
        separator: char,
    },
    /// A separator of another dialect.
    #[error("{found} does not separate entries here; `{separator}` does")]
    Separator {
        /// What stands there.
        found: Found,
        /// The separator of the dialect.
        separator: char,
    },
    /// A name that no architecture has.
    #[error(transparent)]
    Arch(#[from] ArchError),
    /// A name in another dialect's spelling.
    #[error("`{token}` is not how this list spells it; write `{spelling}`")]
    Spelling {
        /// The entry as given.
        token: String,
        /// The spelling of this dialect.
        spelling: String,
    },
    /// A word beside other entries.
    #[error("`{word}` stands for a whole list; it cannot have other entries beside it")]
    WordNotAlone {
        /// The word.
        word: &'static str,
    },
    /// A word in another case.
    #[error("`{token}` is no architecture; the word is spelled `{word}`")]
    WordCase {
        /// The entry as given.
        token: String,
        /// The right spelling.
        word: &'static str,
    },
}

/// A character that separates entries in some other dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// `,`
    Comma,
    /// A blank, tab or line break.
    Blank,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Comma => "a comma",
            Self::Blank => "a blank",
        })
    }
}
