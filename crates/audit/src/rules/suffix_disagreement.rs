//! `suffix-disagreement`: header, code and note of an image name different scopes. Found by the reader.

use blockgate_findings::{RuleInfo, Severity};

use super::{Check, Needs, Rule, SINCE, page};

pub(super) const ID: &str = "suffix-disagreement";

pub(super) const RULE: Rule = Rule {
    info: RuleInfo {
        id: ID,
        summary: "an image is labelled with another suffix than its code has",
        severity: Some(Severity::Warning),
        since: SINCE,
        page: page!("suffix-disagreement"),
    },
    needs: Needs::Code,
    check: Check::Elsewhere,
};

#[cfg(test)]
mod tests {
    use super::super::testing::{check_findings, input, unit};
    use blockgate_findings::{ArtifactPlace, Finding, Location, Severity};

    #[test]
    fn its_severity_is_chosen_like_that_of_any_rule() {
        let found = || Finding {
            rule: "suffix-disagreement",
            severity: Severity::Warning,
            message: "expected sm_121a, found sm_121".to_owned(),
            location: Location::Artifact(ArtifactPlace {
                path: "lib.a".to_owned(),
                member: Some("a.o".to_owned()),
                offset_bytes: None,
            }),
            notes: Vec::new(),
            fix: None,
        };
        let library = input(&[unit("a.o", "sm_121 sm_121a compute_121")]);
        for (config, expected) in [
            ("", Some(Severity::Warning)),
            (
                "audit: { rules: { suffix-disagreement: error } }",
                Some(Severity::Error),
            ),
            ("audit: { rules: { suffix-disagreement: off } }", None),
            (
                "audit: { waivers: [{ rule: suffix-disagreement, reason: known }] }",
                None,
            ),
        ] {
            let report = check_findings(&library, vec![found()], config);
            let shown = report
                .findings
                .iter()
                .find(|finding| finding.rule == "suffix-disagreement")
                .map(|finding| finding.severity);
            assert_eq!(shown, expected, "{config}");
        }
    }
}
