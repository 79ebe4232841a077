//! Counts the instructions of code sections.

use std::collections::BTreeMap;

use super::f2fp::{self, Spelling};
use super::histogram::{Histogram, Mnemonic};
use super::{Class, Exception};

/// Size of an instruction from sm_70 on.
pub(crate) const INSTRUCTION_BYTES: usize = 16;

/// Values of the low 12 bits.
const FORMS: usize = 1 << 12;

/// The low 9 bits of the tensor-core instructions `UTC*MMA`.
const TENSOR_CORE: u64 = 0x1ea;

/// Counts into a flat table; names are looked up once a section is done.
///
/// Nearly every instruction is one table lookup and one increment: the lookup yields the bit that tells two
/// instructions of one opcode apart (none, for most), and that bit picks the half of the table.
pub(crate) struct Counter {
    class: Option<&'static Class>,
    spelling: Spelling,
    /// The deciding bits of the upper word, by the low 12 bits.
    hi_masks: Box<[u32; FORMS]>,
    counts: Box<[u32; 2 * FORMS]>,
    /// Instructions whose name depends on more than one bit.
    special: BTreeMap<(u16, u16), u64>,
    /// Names of conversions already spelt out, by modifiers.
    conversions: BTreeMap<u16, Mnemonic>,
}

impl Counter {
    /// For architecture number `sm`. Where its encoding is not known, every opcode is counted without a name.
    pub(crate) fn new(sm: u32) -> Self {
        let class = Class::of(sm);
        let mut hi_masks = Box::new([0; FORMS]);
        for (low12, exception) in class.map_or(&[][..], |class| class.exceptions) {
            if let (Exception::Bit { hi_mask, .. }, Some(mask)) =
                (exception, hi_masks.get_mut(usize::from(*low12)))
            {
                *mask = *hi_mask;
            }
        }
        Self {
            class,
            spelling: Spelling::of(sm),
            hi_masks,
            counts: Box::new([0; 2 * FORMS]),
            special: BTreeMap::new(),
            conversions: BTreeMap::new(),
        }
    }

    /// Counts the instructions of one section. Bytes behind the last whole instruction are not looked at.
    pub(crate) fn count(&mut self, code: &[u8]) -> Histogram {
        // Fewer than 2^32 instructions at a time, so that no counter overflows.
        const BATCH_BYTES: usize = INSTRUCTION_BYTES << 24;
        let mut totals = Vec::new();
        for batch in code.chunks(BATCH_BYTES) {
            self.count_batch(batch);
            self.take_counts(&mut totals);
        }
        Histogram::from_counts(totals)
    }

    fn count_batch(&mut self, code: &[u8]) {
        let (instructions, _) = code.as_chunks::<INSTRUCTION_BYTES>();
        for instruction in instructions {
            let word = u128::from_le_bytes(*instruction);
            let (lo, hi) = (word as u64, (word >> 64) as u64);
            let low12 = (lo & 0xfff) as usize;
            let deciding = hi as u32 & self.hi_masks[low12];
            self.counts[low12 | usize::from(deciding != 0) << 12] += 1;
            let operation = lo & 0x1ff;
            if operation == f2fp::OPERATION || operation == TENSOR_CORE {
                let key = if operation == TENSOR_CORE {
                    tensor_core_key(lo, hi)
                } else {
                    f2fp::modifiers(hi)
                };
                *self.special.entry((low12 as u16, key)).or_default() += 1;
            }
        }
    }

    /// Moves the counts of a batch, with names, to `totals`.
    fn take_counts(&mut self, totals: &mut Vec<(Mnemonic, u64)>) {
        for ((low12, key), count) in std::mem::take(&mut self.special) {
            if let Some(mnemonic) = self.special_mnemonic(low12, key) {
                totals.push((mnemonic, count));
                self.counts[usize::from(low12)] = 0;
            }
        }
        for index in 0..self.counts.len() {
            let count = std::mem::take(&mut self.counts[index]);
            if count != 0 {
                let mnemonic = self.mnemonic(index % FORMS, index >= FORMS);
                totals.push((mnemonic, u64::from(count)));
            }
        }
    }

    fn exception(&self, low12: usize) -> Option<Exception> {
        let exceptions = self.class?.exceptions;
        let index = exceptions
            .binary_search_by_key(&low12, |row| usize::from(row.0))
            .ok()?;
        exceptions.get(index).map(|row| row.1)
    }

    fn mnemonic(&self, low12: usize, bit: bool) -> Mnemonic {
        let name = match self.exception(low12) {
            Some(Exception::Name(name)) => Some(name),
            Some(Exception::Bit { clear, set, .. }) => Some(if bit { set } else { clear }),
            Some(Exception::TensorCore) | None => self.class.and_then(|class| class.operation(low12)),
        };
        // The index comes from a table of 12-bit values.
        name.map_or(Mnemonic::Unknown(low12 as u16), Mnemonic::Base)
    }

    /// The name of a conversion or tensor-core instruction; `None` where the class has no such instruction.
    fn special_mnemonic(&mut self, low12: u16, key: u16) -> Option<Mnemonic> {
        let class = self.class?;
        let form = usize::from(low12);
        if u64::from(low12) & 0x1ff == TENSOR_CORE {
            let Some(Exception::TensorCore) = self.exception(form) else {
                return None;
            };
            return Some(tensor_core_mnemonic(key));
        }
        class.operation(form)?;
        let spelling = self.spelling;
        let mnemonic = self
            .conversions
            .entry(key)
            .or_insert_with(|| Mnemonic::Full(f2fp::mnemonic(key, spelling).into()));
        Some(mnemonic.clone())
    }
}

/// What tells tensor-core instructions apart: bit 63, which means block-scaled FP4, else bits 72 and 73.
fn tensor_core_key(lo: u64, hi: u64) -> u16 {
    if lo >> 63 != 0 {
        TENSOR_CORE_FP4
    } else {
        f2fp::modifiers(hi) & 3
    }
}

const TENSOR_CORE_FP4: u16 = 4;

fn tensor_core_mnemonic(key: u16) -> Mnemonic {
    Mnemonic::Full(
        match key {
            0 => "UTCHMMA",
            1 => "UTCIMMA",
            3 => "UTCQMMA",
            TENSOR_CORE_FP4 => "UTCOMMA",
            // Never seen; kept apart from the others.
            _ => "UTC?MMA",
        }
        .into(),
    )
}
