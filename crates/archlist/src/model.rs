//! What a list says.

use std::ops::Range;

use blockgate_arch::dialect::Entry;
use blockgate_arch::{Device, Target, ToolkitRequirement};
use blockgate_expect::{Expectation, SizeBound};

/// A byte span of the list file.
pub type Span = Range<usize>;

/// One architecture list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchList {
    /// The file's name without its ending.
    pub name: String,
    /// Why the list exists.
    pub why: String,
    /// Whether a release carries what is built from it. Such a list is held to more.
    pub ships: bool,
    /// Which toolkits can build it; any, if absent.
    pub toolkit: Option<ToolkitRequirement>,
    /// The device whose loaded code is compared with the baseline's.
    pub device: Option<Device>,
    /// What every source is compiled for, in CMake's dialect.
    pub architectures: String,
    /// The entries of `architectures`, with spans inside that text.
    pub entries: Vec<Entry>,
    /// What single sources are compiled for beyond that.
    pub per_source: Vec<PerSource>,
    /// The list that size and code are compared with.
    pub baseline: Option<String>,
    /// What must equal the baseline.
    pub same_code: Option<SameCode>,
    /// Sources whose loaded code must differ from the baseline's, so that "nothing changed" is seen to be able to fail.
    pub code_changed_in: Vec<String>,
    /// Bound on the archive's size minus the baseline's, in bytes.
    pub size_over_baseline: Option<SizeBound>,
    /// What must be found in the archive.
    pub expect: Vec<Expectation>,
    /// Which sources are built.
    pub sources: SourceSet,
    /// The cause for which the build must fail, where it must.
    pub expect_failure: Option<ExpectedFailure>,
    /// Whether a missing toolkit is no failure.
    pub optional: bool,
    /// Where things stand in the file.
    pub places: Places,
}

/// Extra architectures of one source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PerSource {
    /// The source's file name.
    pub source: String,
    /// What it is compiled for besides the list, in CMake's dialect.
    pub architectures: String,
    /// The entries, with spans inside that text.
    pub entries: Vec<Entry>,
    /// Where the source's name stands in the file.
    pub place: Span,
    /// Where its architectures stand in the file.
    pub architectures_place: Span,
}

/// Where things stand in the list file, for findings made later.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Places {
    /// The path of the file as it was given.
    pub path: String,
    /// The text of the file.
    pub text: String,
    /// The value of `architectures`.
    pub architectures: Span,
    /// The value of `toolkit`.
    pub toolkit: Option<Span>,
    /// The value of `baseline`.
    pub baseline: Option<Span>,
    /// The value of `ships`.
    pub ships: Span,
    /// The value of `same_code`.
    pub same_code: Option<Span>,
    /// Each item of `code_changed_in`.
    pub code_changed_in: Vec<Span>,
    /// The value of `size_over_baseline`.
    pub size_over_baseline: Option<Span>,
    /// Each item of `expect`.
    pub expect: Vec<Span>,
}

/// What of a list must equal its baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SameCode {
    /// Every source that `per_source` does not name: its object, and the code that the device loads.
    AllButPerSource,
}

/// Which sources a list builds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum SourceSet {
    /// The kernels.
    #[default]
    Kernels,
    /// The marker sources, whose gates disagree on purpose.
    Markers,
}

impl SourceSet {
    /// The word of list files and of the CMake project.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kernels => "kernels",
            Self::Markers => "markers",
        }
    }
}

/// The cause for which a build must fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpectedFailure {
    /// One gate is open and the other shut, so that a caller finds no converter.
    GateMismatch,
}

impl ExpectedFailure {
    /// The word of list files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::GateMismatch => "gate-mismatch",
        }
    }
}

impl ArchList {
    /// Every image that every source is compiled to, in the order of the list.
    pub fn targets(&self) -> impl Iterator<Item = Target> {
        self.entries.iter().flat_map(Entry::targets)
    }

    /// Every image that one source is compiled to: those of the list, then its own.
    pub fn targets_of(&self, source: &str) -> impl Iterator<Item = Target> {
        let extra = self.extra(source).into_iter();
        self.targets()
            .chain(extra.flat_map(|extra| extra.entries.iter().flat_map(Entry::targets)))
    }

    /// What the list adds for one source.
    pub fn extra(&self, source: &str) -> Option<&PerSource> {
        self.per_source.iter().find(|extra| extra.source == source)
    }
}
