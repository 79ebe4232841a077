//! What the marker kernels show about one target, and where that differs from the table.

use std::path::{Path, PathBuf};

use blockgate_arch::Arch;
use blockgate_arch::diagnostics::Cause;
use blockgate_arch::gates::{Macros, OneGate, TwoGate, Verdict, macros, one_gate, two_gate};
use blockgate_arch::toolkits::UnknownTarget;
use blockgate_findings::ExitStatus;
use blockgate_kernels::HIDDEN_CONVERTER;
use blockgate_toolkit::Toolkit;

use crate::compile::{Compiled, Compiler, Facts, Unit, first_error};

/// The value of `__CUDA_ARCH_FAMILY_SPECIFIC__` from which the caller in two_gates.cu takes the fast path.
const FAST_PATH_FROM: u32 = 1000;

/// The marker sources.
pub(super) struct Markers {
    macros: Unit,
    two_gates: Unit,
    one_gate: Unit,
}

impl Markers {
    /// Those of the kernels project in `folder`.
    pub(super) fn of(folder: &Path) -> Self {
        let unit = |name: &str| Unit {
            source: folder.join("markers").join(name),
            flags: vec![
                "-std=c++17".into(),
                "-Wno-deprecated-gpu-targets".into(),
                "-I".into(),
                PathBuf::from("src").into(),
            ],
            directory: folder.to_owned(),
        };
        Self {
            macros: unit("macros.cu"),
            two_gates: unit("two_gates.cu"),
            one_gate: unit("one_gate.cu"),
        }
    }
}

/// All targets of one run.
pub(super) struct Report {
    pub(super) toolkit: Toolkit,
    pub(super) rows: Vec<Row>,
}

/// One target.
pub(super) enum Row {
    /// It was compiled and compared.
    Checked(Observation),
    /// The toolkit does not know it.
    Skipped(UnknownTarget),
}

impl Row {
    pub(super) fn arch(&self) -> Arch {
        match self {
            Self::Checked(observation) => observation.arch,
            Self::Skipped(unknown) => unknown.arch,
        }
    }
}

impl Report {
    /// Failed where a target differs, unreadable where one has no verdict or none was compiled at all.
    pub(super) fn status(&self) -> ExitStatus {
        let none_checked = !self.rows.iter().any(|row| matches!(row, Row::Checked(_)));
        let start = if none_checked {
            ExitStatus::Unreadable
        } else {
            ExitStatus::Clean
        };
        self.rows.iter().fold(start, |status, row| match row {
            Row::Checked(observation) if !observation.unchecked.is_empty() => {
                status.and(ExitStatus::Unreadable)
            }
            Row::Checked(observation) if !observation.differences.is_empty() => {
                status.and(ExitStatus::Failed)
            }
            Row::Checked(_) | Row::Skipped(_) => status,
        })
    }
}

/// What was seen of one target. `None` where the source did not compile as it should or gave no verdict.
pub(super) struct Observation {
    pub(super) arch: Arch,
    pub(super) macros: Option<Macros>,
    pub(super) two_gates: Option<Outcome>,
    pub(super) one_gate: Option<Outcome>,
    /// Where table and observation part, one sentence each.
    pub(super) differences: Vec<String>,
    /// What could not be checked, one sentence each.
    pub(super) unchecked: Vec<String>,
}

/// What came of a gated source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) verdict: Verdict,
    /// E2M1 conversions in the machine code; `None` where there is none.
    pub(super) e2m1: Option<u64>,
}

/// Compiles the markers for `arch`.
pub(super) fn observe(compiler: &Compiler, markers: &Markers, arch: Arch) -> anyhow::Result<Observation> {
    let version = compiler.toolkit.version;
    let mut observation = Observation {
        arch,
        macros: None,
        two_gates: None,
        one_gate: None,
        differences: Vec::new(),
        unchecked: Vec::new(),
    };
    observation.add_macros(compiler.compile(&markers.macros, arch)?, macros(version, arch));
    observation.add_two_gates(
        compiler.compile(&markers.two_gates, arch)?,
        two_gate(version, arch),
    );
    observation.add_one_gate(
        compiler.compile(&markers.one_gate, arch)?,
        one_gate(version, arch),
    );
    Ok(observation)
}

impl Observation {
    /// Whether the two-gate converter exists, by the macros that were seen.
    pub(super) fn converter_defined(&self) -> Option<bool> {
        self.macros.map(|macros| macros.specific.is_some())
    }

    /// Whether the two-gate caller takes the fast path, by the macros that were seen.
    pub(super) fn fast_path(&self) -> Option<bool> {
        self.macros.map(|macros| {
            macros
                .family_specific
                .is_some_and(|value| value >= FAST_PATH_FROM)
        })
    }

    fn add_macros(&mut self, compiled: Compiled, predicted: Option<Macros>) {
        let Some(facts) = self.image(compiled, "macros.cu") else {
            return;
        };
        let found = macros_of(&facts, self.arch);
        match found {
            Some(_) if found == predicted => {}
            _ => self.differences.push(format!(
                "macros: the table has {}, the compiler defines {}",
                describe(predicted),
                describe(found)
            )),
        }
        self.macros = found;
    }

    fn add_two_gates(&mut self, compiled: Compiled, predicted: Option<TwoGate>) {
        let found = match compiled {
            // The mismatch is what this source is for; any other failure is an error like everywhere else.
            Compiled::Failed(diagnoses)
                if diagnoses
                    .iter()
                    .all(|diagnosis| is_the_mismatch(&diagnosis.cause)) =>
            {
                Outcome {
                    verdict: Verdict::DoesNotCompile,
                    e2m1: None,
                }
            }
            other => {
                let facts = self.image(other, "two_gates.cu");
                match facts.and_then(|facts| self.counted(&facts, "two_gates.cu")) {
                    Some(outcome) => outcome,
                    None => return,
                }
            }
        };
        self.compare("two gates", predicted.map(|gate| gate.verdict), found);
        self.two_gates = Some(found);
    }

    fn add_one_gate(&mut self, compiled: Compiled, predicted: Option<OneGate>) {
        let facts = self.image(compiled, "one_gate.cu");
        let Some(found) = facts.and_then(|facts| self.counted(&facts, "one_gate.cu")) else {
            return;
        };
        self.compare("one gate", predicted.map(|gate| gate.verdict), found);
        self.one_gate = Some(found);
    }

    /// The image, or a difference or doubt that is noted.
    fn image(&mut self, compiled: Compiled, source: &str) -> Option<Facts> {
        match compiled {
            Compiled::Image(facts) => Some(facts),
            Compiled::Failed(diagnoses) => {
                self.differences
                    .push(format!("{source} does not compile: {}", first_error(&diagnoses)));
                None
            }
            Compiled::Unchecked(reason) => {
                self.unchecked.push(format!("{source}: {reason}"));
                None
            }
        }
    }

    /// What the counts amount to, or a doubt that is noted.
    fn counted(&mut self, facts: &Facts, source: &str) -> Option<Outcome> {
        let Some(e2m1) = facts.e2m1 else {
            self.unchecked.push(format!(
                "{source}: instructions for {} cannot be counted",
                facts.arch
            ));
            return None;
        };
        Some(Outcome {
            verdict: if e2m1 > 0 {
                Verdict::Hardware
            } else {
                Verdict::Software
            },
            e2m1: Some(e2m1),
        })
    }

    fn compare(&mut self, model: &str, predicted: Option<Verdict>, found: Outcome) {
        if predicted != Some(found.verdict) {
            let predicted = predicted.map_or_else(|| "nothing".to_owned(), |verdict| verdict.to_string());
            self.differences.push(format!(
                "{model}: the table says {predicted}, the compiler makes {}",
                found.verdict
            ));
        }
    }
}

/// Whether the caller missed the very function that the first gate hides.
fn is_the_mismatch(cause: &Cause) -> bool {
    matches!(cause, Cause::GateMismatch { identifier, .. } if identifier == HIDDEN_CONVERTER)
}

/// The macros that the kernel names tell; `None` without the kernel that every pass has.
fn macros_of(facts: &Facts, arch: Arch) -> Option<Macros> {
    let value = |prefix: &str| {
        facts
            .kernels
            .iter()
            .find_map(|name| name.strip_prefix(prefix)?.parse().ok())
    };
    let feature = format!("marker_feat_sm{}_all", arch.number());
    Some(Macros {
        arch: value("marker_arch_")?,
        specific: value("marker_specific_"),
        family_specific: value("marker_family_"),
        feature_all: facts.kernels.contains(&feature),
    })
}

fn describe(macros: Option<Macros>) -> String {
    let Some(macros) = macros else {
        return "none at all".to_owned();
    };
    let value = |value: Option<u32>| value.map_or_else(|| "no".to_owned(), |value| value.to_string());
    format!(
        "__CUDA_ARCH__ {}, SPECIFIC {}, FAMILY_SPECIFIC {}, FEAT_ALL {}",
        macros.arch,
        value(macros.specific),
        value(macros.family_specific),
        if macros.feature_all { "yes" } else { "no" }
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use blockgate_arch::diagnostics::{Context, diagnose};
    use blockgate_arch::gates::{macros, one_gate, two_gate};
    use blockgate_arch::{Arch, ToolkitVersion};

    use super::{Observation, macros_of};
    use crate::compile::{Compiled, Facts};

    const TOOLKIT: ToolkitVersion = ToolkitVersion::new(13, 0);

    fn facts(arch: Arch, kernels: &[&str], e2m1: u64) -> Facts {
        Facts {
            arch,
            kernels: kernels.iter().map(ToString::to_string).collect(),
            instructions: Some(16),
            conversions: Some(BTreeMap::new()),
            e2m1: Some(e2m1),
            code_bytes: 256,
        }
    }

    fn empty(arch: Arch) -> Observation {
        Observation {
            arch,
            macros: None,
            two_gates: None,
            one_gate: None,
            differences: Vec::new(),
            unchecked: Vec::new(),
        }
    }

    fn failed(text: &str, arch: Arch) -> Compiled {
        let context = Context {
            pass: Some(arch),
            ..Context::of(TOOLKIT)
        };
        Compiled::Failed(diagnose(text, &context))
    }

    #[test]
    fn what_agrees_with_the_table_is_no_difference() {
        let arch: Arch = "121f".parse().unwrap();
        let mut observation = empty(arch);
        let names = ["marker_arch_1210", "marker_family_1210"];
        observation.add_macros(Compiled::Image(facts(arch, &names, 0)), macros(TOOLKIT, arch));
        let mismatch = "two_gates.cu(30): error: identifier \"convert_pair_in_hardware\" is undefined";
        observation.add_two_gates(failed(mismatch, arch), two_gate(TOOLKIT, arch));
        observation.add_one_gate(Compiled::Image(facts(arch, &[], 1)), one_gate(TOOLKIT, arch));
        assert_eq!(observation.differences, Vec::<String>::new());
        assert!(observation.two_gates.is_some() && observation.one_gate.is_some());
    }

    #[test]
    fn every_kind_of_disagreement_is_one() {
        let arch: Arch = "121a".parse().unwrap();
        let mut observation = empty(arch);
        observation.add_macros(
            Compiled::Image(facts(arch, &["marker_arch_1210", "marker_specific_1210"], 0)),
            macros(TOOLKIT, arch),
        );
        observation.add_macros(Compiled::Image(facts(arch, &[], 0)), macros(TOOLKIT, arch));
        observation.add_one_gate(Compiled::Image(facts(arch, &[], 0)), one_gate(TOOLKIT, arch));
        observation.add_two_gates(
            failed("two_gates.cu(3): error: expected a \";\"", arch),
            two_gate(TOOLKIT, arch),
        );
        expect_test::expect![[r#"
            macros: the table has __CUDA_ARCH__ 1210, SPECIFIC 1210, FAMILY_SPECIFIC 1210, FEAT_ALL yes, the compiler defines __CUDA_ARCH__ 1210, SPECIFIC 1210, FAMILY_SPECIFIC no, FEAT_ALL no
            macros: the table has __CUDA_ARCH__ 1210, SPECIFIC 1210, FAMILY_SPECIFIC 1210, FEAT_ALL yes, the compiler defines none at all
            one gate: the table says hardware, the compiler makes software
            two_gates.cu does not compile: expected a ";""#]]
        .assert_eq(&observation.differences.join("\n"));
        observation.add_macros(Compiled::Unchecked("cut short".to_owned()), None);
        let uncounted = Facts {
            instructions: None,
            conversions: None,
            e2m1: None,
            ..facts(arch, &[], 0)
        };
        observation.one_gate = None;
        observation.add_one_gate(Compiled::Image(uncounted), one_gate(TOOLKIT, arch));
        assert_eq!(
            observation.unchecked,
            [
                "macros.cu: cut short",
                "one_gate.cu: instructions for sm_121a cannot be counted"
            ]
        );
        assert_eq!(observation.one_gate, None);
    }

    #[test]
    fn another_missing_function_is_not_the_mismatch() {
        let arch: Arch = "121f".parse().unwrap();
        let mut observation = empty(arch);
        let typo = "two_gates.cu(30): error: identifier \"convert_onee\" is undefined";
        observation.add_two_gates(failed(typo, arch), two_gate(TOOLKIT, arch));
        assert_eq!(observation.differences.len(), 1);
        assert!(observation.differences[0].starts_with("two_gates.cu does not compile: "));
    }

    #[test]
    fn the_feature_macro_must_be_the_targets_own() {
        let arch: Arch = "120a".parse().unwrap();
        let names = ["marker_arch_1200", "marker_feat_sm121_all"];
        let found = macros_of(&facts(arch, &names, 0), arch).unwrap();
        assert!(!found.feature_all);
    }
}
