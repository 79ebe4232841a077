//! The rule for lists that ship.
//!
//! A project that ships plain Blackwell code without the architecture-specific image ships a software fallback
//! that nobody notices. Asking for the image alone would not do, since a gate may still be shut; nor would an
//! expectation alone, since both could be deleted together. So such a list needs both.

use blockgate_arch::gates::{Instruction, accepts};
use blockgate_arch::toolkits::MEASURED_RELEASES;
use blockgate_arch::{Arch, CodeKind, Scope};
use blockgate_findings::Finding;

use crate::model::ArchList;
use crate::rules::{self, noted};

/// Whether the architecture-specific code of this capability has a conversion to E2M1, under any toolkit.
fn converts_when_specific(plain: Arch) -> bool {
    MEASURED_RELEASES.iter().any(|release| {
        accepts(
            *release,
            plain.with_scope(Scope::Specific),
            Instruction::CvtE2m1x2F32,
        )
    })
}

/// What a list that ships lacks.
pub(crate) fn check(list: &ArchList) -> Vec<Finding> {
    if !list.ships {
        return Vec::new();
    }
    let mut plain: Vec<Arch> = Vec::new();
    for target in list.targets() {
        let arch = target.arch;
        let counts = arch.scope() == Scope::Plain && converts_when_specific(arch);
        if counts && !plain.contains(&arch) {
            plain.push(arch);
        }
    }
    plain.into_iter().filter_map(|arch| lacking(list, arch)).collect()
}

fn lacking(list: &ArchList, plain: Arch) -> Option<Finding> {
    let specific = plain.with_scope(Scope::Specific);
    let built = list
        .targets()
        .chain(
            list.per_source
                .iter()
                .flat_map(|extra| list.targets_of(&extra.source)),
        )
        .any(|target| target.arch == specific && target.kind == CodeKind::Cubin);
    let expected = list
        .expect
        .iter()
        .any(|expectation| expectation.demands_converter_on(specific));
    let token = plain.token();
    let message = match (built, expected) {
        (true, true) => return None,
        (true, false) => {
            format!("the list ships `{token}`, and no expectation demands the converter on {specific}")
        }
        (false, true) => format!("the list ships `{token}`, and nothing builds machine code for {specific}"),
        (false, false) => {
            format!("the list ships `{token}` alone: plain code of this GPU has no conversion to E2M1")
        }
    };
    let span = crate::check::place_of_arch(list, plain);
    let mut found = list.finding(rules::SHIPS, &span, message);
    if !built {
        let entry = specific.token();
        found = noted(
            found,
            format!("add `{entry}-real` to `per_source` of the source that converts, or to `architectures`"),
        );
    }
    if !expected {
        found = noted(
            found,
            format!(r"expect `sass(F2FP\.SATFINITE\.E2M1)@{specific} >= 1`"),
        );
    }
    Some(found)
}
