//! `expired-waiver`: a waiver whose last day has passed.

use blockgate_config::{AuditPolicy, Waiver};
use blockgate_findings::{Finding, Location, RuleInfo, Severity};

use super::unused_waiver::severity;
use super::{Check, Needs, Rule, SINCE, page};

pub(super) const RULE: Rule = Rule {
    info: RuleInfo {
        id: "expired-waiver",
        summary: "a waiver has passed its last day and accepts nothing any more",
        severity: Some(Severity::Warning),
        since: SINCE,
        page: page!("expired-waiver"),
    },
    needs: Needs::Headers,
    check: Check::Elsewhere,
};

/// The finding about `waiver`, which would have accepted `matching` findings, unless the rule is off.
pub(super) fn finding(waiver: &Waiver, matching: u64, config: &AuditPolicy) -> Option<Finding> {
    let until = waiver.until?;
    Some(Finding {
        rule: RULE.info.id,
        severity: severity(&RULE, config)?,
        message: format!(
            "the waiver for `{}` ended on {until}; {} longer accepted",
            waiver.rule,
            match matching {
                1 => "1 finding is no".to_owned(),
                _ => format!("{matching} findings are no"),
            }
        ),
        location: Location::Text(waiver.place.clone()),
        notes: vec![format!("its reason was: {}", waiver.reason)],
        fix: None,
    })
}
