//! What is different between two inputs: by member, module, architecture and kernel.
//!
//! Machine code is compared byte by byte (by digest), kernel by kernel: the contents of the code sections, and of PTX the
//! text. Relocations, notes, debug information and constant data are not looked at, so that "identical" is said of code,
//! and of a member or input as a whole only where all its bytes are the same.

mod compare;
mod gate;
mod pairing;
mod totals;

use std::collections::{BTreeMap, BTreeSet};

use blockgate_expect::Glob;
use blockgate_findings::{ExitStatus, Finding};

pub use compare::{Code, ImageDiff, KernelDiff};
pub use gate::{Gate, GateOutcome};
pub use totals::{ArchTotals, Before, totals};

use crate::Options;
use crate::modules::modules;
use crate::report::{FileReport, ImageReport, MemberReport, Report};

/// The options of an audit whose report can be compared.
pub fn options() -> Options {
    Options {
        kernels: true,
        entries: true,
        digests: true,
        ..Options::default()
    }
}

/// What became of something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Only the new input has it.
    Added,
    /// Only the old input has it.
    Removed,
    /// Both have it, and it is not the same.
    Changed,
    /// Both have it, and it is the same.
    Same,
}

impl Change {
    /// The name in machine output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Changed => "changed",
            Self::Same => "same",
        }
    }

    fn of<T>(old: Option<T>, new: Option<T>, same: bool) -> Self {
        match (old, new) {
            (None, _) => Self::Added,
            (_, None) => Self::Removed,
            _ if same => Self::Same,
            _ => Self::Changed,
        }
    }
}

/// Two inputs, compared.
#[derive(Debug)]
pub struct Diff<'a> {
    /// The old input.
    pub old: &'a FileReport,
    /// The new input.
    pub new: &'a FileReport,
    /// Members by name, in the order of the old input, then those that came.
    pub members: Vec<MemberDiff<'a>>,
    /// Modules, by member and in file order.
    pub modules: Vec<ModuleDiff<'a>>,
    /// The gates, in the order in which they were given.
    pub gates: Vec<Gate>,
    /// What was found wrong or doubtful in the old input, then in the new one.
    pub findings: Vec<&'a Finding>,
    reading: ExitStatus,
}

/// A member of an archive, package or folder.
#[derive(Clone, Copy, Debug)]
pub struct MemberDiff<'a> {
    /// Its full name.
    pub name: &'a str,
    /// In the old input.
    pub old: Option<&'a MemberReport>,
    /// In the new input.
    pub new: Option<&'a MemberReport>,
}

/// A module: a translation unit, or a region of a linked file.
#[derive(Debug)]
pub struct ModuleDiff<'a> {
    /// The member that holds it.
    pub member: Option<&'a str>,
    /// Its region in the old input.
    pub old_region: Option<u32>,
    /// Its region in the new input. Regions are paired by their kernels, so that one that is put in between moves no other.
    pub new_region: Option<u32>,
    /// Its images by kind and architecture.
    pub images: Vec<ImageDiff<'a>>,
}

impl MemberDiff<'_> {
    /// Whether all its bytes are the same.
    pub fn change(&self) -> Change {
        let same = match (self.old, self.new) {
            (Some(old), Some(new)) => old.digest.is_some() && old.digest == new.digest,
            _ => false,
        };
        Change::of(self.old, self.new, same)
    }
}

impl ModuleDiff<'_> {
    /// Whether any image came, went or changed.
    pub fn change(&self) -> Change {
        let same = self.images.iter().all(|image| image.change() == Change::Same);
        Change::of(self.old_region, self.new_region, same)
    }

    /// The name of one of its kernels, to tell regions of a linked file apart.
    pub fn a_kernel(&self) -> Option<&str> {
        let named = self.images.iter().flat_map(ImageDiff::sides);
        named.flat_map(kernel_names).next()
    }
}

impl Diff<'_> {
    /// Whether all bytes of the two inputs are the same.
    pub fn is_identical(&self) -> bool {
        self.old.digest.is_some() && self.old.digest == self.new.digest
    }

    /// 3 where something could not be read or a gate could not be checked, 1 where a gate does not hold, else 0: a
    /// difference is no failure.
    pub fn status(&self) -> ExitStatus {
        self.gates
            .iter()
            .fold(self.reading, |status, gate| status.and(gate.status()))
    }
}

/// Compares the first input of each report; both must come from audits with [`options`].
///
/// `same_code` names what must not differ: members by name, or where no member matches, kernels by mangled or demangled
/// name. `None` where a report has no input.
pub fn diff<'a>(old: &'a Report, new: &'a Report, same_code: &[Glob]) -> Option<Diff<'a>> {
    let (old_file, new_file) = (old.files.first()?, new.files.first()?);
    let members = pair_members(&old_file.members, &new_file.members);
    let modules = pair_modules(old_file, new_file, &members);
    let gates = same_code
        .iter()
        .map(|glob| gate::check(glob, old_file, new_file, &modules))
        .collect();
    Some(Diff {
        old: old_file,
        new: new_file,
        members,
        modules,
        gates,
        findings: old.findings.iter().chain(&new.findings).collect(),
        reading: old.status(false).and(new.status(false)),
    })
}

/// Members by name; of several with one name the first with the first, and so on.
fn pair_members<'a>(old: &'a [MemberReport], new: &'a [MemberReport]) -> Vec<MemberDiff<'a>> {
    let mut places: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, member) in new.iter().enumerate().rev() {
        places.entry(&member.name).or_default().push(index);
    }
    let mut taken = BTreeSet::new();
    let mut members: Vec<MemberDiff<'a>> = Vec::with_capacity(old.len());
    for member in old {
        let place = places.get_mut(&*member.name).and_then(Vec::pop);
        taken.extend(place);
        members.push(MemberDiff {
            name: &member.name,
            old: Some(member),
            new: place.map(|place| &new[place]),
        });
    }
    let added = new.iter().enumerate().filter(|(index, _)| !taken.contains(index));
    members.extend(added.map(|(_, member)| MemberDiff {
        name: &member.name,
        old: None,
        new: Some(member),
    }));
    members
}

fn pair_modules<'a>(
    old: &'a FileReport,
    new: &'a FileReport,
    members: &[MemberDiff<'a>],
) -> Vec<ModuleDiff<'a>> {
    type Sides<'a> = (Vec<Vec<&'a ImageReport>>, Vec<Vec<&'a ImageReport>>);
    let mut by_member: BTreeMap<Option<&'a str>, Sides<'a>> = BTreeMap::new();
    for module in modules(&old.images) {
        by_member.entry(member_of(&module)).or_default().0.push(module);
    }
    for module in modules(&new.images) {
        by_member.entry(member_of(&module)).or_default().1.push(module);
    }
    let whole_input = old.digest.is_some() && old.digest == new.digest;
    let untouched: BTreeSet<&str> = untouched(members);
    let mut diffs = Vec::new();
    for (member, (old, new)) in by_member {
        // Bytes that are the same need no reading, which is the only answer there is for what cannot be read.
        let same_bytes = whole_input || member.is_some_and(|member| untouched.contains(member));
        for (old_at, new_at) in pairing::pair(&old, &new) {
            let old_images = old_at.map_or(&[][..], |at| &old[at]);
            let new_images = new_at.map_or(&[][..], |at| &new[at]);
            diffs.push(ModuleDiff {
                member,
                old_region: old_images.first().map(|image| image.region),
                new_region: new_images.first().map(|image| image.region),
                images: compare::pair_images(old_images, new_images, same_bytes),
            });
        }
    }
    diffs
}

/// Names of members whose bytes are all the same, under every one that has the name.
fn untouched<'a>(members: &[MemberDiff<'a>]) -> BTreeSet<&'a str> {
    let touched: BTreeSet<&str> = members
        .iter()
        .filter(|member| member.change() != Change::Same)
        .map(|member| member.name)
        .collect();
    members
        .iter()
        .map(|member| member.name)
        .filter(|name| !touched.contains(name))
        .collect()
}

fn member_of<'a>(module: &[&'a ImageReport]) -> Option<&'a str> {
    module.first().and_then(|image| image.member.as_deref())
}

/// The names of the code sections of a cubin, and of the entries of PTX.
pub(crate) fn kernel_names(image: &ImageReport) -> impl Iterator<Item = &str> {
    let code = image.kernels.iter().map(|kernel| kernel.name.as_str());
    let entries = image.entries.iter().map(String::as_str);
    code.chain(entries.filter(|_| image.kernels.is_empty()))
}
