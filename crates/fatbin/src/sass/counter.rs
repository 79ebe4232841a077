//! Counts the instructions of code sections.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use blockgate_arch::Arch;

use super::f2fp::{self, Spelling};
use super::histogram::{Histogram, Mnemonic};
use super::mma;
use super::opcodes::{CLASSES, NAMES, NO_NAME};
use super::{Class, Exception, LOW_9};

/// Size of an instruction from sm_70 on.
pub(crate) const INSTRUCTION_BYTES: usize = 16;

/// Values of the low 12 bits.
pub(super) const FORMS: u16 = 1 << 12;

const FORM_COUNT: usize = FORMS as usize;

/// The deciding bit, above the low 12 bits.
const BIT: u16 = 1 << 12;

/// Few enough instructions at a time for the counters and for the list of special ones.
const BATCH_BYTES: usize = INSTRUCTION_BYTES << 20;

/// In place of deciding bits: the name has modifiers. No instruction is decided by this bit.
const WITH_MODIFIERS: u32 = 1 << 31;

/// Neighbours count in counts of their own: runs of one opcode would else wait for each other.
const LANES: usize = 2;

/// So many instructions with modifiers are named at a time.
const MODIFIED_BATCH: usize = 1 << 14;

/// Counts into a flat table; names are looked up once a section is done.
///
/// Nearly every instruction is one table lookup and one increment: the lookup yields the bit that tells two
/// instructions of one opcode apart (none, for most), and that bit picks the half of the table.
pub(crate) struct Counter {
    arch: Arch,
    tables: &'static Tables,
    counts: Box<[[u32; LANES]; 2 * FORM_COUNT]>,
    /// Which of the counts are not zero.
    touched: Vec<u16>,
    /// Instructions whose name has modifiers: low 12 bits and the bits that the modifiers depend on.
    modified: Vec<Modified>,
    /// Names already spelt out.
    spelt: BTreeMap<Modified, Mnemonic>,
    section: Tally,
    total: Tally,
    /// Code that is counted and not yet in a tally, in bytes.
    pending_bytes: usize,
}

/// Low 12 bits, and the bits that the modifiers depend on, as [`mma::key`] has them.
type Modified = (u16, u32);

/// What the low 12 bits and the deciding bit stand for in a class: made once for each class and kept.
struct Tables {
    /// The deciding bits of the upper word, by the low 12 bits; or [`WITH_MODIFIERS`].
    hi_masks: Box<[u32; FORM_COUNT]>,
    /// The bits of a key that the modifiers depend on, by the low 12 bits.
    key_masks: Box<[u32; FORM_COUNT]>,
    /// Index into `NAMES` by the low 12 bits and the deciding bit.
    names: Box<[u16; 2 * FORM_COUNT]>,
}

impl Tables {
    fn of(class: Option<&'static Class>) -> &'static Self {
        static OF_CLASSES: [OnceLock<Tables>; CLASSES.len()] = [const { OnceLock::new() }; CLASSES.len()];
        static OF_NONE: OnceLock<Tables> = OnceLock::new();
        let known = class.and_then(|class| CLASSES.iter().position(|other| std::ptr::eq(other, class)));
        let slot = known.and_then(|index| OF_CLASSES.get(index)).unwrap_or(&OF_NONE);
        slot.get_or_init(|| Self::new(class))
    }

    fn new(class: Option<&Class>) -> Self {
        let mut hi_masks = Box::new([0; FORM_COUNT]);
        let mut key_masks = Box::new([0; FORM_COUNT]);
        for (low12, (hi_mask, key_mask)) in (0..).zip(hi_masks.iter_mut().zip(key_masks.iter_mut())) {
            if let Some(mask) = class.and_then(|class| class.key_mask(low12)) {
                (*hi_mask, *key_mask) = (WITH_MODIFIERS, mask);
            } else if let Some(Exception::Bit { hi_mask: mask, .. }) =
                class.and_then(|class| class.exception(low12))
            {
                *hi_mask = mask;
            }
        }
        let mut names = Box::new([NO_NAME; 2 * FORM_COUNT]);
        for (index, name) in (0..).zip(names.iter_mut()) {
            let named = class.and_then(|class| class.name(index & 0xfff, index & BIT != 0));
            *name = named.unwrap_or(NO_NAME);
        }
        Self {
            hi_masks,
            key_masks,
            names,
        }
    }
}

impl Counter {
    /// For `arch`. Where its encoding is not known, every opcode is counted without a name.
    pub(crate) fn new(arch: Arch) -> Self {
        Self {
            arch,
            tables: Tables::of(Class::of(arch)),
            counts: Box::new([[0; LANES]; 2 * FORM_COUNT]),
            touched: Vec::new(),
            modified: Vec::new(),
            spelt: BTreeMap::new(),
            section: Tally::new(),
            total: Tally::new(),
            pending_bytes: 0,
        }
    }

    /// Counts the instructions of one section for the total alone, which costs less. Bytes behind the last whole instruction
    /// are not looked at.
    pub(crate) fn count_into_total(&mut self, code: &[u8]) {
        for batch in code.chunks(BATCH_BYTES) {
            if self.pending_bytes + batch.len() > BATCH_BYTES {
                self.tally_batch();
            }
            self.count_batch(batch);
            self.pending_bytes += batch.len();
        }
    }

    /// Counts the instructions of one section. Bytes behind the last whole instruction are not looked at.
    pub(crate) fn count(&mut self, code: &[u8]) -> Histogram {
        for batch in code.chunks(BATCH_BYTES) {
            self.count_batch(batch);
            self.tally_batch();
        }
        self.section.take_into(&mut self.total)
    }

    /// Everything that was counted so far.
    pub(crate) fn into_total(mut self) -> Histogram {
        self.tally_batch();
        self.section.take_into(&mut self.total);
        self.total.take_into(&mut Tally::new())
    }

    fn count_batch(&mut self, code: &[u8]) {
        let (instructions, _) = code.as_chunks::<INSTRUCTION_BYTES>();
        for some in instructions.chunks(MODIFIED_BATCH) {
            self.count_some(some);
            if self.modified.len() >= MODIFIED_BATCH {
                self.tally_modified();
            }
        }
    }

    #[allow(
        clippy::cast_possible_truncation,
        reason = "an instruction is taken apart into fields of known width"
    )]
    fn count_some(&mut self, instructions: &[[u8; INSTRUCTION_BYTES]]) {
        let Tables {
            hi_masks, key_masks, ..
        } = self.tables;
        let (counts, touched, modified) = (&mut *self.counts, &mut self.touched, &mut self.modified);
        let mut count = |instruction: &[u8; INSTRUCTION_BYTES], lane: usize| {
            let word = u128::from_le_bytes(*instruction);
            let (lo, hi) = (word as u64, (word >> 64) as u32);
            let low12 = lo as u16 & 0xfff;
            let form = usize::from(low12);
            let mask = hi_masks[form];
            if mask == WITH_MODIFIERS {
                modified.push((low12, mma::key(lo, hi) & key_masks[form]));
                return;
            }
            let half = usize::from(hi & mask != 0);
            let count = &mut counts[form | half << 12][lane];
            if *count == 0 {
                touched.push(low12 | ((half as u16) * BIT));
            }
            *count += 1;
        };
        let (groups, rest) = instructions.as_chunks::<LANES>();
        for group in groups {
            for (lane, instruction) in group.iter().enumerate() {
                count(instruction, lane);
            }
        }
        for instruction in rest {
            count(instruction, 0);
        }
    }

    /// Moves the counts of a batch to the section's tally. The lists keep their memory for the next one.
    fn tally_batch(&mut self) {
        for &index in &self.touched {
            let at = usize::from(index) % (2 * FORM_COUNT);
            let lanes = std::mem::take(&mut self.counts[at]);
            let count = lanes.iter().map(|&count| u64::from(count)).sum();
            if count == 0 {
                // Touched in more than one lane.
                continue;
            }
            match self.tables.names[at] {
                NO_NAME => self.section.add(Mnemonic::Unknown(index & 0xfff), count),
                name => self.section.add(Mnemonic::Base(name), count),
            }
        }
        self.touched.clear();
        self.pending_bytes = 0;
        self.tally_modified();
    }

    #[cold]
    fn tally_modified(&mut self) {
        self.modified.sort_unstable();
        for same in self.modified.chunk_by(|a, b| a == b) {
            if let Some(&modified) = same.first() {
                let mnemonic = self
                    .spelt
                    .entry(modified)
                    .or_insert_with(|| spell(self.arch, modified));
                self.section.add(mnemonic.clone(), same.len() as u64);
            }
        }
        self.modified.clear();
    }
}

/// The name of an instruction with modifiers.
fn spell(arch: Arch, (low12, key): Modified) -> Mnemonic {
    if low12 & LOW_9 == f2fp::OPERATION {
        let [low, high, ..] = key.to_le_bytes();
        let modifiers = u16::from_le_bytes([low, high]);
        return Mnemonic::Full(f2fp::mnemonic(modifiers, Spelling::of(arch)).into());
    }
    match mma::mnemonic(arch, low12, key) {
        Some(name) => Mnemonic::Full(name.into()),
        None => Mnemonic::Unknown(low12),
    }
}

/// Counts by name. Base mnemonics, nearly all, are an array and a set of bits, which yields them in order without
/// sorting.
struct Tally {
    base: Box<[u64; NAMES.len()]>,
    used: [u64; NAMES.len().div_ceil(64)],
    others: Vec<(Mnemonic, u64)>,
}

/// Names that are not base mnemonics repeat with every section; above this many, repetitions are added up.
const COMPACT_ABOVE: usize = 1 << 16;

impl Tally {
    fn new() -> Self {
        Self {
            base: Box::new([0; NAMES.len()]),
            used: [0; NAMES.len().div_ceil(64)],
            others: Vec::new(),
        }
    }

    fn add(&mut self, mnemonic: Mnemonic, count: u64) {
        let Mnemonic::Base(name) = mnemonic else {
            self.others.push((mnemonic, count));
            return;
        };
        let index = usize::from(name);
        if let (Some(total), Some(bits)) = (self.base.get_mut(index), self.used.get_mut(index / 64)) {
            *total += count;
            *bits |= 1 << (index % 64);
        }
    }

    /// Empties the tally, adds what it held to `total`, and gives it as a histogram.
    fn take_into(&mut self, total: &mut Self) -> Histogram {
        let used: u32 = self.used.iter().map(|bits| bits.count_ones()).sum();
        let mut counts = Vec::with_capacity(used as usize + self.others.len());
        for (word, bits) in (0..).zip(&mut self.used) {
            let mut bits = std::mem::take(bits);
            while bits != 0 {
                let name: u16 = word * 64 + low_bit(bits);
                bits &= bits - 1;
                if let Some(count) = self.base.get_mut(usize::from(name)) {
                    let count = std::mem::take(count);
                    total.add(Mnemonic::Base(name), count);
                    counts.push((Mnemonic::Base(name), count));
                }
            }
        }
        total.others.extend(self.others.iter().cloned());
        if total.others.len() > COMPACT_ABOVE {
            total.others = Histogram::from_counts(std::mem::take(&mut total.others)).into_counts();
        }
        counts.append(&mut self.others);
        Histogram::from_counts(counts)
    }
}

#[allow(clippy::cast_possible_truncation, reason = "a bit number below 64")]
const fn low_bit(bits: u64) -> u16 {
    bits.trailing_zeros() as u16
}

#[cfg(test)]
mod tests {
    use super::Counter;

    fn counted(sm: &str, instructions: &[(u64, u64)]) -> Vec<(String, u64)> {
        let code: Vec<u8> = instructions
            .iter()
            .flat_map(|(lo, hi)| lo.to_le_bytes().into_iter().chain(hi.to_le_bytes()))
            .collect();
        let histogram = Counter::new(sm.parse().unwrap()).count(&code);
        histogram
            .iter()
            .map(|(name, count)| (name.to_owned(), count))
            .collect()
    }

    fn named(expected: &[(&str, u64)]) -> Vec<(String, u64)> {
        expected
            .iter()
            .map(|&(name, count)| (name.to_owned(), count))
            .collect()
    }

    #[test]
    fn one_opcode_has_different_names_in_different_classes() {
        for (sm, name) in [
            ("80", "HFMA2"),
            ("90a", "HFMA2"),
            ("107", "IADD"),
            ("121", "IADD"),
        ] {
            assert_eq!(counted(sm, &[(0x7235, 0)]), named(&[(name, 1)]), "sm_{sm}");
        }
    }

    #[test]
    fn the_total_is_the_same_with_and_without_sections() {
        let code: Vec<u8> = (0..4096_u64)
            .flat_map(|word| {
                [
                    ((word * 0x9e37) & 0xffff).to_le_bytes(),
                    (word << 8).to_le_bytes(),
                ]
                .concat()
            })
            .collect();
        let arch = "100a".parse().unwrap();
        let (mut by_section, mut at_once) = (Counter::new(arch), Counter::new(arch));
        for section in code.chunks(1600) {
            by_section.count(section);
            at_once.count_into_total(section);
        }
        let counts = |histogram: &crate::Histogram| -> Vec<(String, u64)> {
            histogram
                .iter()
                .map(|(name, count)| (name.to_owned(), count))
                .collect()
        };
        let (by_section, at_once) = (by_section.into_total(), at_once.into_total());
        assert_eq!(at_once.total(), 4096);
        assert_eq!(counts(&by_section), counts(&at_once));
    }

    #[test]
    fn one_more_bit_decides_where_it_must() {
        let bit_76 = 1 << (76 - 64);
        assert_eq!(
            counted("100", &[(0x210, 0), (0x210, bit_76), (0x210, bit_76)]),
            named(&[("IADD", 2), ("IADD3", 1)])
        );
        assert_eq!(counted("90", &[(0x210, bit_76)]), named(&[("IADD3", 1)]));
    }

    #[test]
    fn tensor_core_instructions_are_told_apart() {
        let words = [
            (0x9ea, 0),
            (0x5ea, 1 << 8),
            (0x5ea, 3 << 8),
            (0x9ea | 1 << 63, 3 << 8),
            (0xdea, 0),
        ];
        assert_eq!(
            counted("100", &words),
            named(&[("UTCHMMA", 1), ("UTCIMMA", 1), ("UTCOMMA.4X", 1), ("UTCQMMA", 2)])
        );
        assert_eq!(counted("121", &[(0x9ea, 0)]), named(&[("?9ea", 1)]));
    }

    #[test]
    fn nothing_is_dropped() {
        assert_eq!(
            counted("75", &[(0x23e, 0x2070 << 8), (0xfff, 0)]),
            named(&[("?23e", 1), ("?fff", 1)])
        );
        assert_eq!(counted("199", &[(0x202, 0)]), named(&[("?202", 1)]));
    }
}
