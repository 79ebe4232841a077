//! `uncovered-device`: a device that the project requires finds nothing to run.

use blockgate_arch::RunsOn;
use blockgate_findings::{RuleInfo, Severity};

use super::library::{Library, Unit, some_of, target};
use super::{Check, Hit, Needs, Rule, SINCE, Sink, page};

pub(super) const RULE: Rule = Rule {
    info: RuleInfo {
        id: "uncovered-device",
        summary: "a device that the project requires cannot run all of a library",
        severity: Some(Severity::Error),
        since: SINCE,
        page: page!("uncovered-device"),
    },
    // Only the code tells a translation unit from the stub that a device link adds.
    needs: Needs::CodeIf(|config| !config.require_devices.is_empty()),
    check: Check::Library(check),
};

fn check(library: &Library<'_>, sink: &mut Sink<'_>) {
    for device in &sink.config.require_devices {
        if let Some(reason) = library.incomplete() {
            sink.not_checked(reason);
            return;
        }
        let answers = |unit: &Unit<'_>| -> Vec<RunsOn> {
            let targets = unit.images.iter().filter_map(|image| target(image));
            targets.map(|target| target.runs_on(device.value)).collect()
        };
        let uncovered: Vec<&Unit<'_>> = library
            .units
            .iter()
            .filter(|unit| !answers(unit).iter().any(|answer| answer.loads()))
            .collect();
        if uncovered.is_empty() {
            continue;
        }
        let mut hit = Hit::new(format!(
            "{} of {} translation units have no image that a device of {} can run",
            uncovered.len(),
            library.units.len(),
            device.value
        ))
        .note(format!(
            "without: {}",
            some_of(uncovered.iter().map(|unit| unit.name.to_string()))
        ))
        .demanded_at(&device.place);
        let open = uncovered.iter().flat_map(|unit| answers(unit));
        if let Some(answer) = open
            .into_iter()
            .find(|answer| matches!(answer, RunsOn::Undocumented(_)))
        {
            hit = hit.note(answer.to_string());
        }
        sink.report(hit);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{check, input, unit};

    #[test]
    fn a_required_device_must_be_served_everywhere() {
        let library = input(&[unit("a.o", "sm_90 sm_120"), unit("b.o", "sm_90 sm_120a")]);
        for (device, expected) in [
            ("9.0", None),
            ("12.0", None),
            (
                "12.1",
                Some("1 of 2 translation units have no image that a device of 12.1 can run"),
            ),
            (
                "10.0",
                Some("2 of 2 translation units have no image that a device of 10.0 can run"),
            ),
        ] {
            let report = check(&library, &format!("audit: {{ require_devices: [\"{device}\"] }}"));
            let found = report
                .findings
                .iter()
                .find(|finding| finding.rule == "uncovered-device")
                .map(|finding| finding.message.as_str());
            assert_eq!(found, expected, "{device}");
        }
    }
}
