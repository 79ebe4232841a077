//! Architecture names as text: every spelling in, typed errors out.

use std::fmt;
use std::str::FromStr;

use crate::arch::{Arch, CodeKind, Scope};

/// One image that a build asks for: an architecture, as machine code or as PTX.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    /// What it is compiled for.
    pub arch: Arch,
    /// Machine code or PTX.
    pub kind: CodeKind,
}

impl Target {
    /// Machine code for `arch`.
    pub const fn cubin(arch: Arch) -> Self {
        Self {
            arch,
            kind: CodeKind::Cubin,
        }
    }

    /// PTX for `arch`.
    pub const fn ptx(arch: Arch) -> Self {
        Self {
            arch,
            kind: CodeKind::Ptx,
        }
    }
}

/// `sm_121a` for machine code, `compute_121a` for PTX, as nvcc's `code=` names them.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            CodeKind::Cubin => self.arch.sm().fmt(f),
            CodeKind::Ptx => self.arch.compute().fmt(f),
        }
    }
}

/// How a name was spelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Spelling {
    /// `121a`: a CMake list entry that asks for machine code and PTX.
    Number,
    /// `12.1a`: PyTorch and FlashInfer.
    Dotted,
    /// `sm_121a`.
    Sm,
    /// `compute_121a`.
    Compute,
    /// `121a-real`: a CMake list entry that asks for machine code.
    Real,
    /// `121a-virtual`: a CMake list entry that asks for PTX.
    Virtual,
}

impl Spelling {
    /// Every spelling.
    pub const ALL: [Self; 6] = [
        Self::Number,
        Self::Dotted,
        Self::Sm,
        Self::Compute,
        Self::Real,
        Self::Virtual,
    ];

    /// The kind that the spelling settles, or `None` where only the dialect around it does.
    pub const fn kind(self) -> Option<CodeKind> {
        match self {
            Self::Number | Self::Dotted => None,
            Self::Sm | Self::Real => Some(CodeKind::Cubin),
            Self::Compute | Self::Virtual => Some(CodeKind::Ptx),
        }
    }
}

/// An architecture together with the spelling that named it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SpelledArch {
    /// The architecture.
    pub arch: Arch,
    /// How the text named it.
    pub spelling: Spelling,
}

/// Writes the name in its own spelling, so that it parses back to the same value.
impl fmt::Display for SpelledArch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.spelling {
            Spelling::Number => self.arch.token().fmt(f),
            Spelling::Dotted => self.arch.dotted().fmt(f),
            Spelling::Sm => self.arch.sm().fmt(f),
            Spelling::Compute => self.arch.compute().fmt(f),
            Spelling::Real => write!(f, "{}-real", self.arch.token()),
            Spelling::Virtual => write!(f, "{}-virtual", self.arch.token()),
        }
    }
}

/// A text that names no architecture.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{token}` names no CUDA architecture: {problem}")]
pub struct ArchError {
    token: String,
    problem: ArchProblem,
}

impl ArchError {
    pub(crate) fn new(token: &str, problem: ArchProblem) -> Self {
        Self {
            token: token.to_owned(),
            problem,
        }
    }

    /// The text as it was given.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// What is wrong with it.
    pub fn problem(&self) -> &ArchProblem {
        &self.problem
    }
}

/// What is wrong with a name; the message says what was expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArchProblem {
    /// Nothing there.
    #[error("it is empty; expected a name such as `121a`, `12.1a`, `sm_121a`, `compute_121a` or `121a-real`")]
    Empty,
    /// No number where one belongs.
    #[error("it has no number; expected the compute capability, such as `121` or `12.1`")]
    NoNumber,
    /// The digits are not those of a compute capability.
    #[error(
        "`{digits}` is no compute capability; expected two or three digits of which the last is the minor version, from 20 to 999"
    )]
    Number {
        /// The digits as given.
        digits: String,
    },
    /// The number of a dotted name is not major.minor.
    #[error(
        "`{number}` is no compute capability; expected `major.minor` with one minor digit, from 2.0 to 99.9"
    )]
    DottedNumber {
        /// The number as given.
        number: String,
    },
    /// Something other than `a` or `f` follows the number.
    #[error(
        "`{rest}` cannot follow the number; expected nothing, `a` (one capability) or `f` (a family), in lower case"
    )]
    Suffix {
        /// The text after the number.
        rest: String,
    },
    /// The suffix exists, but not for this capability.
    #[error(
        "compute capability {major}.{minor} has no `{suffix}` form; `a` exists from 9.0 and `f` from 10.0 on"
    )]
    NoSuchForm {
        /// Major version of the capability.
        major: u16,
        /// Minor version of the capability.
        minor: u8,
        /// `a` or `f`.
        suffix: &'static str,
    },
    /// The name leaves open whether machine code or PTX is meant.
    #[error(
        "it does not say whether machine code or PTX is meant; expected `sm_…`, `compute_…`, `…-real` or `…-virtual`"
    )]
    NoKind,
    /// An architecture where a device was asked for.
    #[error("it is no device; expected a compute capability such as `12.1`, without {extra}")]
    NotADevice {
        /// What is too much.
        extra: &'static str,
    },
    /// Marks of two spellings in one name.
    #[error(
        "it mixes two spellings; expected one of `12.1a`, `sm_121a`, `compute_121a`, `121a-real` and `121a-virtual`"
    )]
    MixedSpelling,
}

impl FromStr for SpelledArch {
    type Err = ArchError;

    fn from_str(text: &str) -> Result<Self, ArchError> {
        parse(text).map_err(|problem| ArchError::new(text, problem))
    }
}

/// Accepts every spelling; use [`SpelledArch`] where the kind matters.
impl FromStr for Arch {
    type Err = ArchError;

    fn from_str(text: &str) -> Result<Self, ArchError> {
        text.parse().map(|spelled: SpelledArch| spelled.arch)
    }
}

/// Accepts the spellings that say machine code or PTX: `sm_121a`, `121a-real`, `compute_121a`, `121a-virtual`.
impl FromStr for Target {
    type Err = ArchError;

    fn from_str(text: &str) -> Result<Self, ArchError> {
        let SpelledArch { arch, spelling } = text.parse()?;
        let kind = spelling
            .kind()
            .ok_or_else(|| ArchError::new(text, ArchProblem::NoKind))?;
        Ok(Self { arch, kind })
    }
}

fn parse(text: &str) -> Result<SpelledArch, ArchProblem> {
    if text.is_empty() {
        return Err(ArchProblem::Empty);
    }
    let prefixed = [("sm_", Spelling::Sm), ("compute_", Spelling::Compute)]
        .into_iter()
        .find_map(|(prefix, spelling)| Some((text.strip_prefix(prefix)?, spelling)));
    let ended = [("-real", Spelling::Real), ("-virtual", Spelling::Virtual)]
        .into_iter()
        .find_map(|(ending, spelling)| Some((text.strip_suffix(ending)?, spelling)));
    let (body, spelling) = match (prefixed, ended) {
        (Some(_), Some(_)) => return Err(ArchProblem::MixedSpelling),
        (Some(found), None) | (None, Some(found)) => found,
        (None, None) => (text, Spelling::Number),
    };

    let digits_end = body
        .find(|character: char| !character.is_ascii_digit())
        .unwrap_or(body.len());
    let (digits, rest) = body.split_at(digits_end);
    if digits.is_empty() {
        return Err(ArchProblem::NoNumber);
    }
    if let Some(after_dot) = rest.strip_prefix('.') {
        if spelling != Spelling::Number {
            return Err(ArchProblem::MixedSpelling);
        }
        let minor_end = after_dot
            .find(|character: char| !character.is_ascii_digit())
            .unwrap_or(after_dot.len());
        let (minor_digits, rest) = after_dot.split_at(minor_end);
        let (major, minor) = capability(digits, minor_digits).ok_or_else(|| ArchProblem::DottedNumber {
            number: body[..digits_end + 1 + minor_end].to_owned(),
        })?;
        return Ok(SpelledArch {
            arch: with_suffix(major, minor, rest)?,
            spelling: Spelling::Dotted,
        });
    }
    let (major, minor) = digits
        .split_at_checked(digits.len() - 1)
        .and_then(|(major, minor)| capability(major, minor))
        .ok_or_else(|| ArchProblem::Number {
            digits: digits.to_owned(),
        })?;
    Ok(SpelledArch {
        arch: with_suffix(major, minor, rest)?,
        spelling,
    })
}

/// Major and minor from their digits. Majors from 2 to 99 have a name: CUDA dropped 1.x before any toolkit
/// that this project knows, and taking `sm_12` for 1.2 would hide a lost digit.
fn capability(major_digits: &str, minor_digits: &str) -> Option<(u16, u8)> {
    if major_digits.is_empty()
        || major_digits.len() > 2
        || major_digits.starts_with('0')
        || minor_digits.len() != 1
    {
        return None;
    }
    let major: u16 = major_digits.parse().ok()?;
    let minor: u8 = minor_digits.parse().ok()?;
    (major >= 2).then_some((major, minor))
}

fn with_suffix(major: u16, minor: u8, rest: &str) -> Result<Arch, ArchProblem> {
    let scope = match rest {
        "" => Scope::Plain,
        "f" => Scope::Family,
        "a" => Scope::Specific,
        _ => {
            return Err(ArchProblem::Suffix {
                rest: rest.to_owned(),
            });
        }
    };
    if major < scope.first_major() {
        return Err(ArchProblem::NoSuchForm {
            major,
            minor,
            suffix: scope.suffix(),
        });
    }
    Ok(Arch::new(major, minor, scope))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{ArchProblem, SpelledArch, Spelling, Target};
    use crate::{Arch, CodeKind, Scope};

    #[test]
    fn every_spelling_names_the_same_architecture() {
        let arch = Arch::new(12, 1, Scope::Specific);
        for text in [
            "121a",
            "12.1a",
            "sm_121a",
            "compute_121a",
            "121a-real",
            "121a-virtual",
        ] {
            assert_eq!(text.parse::<Arch>().unwrap(), arch, "{text}");
        }
        assert_eq!("sm_121a".parse::<Target>().unwrap(), Target::cubin(arch));
        assert_eq!("121a-real".parse::<Target>().unwrap(), Target::cubin(arch));
        assert_eq!("compute_121a".parse::<Target>().unwrap(), Target::ptx(arch));
        assert_eq!("121a-virtual".parse::<Target>().unwrap(), Target::ptx(arch));
        assert_eq!(
            "121a".parse::<Target>().unwrap_err().problem(),
            &ArchProblem::NoKind
        );
    }

    // turboderp-org/exllamav3#125: a parser that knew digits only.
    #[test]
    fn suffixes_are_part_of_the_name() {
        let cases = [
            ("sm_120a", (12, 0, Scope::Specific), Some(CodeKind::Cubin)),
            ("sm_90a", (9, 0, Scope::Specific), Some(CodeKind::Cubin)),
            ("sm_100f", (10, 0, Scope::Family), Some(CodeKind::Cubin)),
            ("compute_120", (12, 0, Scope::Plain), Some(CodeKind::Ptx)),
            ("sm_75", (7, 5, Scope::Plain), Some(CodeKind::Cubin)),
            ("sm_21", (2, 1, Scope::Plain), Some(CodeKind::Cubin)),
            ("10.3a", (10, 3, Scope::Specific), None),
            ("10.0f", (10, 0, Scope::Family), None),
        ];
        for (text, (major, minor, scope), kind) in cases {
            let spelled: SpelledArch = text.parse().unwrap();
            assert_eq!(spelled.arch, Arch::new(major, minor, scope), "{text}");
            assert_eq!(spelled.spelling.kind(), kind, "{text}");
        }
    }

    #[test]
    fn other_texts_are_refused_and_the_message_says_what_was_expected() {
        let cases = [
            ("", "it is empty"),
            ("sm_", "it has no number"),
            ("compute_", "it has no number"),
            ("-real", "it has no number"),
            ("gfx1100", "it has no number"),
            ("SM_120", "it has no number"),
            ("sm_12", "`12` is no compute capability"),
            ("sm_1200", "`1200` is no compute capability"),
            ("sm_1", "`1` is no compute capability"),
            ("sm_075", "`075` is no compute capability"),
            ("99999999999999999999", "is no compute capability"),
            ("12.10", "`12.10` is no compute capability"),
            ("12.", "`12.` is no compute capability"),
            ("120.1", "`120.1` is no compute capability"),
            ("sm_120A", "`A` cannot follow the number"),
            ("100fg-real", "`fg` cannot follow the number"),
            ("12.1+PTX", "`+PTX` cannot follow the number"),
            ("121 ", "` ` cannot follow the number"),
            ("sm_121\u{301}", "cannot follow the number"),
            ("compute_121-real", "mixes two spellings"),
            ("sm_12.1", "mixes two spellings"),
            ("12.1a-real", "mixes two spellings"),
        ];
        for (text, expected) in cases {
            let error = text.parse::<Arch>().unwrap_err();
            assert_eq!(error.token(), text);
            assert!(error.to_string().contains(expected), "{text}: {error}");
        }
    }

    // NVlabs/WarpConvNet#32: the base was checked, the pair of base and suffix was not.
    #[test]
    fn forms_that_do_not_exist_are_refused_in_every_spelling() {
        for (major, minor, suffix) in [
            (7, 0, "a"),
            (7, 5, "a"),
            (8, 0, "a"),
            (8, 6, "a"),
            (8, 7, "a"),
            (8, 9, "a"),
            (9, 0, "f"),
        ] {
            for text in [
                format!("{major}.{minor}{suffix}"),
                format!("{major}{minor}{suffix}"),
                format!("sm_{major}{minor}{suffix}"),
            ] {
                let error = text.parse::<Arch>().unwrap_err();
                assert_eq!(
                    error.problem(),
                    &ArchProblem::NoSuchForm { major, minor, suffix },
                    "{text}"
                );
            }
        }
        for text in ["9.0a", "10.0a", "10.3a", "11.0a", "12.0a", "12.1a"] {
            assert!(text.parse::<Arch>().is_ok(), "{text}");
        }
    }

    fn any_arch() -> impl Strategy<Value = Arch> {
        (
            2u16..100,
            0u8..10,
            prop_oneof![Just(Scope::Plain), Just(Scope::Family), Just(Scope::Specific)],
        )
            .prop_filter("the form must exist", |(major, _, scope)| {
                *major >= scope.first_major()
            })
            .prop_map(|(major, minor, scope)| Arch::new(major, minor, scope))
    }

    proptest! {
        #[test]
        fn printing_and_parsing_are_inverse(arch in any_arch()) {
            for spelling in Spelling::ALL {
                let spelled = SpelledArch { arch, spelling };
                prop_assert_eq!(spelled.to_string().parse::<SpelledArch>().unwrap(), spelled);
            }
        }

        #[test]
        fn arbitrary_text_never_panics(text in "\\PC*") {
            if let Ok(spelled) = text.parse::<SpelledArch>() {
                prop_assert_eq!(spelled.to_string(), text);
            }
        }

        #[test]
        fn near_names_never_panic(text in "(sm_|compute_|SM_)?[0-9.]{0,5}[af+A]{0,2}(-real|-virtual|-)?") {
            if let Ok(spelled) = text.parse::<SpelledArch>() {
                prop_assert_eq!(spelled.to_string(), text);
            }
        }
    }
}
