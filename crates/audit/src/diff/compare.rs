//! Images and kernels of two modules that belong together.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use blockgate_fatbin::{Histogram, ImageKind};

use super::Change;
use super::pairing::stable_name;
use crate::report::{ImageReport, KernelReport};

/// Whether code is the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// Byte for byte.
    Identical,
    /// It is not, or only one side has it.
    Different,
    /// It cannot be told: LTO-IR, an unknown kind, or an image that could not be read.
    NotCompared,
}

impl Code {
    /// The name in machine output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Identical => "identical",
            Self::Different => "different",
            Self::NotCompared => "not-compared",
        }
    }
}

/// An image of each side, of one kind and architecture.
#[derive(Debug)]
pub struct ImageDiff<'a> {
    /// In the old input.
    pub old: Option<&'a ImageReport>,
    /// In the new input.
    pub new: Option<&'a ImageReport>,
    /// The code of the kernels, or the text of PTX.
    pub code: Code,
    /// Kernels of machine code, the same ones too, by name.
    pub kernels: Vec<KernelDiff<'a>>,
}

/// A kernel or device function of each side.
#[derive(Clone, Copy, Debug)]
pub struct KernelDiff<'a> {
    /// The mangled name, of the new side where it has it.
    pub name: &'a str,
    /// In the old input.
    pub old: Option<&'a KernelReport>,
    /// In the new input.
    pub new: Option<&'a KernelReport>,
}

impl<'a> ImageDiff<'a> {
    /// The sides that there are, the new one first.
    pub fn sides(&self) -> impl Iterator<Item = &'a ImageReport> {
        self.new.into_iter().chain(self.old)
    }

    /// Whether it came, went, or differs in code or size.
    pub fn change(&self) -> Change {
        let size = |image: &ImageReport| (image.size_bytes, image.stored_bytes);
        let same = self.code == Code::Identical && self.old.map(size) == self.new.map(size);
        Change::of(self.old, self.new, same)
    }

    /// How many more instructions the new side has; `None` where a side's are not counted.
    pub fn instructions_change(&self) -> Option<i64> {
        change_of(self.old, self.new, |image| image.instructions)
    }

    /// How many more bytes the new side takes in the file.
    pub fn stored_change_bytes(&self) -> i64 {
        change_of(self.old, self.new, |image| Some(image.stored_bytes)).unwrap_or(0)
    }
}

impl KernelDiff<'_> {
    /// Whether it came, went, or has other code.
    pub fn change(&self) -> Change {
        Change::of(self.old, self.new, self.code() == Code::Identical)
    }

    /// Whether the code is the same.
    pub fn code(&self) -> Code {
        match (self.old, self.new) {
            (Some(old), Some(new)) => match (old.digest, new.digest) {
                (Some(old), Some(new)) if old == new => Code::Identical,
                (Some(_), Some(_)) => Code::Different,
                _ => Code::NotCompared,
            },
            _ => Code::Different,
        }
    }

    /// How many more instructions the new side has; `None` where a side's are not counted.
    pub fn instructions_change(&self) -> Option<i64> {
        change_of(self.old, self.new, |kernel| kernel.instructions)
    }

    /// How many more bytes of code the new side has.
    pub fn code_change_bytes(&self) -> i64 {
        change_of(self.old, self.new, |kernel| Some(kernel.code_bytes)).unwrap_or(0)
    }

    /// Instructions by mnemonic where their number changed: before and after.
    pub fn mnemonics(&self) -> BTreeMap<&str, (u64, u64)> {
        mnemonics(
            self.old.map(|kernel| &kernel.sass),
            self.new.map(|kernel| &kernel.sass),
        )
    }
}

/// After less before; a side that is not there counts as zero.
fn change_of<T>(old: Option<T>, new: Option<T>, number: impl Fn(T) -> Option<u64>) -> Option<i64> {
    let count = |side: Option<T>| side.map_or(Some(0), &number);
    let (old, new) = (count(old)?, count(new)?);
    Some(new.cast_signed().wrapping_sub(old.cast_signed()))
}

/// Mnemonics whose number is not the same, with both numbers.
pub(super) fn mnemonics<'a>(
    old: Option<&'a Histogram>,
    new: Option<&'a Histogram>,
) -> BTreeMap<&'a str, (u64, u64)> {
    let mut numbers: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for (name, number) in old.into_iter().flat_map(Histogram::iter) {
        numbers.entry(name).or_default().0 = number;
    }
    for (name, number) in new.into_iter().flat_map(Histogram::iter) {
        numbers.entry(name).or_default().1 = number;
    }
    numbers.retain(|_, (old, new)| old != new);
    numbers
}

/// Pairs images by kind and architecture; of several alike the first with the first. `same_bytes`: both sides come from
/// members or inputs that are the same as a whole.
pub(super) fn pair_images<'a>(
    old: &[&'a ImageReport],
    new: &[&'a ImageReport],
    same_bytes: bool,
) -> Vec<ImageDiff<'a>> {
    let key = |image: &ImageReport| (kind_rank(image.kind), image.arch.map(|arch| arch.display_key()));
    let (olds, news) = (
        grouped(old.iter().copied(), key),
        grouped(new.iter().copied(), key),
    );
    joined(olds, news)
        .into_iter()
        .map(|(old, new)| compare(old, new, same_bytes))
        .collect()
}

fn compare<'a>(
    old: Option<&'a ImageReport>,
    new: Option<&'a ImageReport>,
    same_bytes: bool,
) -> ImageDiff<'a> {
    let kernels = pair_kernels(old, new);
    let code = match (old, new) {
        (Some(_), Some(_)) if same_bytes => Code::Identical,
        (Some(old), Some(new)) => match old.kind {
            ImageKind::Ptx => match (old.digest, new.digest) {
                (Some(old), Some(new)) if old == new => Code::Identical,
                (Some(_), Some(_)) => Code::Different,
                _ => Code::NotCompared,
            },
            ImageKind::Cubin if old.kernel_count.is_some() && new.kernel_count.is_some() => {
                if kernels.iter().all(|kernel| kernel.code() == Code::Identical) {
                    Code::Identical
                } else {
                    Code::Different
                }
            }
            _ => Code::NotCompared,
        },
        _ => Code::Different,
    };
    ImageDiff {
        old,
        new,
        code,
        kernels,
    }
}

fn pair_kernels<'a>(old: Option<&'a ImageReport>, new: Option<&'a ImageReport>) -> Vec<KernelDiff<'a>> {
    let by_name = |image: Option<&'a ImageReport>| {
        let kernels = image.map_or(&[][..], |image| &image.kernels);
        grouped(kernels.iter(), |kernel| stable_name(&kernel.name))
    };
    joined(by_name(old), by_name(new))
        .into_iter()
        .map(|(old, new)| KernelDiff {
            name: new.or(old).map_or("", |kernel| &kernel.name),
            old,
            new,
        })
        .collect()
}

fn grouped<'a, T, K: Ord>(
    items: impl Iterator<Item = &'a T>,
    key: impl Fn(&'a T) -> K,
) -> BTreeMap<K, VecDeque<&'a T>> {
    let mut groups: BTreeMap<K, VecDeque<&'a T>> = BTreeMap::new();
    for item in items {
        groups.entry(key(item)).or_default().push_back(item);
    }
    groups
}

/// Pairs in the order of the keys.
fn joined<'a, T, K: Ord + Clone>(
    mut old: BTreeMap<K, VecDeque<&'a T>>,
    mut new: BTreeMap<K, VecDeque<&'a T>>,
) -> Vec<(Option<&'a T>, Option<&'a T>)> {
    let keys: BTreeSet<K> = old.keys().chain(new.keys()).cloned().collect();
    let mut pairs = Vec::new();
    for key in keys {
        let mut olds = old.remove(&key).unwrap_or_default();
        let mut news = new.remove(&key).unwrap_or_default();
        while !olds.is_empty() || !news.is_empty() {
            pairs.push((olds.pop_front(), news.pop_front()));
        }
    }
    pairs
}

const fn kind_rank(kind: ImageKind) -> u32 {
    match kind {
        ImageKind::Cubin => 0,
        ImageKind::Ptx => 1,
        ImageKind::LtoIr => 2,
        ImageKind::Unknown(number) => 3 + number as u32,
    }
}
