//! Comparison of sources with those of the baseline.

use blockgate_arch::{Device, select};

use super::facts::{Digest, ObjectFacts, Same, SameBySource};

/// Compares every source of a list with the same source of its baseline. A source that only one of them has is
/// the same in nothing.
pub(crate) fn compare(
    list: &[ObjectFacts],
    baseline: &[ObjectFacts],
    device: Option<Device>,
) -> SameBySource {
    let mut same = SameBySource::new();
    for object in list {
        let base = baseline.iter().find(|base| base.source == object.source);
        let object_same = base.is_some_and(|base| base.sha256 == object.sha256);
        let code = device.map(|device| base.is_some_and(|base| same_code(base, object, device)));
        same.insert(
            object.source.clone(),
            Same {
                object: object_same,
                code,
            },
        );
    }
    for base in baseline {
        same.entry(base.source.clone()).or_insert(Same {
            object: false,
            code: device.map(|_| false),
        });
    }
    same
}

/// Whether the device loads identical code from both. Where it loads nothing although there are images, nothing can be
/// said to be the same; a source without any image, such as host code, has nothing that could differ.
fn same_code(base: &ObjectFacts, object: &ObjectFacts, device: Device) -> bool {
    match (loaded_code(base, device), loaded_code(object, device)) {
        (Some(base), Some(object)) => base == object,
        (None, None) => base.images.is_empty() && object.images.is_empty(),
        _ => false,
    }
}

/// The code of the most specific image that the device would load; nothing where none loads.
fn loaded_code(object: &ObjectFacts, device: Device) -> Option<&Digest> {
    let pick = select(device, object.images.iter().map(|image| image.target)).pick?;
    object
        .images
        .iter()
        .find(|image| image.target == pick)
        .map(|image| &image.code)
}

/// The sources that differ although they must not: all but those that the list gives extra architectures.
pub(crate) fn violations(same: &SameBySource, is_exempt: impl Fn(&str) -> bool) -> Vec<(&str, &'static str)> {
    same.iter()
        .filter(|(source, _)| !is_exempt(source))
        .filter_map(|(source, same)| {
            let what = match (same.object, same.code) {
                (_, Some(false)) => "the code that the device loads",
                (false, _) => "the object",
                (true, None) => "code that no device was named for",
                (true, Some(true)) => return None,
            };
            Some((source.as_str(), what))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use blockgate_arch::{Device, Target};

    use super::{compare, violations};
    use crate::build_arch::facts::{ImageFacts, ObjectFacts, Same};

    fn object(source: &str, sha256: &str, images: &[(&str, &str)]) -> ObjectFacts {
        ObjectFacts {
            source: source.to_owned(),
            sha256: sha256.to_owned(),
            images: images
                .iter()
                .map(|(target, code)| ImageFacts {
                    target: target.parse::<Target>().unwrap(),
                    code: (*code).to_owned(),
                    kernels: Vec::new(),
                })
                .collect(),
        }
    }

    #[test]
    fn the_loaded_image_is_compared_and_no_other() {
        let device: Device = "12.1".parse().unwrap();
        let baseline = [
            object("equal.cu", "1", &[("sm_121", "x"), ("compute_121", "p")]),
            object("specific.cu", "2", &[("sm_121", "x"), ("compute_121", "p")]),
            object("changed.cu", "3", &[("sm_121", "x"), ("compute_121", "p")]),
            object("gone.cu", "4", &[("sm_121", "x")]),
            object("host.cpp", "5", &[]),
            object("never.cu", "6", &[("sm_90a", "x")]),
            object("lost.cu", "7", &[("sm_90a", "x")]),
        ];
        let list = [
            object("equal.cu", "1", &[("sm_121", "x"), ("compute_121", "p")]),
            // The specific image is what the device takes; it holds the same code.
            object(
                "specific.cu",
                "9",
                &[("sm_121a", "x"), ("sm_121", "y"), ("compute_121", "p")],
            ),
            object(
                "changed.cu",
                "9",
                &[("sm_121a", "z"), ("sm_121", "x"), ("compute_121", "p")],
            ),
            object("host.cpp", "5", &[]),
            // The device loads neither.
            object("never.cu", "6", &[("sm_90a", "x")]),
            object("lost.cu", "8", &[]),
        ];
        let same = compare(&list, &baseline, Some(device));
        let of = |source: &str| (same[source].object, same[source].code);
        assert_eq!(of("equal.cu"), (true, Some(true)));
        assert_eq!(of("specific.cu"), (false, Some(true)));
        assert_eq!(of("changed.cu"), (false, Some(false)));
        assert_eq!(of("gone.cu"), (false, Some(false)));
        assert_eq!(of("host.cpp"), (true, Some(true)));
        assert_eq!(of("never.cu"), (true, Some(false)));
        assert_eq!(of("lost.cu"), (false, Some(false)));
        assert_eq!(
            violations(&same, |source| source == "specific.cu"),
            [
                ("changed.cu", "the code that the device loads"),
                ("gone.cu", "the code that the device loads"),
                ("lost.cu", "the code that the device loads"),
                ("never.cu", "the code that the device loads"),
            ]
        );
        assert_eq!(violations(&same, |_| true), []);
        let unnamed = compare(&list, &baseline, None);
        assert_eq!(
            unnamed["equal.cu"],
            Same {
                object: true,
                code: None
            }
        );
        assert_eq!(
            violations(&unnamed, |source| source != "specific.cu"),
            [("specific.cu", "the object")]
        );
    }
}
