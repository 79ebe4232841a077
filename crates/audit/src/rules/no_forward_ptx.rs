//! `no-forward-ptx`: nothing that a later GPU could compile.

use blockgate_arch::{CodeKind, Scope};
use blockgate_findings::{RuleInfo, Severity};

use super::library::Library;
use super::{Check, Hit, Needs, Rule, SINCE, Sink, page};

pub(super) const RULE: Rule = Rule {
    info: RuleInfo {
        id: "no-forward-ptx",
        summary: "a library has machine code and no plain PTX, so it runs on no later GPU",
        severity: Some(Severity::Info),
        since: SINCE,
        page: page!("no-forward-ptx"),
    },
    needs: Needs::Headers,
    check: Check::Library(check),
};

fn check(library: &Library<'_>, sink: &mut Sink<'_>) {
    if library.is_one_image() {
        return;
    }
    let targets = library.targets();
    let has = |kind: CodeKind, scope: Option<Scope>| {
        targets
            .iter()
            .any(|(target, _)| target.kind == kind && scope.is_none_or(|scope| target.arch.scope() == scope))
    };
    if !has(CodeKind::Cubin, None) || has(CodeKind::Ptx, Some(Scope::Plain)) {
        return;
    }
    if let Some(reason) = library.incomplete() {
        sink.not_checked(reason);
        return;
    }
    let names: Vec<String> = targets.iter().map(|(target, _)| target.to_string()).collect();
    let mut hit =
        Hit::new("no PTX for a plain target, so a GPU that is later than all of these finds nothing to run")
            .note(format!("there are images for {}", names.join(", ")));
    if has(CodeKind::Ptx, None) {
        hit = hit.note("PTX for a specific or family target is compiled for that capability or family alone");
    }
    sink.report(hit);
}

#[cfg(test)]
mod tests {
    use super::super::testing::{findings, input, unit};

    /// pytorch/FBGEMM#6151 and rapidsai/rapids-cmake#1012.
    #[test]
    fn machine_code_alone_ends_with_its_generation() {
        for bad in ["sm_80 sm_90a sm_100a", "sm_121a", "sm_121a compute_121a"] {
            let found = findings("no-forward-ptx", &input(&[unit("a.o", bad)]));
            assert_eq!(found.len(), 1, "{bad}: {found:?}");
        }
        for good in ["sm_89 compute_89", "compute_75", "sm_121a sm_121 compute_121"] {
            let found = findings("no-forward-ptx", &input(&[unit("a.o", good)]));
            assert_eq!(found, [""; 0], "{good}");
        }
    }
}
