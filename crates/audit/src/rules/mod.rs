//! The rules that an audit checks, one file each, and the table of everything that an audit can report.
//!
//! A rule looks at one library or artifact and reports hits; severity, waivers and what could not be checked are decided
//! in one place for all of them (`apply`). A new rule is a file here, a page in docs/rules and a line in `RULES`.

mod apply;
mod compression_driver_floor;
mod converter_in_ptx_text;
mod default_arch;
mod duplicate_image;
mod expectation;
mod expired_waiver;
mod family_image;
mod label_without_code;
pub(crate) mod library;
mod missing_specific_image;
mod no_forward_ptx;
mod partial_coverage;
mod size_over_budget;
mod suffix_disagreement;
#[cfg(test)]
mod testing;
mod uncovered_device;
mod unmatched_artifact;
mod unused_waiver;
mod waivers;

use std::borrow::Cow;
use std::sync::LazyLock;

use blockgate_arch::Arch;
use blockgate_config::{AuditPolicy, CONFIG_RULES};
use blockgate_findings::{RuleInfo, Severity, TextPlace};

use crate::report::ImageReport;
use library::{Artifact, Library};

pub(crate) use apply::apply;
pub use expectation::failed_expectations;

/// One rule: what it is, what it needs, and how it is checked.
pub(crate) struct Rule {
    pub(crate) info: RuleInfo,
    pub(crate) needs: Needs,
    pub(crate) check: Check,
}

/// What must have been read for a rule to be checked.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Needs {
    /// Headers, which a listing reads too.
    Headers,
    /// The images themselves.
    Code,
    /// The images themselves, where the project asks for something; else there is nothing to check.
    CodeIf(fn(&AuditPolicy) -> bool),
}

impl Needs {
    /// Whether the rule has something to check that headers do not tell.
    fn code(self, config: &AuditPolicy) -> bool {
        match self {
            Self::Headers => false,
            Self::Code => true,
            Self::CodeIf(asked) => asked(config),
        }
    }
}

/// How a rule is checked.
pub(crate) enum Check {
    /// On each library by itself.
    Library(fn(&Library<'_>, &mut Sink<'_>)),
    /// On each input, and on each file of a package or folder.
    Artifact(fn(&Artifact<'_>, &mut Sink<'_>)),
    /// Elsewhere: while reading, or while the configuration is applied.
    Elsewhere,
}

/// Where a check puts what it finds.
pub(crate) struct Sink<'a> {
    /// What the project demands.
    pub(crate) config: &'a AuditPolicy,
    hits: Vec<Hit>,
    unchecked: Vec<String>,
}

impl<'a> Sink<'a> {
    fn new(config: &'a AuditPolicy) -> Self {
        Self {
            config,
            hits: Vec::new(),
            unchecked: Vec::new(),
        }
    }

    pub(crate) fn report(&mut self, hit: Hit) {
        self.hits.push(hit);
    }

    /// The rule cannot be checked here, and why. That is no pass.
    pub(crate) fn not_checked(&mut self, reason: impl Into<String>) {
        self.unchecked.push(reason.into());
    }
}

/// What a check found.
#[derive(Debug)]
pub(crate) struct Hit {
    message: String,
    notes: Vec<String>,
    severity: Option<Severity>,
    arch: Option<Arch>,
    member: Option<String>,
    offset_bytes: Option<u64>,
    demanded_at: Option<TextPlace>,
}

impl Hit {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            notes: Vec::new(),
            severity: None,
            arch: None,
            member: None,
            offset_bytes: None,
            demanded_at: None,
        }
    }

    pub(crate) fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// The architecture that a waiver may name.
    pub(crate) fn arch(mut self, arch: Arch) -> Self {
        self.arch = Some(arch);
        self
    }

    /// The image that shows it best.
    pub(crate) fn at(mut self, image: &ImageReport) -> Self {
        self.member = image.member.as_deref().map(str::to_owned);
        self.offset_bytes = Some(image.offset_bytes);
        self
    }

    /// Another severity than the rule's default, where the configuration says nothing.
    pub(crate) fn severity(mut self, severity: Severity) -> Self {
        self.severity = Some(severity);
        self
    }

    /// The line of the configuration that demands otherwise.
    pub(crate) fn demanded_at(mut self, place: &TextPlace) -> Self {
        self.demanded_at = Some(place.clone());
        self
    }
}

/// Every rule with a check or a severity that a project may choose, sorted by id.
pub(crate) static RULES: [&Rule; 15] = [
    &compression_driver_floor::RULE,
    &converter_in_ptx_text::RULE,
    &default_arch::RULE,
    &duplicate_image::RULE,
    &expired_waiver::RULE,
    &family_image::RULE,
    &label_without_code::RULE,
    &missing_specific_image::RULE,
    &no_forward_ptx::RULE,
    &partial_coverage::RULE,
    &size_over_budget::RULE,
    &suffix_disagreement::RULE,
    &uncovered_device::RULE,
    &unmatched_artifact::RULE,
    &unused_waiver::RULE,
];

/// What an audit itself reports about inputs, with a severity that is fixed.
const READING: [(&str, &str); 6] = [
    (
        "duplicate-member",
        "two entries of a package have one name, and both are read; an unpacker keeps one of them",
    ),
    (
        "link-skipped",
        "links in a package or folder are not followed: what they lead to is read under its own name or not at all",
    ),
    (
        "package-limit",
        "a package asks for more than is allowed: sizes, entries, depth, or how much compressed data may expand",
    ),
    (
        "special-file",
        "pipes, sockets and devices in a folder or package are not read",
    ),
    (
        "unknown-kind",
        "a fat binary holds images of a kind that is not known, which are listed and not looked into",
    ),
    (
        "unreadable",
        "an input or a member could not be opened or read, so nothing is known of it",
    ),
];

/// The first release that has the rules here.
const SINCE: &str = "0.1.0";

/// Everything that an audit can report, sorted by id.
pub fn all() -> &'static [RuleInfo] {
    static ALL: LazyLock<Vec<RuleInfo>> = LazyLock::new(|| {
        let mut all: Vec<RuleInfo> = RULES.iter().map(|rule| rule.info.clone()).collect();
        all.push(expectation::INFO);
        let defects = blockgate_fatbin::DEFECT_RULES
            .iter()
            .map(|rule| (rule.id, rule.meaning))
            .filter(|(id, _)| *id != suffix_disagreement::ID);
        all.extend(
            defects
                .chain(READING)
                .map(|(id, meaning)| generated(id, meaning, None, READING_PAGE)),
        );
        let broken = CONFIG_RULES.iter();
        all.extend(broken.map(|(id, demand)| generated(id, demand, Some(Severity::Error), CONFIG_PAGE)));
        all.sort_by_key(|rule| rule.id);
        all
    });
    &ALL
}

const READING_PAGE: &str = "\
This is said while an artifact is read. Its severity is fixed by what it means for the result: an error says that
something could not be read, so that no count is complete and the exit status is 3; a warning says that what was read
contradicts itself; info explains how it was read.

## How to waive

Warnings and infos can be waived in `blockgate.yaml`, with a reason. Errors cannot: what could not be read is not known to
be good.
";

const CONFIG_PAGE: &str = "\
This is said about `blockgate.yaml`. The exit status is 2, and nothing is audited: a demand that was not understood must
not look as if it were met.

## How to waive

It cannot be waived; correct the file.
";

fn generated(id: &'static str, summary: &'static str, severity: Option<Severity>, rest: &str) -> RuleInfo {
    let mut sentence = summary.to_owned();
    if let Some(first) = sentence.get(..1).map(str::to_uppercase) {
        sentence.replace_range(..1, &first);
    }
    RuleInfo {
        id,
        summary,
        severity,
        since: SINCE,
        page: Cow::Owned(format!("# {id}\n\n{sentence}.\n\n{rest}")),
    }
}

/// Ids of the rules whose severity a project may choose.
pub fn configurable() -> Vec<&'static str> {
    RULES.iter().map(|rule| rule.info.id).collect()
}

/// Ids of the rules with a fixed severity that may be waived where they are no errors.
pub fn fixed() -> Vec<&'static str> {
    let defects = blockgate_fatbin::DEFECT_RULES.iter().map(|rule| rule.id);
    defects
        .chain(READING.iter().map(|(id, _)| *id))
        .filter(|id| *id != suffix_disagreement::ID)
        .collect()
}

/// The page of a rule that has one of its own.
macro_rules! page {
    ($id:literal) => {
        std::borrow::Cow::Borrowed(include_str!(concat!("../../../../docs/rules/", $id, ".md")))
    };
}
use page;

#[cfg(test)]
mod tests {
    use super::{RULES, all};

    #[test]
    fn the_table_is_sorted_and_every_page_has_its_parts() {
        assert!(RULES.iter().map(|rule| rule.info.id).is_sorted());
        let ids: Vec<&str> = all().iter().map(|rule| rule.id).collect();
        assert!(ids.windows(2).all(|pair| pair[0] < pair[1]), "{ids:?}");
        for rule in RULES {
            let page = &rule.info.page;
            assert!(
                page.starts_with(&format!("# {}\n\n", rule.info.id)),
                "{}",
                rule.info.id
            );
            for part in ["\n## Why", "\n## Bad", "\n## Good", "\n## How to waive"] {
                assert!(page.contains(part), "{} has no `{part}`", rule.info.id);
            }
        }
        for rule in all() {
            assert!(
                !rule.summary.ends_with('.') && !rule.summary.is_empty(),
                "{}",
                rule.id
            );
        }
    }
}
