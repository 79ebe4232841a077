//! `family-image`: images for a family, in which gates for the specific target are shut.

use blockgate_arch::Scope;
use blockgate_findings::{RuleInfo, Severity};

use super::library::{Library, images};
use super::{Check, Hit, Needs, Rule, SINCE, Sink, page};

pub(super) const RULE: Rule = Rule {
    info: RuleInfo {
        id: "family-image",
        summary: "a library has images for an architecture family",
        severity: Some(Severity::Info),
        since: SINCE,
        page: page!("family-image"),
    },
    needs: Needs::Headers,
    check: Check::Library(check),
};

fn check(library: &Library<'_>, sink: &mut Sink<'_>) {
    for (target, count) in library.targets() {
        if target.arch.scope() == Scope::Family {
            let specific = target.arch.with_scope(Scope::Specific);
            sink.report(
                Hit::new(format!("{} for the family target {target}", images(count)))
                    .arch(target.arch)
                    .note(format!(
                        "code that asks for the specific target ({specific}) before it uses the hardware conversion takes its \
                         software path here"
                    )),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{findings, input, unit};

    #[test]
    fn each_family_target_is_named_once() {
        let bad = input(&[
            unit("a.o", "sm_100f sm_120f compute_120f"),
            unit("b.o", "sm_120f"),
        ]);
        assert_eq!(
            findings("family-image", &bad),
            [
                "info: 1 image for the family target sm_100f",
                "info: 2 images for the family target sm_120f",
                "info: 1 image for the family target compute_120f",
            ]
        );
        let good = input(&[unit("a.o", "sm_100a sm_120 compute_120")]);
        assert_eq!(findings("family-image", &good), [""; 0]);
    }
}
