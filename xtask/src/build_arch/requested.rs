//! What was asked for against what is there, source by source.
//!
//! A build system can lose architectures without an error: an unquoted list in `set_target_properties` keeps its
//! first entry and takes the others for property names. So nothing but the objects themselves is believed.

use blockgate_arch::Target;
use blockgate_archlist::ArchList;

use super::facts::ObjectFacts;

/// Images that a source lacks or has beyond the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mismatch {
    pub(crate) source: String,
    pub(crate) missing: Vec<Target>,
    pub(crate) unasked: Vec<Target>,
}

/// Sources of a list's own build whose images are not exactly the requested ones. Sources without device code, such
/// as C++ ones, are asked for none.
pub(crate) fn check(list: &ArchList, objects: &[ObjectFacts]) -> Vec<Mismatch> {
    objects
        .iter()
        .filter(|object| object.source.ends_with(".cu"))
        .filter_map(|object| {
            let wanted: Vec<Target> = list.targets_of(&object.source).collect();
            let found: Vec<Target> = object.images.iter().map(|image| image.target).collect();
            mismatch(&object.source, &wanted, &found)
        })
        .collect()
}

/// Images that the list asks for and no source of someone else's project has. There, a source may be meant for
/// some architectures only.
pub(crate) fn check_union(list: &ArchList, objects: &[ObjectFacts]) -> Vec<Target> {
    let mut missing: Vec<Target> = Vec::new();
    for target in list.targets() {
        let found = objects
            .iter()
            .any(|object| object.images.iter().any(|image| image.target == target));
        if !found && !missing.contains(&target) {
            missing.push(target);
        }
    }
    missing
}

fn mismatch(source: &str, wanted: &[Target], found: &[Target]) -> Option<Mismatch> {
    let without = |all: &[Target], others: &[Target]| -> Vec<Target> {
        all.iter()
            .copied()
            .filter(|target| !others.contains(target))
            .collect()
    };
    let mismatch = Mismatch {
        source: source.to_owned(),
        missing: without(wanted, found),
        unasked: without(found, wanted),
    };
    (!mismatch.missing.is_empty() || !mismatch.unasked.is_empty()).then_some(mismatch)
}

/// `sm_80, compute_89`, as nvcc names images.
pub(crate) fn names(targets: &[Target]) -> String {
    let names: Vec<String> = targets.iter().map(ToString::to_string).collect();
    names.join(", ")
}

impl std::fmt::Display for Mismatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: ", self.source)?;
        let parts = [
            ("asked for and not there", &self.missing),
            ("there and not asked for", &self.unasked),
        ];
        let parts: Vec<String> = parts
            .iter()
            .filter(|(_, targets)| !targets.is_empty())
            .map(|(words, targets)| format!("{words}: {}", names(targets)))
            .collect();
        f.write_str(&parts.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use blockgate_archlist::parse;

    use super::{check, check_union, names};
    use crate::build_arch::facts::{ImageFacts, ObjectFacts};

    fn object(source: &str, targets: &[&str]) -> ObjectFacts {
        ObjectFacts {
            source: source.to_owned(),
            sha256: String::new(),
            images: targets
                .iter()
                .map(|target| ImageFacts {
                    target: target.parse().unwrap(),
                    code: String::new(),
                    kernels: Vec::new(),
                })
                .collect(),
        }
    }

    // spiriMirror/libuipc#490: five entries in an unquoted CMake list became one.
    #[test]
    fn lost_architectures_are_named() {
        let text = "why: x\nships: false\narchitectures: \"75-real;80-real;86-real;89-real;89-virtual\"\n";
        let list = parse(text, "x.yaml").unwrap();
        let lost = check(&list, &[object("a.cu", &["sm_75"]), object("host.cpp", &[])]);
        assert_eq!(
            lost[0].to_string(),
            "a.cu: asked for and not there: sm_80, sm_86, sm_89, compute_89"
        );
        assert_eq!(lost.len(), 1);
        let whole = object("a.cu", &["sm_75", "sm_80", "sm_86", "sm_89", "compute_89"]);
        assert_eq!(check(&list, std::slice::from_ref(&whole)), []);
        assert_eq!(check_union(&list, &[whole]), []);
        assert_eq!(
            names(&check_union(
                &list,
                &[object("a.cu", &["sm_75", "sm_86"]), object("b.cu", &["sm_80"])]
            )),
            "sm_89, compute_89"
        );
    }

    #[test]
    fn extras_belong_to_their_source_alone() {
        let text = "why: x\nships: false\narchitectures: \"121\"\nper_source:\n  a.cu: 121a-real\n";
        let list = parse(text, "x.yaml").unwrap();
        let plain = ["sm_121", "compute_121"];
        let extended = ["sm_121a", "sm_121", "compute_121"];
        assert_eq!(
            check(&list, &[object("a.cu", &extended), object("b.cu", &plain)]),
            []
        );
        let wrong = check(&list, &[object("a.cu", &plain), object("b.cu", &extended)]);
        let lines: Vec<String> = wrong.iter().map(ToString::to_string).collect();
        assert_eq!(
            lines,
            [
                "a.cu: asked for and not there: sm_121a",
                "b.cu: there and not asked for: sm_121a"
            ]
        );
    }
}
