//! Which kernels must hold conversions to E2M1, and which must not.

use blockgate_arch::gates::{Instruction, accepts};
use blockgate_arch::{Arch, ToolkitVersion};

use super::facts::ObjectFacts;

/// Kernels of one kind: their names, and the instruction that they convert with.
struct ConverterRow {
    /// What the names begin with.
    prefix: &'static str,
    /// One of these follows.
    formats: &'static [&'static str],
    /// The conversion. Where a target lacks it, such a kernel has none.
    instruction: Instruction,
    /// How many of them there are where a target has the instruction.
    how_many: usize,
}

const FORMATS: &[&str] = &["nvfp4", "mxfp4"];
/// f32, f16 and bf16.
const INPUT_TYPES: usize = 3;

/// The kernels that convert to E2M1. Every other kernel of every source has none.
const CONVERTERS: [ConverterRow; 3] = [
    ConverterRow {
        prefix: "bgk_quantize_",
        formats: FORMATS,
        instruction: Instruction::CvtE2m1x2F32,
        how_many: FORMATS.len() * INPUT_TYPES,
    },
    ConverterRow {
        prefix: "bgk_quantize_dequantize_",
        formats: FORMATS,
        instruction: Instruction::CvtE2m1x2F32,
        how_many: FORMATS.len() * INPUT_TYPES,
    },
    ConverterRow {
        prefix: "bgk_quantize_stochastic_",
        formats: FORMATS,
        instruction: Instruction::CvtRsE2m1x4F32,
        how_many: FORMATS.len() * INPUT_TYPES,
    },
];

impl ConverterRow {
    fn names(&self, kernel: &str) -> bool {
        kernel.strip_prefix(self.prefix).is_some_and(|rest| {
            self.formats.iter().any(|format| {
                rest.strip_prefix(format)
                    .is_some_and(|rest| rest.starts_with('_'))
            })
        })
    }
}

/// What is wrong with the kernels of our own build: a converter without conversions, conversions elsewhere, or a
/// converter that is missing.
pub(crate) fn check(objects: &[ObjectFacts], toolkit: ToolkitVersion) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut cubins: Vec<Arch> = Vec::new();
    for object in objects {
        for image in object.images.iter().filter(|image| !image.kernels.is_empty()) {
            let arch = image.target.arch;
            if !cubins.contains(&arch) {
                cubins.push(arch);
            }
            for kernel in &image.kernels {
                let expected = CONVERTERS
                    .iter()
                    .any(|row| row.names(&kernel.name) && accepts(toolkit, arch, row.instruction));
                let place = format!("{} in {} for {arch}", kernel.name, object.source);
                match (kernel.conversions, expected) {
                    (None, _) => wrong.push(format!("{place}: its instructions cannot be counted")),
                    (Some(0), true) => wrong.push(format!("{place} has no conversion to E2M1")),
                    (Some(found @ 1..), false) => {
                        wrong.push(format!(
                            "{place} has {found} conversions to E2M1 and must have none"
                        ));
                    }
                    _ => {}
                }
            }
        }
    }
    for arch in cubins {
        wrong.extend(missing(objects, arch, toolkit));
    }
    wrong
}

/// Converters that no image for `arch` holds, by their number: a check of names alone would hold for no names.
fn missing(objects: &[ObjectFacts], arch: Arch, toolkit: ToolkitVersion) -> Vec<String> {
    CONVERTERS
        .iter()
        .filter(|row| accepts(toolkit, arch, row.instruction))
        .filter_map(|row| {
            let found = objects
                .iter()
                .flat_map(|object| &object.images)
                .filter(|image| image.target.arch == arch)
                .flat_map(|image| &image.kernels)
                .filter(|kernel| row.names(&kernel.name))
                .count();
            (found != row.how_many).then(|| {
                format!(
                    "{arch} has {found} kernels named {}{{{}}}_*, expected {}",
                    row.prefix,
                    row.formats.join(","),
                    row.how_many
                )
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use blockgate_arch::Target;

    use super::{FORMATS, check};
    use crate::build_arch::facts::{ImageFacts, KernelFacts, ObjectFacts};

    /// All converters with `plain` and `stochastic` conversions each, and a kernel of another source.
    fn objects(arch: &str, plain: u64, stochastic: u64, other: u64) -> Vec<ObjectFacts> {
        let mut kernels = Vec::new();
        for format in FORMATS.iter().chain(&["mxfp8"]) {
            for input in ["f32", "f16", "bf16"] {
                for (prefix, conversions) in [
                    ("bgk_quantize_", plain),
                    ("bgk_quantize_dequantize_", plain),
                    ("bgk_quantize_stochastic_", stochastic),
                ] {
                    let conversions = if *format == "mxfp8" { 0 } else { conversions };
                    kernels.push(KernelFacts {
                        name: format!("{prefix}{format}_{input}"),
                        conversions: Some(conversions),
                    });
                }
            }
        }
        let object = |source: &str, kernels| ObjectFacts {
            source: source.to_owned(),
            sha256: String::new(),
            images: vec![ImageFacts {
                target: arch.parse::<Target>().unwrap(),
                code: String::new(),
                kernels,
            }],
        };
        let qmv = KernelFacts {
            name: "bgk_qmv_nvfp4_f32".to_owned(),
            conversions: Some(other),
        };
        vec![object("quantize.cu", kernels), object("qmv.cu", vec![qmv])]
    }

    #[test]
    fn each_target_has_the_conversions_that_it_can_have() {
        let toolkit = "13.0".parse().unwrap();
        let wrong =
            |arch, plain, stochastic, other| check(&objects(arch, plain, stochastic, other), toolkit).len();
        assert_eq!(wrong("sm_121a", 8, 0, 0), 0);
        assert_eq!(wrong("sm_100a", 8, 4, 0), 0);
        assert_eq!(wrong("sm_121", 0, 0, 0), 0);
        assert_eq!(wrong("sm_90a", 0, 0, 0), 0);
        assert_eq!(wrong("sm_121a", 0, 0, 0), 12);
        assert_eq!(wrong("sm_121a", 8, 4, 0), 6);
        assert_eq!(wrong("sm_100a", 8, 0, 0), 6);
        assert_eq!(wrong("sm_121", 8, 0, 0), 12);
        assert_eq!(wrong("sm_121a", 8, 0, 1), 1);
    }

    #[test]
    fn converters_that_are_not_there_are_missed() {
        let toolkit = "13.0".parse().unwrap();
        let mut lacking = objects("sm_100a", 8, 4, 0);
        lacking[0].images[0].kernels.truncate(9);
        assert_eq!(
            check(&lacking, toolkit),
            [
                "sm_100a has 3 kernels named bgk_quantize_{nvfp4,mxfp4}_*, expected 6",
                "sm_100a has 3 kernels named bgk_quantize_dequantize_{nvfp4,mxfp4}_*, expected 6",
                "sm_100a has 3 kernels named bgk_quantize_stochastic_{nvfp4,mxfp4}_*, expected 6",
            ]
        );
    }
}
