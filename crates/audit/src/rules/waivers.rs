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
