//! `missing-specific-image`: plain Blackwell images without the architecture-specific one beside them.

use std::collections::BTreeSet;

use blockgate_arch::{Arch, Scope};
use blockgate_findings::{RuleInfo, Severity};

use super::library::{Library, images};
use super::{Check, Hit, Needs, Rule, SINCE, Sink, page};

pub(super) const RULE: Rule = Rule {
    info: RuleInfo {
        id: "missing-specific-image",
        summary: "a library has plain Blackwell images and no architecture-specific one of the same capability",
        severity: Some(Severity::Info),
        since: SINCE,
        page: page!("missing-specific-image"),
    },
    needs: Needs::Headers,
    check: Check::Library(check),
};

/// Where block-float instructions begin that only suffixed targets have.
/// Source: PTX ISA, "cvt" and "mma", target notes for `.e2m1x2` and `.block_scale`.
const FIRST_MAJOR: u16 = 10;

fn check(library: &Library<'_>, sink: &mut Sink<'_>) {
    if library.is_one_image() {
        return;
    }
    let plain: Vec<(Arch, usize)> = library
        .cubins_of(Scope::Plain)
        .into_iter()
        .filter(|(arch, _)| arch.major() >= FIRST_MAJOR)
        .collect();
    let specific = library.cubins_of(Scope::Specific);
    let numbers: BTreeSet<u32> = specific.iter().map(|(arch, _)| arch.number()).collect();
    let missing: Vec<(Arch, usize)> = plain
        .into_iter()
        .filter(|(arch, _)| !numbers.contains(&arch.number()))
        .collect();
    if missing.is_empty() {
        return;
    }
    if let Some(reason) = library.incomplete() {
        sink.not_checked(reason);
        return;
    }
    let families = library.cubins_of(Scope::Family);
    let families: BTreeSet<u32> = families.iter().map(|(arch, _)| arch.number()).collect();
    // A solver has no use for these instructions; a library that has one Blackwell target with a suffix probably has.
    let others = specific
        .iter()
        .map(|(arch, _)| *arch)
        .find(|arch| arch.major() >= FIRST_MAJOR);
    for (arch, count) in missing {
        let wanted = arch.with_scope(Scope::Specific);
        let mut hit = Hit::new(format!("{} for {arch} and none for {wanted}", images(count)))
            .arch(arch)
            .note(format!(
                "the conversion to E2M1 and the block-scaled MMA exist for {wanted}, not for {arch}"
            ));
        if let Some(other) = others {
            hit = hit.severity(Severity::Warning).note(format!(
                "{other} is there: the library has code for such targets, and {wanted} may have been forgotten"
            ));
        }
        let family = arch.with_scope(Scope::Family);
        if families.contains(&family.number()) {
            hit = hit.note(format!(
                "{family} is there: gates that ask for the specific target are shut in it"
            ));
        }
        sink.report(hit);
    }
}

#[cfg(test)]
mod tests {
    use blockgate_findings::Severity;

    use super::super::testing::{check, findings, input, unit};

    #[test]
    fn a_plain_library_lacks_it() {
        let plain = input(&[unit("a.o", "sm_90a sm_120 compute_120"), unit("b.o", "sm_120")]);
        assert_eq!(
            findings("missing-specific-image", &plain),
            ["info: 2 images for sm_120 and none for sm_120a"]
        );
    }

    /// lablup/mlxcel#1938: one source that reaches the converter is enough.
    #[test]
    fn one_unit_with_it_is_enough() {
        for good in [
            input(&[unit("a.o", "sm_121"), unit("b.o", "sm_121 sm_121a compute_121")]),
            input(&[unit("a.o", "sm_80 sm_90")]),
            input(&[unit("a.o", "sm_121a")]),
        ] {
            assert_eq!(findings("missing-specific-image", &good), [""; 0]);
        }
    }

    #[test]
    fn another_capability_does_not_count_and_a_family_image_is_named() {
        let alone = input(&[unit("a.o", "sm_90a sm_121")]);
        assert_eq!(
            findings("missing-specific-image", &alone),
            ["info: 1 image for sm_121 and none for sm_121a"]
        );
        let other = input(&[unit("a.o", "sm_120a sm_121 sm_121f")]);
        let report = check(&other, "");
        let finding = report
            .findings
            .iter()
            .find(|finding| finding.rule == "missing-specific-image")
            .unwrap();
        assert_eq!(finding.message, "1 image for sm_121 and none for sm_121a");
        assert_eq!(finding.severity, Severity::Warning);
        assert!(finding.notes[1].starts_with("sm_120a is there"));
        assert!(finding.notes[2].starts_with("sm_121f is there"));
    }

    #[test]
    fn what_was_not_read_in_full_is_not_judged() {
        let mut cut = input(&[unit("a.o", "sm_120")]);
        cut.read_in_full = false;
        assert_eq!(
            findings("missing-specific-image", &cut),
            ["not checked: it could not be read in full"]
        );
    }
}
