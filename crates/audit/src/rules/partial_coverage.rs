//! `partial-coverage`: a target that all but a few translation units have.

use std::collections::BTreeMap;

use blockgate_arch::{CodeKind, Device, Scope, Target};
use blockgate_findings::{RuleInfo, Severity};

use super::library::{Library, TargetKey, Unit, some_of, target, target_key};
use super::{Check, Hit, Needs, Rule, SINCE, Sink, page};

pub(super) const RULE: Rule = Rule {
    info: RuleInfo {
        id: "partial-coverage",
        summary: "all but a few translation units of a library have an image for a target",
        severity: Some(Severity::Warning),
        since: SINCE,
        page: page!("partial-coverage"),
    },
    // Only the code tells a translation unit from the stub that a device link adds.
    needs: Needs::Code,
    check: Check::Library(check),
};

/// Up to one unit of so many, and one in any case, was forgotten. Where more of them lack a target, sources were given their
/// targets by what they do: of NCCL's 76 units 20 are for `sm_100f` alone.
const ONE_OF: usize = 10;

fn check(library: &Library<'_>, sink: &mut Sink<'_>) {
    let total = library.units.len();
    let mut units_with: BTreeMap<TargetKey, (Target, usize)> = BTreeMap::new();
    for unit in &library.units {
        let targets = unit.images.iter().filter_map(|image| target(image));
        let targets: BTreeMap<TargetKey, Target> =
            targets.map(|target| (target_key(target), target)).collect();
        for (key, target) in targets {
            units_with.entry(key).or_insert((target, 0)).1 += 1;
        }
    }
    for (wanted, count) in units_with.into_values() {
        let lacking = total - count;
        if lacking == 0 || lacking > (total / ONE_OF).max(1) || lacking >= count {
            continue;
        }
        let (with, without): (Vec<&Unit<'_>>, Vec<&Unit<'_>>) =
            library.units.iter().partition(|unit| has(unit, wanted));
        if added_on_purpose(wanted, &without) {
            continue;
        }
        if let Some(reason) = library.incomplete() {
            sink.not_checked(reason);
            return;
        }
        let device = Device::of(wanted.arch);
        let stranded = without.iter().filter(|unit| !serves(unit, device)).count();
        let hit = Hit::new(format!(
            "{} of {total} translation units have an image for {wanted}, {} without",
            with.len(),
            without.len()
        ))
        .arch(wanted.arch)
        .note(format!(
            "without: {}",
            some_of(without.iter().map(|unit| unit.name.to_string()))
        ));
        sink.report(match stranded {
            0 => hit
                .severity(Severity::Info)
                .note(format!("a device of {device} takes another image of theirs")),
            _ => hit.note(format!(
                "{stranded} of them have no image that a device of {device} can run"
            )),
        });
    }
}

fn has(unit: &Unit<'_>, wanted: Target) -> bool {
    unit.images.iter().any(|image| target(image) == Some(wanted))
}

/// A suffixed target beside the plain one of the same capability is a choice that is made source by source.
fn added_on_purpose(wanted: Target, without: &[&Unit<'_>]) -> bool {
    let plain = Target {
        arch: wanted.arch.with_scope(Scope::Plain),
        kind: CodeKind::Cubin,
    };
    wanted.arch.scope() != Scope::Plain && without.iter().all(|unit| has(unit, plain))
}

fn serves(unit: &Unit<'_>, device: Device) -> bool {
    let mut targets = unit.images.iter().filter_map(|image| target(image));
    targets.any(|target| target.runs_on(device).loads())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Targets, findings, input, stub, unit};

    /// `count` units with `most`, then those of `rest`.
    fn library(count: usize, most: &'static str, rest: &[Targets]) -> Vec<String> {
        const NAMES: [&str; 9] = ["0.o", "1.o", "2.o", "3.o", "4.o", "5.o", "6.o", "7.o", "8.o"];
        let mut units: Vec<Targets> = NAMES[..count].iter().map(|name| unit(name, most)).collect();
        units.extend_from_slice(rest);
        findings("partial-coverage", &input(&units))
    }

    #[test]
    fn a_unit_that_was_forgotten() {
        assert_eq!(
            library(9, "sm_90 sm_120", &[unit("forgotten.o", "sm_90")]),
            ["warning: 9 of 10 translation units have an image for sm_120, 1 without"]
        );
        // What it has instead runs there, as plain code of an earlier minor version or compiled from PTX.
        assert_eq!(
            library(9, "sm_80 sm_86", &[unit("forgotten.o", "sm_80")]),
            ["info: 9 of 10 translation units have an image for sm_86, 1 without"]
        );
        assert_eq!(
            library(9, "sm_90 sm_120", &[unit("forgotten.o", "sm_90 compute_90")])[0],
            "info: 9 of 10 translation units have an image for sm_120, 1 without"
        );
    }

    /// lablup/mlxcel#1938: an image for one source, or for all but one, beside plain ones is a choice.
    #[test]
    fn what_is_added_source_by_source_is_no_gap() {
        let plain = "sm_121 compute_121";
        assert_eq!(
            library(5, plain, &[unit("q.o", "sm_121 sm_121a compute_121")]),
            [""; 0]
        );
        assert_eq!(
            library(5, "sm_121 sm_121a compute_121", &[unit("q.o", plain)]),
            [""; 0]
        );
        assert_eq!(
            library(5, "sm_90a compute_90", &[unit("q.o", "sm_80 compute_90")])[0],
            "info: 5 of 6 translation units have an image for sm_90a, 1 without"
        );
    }

    /// NCCL 2.32.3 and its like: kernels that were written for one target.
    #[test]
    fn many_units_without_it_are_a_design() {
        let other = [unit("x.o", "sm_100f"), unit("y.o", "sm_100f")];
        assert_eq!(library(9, "sm_90 sm_120", &other), [""; 0]);
        assert_eq!(library(1, "sm_90 sm_120", &[unit("x.o", "sm_90")]), [""; 0]);
    }

    #[test]
    fn the_stub_of_a_device_link_is_no_unit() {
        assert_eq!(library(5, "sm_90 sm_120", &[stub("stub.o", "sm_120")]), [""; 0]);
    }
}
