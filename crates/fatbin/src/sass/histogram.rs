//! How often each mnemonic occurs.

use std::cmp::Ordering;
use std::fmt;
use std::sync::{Arc, LazyLock};

use super::f2fp::converts_to_e2m1;
use super::opcodes::NAMES;

/// Instructions by mnemonic: base mnemonics, and for `F2FP` and the matrix instructions of warp groups, tensor cores and
/// block-scaled formats all modifiers too; see [`can_name`](crate::can_name). An opcode without a known name counts as
/// `?` and its low 12 bits in hexadecimal.
///
/// ```
/// use blockgate_fatbin::{Histogram, InspectOptions, Limits, read};
/// # use blockgate_arch::{Arch, Scope, ToolkitVersion};
/// # use blockgate_fatbin::write::{Cubin, Kernel, instruction};
/// # let code = [0x220, 0x220, 0x981, 0x94d].map(instruction);
/// # let bytes = Cubin::new(Arch::new(8, 9, Scope::Plain), ToolkitVersion::new(13, 0))
/// #     .kernel(Kernel::new("k", code))
/// #     .build()?;
/// # let artifact = read(&bytes, &Limits::default())?;
/// # let inspection = artifact.images[0].inspect(&Limits::default(), &InspectOptions::default())?;
///
/// let sass: &Histogram = &inspection.sass;
/// assert_eq!(sass.get("FMUL"), 2);
/// let all: Vec<(&str, u64)> = sass.iter().collect();
/// assert_eq!(all, [("EXIT", 1), ("FMUL", 2), ("LDG", 1), ("NOP", 4)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Histogram {
    /// Sorted by name, each name once, no count of zero.
    counts: Vec<(Mnemonic, u64)>,
}

/// A name, kept small: there is one for each mnemonic of each kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Mnemonic {
    /// Index into the generated table of names.
    Base(u16),
    /// The low 12 bits of an opcode without a name.
    Unknown(u16),
    /// A name with modifiers.
    Full(Arc<str>),
}

/// `?000` to `?fff`.
static UNKNOWN_NAMES: LazyLock<Vec<String>> =
    LazyLock::new(|| (0..0x1000).map(|low12| format!("?{low12:03x}")).collect());

impl Mnemonic {
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Base(index) => NAMES.get(usize::from(*index)).copied().unwrap_or("?"),
            Self::Unknown(low12) => UNKNOWN_NAMES.get(usize::from(*low12)).map_or("?", String::as_str),
            Self::Full(name) => name,
        }
    }

    /// By name. The table of base mnemonics is sorted, so that its indices mostly save comparing text.
    fn compare(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Base(a), Self::Base(b)) => a.cmp(b),
            _ => self.name().cmp(other.name()),
        }
    }
}

impl Histogram {
    /// From counts in any order; a name may occur more than once.
    pub(crate) fn from_counts(mut counts: Vec<(Mnemonic, u64)>) -> Self {
        counts.retain(|&(_, count)| count != 0);
        counts.sort_unstable_by(|(a, _), (b, _)| a.compare(b));
        counts.dedup_by(|(name, count), (kept, total)| {
            let same = name.compare(kept).is_eq();
            if same {
                *total += *count;
            }
            same
        });
        Self { counts }
    }

    pub(crate) fn into_counts(self) -> Vec<(Mnemonic, u64)> {
        self.counts
    }

    /// Name and count, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.counts.iter().map(|(name, count)| (name.name(), *count))
    }

    /// How many instructions have exactly this name.
    pub fn get(&self, name: &str) -> u64 {
        let found = self.counts.binary_search_by(|(other, _)| other.name().cmp(name));
        found
            .ok()
            .and_then(|index| self.counts.get(index))
            .map_or(0, |&(_, count)| count)
    }

    /// All instructions.
    pub fn total(&self) -> u64 {
        self.counts.iter().map(|(_, count)| count).sum()
    }

    /// How many instructions convert to E2M1; see [`converts_to_e2m1`](crate::converts_to_e2m1).
    pub fn e2m1_conversions(&self) -> u64 {
        let conversions = self.counts.iter().filter(|(mnemonic, _)| {
            // Only names with modifiers say what they convert.
            matches!(mnemonic, Mnemonic::Full(name) if converts_to_e2m1(name))
        });
        conversions.map(|(_, count)| count).sum()
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Self) {
        let mut added = Vec::new();
        for (name, count) in &other.counts {
            match self.counts.binary_search_by(|(known, _)| known.compare(name)) {
                Ok(index) => {
                    if let Some((_, total)) = self.counts.get_mut(index) {
                        *total += count;
                    }
                }
                Err(_) => added.push((name.clone(), *count)),
            }
        }
        if !added.is_empty() {
            self.counts.append(&mut added);
            self.counts.sort_unstable_by(|(a, _), (b, _)| a.compare(b));
        }
    }
}

impl fmt::Debug for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::{Histogram, Mnemonic};

    #[test]
    fn conversions_to_e2m1_are_added_up() {
        let full = |name: &str| Mnemonic::Full(name.into());
        let histogram = Histogram::from_counts(vec![
            (full("F2FP.SATFINITE.E2M1.F32.PACK_AB_MERGE_C"), 2),
            (full("F2FP.SATFINITE.RELU.E2M1.BF16.UNPACK_B_MERGE_C"), 3),
            (full("F2FP.F16.E2M1.UNPACK_B"), 5),
            (Mnemonic::Base(0), 7),
        ]);
        assert_eq!(histogram.e2m1_conversions(), 5);
    }

    #[test]
    fn merging_adds_and_keeps_the_order() {
        let full = |name: &str| Mnemonic::Full(name.into());
        let mut left = Histogram::from_counts(vec![(full("F2FP.B"), 2), (Mnemonic::Unknown(0xabc), 1)]);
        let right = Histogram::from_counts(vec![(full("F2FP.B"), 3), (full("F2FP.A"), 1), (full("X"), 0)]);
        left.merge(&right);
        let counts: Vec<_> = left.iter().collect();
        assert_eq!(counts, [("?abc", 1), ("F2FP.A", 1), ("F2FP.B", 5)]);
        assert_eq!((left.total(), left.get("F2FP.B"), left.get("X")), (7, 5, 0));
    }
}
