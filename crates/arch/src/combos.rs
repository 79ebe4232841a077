//! Images that nvcc refuses to put into one build.

use crate::arch::{Arch, CodeKind, Scope};
use crate::evidence::Evidence;
use crate::parse::Target;

/// A pair of machine-code scopes of one compute capability, and whether nvcc builds both at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ComboRow {
    /// One scope.
    pub one: Scope,
    /// The other.
    pub other: Scope,
    /// Whether one nvcc call accepts both.
    pub accepted: bool,
    /// How it is known.
    pub evidence: Evidence,
    /// What was tried.
    pub source: &'static str,
}

/// The pairs. Only machine code counts: PTX of one scope beside machine code of another is fine.
pub const COMBOS: &[ComboRow] = &[
    ComboRow {
        one: Scope::Plain,
        other: Scope::Family,
        accepted: false,
        evidence: Evidence::Compiled,
        source: "nvcc 13.0.88: 121 with 121f, 120 with 120f, and sm_121 made from compute_120f with 121",
    },
    ComboRow {
        one: Scope::Plain,
        other: Scope::Specific,
        accepted: true,
        evidence: Evidence::Compiled,
        source: "nvcc 13.0.88: 121 with 121a, 100 with 100a, 90 with 90a",
    },
    ComboRow {
        one: Scope::Family,
        other: Scope::Specific,
        accepted: true,
        evidence: Evidence::Compiled,
        source: "nvcc 13.0.88: 121f with 121a",
    },
];

/// The first two images of one build that nvcc refuses together.
///
/// Returns indices into `targets`, ascending. A mixed request such as `arch=compute_120f,code=sm_121` counts as
/// the image that it makes, machine code for `sm_121f`.
pub fn forbidden_pair(targets: &[Target]) -> Option<(usize, usize)> {
    targets.iter().enumerate().find_map(|(later, target)| {
        let earlier = targets[..later]
            .iter()
            .position(|other| refused(*other, *target))?;
        Some((earlier, later))
    })
}

fn refused(one: Target, other: Target) -> bool {
    let machine_code = one.kind == CodeKind::Cubin && other.kind == CodeKind::Cubin;
    machine_code && same_capability(one.arch, other.arch) && {
        let scopes = (one.arch.scope(), other.arch.scope());
        COMBOS
            .iter()
            .any(|row| !row.accepted && (scopes == (row.one, row.other) || scopes == (row.other, row.one)))
    }
}

fn same_capability(one: Arch, other: Arch) -> bool {
    one.number() == other.number()
}

#[cfg(test)]
mod tests {
    use super::forbidden_pair;
    use crate::Target;

    type Case = (&'static [&'static str], Option<(usize, usize)>);

    #[test]
    fn plain_and_family_machine_code_of_one_capability() {
        // The verdicts are nvcc 13.0.88's for the same pairs of -gencode options.
        let cases: [Case; 10] = [
            (&["sm_121", "sm_121f"], Some((0, 1))),
            (&["sm_120f", "compute_120f", "sm_120"], Some((0, 2))),
            (&["sm_121", "sm_121a"], None),
            (&["sm_121f", "sm_121a"], None),
            (&["sm_120f", "sm_121f"], None),
            (&["sm_120f", "sm_121"], None),
            (&["sm_100", "sm_100a"], None),
            (&["sm_121f", "compute_121"], None),
            (&["sm_121", "compute_121f"], None),
            (&["sm_90", "sm_90a"], None),
        ];
        for (texts, expected) in cases {
            let targets: Vec<Target> = texts.iter().map(|text| text.parse().unwrap()).collect();
            assert_eq!(forbidden_pair(&targets), expected, "{texts:?}");
        }
    }
}
