//! Which kernels must hold conversions to E2M1, and which must not.

use blockgate_arch::gates::{Instruction, accepts};
use blockgate_arch::{Arch, ToolkitVersion};
use blockgate_kernels::{Conversion, kernel, kernels};

use super::facts::{ImageFacts, ObjectFacts};

/// Whether a kernel with this conversion holds it in code for `arch`.
fn expected(conversion: Conversion, arch: Arch, toolkit: ToolkitVersion) -> bool {
    match conversion {
        Conversion::None => false,
        Conversion::NearestEven => accepts(toolkit, arch, Instruction::CvtE2m1x2F32),
        Conversion::Stochastic => accepts(toolkit, arch, Instruction::CvtRsE2m1x4F32),
    }
}

/// What is wrong with the kernels of our own build: a converter without conversions, conversions elsewhere, a kernel
/// that no table knows, or one that is missing from the machine code of its source.
pub(crate) fn check(objects: &[ObjectFacts], toolkit: ToolkitVersion) -> Vec<String> {
    let mut wrong = Vec::new();
    for object in objects {
        for image in object.images.iter().filter(|image| image.is_machine_code()) {
            check_image(&object.source, image, toolkit, &mut wrong);
        }
    }
    wrong
}

fn check_image(source: &str, image: &ImageFacts, toolkit: ToolkitVersion, wrong: &mut Vec<String>) {
    let arch = image.target.arch;
    for found in &image.kernels {
        let place = format!("{} in {source} for {arch}", found.name);
        let Some(known) = kernel(&found.name) else {
            wrong.push(format!("{place}: no table says whether it converts"));
            continue;
        };
        match (found.conversions, expected(known.conversion, arch, toolkit)) {
            (None, _) => wrong.push(format!("{place}: its instructions cannot be counted")),
            (Some(0), true) => wrong.push(format!("{place} has no conversion to E2M1")),
            (Some(count @ 1..), false) => {
                wrong.push(format!(
                    "{place} has {count} conversions to E2M1 and must have none"
                ));
            }
            _ => {}
        }
    }
    // A check of the kernels that are there would hold where none is.
    let missing: Vec<String> = kernels()
        .filter(|known| known.source == source)
        .filter(|known| {
            known.conversion != Conversion::Stochastic || expected(known.conversion, arch, toolkit)
        })
        .map(|known| known.name)
        .filter(|name| !image.kernels.iter().any(|found| found.name == *name))
        .collect();
    if !missing.is_empty() {
        wrong.push(format!("{source} for {arch} lacks {}", missing.join(", ")));
    }
}

#[cfg(test)]
mod tests {
    use blockgate_arch::{Target, ToolkitVersion};
    use blockgate_kernels::{Conversion, kernels};

    use super::check;
    use crate::build_arch::facts::{ImageFacts, KernelFacts, ObjectFacts};

    /// A source with all its kernels, which hold so many conversions of each kind.
    fn object(source: &str, arch: &str, nearest: u64, stochastic: u64, other: u64) -> ObjectFacts {
        let kernels = kernels()
            .filter(|kernel| kernel.source == source)
            .map(|kernel| KernelFacts {
                name: kernel.name,
                conversions: Some(match kernel.conversion {
                    Conversion::None => other,
                    Conversion::NearestEven => nearest,
                    Conversion::Stochastic => stochastic,
                }),
            })
            .collect();
        ObjectFacts {
            source: source.to_owned(),
            sha256: String::new(),
            images: vec![ImageFacts {
                target: arch.parse::<Target>().unwrap(),
                code: String::new(),
                kernels,
            }],
        }
    }

    fn toolkit() -> ToolkitVersion {
        ToolkitVersion::new(13, 0)
    }

    #[test]
    fn each_target_has_the_conversions_that_it_can_have() {
        let wrong = |arch, nearest, stochastic, other| {
            check(
                &[object("quantize.cu", arch, nearest, stochastic, other)],
                toolkit(),
            )
            .len()
        };
        assert_eq!(wrong("sm_121a", 8, 0, 0), 0);
        assert_eq!(wrong("sm_100a", 8, 4, 0), 0);
        assert_eq!(wrong("sm_121", 0, 0, 0), 0);
        assert_eq!(wrong("sm_90a", 0, 0, 0), 0);
        assert_eq!(wrong("compute_121", 8, 4, 1), 0);
        assert_eq!(wrong("sm_121a", 0, 0, 0), 12);
        assert_eq!(wrong("sm_121a", 8, 4, 0), 6);
        assert_eq!(wrong("sm_100a", 8, 0, 0), 6);
        assert_eq!(wrong("sm_121", 8, 0, 0), 12);
        assert_eq!(wrong("sm_121a", 8, 0, 1), 7);
        assert_eq!(
            check(&[object("qmv.cu", "sm_121a", 0, 0, 1)], toolkit()).len(),
            18
        );
    }

    #[test]
    fn kernels_that_are_not_there_or_not_known_are_named() {
        let mut lacking = object("scales.cu", "sm_121a", 0, 0, 0);
        lacking.images[0].kernels[1].name = "bgk_surprise".to_owned();
        assert_eq!(
            check(&[lacking], toolkit()),
            [
                "bgk_surprise in scales.cu for sm_121a: no table says whether it converts",
                "scales.cu for sm_121a lacks bgk_qqmm_factors",
            ]
        );
    }
}
