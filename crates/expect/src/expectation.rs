//! One expectation and what can be asked about it without an artifact.

use std::fmt;

use blockgate_arch::{Arch, Scope};

use crate::arch_pattern::ArchPattern;
use crate::bytes::ByteCount;
use crate::op::Op;
use crate::pattern::{Glob, Pattern};

/// What is counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Machine-code images for an architecture.
    Cubins(ArchPattern),
    /// PTX images for an architecture.
    Ptx(ArchPattern),
    /// Machine-code and PTX images for an architecture.
    Images(ArchPattern),
    /// Instructions by mnemonic as the reader spells it, in machine code for an architecture or for all.
    Sass {
        /// Searched for in each mnemonic.
        mnemonic: Pattern,
        /// Where it is counted; everywhere if absent.
        arch: Option<ArchPattern>,
    },
    /// Places in PTX text.
    PtxText(Pattern),
    /// The size of the artifact, or of the members that the glob selects, in bytes.
    Size,
}

/// A sentence of the grammar: `subject op threshold [in member]`.
///
/// Two are equal when they mean the same; the source text does not count.
#[derive(Clone, Debug)]
pub struct Expectation {
    /// The text as it was written.
    pub source: String,
    /// What is counted.
    pub subject: Subject,
    /// How the count is compared.
    pub op: Op,
    /// What the count is compared with: a number of things, or of bytes where the subject is the size.
    pub threshold: u64,
    /// Only members whose name matches are looked at; all if absent.
    pub member: Option<Glob>,
}

/// Mnemonics of the converter to E2M1 as machine code spells them.
/// Read in images for sm_100a, sm_120a and sm_121a of CUDA 12.8 to 13.5.
const CONVERTER_MNEMONICS: [&str; 4] = [
    "F2FP.SATFINITE.E2M1.F32.PACK_AB_MERGE_C",
    "F2FP.SATFINITE.RELU.E2M1.F32.PACK_AB_MERGE_C",
    "F2FP.SATFINITE.E2M1.F32.PACK_AB_MERGE_C.RS",
    "F2FP.SATFINITE.E2M1.F16.UNPACK_B_MERGE_C",
];

/// Mnemonics of the same family that convert to something else or from E2M1. An expression that finds one of
/// these says nothing about the converter. Read in the same images.
const OTHER_CONVERSIONS: [&str; 5] = [
    "F2FP.BF16.F32.PACK_AB",
    "F2FP.F16.F32.PACK_AB",
    "F2FP.SATFINITE.E4M3.F32.PACK_AB_MERGE_C",
    "F2FP.F16.E2M1.UNPACK_B",
    "F2FP.F16.E4M3.UNPACK_B",
];

/// The converter to E2M1 as PTX spells it (PTX ISA, "Data Movement and Conversion Instructions: cvt").
const CONVERTER_PTX: [&str; 4] = [
    "cvt.rn.satfinite.e2m1x2.f32 b0, f0, f1;",
    "cvt.rn.satfinite.relu.e2m1x2.f32 b0, f0, f1;",
    "cvt.rn.satfinite.e2m1x2.f16x2 b0, r0;",
    "cvt.rs.satfinite.e2m1x4.f32 h0, {f0, f1, f2, f3}, r0;",
];

/// PTX that converts to something else; see [`OTHER_CONVERSIONS`].
const OTHER_PTX: [&str; 3] = [
    "cvt.rn.f16.f32 h0, f0;",
    "cvt.rn.satfinite.e4m3x2.f32 h0, f0, f1;",
    "cvt.rn.bf16x2.f32 r0, f0, f1;",
];

impl Expectation {
    /// Whether a count satisfies the expectation.
    pub fn holds(&self, found: u64) -> bool {
        self.op.holds(found, self.threshold)
    }

    /// Whether a count of zero breaks the expectation: something must be there.
    pub fn demands_presence(&self) -> bool {
        !self.holds(0)
    }

    /// Whether this holds only if the conversion to E2M1 is in machine code for exactly `arch`.
    ///
    /// A pattern with `*` does not count, since the instructions may then come from another architecture; nor does
    /// an expression that other conversions satisfy, nor one that looks at chosen members only.
    pub fn demands_converter_on(&self, arch: Arch) -> bool {
        let Subject::Sass {
            mnemonic,
            arch: Some(pattern),
        } = &self.subject
        else {
            return false;
        };
        arch.scope() != Scope::Plain
            && pattern.is_exact()
            && pattern.matches(arch)
            && counts_only(mnemonic, &CONVERTER_MNEMONICS, &OTHER_CONVERSIONS)
            && self.demands_presence()
            && self.member.is_none()
    }

    /// Whether this counts the conversion to E2M1 in PTX text.
    ///
    /// Worth a warning: where a list adds an architecture-specific image to a plain one, the PTX comes from the
    /// plain pass and holds no such conversion on a correct build.
    pub fn counts_converter_in_ptx_text(&self) -> bool {
        match &self.subject {
            Subject::PtxText(pattern) => {
                counts_only(pattern, &CONVERTER_PTX, &OTHER_PTX)
                    || counts_only(pattern, &CONVERTER_MNEMONICS, &OTHER_CONVERSIONS)
            }
            _ => false,
        }
    }
}

fn counts_only(pattern: &Pattern, wanted: &[&str], others: &[&str]) -> bool {
    wanted.iter().any(|text| pattern.is_match(text)) && !others.iter().any(|text| pattern.is_match(text))
}

impl PartialEq for Expectation {
    fn eq(&self, other: &Self) -> bool {
        (&self.subject, self.op, self.threshold, &self.member)
            == (&other.subject, other.op, other.threshold, &other.member)
    }
}

impl Eq for Expectation {}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cubins(arch) => write!(f, "cubins({arch})"),
            Self::Ptx(arch) => write!(f, "ptx({arch})"),
            Self::Images(arch) => write!(f, "images({arch})"),
            Self::Sass { mnemonic, arch: None } => write!(f, "sass({mnemonic})"),
            Self::Sass {
                mnemonic,
                arch: Some(arch),
            } => write!(f, "sass({mnemonic})@{arch}"),
            Self::PtxText(pattern) => write!(f, "ptx_text({pattern})"),
            Self::Size => f.write_str("size"),
        }
    }
}

/// The canonical spelling, which reads back as the same expectation.
impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} ", self.subject, self.op)?;
        match self.subject {
            Subject::Size => write!(f, "{}", ByteCount::new(self.threshold))?,
            _ => write!(f, "{}", self.threshold)?,
        }
        if let Some(member) = &self.member {
            write!(f, " in {member}")?;
        }
        Ok(())
    }
}
