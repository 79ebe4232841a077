//! What must not differ.

use std::collections::BTreeMap;

use blockgate_expect::Glob;
use blockgate_findings::ExitStatus;

use super::{Change, Code, ImageDiff, ModuleDiff, kernel_names};
use crate::render::demangled;
use crate::report::FileReport;

/// One `--same-code` and what came of it.
#[derive(Clone, Debug)]
pub struct Gate {
    /// As it was written.
    pub glob: Glob,
    /// What came of it.
    pub outcome: GateOutcome,
}

/// What came of a gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GateOutcome {
    /// All code that the glob names is the same: so many images of members, or kernels of images.
    Holds {
        /// How many.
        compared: u64,
        /// Whether those are kernels, not whole images.
        kernels: bool,
    },
    /// Some is not.
    Fails {
        /// One line each.
        differences: Vec<String>,
    },
    /// It could not be checked.
    NotChecked {
        /// Why.
        reason: String,
    },
}

impl Gate {
    /// 1 where it fails, 3 where it could not be checked.
    pub fn status(&self) -> ExitStatus {
        match self.outcome {
            GateOutcome::Holds { .. } => ExitStatus::Clean,
            GateOutcome::Fails { .. } => ExitStatus::Failed,
            GateOutcome::NotChecked { .. } => ExitStatus::Unreadable,
        }
    }
}

/// A glob that matches a member's name names all its code, PTX too; one that matches no member names kernels by their
/// mangled or demangled name, in machine code.
pub(super) fn check(glob: &Glob, old: &FileReport, new: &FileReport, modules: &[ModuleDiff<'_>]) -> Gate {
    let names = || {
        let members = old.members.iter().chain(&new.members).map(|member| &*member.name);
        let images = old.images.iter().chain(&new.images);
        members.chain(images.filter_map(|image| image.member.as_deref()))
    };
    let outcome = if names().any(|name| glob.is_match(name)) {
        check_members(glob, modules)
    } else {
        check_kernels(glob, modules)
    };
    Gate {
        glob: glob.clone(),
        outcome,
    }
}

fn check_members(glob: &Glob, modules: &[ModuleDiff<'_>]) -> GateOutcome {
    let mut tally = Tally::default();
    for module in modules {
        let Some(member) = module.member.filter(|member| glob.is_match(member)) else {
            continue;
        };
        for image in &module.images {
            let what = format!("{} of {member}", image_name(image));
            let change = Change::of(image.old, image.new, image.code == Code::Identical);
            tally.add(what, change, image.code);
        }
    }
    tally.outcome(false, "the members that it matches have no device code")
}

fn check_kernels(glob: &Glob, modules: &[ModuleDiff<'_>]) -> GateOutcome {
    let mut known: BTreeMap<&str, bool> = BTreeMap::new();
    let mut matches = |name: &'_ str| glob.is_match(name) || glob.is_match(&demangled(name));
    let mut tally = Tally::default();
    let mut only_ptx = false;
    for image in modules.iter().flat_map(|module| &module.images) {
        for kernel in &image.kernels {
            if *known.entry(kernel.name).or_insert_with(|| matches(kernel.name)) {
                let what = format!("{}, {}", image_name(image), demangled(kernel.name));
                tally.add(what, kernel.change(), kernel.code());
            }
        }
        // An image that could not be read has no kernels to match, and its finding fails the run already.
        if image.kernels.is_empty() {
            only_ptx |= image.sides().flat_map(kernel_names).any(&mut matches);
        }
    }
    let reason = if only_ptx {
        "only PTX has the kernels that it matches, and PTX is compared as a whole"
    } else {
        "it matches no member and no kernel"
    };
    tally.outcome(true, reason)
}

#[derive(Default)]
struct Tally {
    compared: u64,
    not_compared: Vec<String>,
    differences: Vec<String>,
}

impl Tally {
    fn add(&mut self, what: String, change: Change, code: Code) {
        match (change, code) {
            (Change::Same, _) => self.compared += 1,
            (Change::Changed, Code::NotCompared) => self.not_compared.push(what),
            (Change::Changed, _) => self.differences.push(format!("changed: {what}")),
            (Change::Added, _) => self.differences.push(format!("only in the new input: {what}")),
            (Change::Removed, _) => self.differences.push(format!("only in the old input: {what}")),
        }
    }

    fn outcome(self, kernels: bool, nothing: &str) -> GateOutcome {
        if let Some(first) = self.not_compared.first() {
            return GateOutcome::NotChecked {
                reason: format!(
                    "{} of what it names cannot be compared, first {first}",
                    self.not_compared.len()
                ),
            };
        }
        if !self.differences.is_empty() {
            return GateOutcome::Fails {
                differences: self.differences,
            };
        }
        if self.compared == 0 {
            return GateOutcome::NotChecked {
                reason: nothing.to_owned(),
            };
        }
        GateOutcome::Holds {
            compared: self.compared,
            kernels,
        }
    }
}

fn image_name(image: &ImageDiff<'_>) -> String {
    let Some(side) = image.sides().next() else {
        return String::new();
    };
    let arch = side.arch.map_or_else(|| "?".to_owned(), |arch| arch.to_string());
    format!("{arch} {}", side.kind.as_str())
}
