//! The architecture macros that nvcc predefines in the device pass of each target.

use crate::arch::{Arch, Scope};
use crate::evidence::Evidence;
use crate::toolkits::knows;
use crate::version::ToolkitVersion;

/// Which macros the targets of one scope define, from one release on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MacroRow {
    /// The scope.
    pub scope: Scope,
    /// The first release that behaves so; until a later row of the same scope.
    pub since: ToolkitVersion,
    /// Whether `__CUDA_ARCH_SPECIFIC__` is defined, with the target's own value.
    pub specific: bool,
    /// Whether `__CUDA_ARCH_FAMILY_SPECIFIC__` is defined, with the target's own value.
    pub family_specific: bool,
    /// Whether `__CUDA_ARCH_FEAT_SMNN_ALL` is defined.
    pub feature_all: bool,
    /// How it is known.
    pub evidence: Evidence,
    /// What was run.
    pub source: &'static str,
}

/// The macros, by scope and release.
pub const MACROS: &[MacroRow] = &[
    MacroRow {
        scope: Scope::Plain,
        since: ToolkitVersion::new(11, 8),
        specific: false,
        family_specific: false,
        feature_all: false,
        evidence: Evidence::Compiled,
        source: "nvcc -dryrun of 12.4, 13.0 and 13.5; NVRTC 12.4, 12.8, 12.9 and 13.0",
    },
    MacroRow {
        scope: Scope::Family,
        since: ToolkitVersion::new(12, 9),
        specific: false,
        family_specific: true,
        feature_all: false,
        evidence: Evidence::Compiled,
        source: "kernels compiled by nvcc 13.0 and 13.5; NVRTC 12.9 and 13.0",
    },
    MacroRow {
        scope: Scope::Specific,
        since: ToolkitVersion::new(12, 0),
        specific: false,
        family_specific: false,
        feature_all: true,
        evidence: Evidence::Compiled,
        source: "nvcc -dryrun of 12.4; NVRTC 12.4 and 12.8",
    },
    MacroRow {
        scope: Scope::Specific,
        since: ToolkitVersion::new(12, 9),
        specific: true,
        family_specific: true,
        feature_all: true,
        evidence: Evidence::Compiled,
        source: "kernels compiled by nvcc 13.0 and 13.5; NVRTC 12.9 and 13.0, which lack the FEAT macro of 121a",
    },
];

/// The macros of one pass. Values are those that the preprocessor sees: 1210 for 12.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Macros {
    /// `__CUDA_ARCH__`.
    pub arch: u32,
    /// `__CUDA_ARCH_SPECIFIC__`.
    pub specific: Option<u32>,
    /// `__CUDA_ARCH_FAMILY_SPECIFIC__`: the target's own number, not that of the family's first member.
    pub family_specific: Option<u32>,
    /// Whether `__CUDA_ARCH_FEAT_SMNN_ALL` is defined, NN being the target's number.
    pub feature_all: bool,
}

impl Macros {
    /// The name of the feature macro that is defined, `__CUDA_ARCH_FEAT_SM121_ALL`. It names the target itself,
    /// so code behind the macro of one target is absent from every other, later ones included.
    pub fn feature_macro(&self) -> Option<String> {
        self.feature_all
            .then(|| format!("__CUDA_ARCH_FEAT_SM{}_ALL", self.arch / 10))
    }
}

/// The macros that the pass for `arch` defines under `toolkit`, or `None` where the toolkit does not know the
/// target.
pub fn macros(toolkit: ToolkitVersion, arch: Arch) -> Option<Macros> {
    if !knows(toolkit, arch).known {
        return None;
    }
    let row = MACROS
        .iter()
        .rfind(|row| row.scope == arch.scope() && toolkit >= row.since)?;
    let value = arch.number() * 10;
    Some(Macros {
        arch: value,
        specific: row.specific.then_some(value),
        family_specific: row.family_specific.then_some(value),
        feature_all: row.feature_all,
    })
}

#[cfg(test)]
mod tests {
    use super::{MACROS, Macros, macros};
    use crate::{Arch, ToolkitVersion};

    /// The compiler library of 12.9 and 13.0 leaves this one out; the compiler itself defines it.
    const WITHOUT_FEATURE_IN_NVRTC: &str = "121a";

    #[test]
    fn the_table_agrees_with_the_recorded_answers() {
        let recorded = include_str!("../../../../fixtures/nvcc/macros.txt");
        for line in recorded.lines() {
            let (target, kernels) = line.split_once(':').unwrap();
            let (release, name) = target.split_once(' ').unwrap();
            let kernels: Vec<&str> = kernels.split_whitespace().collect();
            let arch: Arch = name.parse().unwrap();
            let value = |prefix: &str| {
                let kernel = kernels.iter().find_map(|kernel| kernel.strip_prefix(prefix))?;
                Some(kernel.parse::<u32>().unwrap())
            };
            let found = macros(release.parse().unwrap(), arch).unwrap();
            assert_eq!(found.specific, value("specific_"), "{target}");
            assert_eq!(found.family_specific, value("family_"), "{target}");
            if name != WITHOUT_FEATURE_IN_NVRTC {
                assert_eq!(
                    found.feature_all,
                    value("feat_") == Some(arch.number()),
                    "{target}"
                );
            }
        }
        assert_eq!(recorded.lines().count(), 45);
    }

    // sgl-project/sglang#9807: a guard that names one target compiles the empty branch on the next.
    #[test]
    fn a_feature_macro_is_that_of_one_target() {
        let guarded = |name: &str| {
            let found = macros(ToolkitVersion::new(13, 0), name.parse().unwrap()).unwrap();
            found.feature_macro().as_deref() == Some("__CUDA_ARCH_FEAT_SM100_ALL")
        };
        assert!(guarded("100a"));
        assert!(!guarded("103a") && !guarded("100f") && !guarded("100"));
    }

    #[test]
    fn later_rows_of_a_scope_follow_earlier_ones() {
        for (index, row) in MACROS.iter().enumerate() {
            for earlier in MACROS[..index].iter().filter(|other| other.scope == row.scope) {
                assert!(earlier.since < row.since);
            }
        }
    }

    #[test]
    fn macros_per_target_and_release() {
        let cases = [
            ("13.0", "121", Some((None, None, false))),
            ("13.0", "121f", Some((None, Some(1210), false))),
            ("13.0", "121a", Some((Some(1210), Some(1210), true))),
            ("12.9", "120a", Some((Some(1200), Some(1200), true))),
            ("12.8", "120a", Some((None, None, true))),
            ("12.4", "90a", Some((None, None, true))),
            ("13.0", "90a", Some((Some(900), Some(900), true))),
            ("12.8", "121a", None),
        ];
        for (toolkit, name, expected) in cases {
            let found = macros(toolkit.parse().unwrap(), name.parse().unwrap());
            let expected = expected.map(|(specific, family_specific, feature_all)| Macros {
                arch: name.trim_end_matches(['a', 'f']).parse::<u32>().unwrap() * 10,
                specific,
                family_specific,
                feature_all,
            });
            assert_eq!(found, expected, "{name} under {toolkit}");
        }
    }
}
