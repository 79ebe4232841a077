//! What is known of a rule apart from its check, so that it can be listed, explained and exported.

use std::borrow::Cow;

use crate::Severity;

/// A rule's description. Its check belongs to the crate that has the rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleInfo {
    /// The id, in kebab case; it reads as what is wrong.
    pub id: &'static str,
    /// What is wrong, in one sentence without a full stop.
    pub summary: &'static str,
    /// The severity of its findings unless a project says otherwise; `None` where it depends on what was found.
    pub severity: Option<Severity>,
    /// The release that had it first.
    pub since: &'static str,
    /// Its page in Markdown: why, bad, good, how to waive.
    pub page: Cow<'static, str>,
}
