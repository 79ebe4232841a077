//! Which PTX instructions each target accepts.

use crate::arch::{Arch, Scope};
use crate::evidence::Evidence;
use crate::toolkits::{knows, targets_of};
use crate::version::ToolkitVersion;

/// A PTX instruction whose acceptance depends on the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Instruction {
    /// Two f32 to two E2M1: the conversion behind NVFP4 and MXFP4.
    CvtE2m1x2F32,
    /// Two f16 to two E2M1.
    CvtE2m1x2F16x2,
    /// Two bf16 to two E2M1.
    CvtE2m1x2Bf16x2,
    /// Two E2M1 to two f16.
    CvtF16x2E2m1x2,
    /// Two f32 to two E8M0.
    CvtUe8m0x2F32,
    /// Two f32 to two E2M3.
    CvtE2m3x2F32,
    /// Two f32 to two E3M2.
    CvtE3m2x2F32,
    /// Four f32 to four E2M1, rounded stochastically.
    CvtRsE2m1x4F32,
    /// Two f32 to two f16, rounded stochastically.
    CvtRsF16x2F32,
    /// Two f32 to two E4M3.
    CvtE4m3x2F32,
    /// Two bf16 to two E4M3.
    CvtE4m3x2Bf16x2,
    /// Two f32 additions at once.
    AddF32x2,
    /// Warp-level block-scaled MMA, NVFP4.
    MmaMxf4nvf4,
    /// Warp-level block-scaled MMA, MXFP4.
    MmaMxf4,
    /// Warp-level block-scaled MMA, mixed 8, 6 and 4 bits.
    MmaMxf8f6f4,
    /// Warp-level MMA without block scales, mixed 8, 6 and 4 bits.
    MmaF8f6f4,
    /// Warp-level sparse block-scaled MMA, NVFP4.
    MmaSparseMxf4nvf4,
    /// Warp-level FP8 MMA.
    MmaE4m3,
    /// Tensor-memory MMA, f16 and bf16.
    Tcgen05MmaF16,
    /// Tensor-memory MMA, mixed 8, 6 and 4 bits.
    Tcgen05MmaF8f6f4,
    /// Tensor-memory MMA, 8-bit integers.
    Tcgen05MmaI8,
    /// Tensor-memory block-scaled MMA, NVFP4, in the `.scale_vec::4X` spelling.
    Tcgen05MmaMxf4nvf4ScaleVec,
    /// The same in the `.block16` spelling, which family targets have as well.
    Tcgen05MmaMxf4nvf4Block16,
    /// Tensor-memory block-scaled MMA, mixed 8, 6 and 4 bits, in the `.block32` spelling.
    Tcgen05MmaMxf8f6f4Block32,
    /// The same in the `.scale_vec::1X` spelling.
    Tcgen05MmaMxf8f6f4ScaleVec,
    /// Load from tensor memory.
    Tcgen05Ld,
    /// Warpgroup MMA.
    Wgmma,
    /// Moving registers between warps.
    Setmaxnreg,
    /// Changing a tensor map on the device.
    TensormapReplace,
    /// Bulk asynchronous copy.
    CpAsyncBulk,
    /// Warp-wide f32 reduction.
    ReduxF32,
}

/// Which targets accept an instruction, among those that the toolkit knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accepted {
    /// Every scope of this number and of later ones.
    From(u32),
    /// These scopes of these numbers.
    Only(&'static [(u32, &'static [Scope])]),
}

impl Accepted {
    fn contains(self, arch: Arch) -> bool {
        match self {
            Self::From(number) => arch.number() >= number,
            Self::Only(targets) => targets
                .iter()
                .any(|(number, scopes)| arch.number() == *number && scopes.contains(&arch.scope())),
        }
    }
}

/// One instruction of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InstructionRow {
    /// The instruction.
    pub instruction: Instruction,
    /// Its name for a person, in PTX spelling.
    pub ptx: &'static str,
    /// The targets.
    pub accepted: Accepted,
    /// The first release whose assembler knows the spelling, of those from 11.8 on.
    pub since: ToolkitVersion,
    /// What ptxas puts between quotes when it refuses the instruction on a target.
    pub refusals: &'static [&'static str],
    /// How it is known.
    pub evidence: Evidence,
    /// What was run.
    pub source: &'static str,
}

const V11_8: ToolkitVersion = ToolkitVersion::new(11, 8);
const V12_0: ToolkitVersion = ToolkitVersion::new(12, 0);
const V12_4: ToolkitVersion = ToolkitVersion::new(12, 4);
const V12_8: ToolkitVersion = ToolkitVersion::new(12, 8);
const V12_9: ToolkitVersion = ToolkitVersion::new(12, 9);
const V13_0: ToolkitVersion = ToolkitVersion::new(13, 0);
const V13_1: ToolkitVersion = ToolkitVersion::new(13, 1);

const A: &[Scope] = &[Scope::Specific];
const FA: &[Scope] = &[Scope::Family, Scope::Specific];

const BLACKWELL_SUFFIXED: Accepted = Accepted::Only(&[
    (100, FA),
    (101, FA),
    (103, FA),
    (107, FA),
    (110, FA),
    (120, FA),
    (121, FA),
]);
const SUFFIXED: Accepted = Accepted::Only(&[
    (90, A),
    (100, FA),
    (101, FA),
    (103, FA),
    (107, FA),
    (110, FA),
    (120, FA),
    (121, FA),
]);
const STOCHASTIC: Accepted = Accepted::Only(&[(100, A), (103, A), (107, A)]);
const CONSUMER: Accepted = Accepted::Only(&[(120, FA), (121, FA)]);
const CONSUMER_SPECIFIC: Accepted = Accepted::Only(&[(120, A), (121, A)]);
const TENSOR_MEMORY: Accepted = Accepted::Only(&[(100, FA), (101, FA), (103, FA), (107, FA), (110, FA)]);
const TENSOR_MEMORY_SPECIFIC: Accepted = Accepted::Only(&[(100, A), (101, A), (103, A), (107, A), (110, A)]);

const fn row(
    instruction: Instruction,
    ptx: &'static str,
    accepted: Accepted,
    since: ToolkitVersion,
    refusals: &'static [&'static str],
) -> InstructionRow {
    InstructionRow {
        instruction,
        ptx,
        accepted,
        since,
        refusals,
        evidence: Evidence::Compiled,
        source: "ptxas 11.8.89, 12.0.140, 12.4.131, 12.6.85, 12.8.93, 12.9.86, 13.0.88, 13.1.115, 13.3.73, 13.5.37",
    }
}

/// The instructions. Several rows of one instruction add up: a release took it for some targets before others.
/// A refusal phrase that several rows share names the first of them.
pub const INSTRUCTIONS: &[InstructionRow] = &[
    row(
        Instruction::CvtE2m1x2F32,
        "cvt.rn.satfinite.e2m1x2.f32",
        BLACKWELL_SUFFIXED,
        V12_8,
        &["cvt with .e2m1x2", "cvt.e2m1x2.f32"],
    ),
    row(
        Instruction::CvtE2m1x2F16x2,
        "cvt.rn.satfinite.e2m1x2.f16x2",
        BLACKWELL_SUFFIXED,
        V13_0,
        &["cvt with .e2m1x2", "cvt.e2m1x2.f16x2"],
    ),
    row(
        Instruction::CvtE2m1x2Bf16x2,
        "cvt.rn.satfinite.e2m1x2.bf16x2",
        BLACKWELL_SUFFIXED,
        V13_1,
        &["cvt.e2m1x2.bf16x2"],
    ),
    row(
        Instruction::CvtF16x2E2m1x2,
        "cvt.rn.f16x2.e2m1x2",
        BLACKWELL_SUFFIXED,
        V12_8,
        &["cvt with .e2m1x2", "cvt.f16x2.e2m1x2"],
    ),
    row(
        Instruction::CvtUe8m0x2F32,
        "cvt.rz.satfinite.ue8m0x2.f32",
        BLACKWELL_SUFFIXED,
        V12_8,
        &["cvt with .ue8m0x2"],
    ),
    row(
        Instruction::CvtE2m3x2F32,
        "cvt.rn.satfinite.e2m3x2.f32",
        BLACKWELL_SUFFIXED,
        V12_8,
        &["cvt with .e2m3x2/.e3m2x2", "cvt.e2m3x2.f32"],
    ),
    row(
        Instruction::CvtE3m2x2F32,
        "cvt.rn.satfinite.e3m2x2.f32",
        BLACKWELL_SUFFIXED,
        V12_8,
        &["cvt with .e2m3x2/.e3m2x2", "cvt.e3m2x2.f32"],
    ),
    row(
        Instruction::CvtRsE2m1x4F32,
        "cvt.rs.satfinite.e2m1x4.f32",
        STOCHASTIC,
        V12_8,
        &[".rs"],
    ),
    row(
        Instruction::CvtRsF16x2F32,
        "cvt.rs.f16x2.f32",
        STOCHASTIC,
        V12_8,
        &[".rs"],
    ),
    row(
        Instruction::CvtE4m3x2F32,
        "cvt.rn.satfinite.e4m3x2.f32",
        Accepted::From(89),
        V12_4,
        &["cvt with .e4m3x2/.e5m2x2", "cvt.e4m3x2.f32"],
    ),
    row(
        Instruction::CvtE4m3x2F32,
        "cvt.rn.satfinite.e4m3x2.f32",
        Accepted::From(90),
        V11_8,
        &["cvt with .e4m3x2/.e5m2x2", "cvt.e4m3x2.f32"],
    ),
    row(
        Instruction::CvtE4m3x2Bf16x2,
        "cvt.rn.satfinite.e4m3x2.bf16x2",
        BLACKWELL_SUFFIXED,
        V13_1,
        &["cvt.e4m3x2.bf16x2"],
    ),
    row(
        Instruction::AddF32x2,
        "add.rn.f32x2",
        Accepted::From(100),
        V12_8,
        &["add.f32x2"],
    ),
    row(
        Instruction::MmaMxf4nvf4,
        "mma.sync…kind::mxf4nvf4.block_scale",
        CONSUMER,
        V12_8,
        &["mma with block scale"],
    ),
    row(
        Instruction::MmaMxf4,
        "mma.sync…kind::mxf4.block_scale",
        CONSUMER,
        V12_8,
        &["mma with block scale"],
    ),
    row(
        Instruction::MmaMxf8f6f4,
        "mma.sync…kind::mxf8f6f4.block_scale",
        CONSUMER,
        V12_8,
        &["mma with block scale"],
    ),
    row(
        Instruction::MmaF8f6f4,
        "mma.sync…kind::f8f6f4",
        CONSUMER,
        V12_8,
        &["mma with with FP6/FP4 floating point type"],
    ),
    row(
        Instruction::MmaSparseMxf4nvf4,
        "mma.sp…kind::mxf4nvf4.block_scale",
        CONSUMER_SPECIFIC,
        V12_8,
        &["Sparse mma with block scale"],
    ),
    row(
        Instruction::MmaE4m3,
        "mma.sync…f32.e4m3.e4m3.f32",
        Accepted::From(89),
        V12_4,
        &["mma with FP8 floating point type"],
    ),
    row(
        Instruction::Tcgen05MmaF16,
        "tcgen05.mma…kind::f16",
        TENSOR_MEMORY,
        V12_8,
        &["tcgen05.mma"],
    ),
    row(
        Instruction::Tcgen05MmaF8f6f4,
        "tcgen05.mma…kind::f8f6f4",
        TENSOR_MEMORY,
        V12_8,
        &["tcgen05.mma"],
    ),
    row(
        Instruction::Tcgen05MmaI8,
        "tcgen05.mma…kind::i8",
        Accepted::Only(&[(100, A), (101, A), (110, A)]),
        V12_8,
        &[".kind::i8"],
    ),
    row(
        Instruction::Tcgen05MmaMxf4nvf4ScaleVec,
        "tcgen05.mma…kind::mxf4nvf4.block_scale.scale_vec::4X",
        TENSOR_MEMORY_SPECIFIC,
        V12_8,
        &[".scale_vec::4X"],
    ),
    row(
        Instruction::Tcgen05MmaMxf4nvf4Block16,
        "tcgen05.mma…kind::mxf4nvf4.block_scale.block16",
        TENSOR_MEMORY,
        V12_9,
        &["tcgen05.mma"],
    ),
    row(
        Instruction::Tcgen05MmaMxf8f6f4Block32,
        "tcgen05.mma…kind::mxf8f6f4.block_scale.block32",
        TENSOR_MEMORY,
        V12_9,
        &["tcgen05.mma"],
    ),
    row(
        Instruction::Tcgen05MmaMxf8f6f4ScaleVec,
        "tcgen05.mma…kind::mxf8f6f4.block_scale.scale_vec::1X",
        TENSOR_MEMORY_SPECIFIC,
        V12_8,
        &[".scale_vec::1X"],
    ),
    row(
        Instruction::Tcgen05Ld,
        "tcgen05.ld",
        TENSOR_MEMORY,
        V12_8,
        &[".32x32b"],
    ),
    row(
        Instruction::Wgmma,
        "wgmma",
        Accepted::Only(&[(90, A)]),
        V12_0,
        &["wgmma.fence", "wgmma.mma_async"],
    ),
    row(
        Instruction::Setmaxnreg,
        "setmaxnreg",
        SUFFIXED,
        V12_0,
        &["setmaxnreg.inc", "setmaxnreg.dec"],
    ),
    row(
        Instruction::TensormapReplace,
        "tensormap.replace",
        SUFFIXED,
        V12_4,
        &["tensormap.replace"],
    ),
    row(
        Instruction::CpAsyncBulk,
        "cp.async.bulk",
        Accepted::From(90),
        V12_0,
        &["cp.async.bulk"],
    ),
    row(
        Instruction::ReduxF32,
        "redux.sync.min.f32",
        Accepted::Only(&[(100, FA), (103, FA), (107, FA)]),
        V12_8,
        &["redux.f32"],
    ),
];

impl Instruction {
    /// The rows of this instruction; at least one.
    pub fn rows(self) -> impl Iterator<Item = &'static InstructionRow> {
        INSTRUCTIONS.iter().filter(move |row| row.instruction == self)
    }

    /// Its name for a person, in PTX spelling.
    pub fn ptx(self) -> &'static str {
        self.rows().next().map_or("", |row| row.ptx)
    }

    /// The first release that assembles it for any target.
    pub fn since(self) -> Option<ToolkitVersion> {
        self.rows().map(|row| row.since).min()
    }

    /// The instruction that ptxas refuses with `phrase` between its quotes.
    pub fn refused_as(phrase: &str) -> Option<Self> {
        INSTRUCTIONS
            .iter()
            .find(|row| row.refusals.contains(&phrase))
            .map(|row| row.instruction)
    }
}

/// Whether `toolkit` assembles `instruction` for `arch`.
pub fn accepts(toolkit: ToolkitVersion, arch: Arch, instruction: Instruction) -> bool {
    knows(toolkit, arch).known
        && instruction
            .rows()
            .any(|row| toolkit >= row.since && row.accepted.contains(arch))
}

/// Every target for which `toolkit` assembles `instruction`, in display order.
pub fn accepting_targets(toolkit: ToolkitVersion, instruction: Instruction) -> Vec<Arch> {
    let mut targets = targets_of(toolkit);
    targets.retain(|arch| accepts(toolkit, *arch, instruction));
    targets
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{INSTRUCTIONS, Instruction, accepting_targets, accepts};
    use crate::ToolkitVersion;

    /// The recorded answers of ten assemblers for every target from 80 on. A section starts with the name of
    /// its instruction in brackets.
    #[test]
    fn the_table_agrees_with_the_recorded_answers() {
        let recorded = include_str!("../../../../fixtures/nvcc/ptx-acceptance.txt");
        let mut instruction = None;
        let mut seen = HashSet::new();
        let mut answers = 0;
        for line in recorded.lines() {
            if let Some(name) = line.strip_prefix('[') {
                let name = name.trim_end_matches(']');
                let row = INSTRUCTIONS.iter().find(|row| row.ptx == name).expect(name);
                instruction = Some(row.instruction);
                seen.insert(row.instruction);
                continue;
            }
            let instruction = instruction.expect("a section comes first");
            let (release, targets) = line.split_once(':').unwrap();
            let found: Vec<String> = accepting_targets(release.parse().unwrap(), instruction)
                .iter()
                .filter(|arch| arch.number() >= 80)
                .map(|arch| arch.token().to_string())
                .collect();
            assert_eq!(
                found.join(" "),
                targets.trim(),
                "{} in {release}",
                instruction.ptx()
            );
            answers += 1;
        }
        assert!(INSTRUCTIONS.iter().all(|row| seen.contains(&row.instruction)));
        assert_eq!(answers, seen.len() * 10);
    }

    // vllm-project/vllm#38957: a report said that 12.0f loses the FP4 kinds.
    #[test]
    fn family_targets_have_the_block_scaled_kinds() {
        let toolkit = ToolkitVersion::new(13, 0);
        for instruction in [Instruction::MmaMxf4, Instruction::MmaMxf4nvf4] {
            for (name, expected) in [
                ("120f", true),
                ("120a", true),
                ("121f", true),
                ("121a", true),
                ("120", false),
                ("121", false),
                ("100a", false),
            ] {
                assert_eq!(
                    accepts(toolkit, name.parse().unwrap(), instruction),
                    expected,
                    "{name}"
                );
            }
        }
    }
}
