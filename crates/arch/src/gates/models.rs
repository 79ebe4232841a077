//! What two ways of gating the E2M1 conversion make of a target.

use std::fmt;

use super::instructions::{Instruction, accepts};
use super::macros::macros;
use crate::arch::Arch;
use crate::version::ToolkitVersion;

/// The capability, as a macro value, from which the gated code is meant to use the hardware.
const BLACKWELL: u32 = 1000;

/// What comes of compiling for a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The pass compiles and converts in software.
    Software,
    /// The pass compiles and converts with the hardware instruction.
    Hardware,
    /// The pass does not compile: the caller wants a converter that is not there.
    DoesNotCompile,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Software => "software",
            Self::Hardware => "hardware",
            Self::DoesNotCompile => "does not compile",
        })
    }
}

/// The usual pair of gates: the converter exists under `__CUDA_ARCH_SPECIFIC__`, its caller takes the fast path
/// under `__CUDA_ARCH_FAMILY_SPECIFIC__ >= 1000`. A family target opens the second and not the first. On 90a the
/// converter is there and nobody calls it.
///
/// Source: MLX, mlx/backend/cuda/quantized/nvfp4_quantize.cuh, which has both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TwoGate {
    /// Whether the converter is defined.
    pub converter_defined: bool,
    /// Whether the caller takes the fast path.
    pub fast_path: bool,
    /// What comes of it.
    pub verdict: Verdict,
}

/// What the pair of gates makes of `arch` under `toolkit`; `None` where the toolkit does not know the target.
pub fn two_gate(toolkit: ToolkitVersion, arch: Arch) -> Option<TwoGate> {
    let macros = macros(toolkit, arch)?;
    let converter_defined = macros.specific.is_some();
    let fast_path = macros.family_specific.is_some_and(|value| value >= BLACKWELL);
    Some(TwoGate {
        converter_defined,
        fast_path,
        verdict: match (converter_defined, fast_path) {
            (true, true) => Verdict::Hardware,
            (false, true) => Verdict::DoesNotCompile,
            (_, false) => Verdict::Software,
        },
    })
}

/// One gate for converter and caller alike: hardware wherever the assembler accepts the conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OneGate {
    /// What comes of it; never [`Verdict::DoesNotCompile`].
    pub verdict: Verdict,
}

/// What the single gate makes of `arch` under `toolkit`; `None` where the toolkit does not know the target.
pub fn one_gate(toolkit: ToolkitVersion, arch: Arch) -> Option<OneGate> {
    macros(toolkit, arch)?;
    Some(OneGate {
        verdict: if accepts(toolkit, arch, Instruction::CvtE2m1x2F32) {
            Verdict::Hardware
        } else {
            Verdict::Software
        },
    })
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use expect_test::expect;

    use super::{one_gate, two_gate};

    #[test]
    fn both_models_per_target() {
        let mut out = String::new();
        for (toolkit, names) in [
            (
                "13.0",
                "80 89 90 90a 100 100f 100a 103 103f 103a 110 110f 110a 120 120f 120a 121 121f 121a",
            ),
            ("12.8", "90a 100a 120a 121a"),
        ] {
            for name in names.split(' ') {
                let (toolkit_version, arch) = (toolkit.parse().unwrap(), name.parse().unwrap());
                let Some((two, one)) = two_gate(toolkit_version, arch).zip(one_gate(toolkit_version, arch))
                else {
                    writeln!(out, "{toolkit} {name}: unknown").unwrap();
                    continue;
                };
                writeln!(
                    out,
                    "{toolkit} {name}: converter {}, fast path {}, {} | {}",
                    two.converter_defined, two.fast_path, two.verdict, one.verdict
                )
                .unwrap();
            }
        }
        expect![[r#"
            13.0 80: converter false, fast path false, software | software
            13.0 89: converter false, fast path false, software | software
            13.0 90: converter false, fast path false, software | software
            13.0 90a: converter true, fast path false, software | software
            13.0 100: converter false, fast path false, software | software
            13.0 100f: converter false, fast path true, does not compile | hardware
            13.0 100a: converter true, fast path true, hardware | hardware
            13.0 103: converter false, fast path false, software | software
            13.0 103f: converter false, fast path true, does not compile | hardware
            13.0 103a: converter true, fast path true, hardware | hardware
            13.0 110: converter false, fast path false, software | software
            13.0 110f: converter false, fast path true, does not compile | hardware
            13.0 110a: converter true, fast path true, hardware | hardware
            13.0 120: converter false, fast path false, software | software
            13.0 120f: converter false, fast path true, does not compile | hardware
            13.0 120a: converter true, fast path true, hardware | hardware
            13.0 121: converter false, fast path false, software | software
            13.0 121f: converter false, fast path true, does not compile | hardware
            13.0 121a: converter true, fast path true, hardware | hardware
            12.8 90a: converter false, fast path false, software | software
            12.8 100a: converter false, fast path false, software | hardware
            12.8 120a: converter false, fast path false, software | hardware
            12.8 121a: unknown
        "#]]
        .assert_eq(&out);
    }
}
