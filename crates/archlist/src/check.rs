//! What is wrong with a list that reads well: its targets, its toolkit, its sources.

use std::ops::Range;

use blockgate_arch::dialect::{Entry, ProblemKind, Request, Span as PartSpan, validate};
use blockgate_arch::toolkits::{self, MEASURED_RELEASES};
use blockgate_arch::{Arch, ToolkitVersion};
use blockgate_findings::{Finding, Severity};
use blockgate_yaml::inner_span;

use crate::model::ArchList;
use crate::rules::{self, finding, noted};
use blockgate_findings::nearest;

impl ArchList {
    pub(crate) fn finding(
        &self,
        rule: &'static str,
        span: &Range<usize>,
        message: impl Into<String>,
    ) -> Finding {
        finding(rule, &self.places.path, &self.places.text, span, message)
    }

    /// What `per_source` names that is none of `sources`, the file names that the build compiles.
    pub fn check_sources(&self, sources: &[&str]) -> Vec<Finding> {
        let extras = self
            .per_source
            .iter()
            .map(|extra| (extra.source.as_str(), &extra.place));
        let changed = self
            .code_changed_in
            .iter()
            .map(String::as_str)
            .zip(&self.places.code_changed_in);
        extras
            .chain(changed)
            .filter(|(source, _)| !sources.contains(source))
            .map(|(source, place)| {
                let message = format!("`{source}` is no source of the build");
                let found = self.finding(rules::SOURCE, place, message);
                match nearest(source, sources.iter().copied()) {
                    Some(meant) => noted(found, format!("did you mean `{meant}`?")),
                    None => noted(found, format!("the sources are {}", sources.join(", "))),
                }
            })
            .collect()
    }

    /// What the release of `toolkit` does not know or allow of the list.
    pub fn check_toolkit(&self, toolkit: ToolkitVersion) -> Vec<Finding> {
        let mut findings = Vec::new();
        if let (Some(requirement), Some(span)) = (&self.toolkit, &self.places.toolkit)
            && !requirement.allows(toolkit)
        {
            let message = format!("CUDA {toolkit} does not satisfy `{requirement}`");
            findings.push(self.finding(rules::TOOLKIT, span, message));
        }
        for part in self.parts() {
            for problem in validate(part.entries, toolkit) {
                if let ProblemKind::Unknown(unknown) = problem.kind {
                    let span = part.place_of(self, problem.span);
                    findings.push(self.finding(rules::TARGET, &span, unknown.to_string()));
                }
            }
        }
        findings
    }

    /// That no toolkit is to be had for the list, as `message` tells, at the place of its requirement.
    pub fn unsatisfied_toolkit(&self, message: String) -> Finding {
        let places = &self.places;
        let span = places.toolkit.as_ref().unwrap_or(&places.architectures);
        self.finding(rules::TOOLKIT, span, message)
    }

    /// What is worth a warning and stops nothing.
    pub fn warnings(&self) -> Vec<Finding> {
        self.expect
            .iter()
            .zip(&self.places.expect)
            .filter(|(expectation, _)| expectation.counts_converter_in_ptx_text())
            .map(|(_, span)| {
                let message = "this counts the converter in PTX text, where a correct build may have none";
                let found = noted(
                    self.finding(rules::EXPECTATION, span, message),
                    "beside an architecture-specific image the PTX comes from the plain pass; count `sass(…)` instead",
                );
                Finding { severity: Severity::Warning, ..found }
            })
            .collect()
    }

    fn parts(&self) -> Vec<Part<'_>> {
        let whole = Part {
            entries: &self.entries,
            value: &self.architectures,
            place: &self.places.architectures,
        };
        let extras = self.per_source.iter().map(|extra| Part {
            entries: &extra.entries,
            value: &extra.architectures,
            place: &extra.architectures_place,
        });
        std::iter::once(whole).chain(extras).collect()
    }
}

/// One text of architectures and where it stands.
#[derive(Clone, Copy)]
struct Part<'a> {
    entries: &'a [Entry],
    value: &'a str,
    place: &'a Range<usize>,
}

impl Part<'_> {
    fn place_of(&self, list: &ArchList, part: PartSpan) -> Range<usize> {
        let within = part.start_byte..part.end_byte;
        inner_span(&list.places.text, self.place, self.value, &within).unwrap_or_else(|| self.place.clone())
    }
}

/// Where the list first names `arch`.
pub(crate) fn place_of_arch(list: &ArchList, arch: Arch) -> Range<usize> {
    let whole = list.parts()[0];
    let entry = whole
        .entries
        .iter()
        .find(|entry| entry.targets().any(|target| target.arch == arch));
    entry.map_or_else(|| whole.place.clone(), |entry| whole.place_of(list, entry.span))
}

/// Everything that one list says wrong by itself.
pub(crate) fn list(list: &ArchList) -> Vec<Finding> {
    let mut findings = Vec::new();
    toolkit_requirement(list, &mut findings);
    targets(list, &mut findings);
    combinations(list, &mut findings);
    keys_that_need_others(list, &mut findings);
    findings
}

fn toolkit_requirement(list: &ArchList, findings: &mut Vec<Finding>) {
    if let (Some(requirement), Some(span)) = (&list.toolkit, &list.places.toolkit)
        && !requirement.is_satisfiable()
    {
        let message = format!("no version satisfies `{requirement}`");
        findings.push(list.finding(rules::TOOLKIT, span, message));
    }
}

fn allowed_releases(list: &ArchList) -> Vec<ToolkitVersion> {
    MEASURED_RELEASES
        .into_iter()
        .filter(|release| {
            list.toolkit
                .as_ref()
                .is_none_or(|requirement| requirement.allows(*release))
        })
        .collect()
}

fn targets(list: &ArchList, findings: &mut Vec<Finding>) {
    let releases = allowed_releases(list);
    let before = findings.len();
    let mut archs: Vec<Arch> = Vec::new();
    for part in list.parts() {
        for entry in part.entries {
            let span = part.place_of(list, entry.span);
            let arch = match entry.request {
                Request::Arch { arch, .. } => arch,
                Request::Word(word) => {
                    let message = format!(
                        "`{}` leaves the architectures to the build system; a list names them",
                        word.text()
                    );
                    findings.push(list.finding(rules::TARGET, &span, message));
                    continue;
                }
            };
            archs.push(arch);
            let Some(known) = toolkits::releases_that_know(arch) else {
                let message = format!("no CUDA release from 11.8 to 13.5 knows `{}`", arch.token());
                findings.push(list.finding(rules::TARGET, &span, message));
                continue;
            };
            // A requirement that only unmeasured releases satisfy cannot be judged here; the toolkit in use is
            // asked later.
            let knows = |release: &ToolkitVersion| toolkits::knows(*release, arch).known;
            if !releases.is_empty() && !releases.iter().any(knows) {
                let requirement = list.toolkit.as_ref().map(ToString::to_string).unwrap_or_default();
                let message = format!(
                    "no toolkit that `{requirement}` allows knows `{}`; it is known {known}",
                    arch.token()
                );
                findings.push(list.finding(rules::TARGET, &span, message));
            }
        }
    }
    let one_knows_all = releases
        .iter()
        .any(|release| archs.iter().all(|arch| toolkits::knows(*release, *arch).known));
    if findings.len() == before && !releases.is_empty() && !one_knows_all {
        let message = "no single toolkit knows all of these architectures";
        findings.push(list.finding(rules::TARGET, &list.places.architectures, message));
    }
}

/// Duplicates and pairs that nvcc refuses: within the list, and of each source's extras with the list.
fn combinations(list: &ArchList, findings: &mut Vec<Finding>) {
    let whole = list.parts()[0];
    pairs(list, whole, None, findings);
    for part in &list.parts()[1..] {
        pairs(list, *part, Some(whole), findings);
    }
}

fn pairs(list: &ArchList, part: Part<'_>, beside: Option<Part<'_>>, findings: &mut Vec<Finding>) {
    let earlier = beside.map_or(&[][..], |beside| beside.entries);
    // The extras follow the list in one numbering of bytes, so that the two cannot be mixed up.
    let shift = beside.map_or(0, |beside| beside.value.len() + 1);
    let all: Vec<Entry> = earlier
        .iter()
        .copied()
        .chain(part.entries.iter().map(|entry| Entry {
            span: PartSpan {
                start_byte: entry.span.start_byte + shift,
                end_byte: entry.span.end_byte + shift,
            },
            ..*entry
        }))
        .collect();
    // Which release is asked makes no difference to pairs.
    for problem in validate(&all, MEASURED_RELEASES[0]) {
        let rule = match problem.kind {
            ProblemKind::Unknown(_) => continue,
            ProblemKind::Duplicate { .. } => rules::DUPLICATE_TARGET,
            ProblemKind::Forbidden { .. } => rules::COMBINATION,
        };
        let Some(start_byte) = problem.span.start_byte.checked_sub(shift) else {
            continue;
        };
        let within = PartSpan {
            start_byte,
            end_byte: problem.span.end_byte - shift,
        };
        let span = part.place_of(list, within);
        findings.push(list.finding(rule, &span, problem.kind.to_string()));
    }
}

fn keys_that_need_others(list: &ArchList, findings: &mut Vec<Finding>) {
    let places = &list.places;
    let changed = places.code_changed_in.first().cloned();
    if list.baseline.is_none() {
        let needs = [
            ("same_code", &places.same_code),
            ("code_changed_in", &changed),
            ("size_over_baseline", &places.size_over_baseline),
        ];
        for (key, span) in needs {
            if let Some(span) = span {
                let message = format!("`{key}` compares with a baseline, and the list has no `baseline`");
                findings.push(list.finding(rules::BASELINE, span, message));
            }
        }
    }
    for (key, span) in [("same_code", &places.same_code), ("code_changed_in", &changed)] {
        if let (Some(span), None) = (span, list.device) {
            let message =
                format!("`{key}` looks at the code that a device loads, and the list has no `device`");
            findings.push(list.finding(rules::VALUE, span, message));
        }
    }
    if list.ships && list.expect_failure.is_some() {
        let message = "a list that must fail cannot ship";
        findings.push(list.finding(rules::VALUE, &places.ships, message));
    }
}
