//! Every name that a histogram can hold.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use super::counter::FORMS;
use super::histogram::Mnemonic;
use super::opcodes::CLASSES;
use super::{f2fp, mma};

/// The instructions that are counted under a name with all its modifiers; others are under their base mnemonic.
pub const WITH_MODIFIERS: [&str; 11] = [
    "F2FP", "QMMA", "OMMA", "HGMMA", "QGMMA", "IGMMA", "BGMMA", "UTCHMMA", "UTCIMMA", "UTCQMMA", "UTCOMMA",
];

/// Whether the reader could ever count an instruction under a name that `matches` accepts.
///
/// Names are base mnemonics, except that those of [`WITH_MODIFIERS`] have all their modifiers. A pattern such as `LDG\.E` asks for a modifier
/// that is not decoded: it would be found 0 times in any file, and so must be refused, not counted. The answer is over
/// all architectures; some thousand names are tried.
pub fn can_name(matches: impl Fn(&str) -> bool) -> bool {
    VOCABULARY.iter().any(|name| matches(name))
}

/// What to say of a pattern that [`can_name`] denies.
pub const NOT_A_MNEMONIC: &str = "no mnemonic is spelled like that here: modifiers are told of F2FP and of QMMA, OMMA, *GMMA and UTC*MMA alone";

static VOCABULARY: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    let mut names = BTreeSet::new();
    // An opcode of an unknown architecture has no name, whatever it is elsewhere.
    names.extend((0..FORMS).map(|low12| Mnemonic::Unknown(low12).name().to_owned()));
    f2fp::each_mnemonic(|name| _ = names.insert(name));
    mma::each_mnemonic(|name| _ = names.insert(name));
    for class in &CLASSES {
        for low12 in 0..FORMS {
            let bases = [false, true]
                .into_iter()
                .filter_map(|bit| class.base_name(low12, bit));
            names.extend(bases.map(|base| Mnemonic::Base(base).name().to_owned()));
        }
    }
    names
});

#[cfg(test)]
mod tests {
    use super::{VOCABULARY, can_name};

    #[test]
    fn only_what_is_decoded_can_be_named() {
        for (text, expected) in [
            ("LDG", true),
            ("UTCOMMA", true),
            ("UTCOMMA.2CTA.BLOCK16", true),
            ("HGMMA.64x128x16.F32.BF16", true),
            ("HGMMA.?0000030", true),
            ("OMMA.SF.16864.F32.E2M1.E2M1.UE4M3.4X", true),
            ("UTC?MMA", true),
            ("F2FP.SATFINITE.E2M1.F32.PACK_AB_MERGE_C", true),
            ("F2FP.?4000", true),
            ("?7ff", true),
            ("UF2FP", true),
            // Modifiers that are not decoded, and what no instruction is called.
            ("LDG.E", false),
            ("HGMMA.64x12x16.F32.BF16", false),
            ("OMMA.SF.16864.F32.E2M1.E4M3.UE4M3.4X", false),
            ("HMMA.16816.F32", false),
            ("UF2FP.E2M1", false),
            ("F2FP", false),
            ("E2M1", false),
            ("ldg", false),
            ("", false),
        ] {
            assert_eq!(can_name(|name| name == text), expected, "{text}");
        }
        assert!(can_name(|name| name.contains("E2M1")));
        assert!(can_name(|name| name.starts_with("F2FP")));
    }

    #[test]
    fn the_vocabulary_stays_small_enough_to_try_for_every_expectation() {
        let size = VOCABULARY.len();
        assert!((4096..16384).contains(&size), "{size} names");
    }
}
