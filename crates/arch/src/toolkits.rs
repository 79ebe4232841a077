//! Which targets each CUDA release knows, and which names changed.

use std::fmt;

use crate::arch::{Arch, Scope};
use crate::evidence::Evidence;
use crate::version::ToolkitVersion;

/// The releases whose assembler was asked about every target below, ascending.
pub const MEASURED_RELEASES: [ToolkitVersion; 12] = [
    ToolkitVersion::new(11, 8),
    ToolkitVersion::new(12, 0),
    ToolkitVersion::new(12, 4),
    ToolkitVersion::new(12, 6),
    ToolkitVersion::new(12, 8),
    ToolkitVersion::new(12, 9),
    ToolkitVersion::new(13, 0),
    ToolkitVersion::new(13, 1),
    ToolkitVersion::new(13, 2),
    ToolkitVersion::new(13, 3),
    ToolkitVersion::new(13, 4),
    ToolkitVersion::new(13, 5),
];

const V11_8: ToolkitVersion = ToolkitVersion::new(11, 8);
const V12_0: ToolkitVersion = ToolkitVersion::new(12, 0);
const V12_8: ToolkitVersion = ToolkitVersion::new(12, 8);
const V12_9: ToolkitVersion = ToolkitVersion::new(12, 9);
const V13_0: ToolkitVersion = ToolkitVersion::new(13, 0);
const V13_4: ToolkitVersion = ToolkitVersion::new(13, 4);

/// From which release to which a group of targets is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TargetRow {
    /// The numbers of the targets: 103 and 121.
    pub numbers: &'static [u32],
    /// Their scopes.
    pub scopes: &'static [Scope],
    /// The first release that knows them. 11.8 is where the table starts: those targets may be older.
    pub first: ToolkitVersion,
    /// The last release that knows them; `None` where the newest measured one still does.
    pub last: Option<ToolkitVersion>,
    /// How it is known.
    pub evidence: Evidence,
    /// Which tool or page says so.
    pub source: &'static str,
}

const PLAIN: &[Scope] = &[Scope::Plain];
const FAMILY: &[Scope] = &[Scope::Family];
const SPECIFIC: &[Scope] = &[Scope::Specific];
const SUFFIXED: &[Scope] = &[Scope::Family, Scope::Specific];
const WITHOUT_FAMILY: &[Scope] = &[Scope::Plain, Scope::Specific];
const EVERY_SCOPE: &[Scope] = &[Scope::Plain, Scope::Family, Scope::Specific];

const fn row(
    numbers: &'static [u32],
    scopes: &'static [Scope],
    first: ToolkitVersion,
    last: Option<ToolkitVersion>,
    source: &'static str,
) -> TargetRow {
    TargetRow {
        numbers,
        scopes,
        first,
        last,
        evidence: Evidence::Compiled,
        source,
    }
}

/// Every target that any release from 11.8 to 13.5 knows.
pub const TARGETS: &[TargetRow] = &[
    row(
        &[35, 37],
        PLAIN,
        V11_8,
        Some(V11_8),
        "ptxas 11.8.89 takes them, 12.0.140 does not",
    ),
    row(
        &[50, 52, 53, 60, 61, 62, 70, 72],
        PLAIN,
        V11_8,
        Some(V12_9),
        "ptxas 11.8.89 to 12.9.86 take them, 13.0.88 does not",
    ),
    row(
        &[75, 80, 86, 87, 89, 90],
        PLAIN,
        V11_8,
        None,
        "ptxas 11.8.89 to 13.5.37 take them",
    ),
    row(
        &[90],
        SPECIFIC,
        V12_0,
        None,
        "ptxas 12.0.140 to 13.5.37 take it, 11.8.89 does not",
    ),
    row(
        &[100, 120],
        WITHOUT_FAMILY,
        V12_8,
        None,
        "ptxas 12.8.93 to 13.5.37 take them, 12.6.85 does not",
    ),
    row(
        &[100, 120],
        FAMILY,
        V12_9,
        None,
        "ptxas 12.9.86 to 13.5.37 take them, 12.8.93 does not",
    ),
    row(
        &[101],
        WITHOUT_FAMILY,
        V12_8,
        Some(V12_9),
        "ptxas 12.8.93 and 12.9.86 take them, 12.6.85 and 13.0.88 do not",
    ),
    row(
        &[101],
        FAMILY,
        V12_9,
        Some(V12_9),
        "ptxas 12.9.86 takes it, 12.8.93 and 13.0.88 do not",
    ),
    row(
        &[103, 121],
        EVERY_SCOPE,
        V12_9,
        None,
        "ptxas 12.9.86 to 13.5.37 take them, 12.8.93 does not",
    ),
    row(
        &[88],
        PLAIN,
        V13_0,
        None,
        "ptxas 13.0.88 to 13.5.37 take it, 12.9.86 does not",
    ),
    row(
        &[110],
        PLAIN,
        V13_0,
        None,
        "ptxas 13.0.88 to 13.5.37 take it, 12.9.86 does not",
    ),
    row(
        &[110],
        SUFFIXED,
        V13_0,
        None,
        "ptxas 13.0.88 to 13.5.37 take them, 12.9.86 does not",
    ),
    row(
        &[107],
        EVERY_SCOPE,
        V13_4,
        None,
        "ptxas 13.4.92 and 13.5.37 take them, 13.3.73 does not",
    ),
];

/// A capability that a release renamed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RenameRow {
    /// The number before: 101.
    pub before: u32,
    /// The number since: 110.
    pub after: u32,
    /// The first release that uses the new number.
    pub since: ToolkitVersion,
    /// How it is known.
    pub evidence: Evidence,
    /// Where it is written.
    pub source: &'static str,
}

/// The renamed capabilities.
pub const RENAMES: &[RenameRow] = &[RenameRow {
    before: 101,
    after: 110,
    since: V13_0,
    evidence: Evidence::Documented,
    source: "PTX ISA 9.0, release notes; ptxas 13.0.88 assembles PTX for sm_101f as sm_110f",
}];

/// Where an answer about a release comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// The release itself was asked.
    Measured,
    /// The measured releases before and after it give the same answer.
    Between,
    /// It lies outside the measured releases; the answer is that of the nearest one.
    Outside,
}

/// Whether a release knows a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Knowledge {
    /// Whether it does.
    pub known: bool,
    /// How sure that is.
    pub basis: Basis,
}

fn rows_of(arch: Arch) -> impl Iterator<Item = &'static TargetRow> {
    TARGETS
        .iter()
        .filter(move |row| row.numbers.contains(&arch.number()) && row.scopes.contains(&arch.scope()))
}

/// Whether the release of `toolkit` knows `arch`. The patch version makes no difference.
pub fn knows(toolkit: ToolkitVersion, arch: Arch) -> Knowledge {
    let release = toolkit.release();
    let [oldest, .., newest] = MEASURED_RELEASES;
    let basis = if MEASURED_RELEASES.contains(&release) {
        Basis::Measured
    } else if release < oldest || release > newest {
        Basis::Outside
    } else {
        Basis::Between
    };
    let asked = release.clamp(oldest, newest);
    // An unmeasured release between two that disagree counts with the earlier one. No release lies there:
    // 12.7 was never published.
    let known = rows_of(arch).any(|row| asked >= row.first && row.last.is_none_or(|last| asked <= last));
    Knowledge { known, basis }
}

/// The first and last release that know `arch`, or `None` where no release from 11.8 to 13.5 does.
pub fn releases_that_know(arch: Arch) -> Option<Releases> {
    rows_of(arch)
        .map(|row| Releases {
            first: row.first,
            last: row.last,
        })
        .next()
}

/// A span of releases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Releases {
    /// The first; 11.8 means that or an earlier one.
    pub first: ToolkitVersion,
    /// The last; `None` where the newest measured release is still one.
    pub last: Option<ToolkitVersion>,
}

/// `since CUDA 12.9`, `up to CUDA 12.9`, `in CUDA 12.8 to 12.9`.
impl fmt::Display for Releases {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.first, self.last) {
            (V11_8, Some(last)) => write!(f, "up to CUDA {last}"),
            (first, Some(last)) if first == last => write!(f, "in CUDA {first} only"),
            (first, Some(last)) => write!(f, "in CUDA {first} to {last}"),
            (V11_8, None) => write!(f, "since CUDA 11.8 or earlier"),
            (first, None) => write!(f, "since CUDA {first}"),
        }
    }
}

/// The row that renames `arch` for `toolkit`, with the name that the release uses, where it is another.
pub fn renamed(toolkit: ToolkitVersion, arch: Arch) -> Option<(&'static RenameRow, Arch)> {
    RENAMES.iter().find_map(|row| {
        let number = if toolkit >= row.since && arch.number() == row.before {
            row.after
        } else if toolkit < row.since && arch.number() == row.after {
            row.before
        } else {
            return None;
        };
        Some((row, Arch::from_number(number, arch.scope())?))
    })
}

/// Every target that `toolkit` knows, in display order.
pub fn targets_of(toolkit: ToolkitVersion) -> Vec<Arch> {
    let mut archs: Vec<Arch> = TARGETS
        .iter()
        .flat_map(|row| {
            row.numbers.iter().flat_map(|number| {
                row.scopes
                    .iter()
                    .filter_map(|scope| Arch::from_number(*number, *scope))
            })
        })
        .filter(|arch| knows(toolkit, *arch).known)
        .collect();
    archs.sort_by_key(|arch| arch.display_key());
    archs
}

/// Why a release does not know a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownTarget {
    /// The target.
    pub arch: Arch,
    /// The release.
    pub toolkit: ToolkitVersion,
    /// How sure that is.
    pub basis: Basis,
}

/// One sentence: what the release lacks, which releases have it, and the other name where there is one.
impl fmt::Display for UnknownTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { arch, toolkit, basis } = self;
        let release = toolkit.release();
        write!(f, "CUDA {release} does not know `{}`", arch.token())?;
        if let Some((row, name)) = renamed(*toolkit, *arch) {
            if *toolkit >= row.since {
                write!(f, ": {} is {} since CUDA {}", row.before, row.after, row.since)?;
            } else {
                write!(f, ": {} is {} before CUDA {}", row.after, row.before, row.since)?;
            }
            write!(f, ", so write `{}`", name.token())?;
        } else if let Some(releases) = releases_that_know(*arch) {
            write!(f, "; it is known {releases}")?;
        } else {
            write!(f, ", and neither does any release from 11.8 to 13.5")?;
        }
        if *basis == Basis::Outside {
            write!(f, " (CUDA {release} itself is outside this table)")?;
        }
        Ok(())
    }
}

/// [`knows`] as a result whose error explains itself.
pub fn check_known(toolkit: ToolkitVersion, arch: Arch) -> Result<(), UnknownTarget> {
    let Knowledge { known, basis } = knows(toolkit, arch);
    if known {
        Ok(())
    } else {
        Err(UnknownTarget { arch, toolkit, basis })
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::{Basis, MEASURED_RELEASES, TARGETS, check_known, knows, renamed, targets_of};
    use crate::{Arch, ToolkitVersion};

    fn arch(text: &str) -> Arch {
        text.parse().unwrap()
    }

    fn version(text: &str) -> ToolkitVersion {
        text.parse().unwrap()
    }

    /// Recorded by asking each ptxas for every number from 30 to 130 in each scope, so that a row that was
    /// mistyped differs from it.
    #[test]
    fn every_measured_release_knows_what_its_assembler_took() {
        let mut listing = String::new();
        for release in MEASURED_RELEASES {
            let names: Vec<String> = targets_of(release)
                .iter()
                .map(|arch| arch.token().to_string())
                .collect();
            listing.push_str(&format!("{release}: {}\n", names.join(" ")));
        }
        let recorded = include_str!("../../../fixtures/nvcc/ptxas-targets.txt");
        assert_eq!(listing, recorded);
    }

    #[test]
    fn no_target_stands_in_two_rows() {
        let all: Vec<(u32, _)> = TARGETS
            .iter()
            .flat_map(|row| row.numbers.iter().map(move |number| (*number, row.scopes)))
            .flat_map(|(number, scopes)| scopes.iter().map(move |scope| (number, *scope)))
            .collect();
        for (index, target) in all.iter().enumerate() {
            assert!(!all[..index].contains(target), "{target:?}");
        }
    }

    #[test]
    fn in_between_and_outside_releases_are_answered_and_marked() {
        let cases = [
            ("12.5", "90a", true, Basis::Between),
            ("12.3", "120", false, Basis::Between),
            ("13.0.88", "121a", true, Basis::Measured),
            ("11.4", "90", true, Basis::Outside),
            ("14.0", "121f", true, Basis::Outside),
        ];
        for (toolkit, name, known, basis) in cases {
            let answer = knows(version(toolkit), arch(name));
            assert_eq!(
                (answer.known, answer.basis),
                (known, basis),
                "{name} in {toolkit}"
            );
        }
    }

    #[test]
    fn unknown_targets_explain_themselves() {
        let mut text = String::new();
        for (toolkit, name) in [
            ("13.0", "101"),
            ("13.0", "101a"),
            ("12.9", "110"),
            ("12.8.93", "121a"),
            ("12.8", "10.3a"),
            ("12.8", "120f"),
            ("13.0", "70"),
            ("13.0", "122a"),
            ("14.0", "70"),
        ] {
            text.push_str(&format!(
                "{}\n",
                check_known(version(toolkit), arch(name)).unwrap_err()
            ));
        }
        expect![[r#"
            CUDA 13.0 does not know `101`: 101 is 110 since CUDA 13.0, so write `110`
            CUDA 13.0 does not know `101a`: 101 is 110 since CUDA 13.0, so write `110a`
            CUDA 12.9 does not know `110`: 110 is 101 before CUDA 13.0, so write `101`
            CUDA 12.8 does not know `121a`; it is known since CUDA 12.9
            CUDA 12.8 does not know `103a`; it is known since CUDA 12.9
            CUDA 12.8 does not know `120f`; it is known since CUDA 12.9
            CUDA 13.0 does not know `70`; it is known up to CUDA 12.9
            CUDA 13.0 does not know `122a`, and neither does any release from 11.8 to 13.5
            CUDA 14.0 does not know `70`; it is known up to CUDA 12.9 (CUDA 14.0 itself is outside this table)
        "#]]
        .assert_eq(&text);
    }

    // jax-ml/jax#38155: which name is right depends on the toolkit.
    #[test]
    fn a_rename_works_in_both_directions() {
        assert_eq!(renamed(version("13.0"), arch("101a")).unwrap().1, arch("110a"));
        assert_eq!(renamed(version("12.9"), arch("110f")).unwrap().1, arch("101f"));
        assert!(renamed(version("12.9"), arch("101")).is_none());
        assert!(renamed(version("13.0"), arch("110")).is_none());
    }
}
