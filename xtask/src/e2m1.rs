//! Which instructions convert to E2M1: one answer for every task.

use std::sync::LazyLock;

use regex::Regex;

static CONVERSION: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(blockgate_audit::E2M1_CONVERSION).expect("the pattern is a constant that tests compile")
});

/// Whether an instruction of this full mnemonic converts to E2M1.
pub(crate) fn is_conversion(mnemonic: &str) -> bool {
    CONVERSION.is_match(mnemonic)
}

#[cfg(test)]
mod tests {
    use super::is_conversion;

    #[test]
    fn modifiers_do_not_hide_a_conversion() {
        for (mnemonic, expected) in [
            ("F2FP.SATFINITE.E2M1.F32.PACK_AB_MERGE_C", true),
            ("F2FP.SATFINITE.RELU.E2M1.F32.PACK_AB_MERGE_C", true),
            ("F2FP.SATFINITE.E4M3.F32.PACK_AB_MERGE_C", false),
            ("F2FP.F16.E2M1.UNPACK_B", false),
        ] {
            assert_eq!(is_conversion(mnemonic), expected, "{mnemonic}");
        }
    }
}
