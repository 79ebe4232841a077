//! What is wrong with a list that reads well: unknown to the toolkit, said twice, or refused together.

use std::fmt;

use super::{Entry, Span};
use crate::combos::forbidden_pair;
use crate::parse::Target;
use crate::toolkits::{UnknownTarget, check_known};
use crate::version::ToolkitVersion;

/// A problem and the entry that has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListProblem {
    /// The entry at fault; of two, the later.
    pub span: Span,
    /// What is wrong.
    pub kind: ProblemKind,
}

/// What is wrong with an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProblemKind {
    /// The toolkit does not know the architecture.
    Unknown(UnknownTarget),
    /// An earlier entry asks for the same image already.
    Duplicate {
        /// The image.
        target: Target,
        /// The earlier entry.
        earlier: Span,
    },
    /// nvcc refuses the entry beside an earlier one.
    Forbidden {
        /// The image of the earlier entry.
        earlier_target: Target,
        /// The image of this entry.
        target: Target,
        /// The earlier entry.
        earlier: Span,
    },
}

impl fmt::Display for ProblemKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(unknown) => unknown.fmt(f),
            Self::Duplicate { target, .. } => {
                write!(f, "an earlier entry asks for `{target}` already")
            }
            Self::Forbidden {
                earlier_target,
                target,
                ..
            } => write!(
                f,
                "nvcc refuses `{target}` beside `{earlier_target}`: the plain and the family form of one compute capability cannot be built together"
            ),
        }
    }
}

/// The problems of `entries` for the release of `toolkit`, in the order of the entries. Words have none.
pub fn validate(entries: &[Entry], toolkit: ToolkitVersion) -> Vec<ListProblem> {
    let mut problems = Vec::new();
    let mut seen: Vec<(Target, Span)> = Vec::new();
    for entry in entries {
        let targets: Vec<Target> = entry.targets().collect();
        let problem = |kind| ListProblem {
            span: entry.span,
            kind,
        };
        if let Some(Err(unknown)) = targets.first().map(|target| check_known(toolkit, target.arch)) {
            problems.push(problem(ProblemKind::Unknown(unknown)));
        }
        let duplicate = targets.iter().find_map(|target| {
            let (_, earlier) = seen.iter().find(|(other, _)| other == target)?;
            Some(ProblemKind::Duplicate {
                target: *target,
                earlier: *earlier,
            })
        });
        problems.extend(duplicate.map(problem));
        let forbidden = targets.iter().find_map(|target| {
            let (earlier_target, earlier) = seen
                .iter()
                .find(|(other, _)| forbidden_pair(&[*other, *target]).is_some())?;
            Some(ProblemKind::Forbidden {
                earlier_target: *earlier_target,
                target: *target,
                earlier: *earlier,
            })
        });
        problems.extend(forbidden.map(problem));
        seen.extend(targets.into_iter().map(|target| (target, entry.span)));
    }
    problems
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use expect_test::expect;

    use super::validate;
    use crate::dialect::cmake;

    #[test]
    fn problems_name_the_entry() {
        let mut out = String::new();
        for (toolkit, list) in [
            ("13.0", "121a-real;121"),
            ("13.0", "121;121f"),
            ("13.0", "121f;121a-real;121-real"),
            ("13.0", "121-virtual;121f-real"),
            ("13.0", "121;121-real"),
            ("13.0", "121-real;121-virtual"),
            ("13.0", "121a;121a"),
            ("13.0", "70;101a;122"),
            ("12.8", "90a;103a"),
            ("13.0", "all-major"),
        ] {
            writeln!(out, "{toolkit} {list}").unwrap();
            let entries = cmake::parse(list).into_entries().unwrap();
            for problem in validate(&entries, toolkit.parse().unwrap()) {
                writeln!(out, "  {}: {}", problem.span.of(list), problem.kind).unwrap();
            }
        }
        expect![[r#"
            13.0 121a-real;121
            13.0 121;121f
              121f: nvcc refuses `sm_121f` beside `sm_121`: the plain and the family form of one compute capability cannot be built together
            13.0 121f;121a-real;121-real
              121-real: nvcc refuses `sm_121` beside `sm_121f`: the plain and the family form of one compute capability cannot be built together
            13.0 121-virtual;121f-real
            13.0 121;121-real
              121-real: an earlier entry asks for `sm_121` already
            13.0 121-real;121-virtual
            13.0 121a;121a
              121a: an earlier entry asks for `sm_121a` already
            13.0 70;101a;122
              70: CUDA 13.0 does not know `70`; it is known up to CUDA 12.9
              101a: CUDA 13.0 does not know `101a`: 101 is 110 since CUDA 13.0, so write `110a`
              122: CUDA 13.0 does not know `122`, and neither does any release from 11.8 to 13.5
            12.8 90a;103a
              103a: CUDA 12.8 does not know `103a`; it is known since CUDA 12.9
            13.0 all-major
        "#]]
        .assert_eq(&out);
    }
}
