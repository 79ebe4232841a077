//! `converter-in-ptx-text`: an expectation looks for the converter where a correct build need not have it. Found while
//! expectations are evaluated.

use blockgate_findings::{RuleInfo, Severity};

use super::{Check, Needs, Rule, SINCE, page};

pub(super) const RULE: Rule = Rule {
    info: RuleInfo {
        id: "converter-in-ptx-text",
        summary: "an expectation looks for the conversion to E2M1 in PTX, where a correct build need not have it",
        severity: Some(Severity::Warning),
        since: SINCE,
        page: page!("converter-in-ptx-text"),
    },
    needs: Needs::Headers,
    check: Check::Elsewhere,
};
