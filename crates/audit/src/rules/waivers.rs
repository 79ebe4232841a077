//! Which findings a configuration accepts, and what became of its waivers.

use blockgate_config::Waiver;
use blockgate_findings::{Finding, Location, Severity};

use super::apply::Candidate;
use super::library::Artifact;
use super::{RULES, expired_waiver, unused_waiver};
use crate::policy::Policy;
use crate::report::{FileReport, Waived};

/// The waivers of a policy and how often each was used.
pub(super) struct Waivers<'a> {
    policy: &'a Policy,
    used: Vec<u64>,
}

impl<'a> Waivers<'a> {
    pub(super) fn new(policy: &'a Policy) -> Self {
        Self {
            policy,
            used: vec![0; policy.config.waivers.len()],
        }
    }

    /// The finding as accepted, where a waiver that has not expired accepts it.
    pub(super) fn accept(
        &mut self,
        candidate: &Candidate,
        files: &[FileReport],
        paths: &[Vec<String>],
    ) -> Option<Waived> {
        let finding = &candidate.finding;
        let is_fixed = RULES.iter().all(|rule| rule.info.id != finding.rule);
        if is_fixed && finding.severity == Severity::Error {
            // What could not be read is not known to be good.
            return None;
        }
        let mut reason = None;
        for (waiver, used) in self.policy.config.waivers.iter().zip(&mut self.used) {
            if !matches(waiver, candidate, files, paths) {
                continue;
            }
            *used += 1;
            if reason.is_none() && !waiver.is_expired(self.policy.today) {
                reason = Some(waiver.reason.clone());
            }
        }
        reason.map(|reason| Waived {
            finding: finding.clone(),
            reason,
        })
    }

    /// What is to be said about the waivers themselves.
    pub(super) fn leftovers(&self) -> Vec<Finding> {
        let config = &self.policy.config;
        let waivers = config.waivers.iter().zip(&self.used);
        waivers
            .filter_map(|(waiver, used)| {
                if waiver.is_expired(self.policy.today) {
                    expired_waiver::finding(waiver, *used, config)
                } else if *used == 0 {
                    unused_waiver::finding(waiver, config)
                } else {
                    None
                }
            })
            .collect()
    }
}

fn matches(waiver: &Waiver, candidate: &Candidate, files: &[FileReport], paths: &[Vec<String>]) -> bool {
    let finding = &candidate.finding;
    let Location::Artifact(place) = &finding.location else {
        return false;
    };
    let artifact = waiver.artifact.as_ref().is_none_or(|glob| {
        let Some((index, file)) = &candidate.about else {
            return false;
        };
        [None, file.as_deref()].into_iter().any(|file| {
            let artifact = Artifact {
                input: &files[*index],
                file,
                paths: &paths[*index],
            };
            artifact.is_selected_by(glob)
        })
    });
    let member = waiver.member.as_ref().is_none_or(|glob| {
        let member = place.member.as_deref();
        member.is_some_and(|member| glob.is_match(member))
    });
    waiver.rule == finding.rule
        && artifact
        && member
        && waiver.arch.is_none_or(|arch| candidate.arch == Some(arch))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use blockgate_findings::{ArtifactPlace, Finding, Location, Severity};

    use super::super::testing::{check, check_findings, input, package, unit};

    /// What is left of the findings about family images under these waivers, and about the waivers.
    fn left(waivers: &str) -> Vec<String> {
        let library = input(&[unit("a.o", "sm_120f sm_120a"), unit("b.o", "sm_100f sm_100a")]);
        let config = format!(
            "audit: {{ rules: {{ no-forward-ptx: off, label-without-code: off, partial-coverage: off }}, waivers: [{waivers}] }}"
        );
        let report = check(&library, &config);
        let rows = report.findings.iter();
        rows.map(|finding| format!("{}: {}", finding.rule, finding.message))
            .collect()
    }

    #[test]
    fn a_waiver_accepts_what_it_names_and_nothing_else() {
        let f100 = "family-image: 1 image for the family target sm_100f";
        let f120 = "family-image: 1 image for the family target sm_120f";
        let unused = "unused-waiver: no finding of `family-image` is accepted by this waiver";
        for (waivers, expected) in [
            ("", vec![f100, f120]),
            ("{ rule: family-image, reason: x }", vec![]),
            ("{ rule: family-image, arch: sm_120f, reason: x }", vec![f100]),
            (
                "{ rule: family-image, arch: sm_120a, reason: x }",
                vec![f100, f120, unused],
            ),
            ("{ rule: family-image, artifact: 'lib.*', reason: x }", vec![]),
            (
                "{ rule: family-image, artifact: 'other.a', reason: x }",
                vec![f100, f120, unused],
            ),
            // These findings are about the library, not about one of its members.
            (
                "{ rule: family-image, member: '*.o', reason: x }",
                vec![f100, f120, unused],
            ),
            ("{ rule: family-image, reason: x, until: 2027-01-01 }", vec![]),
            (
                "{ rule: family-image, reason: x, until: 2026-12-31 }",
                vec![
                    f100,
                    f120,
                    "expired-waiver: the waiver for `family-image` ended on 2026-12-31; 2 findings are no longer accepted",
                ],
            ),
        ] {
            assert_eq!(left(waivers), expected, "{waivers}");
        }
    }

    #[test]
    fn a_file_of_a_package_is_waived_by_its_name() {
        let wheel = package(
            "x.whl",
            &[("m/old.so", "sm_120f sm_120a"), ("m/new.so", "sm_120f sm_120a")],
        );
        for (glob, expected) in [
            ("**/old.so", vec!["m/new.so"]),
            ("x.whl/m/old.so", vec!["m/new.so"]),
            ("x.whl", vec![]),
            ("**/*.so", vec![]),
        ] {
            let config =
                format!("audit: {{ waivers: [{{ rule: family-image, artifact: '{glob}', reason: x }}] }}");
            let report = check(&wheel, &config);
            let left: Vec<&str> = report
                .findings
                .iter()
                .filter(|finding| finding.rule == "family-image")
                .filter_map(|finding| match &finding.location {
                    Location::Artifact(place) => place.member.as_deref(),
                    Location::Text(_) => None,
                })
                .collect();
            assert_eq!(left, expected, "{glob}");
        }
    }

    /// What could not be read is not known to be good, whatever a waiver says.
    #[test]
    fn an_error_of_reading_cannot_be_waived() {
        let finding = |severity| Finding {
            rule: "entry-past-region",
            severity,
            message: "found something".to_owned(),
            location: Location::Artifact(ArtifactPlace {
                path: "lib.a".to_owned(),
                member: Some("a.o".to_owned()),
                offset_bytes: Some(16),
            }),
            notes: Vec::new(),
            fix: None,
        };
        let library = input(&[unit("a.o", "sm_90")]);
        let config = "audit: { waivers: [{ rule: entry-past-region, member: a.o, arch: sm_90, reason: x }] }";
        let found = vec![finding(Severity::Error), finding(Severity::Warning)];
        let report = check_findings(&library, found, config);
        let left: Vec<Severity> = report
            .findings
            .iter()
            .filter(|finding| finding.rule == "entry-past-region")
            .map(|finding| finding.severity)
            .collect();
        assert_eq!(left, [Severity::Error]);
        assert_eq!(report.waived.len(), 1);
        assert_eq!(report.waived[0].reason, "x");
    }

    #[test]
    fn a_member_is_found_by_its_full_name() {
        let mut wheel = package("x.whl", &[("m/old.so", "sm_90 sm_90")]);
        wheel.images[0].member = Some(Arc::from("m/old.so"));
        let config = "audit: { waivers: [{ rule: duplicate-image, member: 'm/*.so', reason: x }] }";
        assert_eq!(check(&wheel, config).waived.len(), 1);
    }
}
