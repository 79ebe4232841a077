//! Every name that a histogram can hold.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use super::counter::{FORMS, TENSOR_CORE_NAMES};
use super::f2fp;
use super::histogram::Mnemonic;
use super::opcodes::CLASSES;

/// Whether the reader could ever count an instruction under a name that `matches` accepts.
///
/// Names are base mnemonics, except that `F2FP` has all its modifiers. A pattern such as `LDG\.E` asks for a modifier
/// that is not decoded: it would be found 0 times in any file, and so must be refused, not counted. The answer is over
/// all architectures; some thousand names are tried.
pub fn can_name(matches: impl Fn(&str) -> bool) -> bool {
    VOCABULARY.iter().any(|name| matches(name))
}

static VOCABULARY: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    let mut names: BTreeSet<String> = TENSOR_CORE_NAMES.map(str::to_owned).into();
    // An opcode of an unknown architecture has no name, whatever it is elsewhere.
    names.extend((0..FORMS).map(|low12| Mnemonic::Unknown(low12).name().to_owned()));
    f2fp::each_mnemonic(|name| _ = names.insert(name));
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
            ("UTC?MMA", true),
            ("F2FP.SATFINITE.E2M1.F32.PACK_AB_MERGE_C", true),
            ("F2FP.?4000", true),
            ("?7ff", true),
            ("UF2FP", true),
            // Modifiers that are not decoded, and what no instruction is called.
            ("LDG.E", false),
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
