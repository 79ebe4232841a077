//! Checks every rule and demand on a report, and decides severities and waivers.

use std::sync::Arc;

use blockgate_arch::Arch;
use blockgate_config::Level;
use blockgate_findings::{ArtifactPlace, Finding, Location, Severity};

use super::library::{Artifact, Library};
use super::waivers::Waivers;
use super::{Check, Hit, RULES, Rule, Sink, unmatched_artifact};
use crate::evaluate::{Sight, evaluate};
use crate::policy::Policy;
use crate::report::{FileReport, Report, Unchecked};

/// A finding with what waivers look at.
pub(super) struct Candidate {
    pub(super) finding: Finding,
    pub(super) arch: Option<Arch>,
    /// Which input it is about, by number, and which file of it.
    pub(super) about: Option<(usize, Option<Arc<str>>)>,
}

/// Holds the report against the policy. `first_expectation` is the number of expectations that are not the policy's, which
/// come before its own wherever expectations are numbered.
pub(crate) fn apply(report: &mut Report, policy: &Policy, list_only: bool, first_expectation: usize) {
    report.policy.clone_from(&policy.path);
    let files = std::mem::take(&mut report.files);
    let paths: Vec<Vec<String>> = files.iter().map(|file| policy.paths_of(&file.path)).collect();
    let mut candidates: Vec<Candidate> = std::mem::take(&mut report.findings)
        .into_iter()
        .map(|finding| found_while_reading(finding, &files, policy))
        .collect();
    for rule in RULES {
        let Some(severity) = severity_of(rule, policy) else {
            continue;
        };
        if list_only && rule.needs.code(&policy.config) {
            report.unchecked.push(Unchecked {
                rule: rule.info.id,
                severity,
                artifact: None,
                reason: "headers only were read".to_owned(),
            });
            continue;
        }
        for (index, file) in files.iter().enumerate() {
            check(
                rule,
                severity,
                (index, file),
                &paths[index],
                policy,
                report,
                &mut candidates,
            );
        }
    }
    demand(&files, &paths, policy, first_expectation, report, &mut candidates);
    // Rules of the table may be turned up, down or off, wherever their findings come from.
    candidates.retain_mut(|candidate| match policy.config.level(candidate.finding.rule) {
        Some(Level::Off) => false,
        Some(Level::At(severity)) => {
            candidate.finding.severity = severity;
            true
        }
        None => true,
    });
    let mut waivers = Waivers::new(policy);
    for candidate in candidates {
        match waivers.accept(&candidate, &files, &paths) {
            Some(waived) => report.waived.push(waived),
            None => report.findings.push(candidate.finding),
        }
    }
    report.findings.extend(waivers.leftovers());
    report.files = files;
}

/// What the rule's findings are; `None` where it is off.
fn severity_of(rule: &Rule, policy: &Policy) -> Option<Severity> {
    match policy.config.level(rule.info.id) {
        Some(Level::Off) => None,
        Some(Level::At(severity)) => Some(severity),
        None => Some(rule.info.severity.unwrap_or(Severity::Error)),
    }
}

fn check(
    rule: &'static Rule,
    severity: Severity,
    (index, file): (usize, &FileReport),
    paths: &[String],
    policy: &Policy,
    report: &mut Report,
    candidates: &mut Vec<Candidate>,
) {
    let mut take = |artifact: &Artifact<'_>, sink: Sink<'_>| {
        candidates.extend(
            sink.hits
                .into_iter()
                .map(|hit| candidate(rule, severity, hit, index, artifact)),
        );
        report
            .unchecked
            .extend(sink.unchecked.into_iter().map(|reason| Unchecked {
                rule: rule.info.id,
                severity,
                artifact: Some(artifact.name()),
                reason,
            }));
    };
    match rule.check {
        Check::Library(check) => {
            for library in Library::all(file, paths) {
                let mut sink = Sink::new(&policy.config);
                check(&library, &mut sink);
                take(&library.artifact, sink);
            }
        }
        Check::Artifact(check) => {
            for artifact in Artifact::all(file, paths) {
                let mut sink = Sink::new(&policy.config);
                check(&artifact, &mut sink);
                take(&artifact, sink);
            }
        }
        Check::Elsewhere => {}
    }
}

fn candidate(
    rule: &'static Rule,
    severity: Severity,
    hit: Hit,
    index: usize,
    artifact: &Artifact<'_>,
) -> Candidate {
    let mut notes = hit.notes;
    if let Some(place) = &hit.demanded_at {
        notes.push(format!("demanded in {}:{}", place.path, place.at.line));
    }
    Candidate {
        finding: Finding {
            rule: rule.info.id,
            severity: hit.severity.unwrap_or(severity),
            message: hit.message,
            location: Location::Artifact(ArtifactPlace {
                path: artifact.input.path.clone(),
                member: hit.member.or_else(|| artifact.file.map(str::to_owned)),
                offset_bytes: hit.offset_bytes,
            }),
            notes,
            fix: None,
        },
        arch: hit.arch,
        about: Some((index, artifact.file.map(Arc::from))),
    }
}

fn found_while_reading(finding: Finding, files: &[FileReport], policy: &Policy) -> Candidate {
    let mut candidate = Candidate {
        finding,
        arch: None,
        about: None,
    };
    let Location::Artifact(place) = &candidate.finding.location else {
        return candidate;
    };
    // A damaged file may have many findings and many images; only a waiver asks which belong together.
    if policy
        .config
        .waivers
        .iter()
        .all(|waiver| waiver.rule != candidate.finding.rule)
    {
        return candidate;
    }
    let Some((index, file)) = files.iter().enumerate().find(|(_, file)| file.path == place.path) else {
        return candidate;
    };
    let image = file.images.iter().find(|image| {
        Some(image.offset_bytes) == place.offset_bytes && image.member.as_deref() == place.member.as_deref()
    });
    candidate.arch = image.and_then(|image| image.arch);
    let member = file
        .members
        .iter()
        .find(|member| Some(&*member.name) == place.member.as_deref());
    candidate.about = Some((index, member.and_then(|member| member.file.clone())));
    candidate
}

/// Evaluates the policy's expectations, each on the artifacts that it is about.
fn demand(
    files: &[FileReport],
    paths: &[Vec<String>],
    policy: &Policy,
    first_expectation: usize,
    report: &mut Report,
    candidates: &mut Vec<Candidate>,
) {
    let config = &policy.config;
    let mut evaluations = Vec::new();
    let mut hold = |number: usize, expectation: &blockgate_config::Placed<_>, artifact: &Artifact<'_>| {
        let sight = Sight {
            inputs: vec![artifact.input],
            file: artifact.file,
        };
        let mut evaluation = evaluate(number, &expectation.value, &sight);
        evaluation.artifact = Some(artifact.name());
        evaluation.place = Some(expectation.place.clone());
        evaluations.push(evaluation);
    };
    for (file, paths) in files.iter().zip(paths) {
        let input = Artifact {
            input: file,
            file: None,
            paths,
        };
        for (number, expectation) in config.expect.iter().enumerate() {
            hold(first_expectation + number, expectation, &input);
        }
    }
    let mut number = first_expectation + config.expect.len();
    for demanded in &config.artifacts {
        let mut matched = false;
        for (file, paths) in files.iter().zip(paths) {
            for artifact in Artifact::all(file, paths) {
                if !artifact.is_selected_by(&demanded.path) {
                    continue;
                }
                matched = true;
                for (offset, expectation) in demanded.expect.iter().enumerate() {
                    hold(number + offset, expectation, &artifact);
                }
            }
        }
        if !matched {
            candidates.push(Candidate {
                finding: unmatched_artifact::finding(demanded),
                arch: None,
                about: None,
            });
        }
        number += demanded.expect.len();
    }
    report.evaluations.extend(evaluations);
}

#[cfg(test)]
mod tests {
    use super::super::testing::{check, package};
    use crate::evaluate::Outcome;

    /// Each demand is about one artifact: the package as a whole, or the files that the glob selects.
    #[test]
    fn demands_on_a_package_and_on_its_files() {
        let wheel = package("x.whl", &[("m/a.so", "sm_90 sm_120"), ("m/b.so", "sm_90")]);
        let report = check(
            &wheel,
            r#"
audit:
  expect: ['cubins(sm_90) == 2', 'size == 1 MiB']
  artifacts:
    - path: "**/b.so"
      expect: ['cubins(sm_90) == 1', 'cubins(sm_120) == 0', 'size == 2 KiB']
      size_budget: "<= 1 KiB"
    - path: "m/*.so"
      expect: ['cubins(sm_120) == 1']
"#,
        );
        let rows: Vec<(String, String, bool)> = report
            .evaluations
            .iter()
            .map(|row| {
                let Outcome::Checked { holds, .. } = row.outcome else {
                    panic!("{row:?}");
                };
                (
                    row.artifact.clone().unwrap(),
                    row.expectation.source.clone(),
                    holds,
                )
            })
            .collect();
        let expected = [
            ("x.whl", "cubins(sm_90) == 2", true),
            ("x.whl", "size == 1 MiB", true),
            ("m/b.so in x.whl", "cubins(sm_90) == 1", true),
            ("m/b.so in x.whl", "cubins(sm_120) == 0", true),
            ("m/b.so in x.whl", "size == 2 KiB", true),
            ("m/a.so in x.whl", "cubins(sm_120) == 1", true),
            ("m/b.so in x.whl", "cubins(sm_120) == 1", false),
        ];
        let expected =
            expected.map(|(artifact, source, holds)| (artifact.to_owned(), source.to_owned(), holds));
        assert_eq!(rows, expected);
        let budget = report
            .findings
            .iter()
            .find(|finding| finding.rule == "size-over-budget")
            .unwrap();
        assert_eq!(budget.message, "the size is 2.0 KiB and should be <= 1 KiB");
        // Rules look at each library of the package by itself.
        let lacking: Vec<&str> = report
            .findings
            .iter()
            .filter(|finding| finding.rule == "missing-specific-image")
            .map(|finding| finding.message.as_str())
            .collect();
        assert_eq!(lacking, ["1 image for sm_120 and none for sm_120a"]);
    }
}
