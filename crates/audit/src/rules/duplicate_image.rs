//! `duplicate-image`: the same image twice, which costs bytes and is never loaded.

use std::collections::{BTreeMap, BTreeSet};

use blockgate_arch::Target;
use blockgate_findings::{RuleInfo, Severity};

use super::library::{Library, TargetKey, images, some_of, target, target_key, unit_name};
use super::{Check, Hit, Needs, Rule, SINCE, Sink, page};
use crate::render::bytes;
use crate::report::ImageReport;

pub(super) const RULE: Rule = Rule {
    info: RuleInfo {
        id: "duplicate-image",
        summary: "a translation unit has an architecture twice, or a library has an image twice",
        severity: Some(Severity::Warning),
        since: SINCE,
        page: page!("duplicate-image"),
    },
    needs: Needs::Headers,
    check: Check::Library(check),
};

/// Images for one target that are there already.
#[derive(Default)]
struct Repeated<'a> {
    images: Vec<&'a ImageReport>,
}

impl<'a> Repeated<'a> {
    fn stored_bytes(&self) -> u64 {
        self.images.iter().map(|image| image.stored_bytes).sum()
    }
}

fn check(library: &Library<'_>, sink: &mut Sink<'_>) {
    let mut in_units: BTreeMap<TargetKey, (Target, Repeated<'_>)> = BTreeMap::new();
    let mut identical: BTreeMap<TargetKey, (Target, Repeated<'_>)> = BTreeMap::new();
    for unit in &library.units {
        let mut seen: BTreeSet<TargetKey> = BTreeSet::new();
        for image in &unit.images {
            let Some(target) = target(image) else { continue };
            let rows = if image.identical_to.is_some() {
                &mut identical
            } else if seen.insert(target_key(target)) {
                continue;
            } else {
                &mut in_units
            };
            let row = rows.entry(target_key(target));
            row.or_insert_with(|| (target, Repeated::default()))
                .1
                .images
                .push(image);
        }
    }
    let shown = |repeated: &Repeated<'_>| some_of(repeated.images.iter().map(|image| place(image)));
    for (target, repeated) in in_units.values() {
        let count = repeated.images.len();
        sink.report(
            Hit::new(format!(
                "{} for {target} in translation units that have one already ({})",
                images(count),
                bytes(repeated.stored_bytes())
            ))
            .arch(target.arch)
            .at(repeated.images[0])
            .note(format!(
                "of two images for one target a driver loads one; here: {}",
                shown(repeated)
            )),
        );
    }
    for (target, repeated) in identical.values() {
        let count = repeated.images.len();
        sink.report(
            Hit::new(format!(
                "{} for {target}, byte for byte the same as earlier ones ({})",
                images(count),
                bytes(repeated.stored_bytes())
            ))
            .arch(target.arch)
            .at(repeated.images[0])
            .note(format!("here: {}", shown(repeated))),
        );
    }
}

fn place(image: &ImageReport) -> String {
    let same = image
        .identical_to
        .map_or_else(String::new, |offset| format!(" as at {offset:#x}"));
    format!("{} at {:#x}{same}", unit_name(image), image.offset_bytes)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{findings, input, unit};

    #[test]
    fn the_same_target_twice_in_one_unit() {
        let bad = input(&[
            unit("a.o", "sm_90 sm_90 compute_90 compute_90"),
            unit("b.o", "sm_90"),
        ]);
        assert_eq!(
            findings("duplicate-image", &bad),
            [
                "warning: 1 image for sm_90 in translation units that have one already (1.0 KiB)",
                "warning: 1 image for compute_90 in translation units that have one already (1.0 KiB)",
            ]
        );
        let good = input(&[
            unit("a.o", "sm_90 sm_90a compute_90"),
            unit("b.o", "sm_90 sm_90a"),
        ]);
        assert_eq!(findings("duplicate-image", &good), [""; 0]);
    }

    #[test]
    fn the_same_bytes_in_two_units() {
        let mut bad = input(&[unit("a.o", "sm_90"), unit("b.o", "sm_90")]);
        bad.images[1].identical_to = Some(16);
        assert_eq!(
            findings("duplicate-image", &bad),
            ["warning: 1 image for sm_90, byte for byte the same as earlier ones (1.0 KiB)"]
        );
    }
}
