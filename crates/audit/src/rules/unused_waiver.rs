//! `unused-waiver`: a waiver that accepts nothing.

use blockgate_config::{AuditPolicy, Level, Waiver};
use blockgate_findings::{Finding, Location, RuleInfo, Severity};

use super::{Check, Needs, Rule, SINCE, page};

pub(super) const RULE: Rule = Rule {
    info: RuleInfo {
        id: "unused-waiver",
        summary: "a waiver accepts no finding",
        severity: Some(Severity::Warning),
        since: SINCE,
        page: page!("unused-waiver"),
    },
    needs: Needs::Headers,
    check: Check::Elsewhere,
};

/// The finding about `waiver`, unless the rule is off.
pub(super) fn finding(waiver: &Waiver, config: &AuditPolicy) -> Option<Finding> {
    Some(Finding {
        rule: RULE.info.id,
        severity: severity(&RULE, config)?,
        message: format!("no finding of `{}` is accepted by this waiver", waiver.rule),
        location: Location::Text(waiver.place.clone()),
        notes: vec![format!("its reason was: {}", waiver.reason)],
        fix: None,
    })
}

/// The severity that the configuration gives a rule; `None` where it is off.
pub(super) fn severity(rule: &Rule, config: &AuditPolicy) -> Option<Severity> {
    match config.level(rule.info.id) {
        Some(Level::Off) => None,
        Some(Level::At(severity)) => Some(severity),
        None => rule.info.severity,
    }
}
