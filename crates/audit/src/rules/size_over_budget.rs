//! `size-over-budget`: an artifact is larger than the project allows.

use blockgate_config::Placed;
use blockgate_expect::SizeBound;
use blockgate_findings::{RuleInfo, Severity};

use super::library::Artifact;
use super::{Check, Hit, Needs, Rule, SINCE, Sink, page};
use crate::render::bytes;

pub(super) const RULE: Rule = Rule {
    info: RuleInfo {
        id: "size-over-budget",
        summary: "an artifact is larger than the size budget that the project gives it",
        severity: Some(Severity::Error),
        since: SINCE,
        page: page!("size-over-budget"),
    },
    needs: Needs::Headers,
    check: Check::Artifact(check),
};

fn check(artifact: &Artifact<'_>, sink: &mut Sink<'_>) {
    let config = sink.config;
    let of_inputs = config.size_budget.iter().filter(|_| artifact.file.is_none());
    let of_artifacts = config
        .artifacts
        .iter()
        .filter(|row| artifact.is_selected_by(&row.path))
        .filter_map(|row| row.size_budget.as_ref());
    let budgets: Vec<&Placed<SizeBound>> = of_inputs.chain(of_artifacts).collect();
    if budgets.is_empty() {
        return;
    }
    let Some(size_bytes) = artifact.size_bytes() else {
        sink.not_checked("its size is not listed");
        return;
    };
    if artifact.input.device_code == blockgate_fatbin::DeviceCode::Unreadable && size_bytes == 0 {
        sink.not_checked("it could not be opened");
        return;
    }
    for budget in budgets {
        if !budget.op.holds(size_bytes, budget.bytes.get()) {
            sink.report(
                Hit::new(format!(
                    "the size is {} and should be {}",
                    bytes(size_bytes),
                    budget.value
                ))
                .note(format!("{size_bytes} bytes"))
                .demanded_at(&budget.place),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{check, input, unit};

    #[test]
    fn only_a_budget_can_be_exceeded() {
        let library = input(&[unit("a.o", "sm_90")]);
        for (config, expected) in [
            ("", [""; 0].as_slice()),
            ("audit: { size_budget: '<= 1 MiB' }", &[]),
            (
                "audit: { size_budget: '< 1000' }",
                &["the size is 1.0 MiB and should be < 1000"],
            ),
            (
                "audit: { artifacts: [{ path: '*.a', size_budget: '<= 1 KiB' }, { path: 'x.so', size_budget: '< 1' }] }",
                &["the size is 1.0 MiB and should be <= 1 KiB"],
            ),
        ] {
            let report = check(&library, config);
            let found: Vec<&str> = report
                .findings
                .iter()
                .filter(|finding| finding.rule == "size-over-budget")
                .map(|finding| finding.message.as_str())
                .collect();
            assert_eq!(found, expected, "{config}");
        }
    }
}
