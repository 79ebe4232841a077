//! The kernels by name, and what each converts with.

use std::iter;

/// How a kernel converts to E2M1 where its target has the instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Conversion {
    /// Never: its machine code has no conversion to E2M1 on any target.
    None,
    /// `cvt.rn.satfinite.e2m1x2.f32` (PTX ISA, cvt): `F2FP.SATFINITE.E2M1` in SASS.
    NearestEven,
    /// `cvt.rs.satfinite.e2m1x4.f32` (PTX ISA, cvt): `F2FP.SATFINITE.E2M1` with `.RS` in SASS.
    Stochastic,
}

/// Types that kernels are instantiated for, as they end a kernel's name.
const TYPES: &[&str] = &["f32", "f16", "bf16"];

/// Kernels whose names differ only in what they work on: `bgk_<verb>_<subject>_<type>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Family {
    /// The source that defines them.
    pub source: &'static str,
    /// What they do.
    pub verb: &'static str,
    /// What they do it with: formats, affine bit counts. Empty for a single kernel that has neither format nor type.
    pub subjects: &'static [&'static str],
    /// How they convert to E2M1.
    pub conversion: Conversion,
}

const fn family(
    source: &'static str,
    verb: &'static str,
    subjects: &'static [&'static str],
    conversion: Conversion,
) -> Family {
    Family {
        source,
        verb,
        subjects,
        conversion,
    }
}

const FP4: &[&str] = &["nvfp4", "mxfp4"];
const BLOCK: &[&str] = &["nvfp4", "mxfp4", "mxfp8"];
const AFFINE: &[&str] = &[
    "affine_b2",
    "affine_b3",
    "affine_b4",
    "affine_b5",
    "affine_b6",
    "affine_b8",
];
const WEIGHTS: &[&str] = &["nvfp4", "mxfp4", "mxfp8", "affine"];

/// Every kernel of the kernels archive and of the control archive.
pub const FAMILIES: &[Family] = &[
    family("quantize.cu", "quantize", FP4, Conversion::NearestEven),
    family("quantize.cu", "quantize", &["mxfp8"], Conversion::None),
    family("quantize.cu", "quantize_dequantize", FP4, Conversion::NearestEven),
    family("quantize.cu", "quantize_dequantize", &["mxfp8"], Conversion::None),
    family("quantize.cu", "quantize_stochastic", FP4, Conversion::Stochastic),
    family("quantize.cu", "quantize_image", &[], Conversion::None),
    family("dequantize.cu", "dequantize", BLOCK, Conversion::None),
    family("dequantize.cu", "dequantize", AFFINE, Conversion::None),
    family("qmv.cu", "qmv", AFFINE, Conversion::None),
    family("fp_qmv.cu", "qmv", BLOCK, Conversion::None),
    family("qmm.cu", "qmm_nk", WEIGHTS, Conversion::None),
    family("qmm.cu", "qmm_kn", WEIGHTS, Conversion::None),
    family("scales.cu", "tile_scales", &[], Conversion::None),
    family("scales.cu", "qqmm_factors", &[], Conversion::None),
    family("control.cu", "control_product", &[], Conversion::None),
];

/// One kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Its name, which is not mangled: kernels are `extern "C"`.
    pub name: String,
    /// The source that defines it.
    pub source: &'static str,
    /// How it converts to E2M1.
    pub conversion: Conversion,
}

/// All kernels, in the order of [`FAMILIES`].
pub fn kernels() -> impl Iterator<Item = Kernel> {
    FAMILIES.iter().flat_map(|family| {
        let alone = family.subjects.is_empty().then(|| format!("bgk_{}", family.verb));
        let typed = family.subjects.iter().flat_map(move |subject| {
            TYPES
                .iter()
                .map(move |kind| format!("bgk_{}_{subject}_{kind}", family.verb))
        });
        alone
            .into_iter()
            .chain(typed)
            .zip(iter::repeat(family))
            .map(|(name, family)| Kernel {
                name,
                source: family.source,
                conversion: family.conversion,
            })
    })
}

/// The kernel of a name. `None` is a name that this crate does not know, which says nothing about its conversions.
#[must_use]
pub fn kernel(name: &str) -> Option<Kernel> {
    kernels().find(|kernel| kernel.name == name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{Conversion, kernel, kernels};
    use crate::source;

    #[test]
    fn names_are_unique_and_sources_exist() {
        let names: BTreeSet<String> = kernels().map(|kernel| kernel.name).collect();
        assert_eq!(names.len(), kernels().count());
        for kernel in kernels() {
            assert!(source(kernel.source).is_some(), "{}", kernel.source);
        }
    }

    #[test]
    fn numbers_per_source() {
        let of = |file| kernels().filter(|kernel| kernel.source == file).count();
        let found: Vec<usize> = [
            "quantize.cu",
            "dequantize.cu",
            "qmv.cu",
            "fp_qmv.cu",
            "qmm.cu",
            "scales.cu",
            "control.cu",
        ]
        .map(of)
        .to_vec();
        assert_eq!(found, [25, 27, 18, 9, 24, 2, 1]);
    }

    #[test]
    fn conversions() {
        for (name, expected) in [
            ("bgk_quantize_nvfp4_f32", Some(Conversion::NearestEven)),
            (
                "bgk_quantize_dequantize_mxfp4_bf16",
                Some(Conversion::NearestEven),
            ),
            ("bgk_quantize_stochastic_mxfp4_f16", Some(Conversion::Stochastic)),
            ("bgk_quantize_mxfp8_f32", Some(Conversion::None)),
            ("bgk_quantize_image", Some(Conversion::None)),
            ("bgk_qmv_affine_b4_bf16", Some(Conversion::None)),
            ("bgk_qmm_nk_affine_f16", Some(Conversion::None)),
            ("bgk_quantize_nvfp4", None),
            ("bgk_quantize_nvfp4_f64", None),
            ("marker_one_gate", None),
            ("", None),
        ] {
            assert_eq!(kernel(name).map(|kernel| kernel.conversion), expected, "{name}");
        }
        let converting = kernels()
            .filter(|kernel| kernel.conversion == Conversion::NearestEven)
            .count();
        assert_eq!(converting, 12);
    }
}
