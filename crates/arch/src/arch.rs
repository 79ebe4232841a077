//! The architecture itself: capability, scope, spellings, and what runs where.

use std::fmt;

/// How far code for a compute capability may travel.
///
/// Source: PTX ISA, section "PTX module directives: .target"; CUDA programming guide, "Feature availability".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// `sm_121`: every later minor version of the same major version.
    Plain,
    /// `sm_121f`: later members of the same family only.
    Family,
    /// `sm_121a`: this compute capability alone. Only here do all architecture-specific instructions exist.
    Specific,
}

impl Scope {
    /// The suffix letter: nothing, `f` or `a`.
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Family => "f",
            Self::Specific => "a",
        }
    }

    /// The first major compute capability that has the form: `a` came with 9.0, `f` with 10.0.
    ///
    /// Source: PTX ISA, section "PTX module directives: .target".
    pub const fn first_major(self) -> u16 {
        match self {
            Self::Plain => 0,
            Self::Family => 10,
            Self::Specific => 9,
        }
    }
}

/// Whether an image is machine code or text that the driver still compiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CodeKind {
    /// Machine code in an ELF file (`sm_121`, CMake's `121-real`).
    Cubin,
    /// PTX text (`compute_121`, CMake's `121-virtual`).
    Ptx,
}

/// A compilation target: compute capability and scope.
///
/// There is no `Ord`: sorted output uses [`Arch::display_key`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Arch {
    major: u16,
    minor: u8,
    scope: Scope,
}

impl Arch {
    /// The architecture of compute capability `major.minor` with `scope`. `minor` is one decimal digit.
    ///
    /// # Panics
    /// When `minor` is above 9, which no name can spell.
    pub const fn new(major: u16, minor: u8, scope: Scope) -> Self {
        assert!(
            minor <= 9,
            "the minor version of a compute capability is one digit"
        );
        Self { major, minor, scope }
    }

    /// The architecture whose name has `number` (121 is 12.1), or `None` above 65535.
    ///
    /// Total over the numbers that a binary may claim; no statement that such a device exists.
    pub fn from_number(number: u32, scope: Scope) -> Option<Self> {
        let major = u16::try_from(number / 10).ok()?;
        let minor = u8::try_from(number % 10).ok()?;
        Some(Self { major, minor, scope })
    }

    /// The major compute capability: 12 of 12.1.
    pub const fn major(self) -> u16 {
        self.major
    }

    /// The minor compute capability: 1 of 12.1.
    pub const fn minor(self) -> u8 {
        self.minor
    }

    /// The scope.
    pub const fn scope(self) -> Scope {
        self.scope
    }

    /// The number in the name: 121 of `sm_121a`.
    pub const fn number(self) -> u32 {
        self.major as u32 * 10 + self.minor as u32
    }

    /// The same capability with another scope.
    pub const fn with_scope(self, scope: Scope) -> Self {
        Self { scope, ..self }
    }

    /// `sm_121a`, the name of machine code.
    pub fn sm(self) -> impl fmt::Display {
        Spelled("sm_", self)
    }

    /// `compute_121a`, the name of a virtual architecture (PTX).
    pub fn compute(self) -> impl fmt::Display {
        Spelled("compute_", self)
    }

    /// `121a`, the token of a CMake list.
    pub fn token(self) -> impl fmt::Display {
        Spelled("", self)
    }

    /// `12.1a`, the spelling of PyTorch and FlashInfer lists.
    pub fn dotted(self) -> impl fmt::Display {
        Dotted(self)
    }

    /// Sorts for display: by capability, plain before family before specific. It says nothing about what runs where.
    pub const fn display_key(self) -> DisplayKey {
        DisplayKey(self.major, self.minor, self.scope as u8)
    }
}

/// Display order of architectures; see [`Arch::display_key`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DisplayKey(u16, u8, u8);

/// The `sm_` spelling, which is what binaries and error messages use.
impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}{}", self.number(), self.scope.suffix())
    }
}

struct Spelled(&'static str, Arch);

impl fmt::Display for Spelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}{}", self.0, self.1.number(), self.1.scope.suffix())
    }
}

struct Dotted(Arch);

impl fmt::Display for Dotted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}{}", self.0.major, self.0.minor, self.0.scope.suffix())
    }
}
