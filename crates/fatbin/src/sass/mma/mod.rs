//! The matrix instructions whose modifiers are told: the block-scaled ones of `mma`, the warp-group ones of `wgmma`
//! and the tensor-core ones of `tcgen05.mma`.
//!
//! A modifier here is what a disassembler prints on the opcode itself, such as `OMMA.SF.16864.F32.E2M1.E2M1.UE4M3.4X`.
//! What it prints on operands is not part of it: transposed and negated inputs and scales of 0 or 1 (`gdesc`, `tnsp`),
//! the collector buffers (`BUFFER1`) and the lanes to leave out. `tcgen05.mma` keeps shape, types and sparsity in a
//! descriptor that is data at run time, so `UTCHMMA` says no more than the kind, the number of CTAs and how A is read.
//!
//! Source: `nvdisasm` 13.5 on every value of the bits below, for each architecture, around words that `ptxas` 13.0 and
//! 13.5 made of every form in the PTX ISA. One test of this crate repeats that wherever `nvdisasm` is installed.

mod block_scaled;
mod tensor_core;
mod warp_group;

use blockgate_arch::Arch;

/// The bits of an instruction that any modifier depends on: 72 to 87 in the low half, 53 to 63 above them.
pub(crate) const fn key(lo: u64, hi: u32) -> u32 {
    let [_, low, high, _] = hi.to_le_bytes();
    let [.., second, top] = lo.to_le_bytes();
    let above = u16::from_le_bytes([second, top]) >> 5;
    u32::from_le_bytes([low, high, 0, 0]) | (above as u32) << 16
}

/// Bit `number` of an instruction as it lies in a key.
const fn bit(number: u32) -> u32 {
    match number {
        72..=87 => 1 << (number - 72),
        53..=63 => 1 << (number - 53 + 16),
        _ => panic!("not in a key"),
    }
}

/// Some bits of a key and what each of their values is printed as.
#[derive(Debug)]
struct Part {
    mask: u32,
    /// Values without a row are not known.
    rows: &'static [(u32, &'static str)],
}

/// One instruction with the same modifiers on all its operand forms.
#[derive(Debug)]
pub(crate) struct Encoding {
    /// The compute capabilities, major and minor, that spell it so.
    capabilities: &'static [(u16, u8)],
    /// The low 12 bits.
    forms: &'static [u16],
    /// The bits of a key that tell it from others of the same form, and their value.
    mask: u32,
    value: u32,
    name: &'static str,
    /// In the order in which they are printed.
    parts: &'static [Part],
}

impl Encoding {
    fn is_of(&self, arch: Arch, low12: u16) -> bool {
        self.forms.contains(&low12) && self.capabilities.contains(&(arch.major(), arch.minor()))
    }

    /// Every bit that the text depends on.
    fn all_bits(&self) -> u32 {
        self.parts.iter().fold(self.mask, |mask, part| mask | part.mask)
    }

    /// The name with all modifiers. Where a modifier is not known, the name, `.?`, and in hexadecimal the bits of the
    /// first such one as they lie in a key, so that no instruction is counted under a name that is not its own.
    fn text(&self, key: u32) -> String {
        let mut text = self.name.to_owned();
        for part in self.parts {
            let bits = key & part.mask;
            let Some((_, printed)) = part.rows.iter().find(|row| row.0 == bits) else {
                return format!("{}.?{bits:07x}", self.name);
            };
            text.push_str(printed);
        }
        text
    }

    /// Gives every text that [`Self::text`] can make to `name`.
    fn each_text(&self, name: &mut impl FnMut(String)) {
        let mut known = vec![(0_u32, 0_u32)];
        for part in self.parts {
            let mut longer = Vec::new();
            let mut unknown = Vec::new();
            for bits in subsets(part.mask) {
                if part.rows.iter().any(|row| row.0 == bits) {
                    // Parts share bits: sparsity decides on the shape.
                    let agreeing = known
                        .iter()
                        .filter(|(seen, key)| (key ^ bits) & seen & part.mask == 0);
                    longer.extend(agreeing.map(|(seen, key)| (seen | part.mask, key | bits)));
                } else {
                    unknown.push(bits);
                }
            }
            for bits in unknown {
                if known
                    .iter()
                    .any(|(seen, key)| (key ^ bits) & seen & part.mask == 0)
                {
                    name(format!("{}.?{bits:07x}", self.name));
                }
            }
            known = longer;
        }
        known.iter().for_each(|(_, key)| name(self.text(*key)));
    }
}

/// Every set of the bits of `mask`.
fn subsets(mask: u32) -> impl Iterator<Item = u32> {
    std::iter::successors(Some(mask), move |&bits| (bits != 0).then(|| (bits - 1) & mask))
}

fn encodings() -> impl Iterator<Item = &'static Encoding> {
    [
        block_scaled::ENCODINGS,
        warp_group::ENCODINGS,
        tensor_core::ENCODINGS,
    ]
    .into_iter()
    .flatten()
}

/// The bits of a key that the text of a form depends on; `None` where modifiers of that form are not told.
pub(crate) fn key_mask(arch: Arch, low12: u16) -> Option<u32> {
    encodings()
        .filter(|encoding| encoding.is_of(arch, low12))
        .map(Encoding::all_bits)
        .reduce(|all, bits| all | bits)
}

/// The mnemonic with all its modifiers, as a disassembler prints it; `None` for a form whose modifiers are not told.
///
/// Values that are not known are printed as `?` and their bits in hexadecimal.
pub(crate) fn mnemonic(arch: Arch, low12: u16, key: u32) -> Option<String> {
    let mut of_form = encodings()
        .filter(|encoding| encoding.is_of(arch, low12))
        .peekable();
    of_form.peek()?;
    let found = of_form.find(|encoding| key & encoding.mask == encoding.value);
    Some(found.map_or_else(|| UNKNOWN.to_owned(), |encoding| encoding.text(key)))
}

/// A form that has no name for the bits that decide: only tensor-core instructions have such ones.
const UNKNOWN: &str = "UTC?MMA";

/// Gives every name that [`mnemonic`] can make to `name`, some of them more than once.
pub(crate) fn each_mnemonic(mut name: impl FnMut(String)) {
    name(UNKNOWN.to_owned());
    for encoding in encodings() {
        encoding.each_text(&mut name);
    }
}

/// Rows for texts whose bits are the multiples of `step` from `first` on.
const fn rows<const N: usize>(texts: [&'static str; N], first: u32, step: u32) -> [(u32, &'static str); N] {
    let mut rows = [(first, ""); N];
    let mut index = 0;
    let mut bits = first;
    while index < N {
        rows[index] = (bits, texts[index]);
        bits += step;
        index += 1;
    }
    rows
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use blockgate_arch::{Arch, Scope};

    use super::{Encoding, bit, each_mnemonic, encodings, key, key_mask, mnemonic, subsets};
    use crate::sass::opcodes::CLASSES;

    /// An instruction as a disassembler shows it: its lower and upper word.
    fn spelt(sm: &str, lo: u64, hi: u64) -> String {
        let upper = u32::try_from(hi & 0xffff_ffff).unwrap();
        let low12 = u16::try_from(lo & 0xfff).unwrap();
        mnemonic(sm.parse().unwrap(), low12, key(lo, upper)).unwrap()
    }

    #[test]
    fn keys_hold_the_bits_that_they_are_made_of() {
        for number in (53..=63).chain(72..=87) {
            let word = 1_u128 << number;
            let (lo, hi) = (
                u64::try_from(word & u128::from(u64::MAX)).unwrap(),
                u32::try_from(word >> 64).unwrap(),
            );
            assert_eq!(key(lo, hi), bit(number), "bit {number}");
        }
        assert_eq!(key((1 << 53) - 1, 0xff00_00ff), 0);
    }

    #[test]
    fn instructions_are_spelt_as_a_disassembler_spells_them() {
        // Words that ptxas 13.5 made.
        for (sm, lo, hi, expected) in [
            (
                "120a",
                0x7110_0006_0c08_747f,
                0x004f_e600_0004_3e08,
                "OMMA.SF.16864.F32.E2M1.E2M1.UE4M3.4X",
            ),
            (
                "121a",
                0x7110_0006_0c08_747f,
                0x004f_e600_0008_3e08,
                "OMMA.SF.16864.F32.E2M1.E2M1.E8",
            ),
            (
                "120f",
                0x7000_0610_0c08_747f,
                0x004f_f600_0005_3e08,
                "OMMA.SF.SP.168128.F32.E2M1.E2M1.UE4M3.4X",
            ),
            (
                "120a",
                0x7110_0006_0c08_747a,
                0x004f_e600_0008_7e08,
                "QMMA.SF.16832.F32.E2M1.E4M3.E8",
            ),
            (
                "120a",
                0x7000_0610_0c08_747a,
                0x004f_f600_0009_7e08,
                "QMMA.SF.SP.16864.F32.E2M1.E4M3.E8",
            ),
            (
                "120a",
                0x0000_0010_0c08_727a,
                0x004f_e600_0009_7408,
                "QMMA.SP.16864.F32.E2M1.E4M3",
            ),
            (
                "120a",
                0x0000_0000_0e0e_727a,
                0x004f_e600_0000_4410,
                "QMMA.16816.F16.E5M2.E4M3",
            ),
            (
                "90a",
                0x03e0_0000_0818_79f0,
                0x000f_e600_0b80_1818,
                "HGMMA.64x256x16.F32.BF16",
            ),
            (
                "90a",
                0x07e0_0004_9818_7df0,
                0x000f_e600_0b80_2818,
                "HGMMA.64x256x8.F32.TF32",
            ),
            (
                "90a",
                0x08e0_3800_0818_79f0,
                0x000f_e600_0b80_1a18,
                "HGMMA.SP.64x64x32.F32.BF16",
            ),
            (
                "90a",
                0x01e0_0000_0818_79f1,
                0x000f_e600_0b84_1018,
                "IGMMA.64x64x32.S8.S8",
            ),
            (
                "90a",
                0x0220_0000_0818_79f2,
                0x000f_e600_0b81_4018,
                "BGMMA.64x256x256.AND.POPC",
            ),
            (
                "90a",
                0x04e0_3804_3818_7df3,
                0x000f_e600_0b80_3a18,
                "QGMMA.SP.64x64x64.F32.E5M2.E5M2",
            ),
            (
                "100a",
                0x0008_0610_0400_79ea,
                0x0001_e800_0820_0405,
                "UTCHMMA.2CTA.ASHIFT",
            ),
            ("100a", 0x8004_060e_0c00_75ea, 0x0011_d800_0800_0008, "UTCOMMA.4X"),
            (
                "103a",
                0x8004_060e_0c00_75ea,
                0x0011_d800_0800_0008,
                "UTCOMMA.BLOCK16",
            ),
            (
                "100a",
                0xc004_060e_0c00_75ea,
                0x0011_d800_0820_0008,
                "UTCOMMA.2CTA",
            ),
            ("110a", 0x0004_060e_0c00_7dea, 0x0011_d800_0800_0308, "UTCQMMA"),
        ] {
            assert_eq!(spelt(sm, lo, hi), expected);
        }
    }

    #[test]
    fn what_is_not_known_keeps_its_bits() {
        let arch = "90a".parse().unwrap();
        // Types 3, shape 63 of integers, no operation.
        assert_eq!(
            mnemonic(arch, 0x9f0, bit(76) | bit(77)).unwrap(),
            "HGMMA.?0000030"
        );
        assert_eq!(mnemonic(arch, 0x9f1, 0x3f << 16).unwrap(), "IGMMA.?03f0000");
        assert_eq!(mnemonic(arch, 0x9f2, bit(80)).unwrap(), "BGMMA.?0000000");
        // The kind 2, and integers where there are none.
        assert_eq!(mnemonic("100".parse().unwrap(), 0x5ea, 2).unwrap(), "UTC?MMA");
        assert_eq!(mnemonic("103".parse().unwrap(), 0x5ea, 1).unwrap(), "UTC?MMA");
        // No such form, no such instruction on that architecture.
        assert_eq!(mnemonic(arch, 0x27a, 0), None);
        assert_eq!(mnemonic("120".parse().unwrap(), 0x9f0, 0), None);
    }

    #[test]
    fn every_mnemonic_is_enumerated() {
        let mut enumerated = BTreeSet::new();
        each_mnemonic(|name| _ = enumerated.insert(name));
        let mut made = BTreeSet::from(["UTC?MMA".to_owned()]);
        for encoding in encodings() {
            made.extend(subsets(encoding.all_bits()).map(|key| encoding.text(key)));
        }
        assert_eq!(enumerated, made);
    }

    /// Which bits to keep is decided once for a class, what they mean for each architecture of it.
    #[test]
    fn the_architectures_of_a_class_agree_on_the_bits() {
        for class in &CLASSES {
            for low12 in 0..0x1000 {
                let mut masks = class
                    .capabilities
                    .iter()
                    .filter(|(major, _)| *major > 7)
                    .map(|&(major, minor)| key_mask(Arch::new(major, minor, Scope::Plain), low12));
                if let Some(first) = masks.next() {
                    assert!(
                        masks.all(|mask| mask == first),
                        "{:?} {low12:#x}",
                        class.capabilities
                    );
                }
            }
        }
    }

    #[test]
    fn rows_lie_within_their_masks_and_none_repeats() {
        for Encoding {
            name,
            mask,
            value,
            parts,
            ..
        } in encodings()
        {
            assert_eq!(value & !mask, 0, "{name}");
            for part in *parts {
                let bits: BTreeSet<u32> = part.rows.iter().map(|row| row.0).collect();
                assert_eq!(bits.len(), part.rows.len(), "{name} {part:?}");
                assert!(bits.iter().all(|bits| bits & !part.mask == 0), "{name} {part:?}");
            }
        }
    }
}
