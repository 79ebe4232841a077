//! Counts the instructions of code sections.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use blockgate_arch::Arch;

use super::f2fp::{self, Spelling};
use super::histogram::{Histogram, Mnemonic};
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

/// The low 9 bits of the tensor-core instructions `UTC*MMA`.
const TENSOR_CORE: u16 = 0x1ea;

/// Counts into a flat table; names are looked up once a section is done.
///
/// Nearly every instruction is one table lookup and one increment: the lookup yields the bit that tells two
/// instructions of one opcode apart (none, for most), and that bit picks the half of the table.
pub(crate) struct Counter {
    class: Option<&'static Class>,
    spelling: Spelling,
    tables: &'static Tables,
    counts: Box<[u32; 2 * FORM_COUNT]>,
    /// Which of the counts are not zero.
    touched: Vec<u16>,
    /// Instructions whose name depends on more than one bit: low 12 bits and what tells them apart.
    special: Vec<(u16, u16)>,
    /// Names of conversions already spelt out, by modifiers.
    conversions: BTreeMap<u16, Mnemonic>,
    section: Tally,
    total: Tally,
    /// Code that is counted and not yet in a tally, in bytes.
    pending_bytes: usize,
}

/// What the low 12 bits and the deciding bit stand for in a class: made once for each class and kept.
struct Tables {
    /// The deciding bits of the upper word, by the low 12 bits.
    hi_masks: Box<[u32; FORM_COUNT]>,
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
        for (low12, exception) in class.map_or(&[][..], |class| class.exceptions) {
            if let (Exception::Bit { hi_mask, .. }, Some(mask)) =
                (exception, hi_masks.get_mut(usize::from(*low12)))
            {
                *mask = *hi_mask;
            }
        }
        let mut names = Box::new([NO_NAME; 2 * FORM_COUNT]);
        for (index, name) in (0..).zip(names.iter_mut()) {
            let named = class.and_then(|class| class.name(index & 0xfff, index & BIT != 0));
            *name = named.unwrap_or(NO_NAME);
        }
        Self { hi_masks, names }
    }
}

impl Counter {
    /// For `arch`. Where its encoding is not known, every opcode is counted without a name.
    pub(crate) fn new(arch: Arch) -> Self {
        let class = Class::of(arch);
        Self {
            class,
            spelling: Spelling::of(arch),
            tables: Tables::of(class),
            counts: Box::new([0; 2 * FORM_COUNT]),
            touched: Vec::new(),
            special: Vec::new(),
            conversions: BTreeMap::new(),
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

    #[allow(
        clippy::cast_possible_truncation,
        reason = "an instruction is taken apart into fields of known width"
    )]
    fn count_batch(&mut self, code: &[u8]) {
        let (instructions, _) = code.as_chunks::<INSTRUCTION_BYTES>();
        for instruction in instructions {
            let word = u128::from_le_bytes(*instruction);
            let (lo, hi) = (word as u64, (word >> 64) as u32);
            let low12 = lo as u16 & 0xfff;
            let operation = low12 & LOW_9;
            if operation == f2fp::OPERATION {
                self.special.push((low12, f2fp::modifiers(hi)));
                continue;
            }
            if operation == TENSOR_CORE {
                self.special.push((low12, tensor_core_key(lo, hi)));
                continue;
            }
            let form = usize::from(low12);
            let half = usize::from(hi & self.tables.hi_masks[form] != 0);
            let count = &mut self.counts[form | half << 12];
            if *count == 0 {
                self.touched.push(low12 | ((half as u16) * BIT));
            }
            *count += 1;
        }
    }

    /// Moves the counts of a batch to the section's tally. The lists keep their memory for the next one.
    fn tally_batch(&mut self) {
        for &index in &self.touched {
            let at = usize::from(index) % (2 * FORM_COUNT);
            let count = u64::from(std::mem::take(&mut self.counts[at]));
            match self.tables.names[at] {
                NO_NAME => self.section.add(Mnemonic::Unknown(index & 0xfff), count),
                name => self.section.add(Mnemonic::Base(name), count),
            }
        }
        self.touched.clear();
        self.pending_bytes = 0;
        let mut special = std::mem::take(&mut self.special);
        special.sort_unstable();
        for same in special.chunk_by(|a, b| a == b) {
            if let Some(&(low12, key)) = same.first() {
                let mnemonic = self.special_mnemonic(low12, key);
                self.section.add(mnemonic, same.len() as u64);
            }
        }
        special.clear();
        self.special = special;
    }

    /// The name of a conversion or tensor-core instruction, where the class has such ones.
    fn special_mnemonic(&mut self, low12: u16, key: u16) -> Mnemonic {
        let is_tensor_core = low12 & LOW_9 == TENSOR_CORE;
        let exception = self.class.and_then(|class| class.exception(low12));
        let name = self.class.and_then(|class| class.name(low12, false));
        match (is_tensor_core, exception, name) {
            (true, Some(Exception::TensorCore), _) => tensor_core_mnemonic(key),
            (false, None, Some(_)) => {
                let spelling = self.spelling;
                self.conversions
                    .entry(key)
                    .or_insert_with(|| Mnemonic::Full(f2fp::mnemonic(key, spelling).into()))
                    .clone()
            }
            (_, _, Some(name)) => Mnemonic::Base(name),
            (_, _, None) => Mnemonic::Unknown(low12),
        }
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

/// What tells tensor-core instructions apart: bit 63, which means block-scaled FP4, else bits 72 and 73.
fn tensor_core_key(lo: u64, hi: u32) -> u16 {
    if lo >> 63 != 0 {
        TENSOR_CORE_FP4
    } else {
        f2fp::modifiers(hi) & 3
    }
}

const TENSOR_CORE_FP4: u16 = 4;

/// By element: 16 bits, integer, 8 bits, 4 bits, and what was never seen, which is kept apart from the others.
pub(super) const TENSOR_CORE_NAMES: [&str; 5] = ["UTCHMMA", "UTCIMMA", "UTCQMMA", "UTCOMMA", "UTC?MMA"];

fn tensor_core_mnemonic(key: u16) -> Mnemonic {
    let [half, integer, quarter, octal, other] = TENSOR_CORE_NAMES;
    Mnemonic::Full(
        match key {
            0 => half,
            1 => integer,
            3 => quarter,
            TENSOR_CORE_FP4 => octal,
            _ => other,
        }
        .into(),
    )
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
            named(&[("UTCHMMA", 1), ("UTCIMMA", 1), ("UTCOMMA", 1), ("UTCQMMA", 2)])
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
