//! `unmatched-artifact`: the configuration demands something of an artifact that was not there.

use blockgate_config::ArtifactPolicy;
use blockgate_findings::{Finding, Location, RuleInfo, Severity};

use super::{Check, Needs, Rule, SINCE, page};

pub(super) const RULE: Rule = Rule {
    info: RuleInfo {
        id: "unmatched-artifact",
        summary: "a glob in the configuration selects nothing that was audited, so its demands were not checked",
        severity: Some(Severity::Warning),
        since: SINCE,
        page: page!("unmatched-artifact"),
    },
    needs: Needs::Headers,
    check: Check::Elsewhere,
};

pub(super) fn finding(demanded: &ArtifactPolicy) -> Finding {
    Finding {
        rule: RULE.info.id,
        severity: Severity::Warning,
        message: format!("`{}` selects nothing that was audited", demanded.path.value),
        location: Location::Text(demanded.path.place.clone()),
        notes: vec![
            "a glob is held against the paths of inputs, as given and from the configuration's folder, and against the names \
             of files in packages"
                .to_owned(),
        ],
        fix: None,
    }
}
