//! The packing conversions (`F2FP`), whose modifiers say which formats they convert.
//!
//! Source: `nvdisasm` 13.5 on every value of the modifier bits, for each class of architectures.

use std::fmt::Write as _;

use blockgate_arch::Arch;

/// The low 9 bits of `F2FP` on every architecture that has it.
pub(crate) const OPERATION: u16 = 0x03e;

/// Bits 72 to 87 of the instruction, which hold the modifiers, as a key has them.
pub(crate) const KEY_MASK: u32 = 0xffff;

/// How a disassembler spells the modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spelling {
    /// sm_80 to sm_88: f32 is the only source, so types go without saying.
    Untyped,
    /// sm_89 and later.
    Typed,
    /// sm_107: a further bit scales by the third operand.
    TypedScaled,
}

impl Spelling {
    pub(crate) const fn of(arch: Arch) -> Self {
        match (arch.major(), arch.minor()) {
            (..=7, _) | (8, ..=8) => Self::Untyped,
            (10, 7) => Self::TypedScaled,
            _ => Self::Typed,
        }
    }
}

const SATFINITE: u16 = 0x0020;
const RELU: u16 = 0x0008;
const MERGE: u16 = 0x0040;
const STOCHASTIC: u16 = 0x0200;
const SCALED: u16 = 0x1000;
const ROUNDING_MASK: u16 = 0x0180;
const DESTINATION_MASK: u16 = 0xe010;
const SOURCE_MASK: u16 = 0x0c06;

/// Rounding by its bits; to nearest is not printed.
const ROUNDINGS: [(u16, &str); 4] = [(0, ""), (0x080, ".RM"), (0x100, ".RP"), (0x180, ".RZ")];

const DESTINATIONS: [(u16, &str); 11] = [
    (0x0000, "F16"),
    (0x0010, "BF16"),
    (0x2010, "E2M1"),
    (0x4010, "TF32"),
    (0x6000, "E2M3"),
    (0x6010, "E3M2"),
    (0x8000, "E5M2"),
    (0x8010, "E4M3"),
    (0xa010, S2_6),
    (0xc000, "E8"),
    (0xc010, "UE5M3"),
];

const SOURCES: [(u16, &str); 10] = [
    (0x0000, "F32"),
    (0x0002, "F16"),
    (0x0004, "E5M2"),
    (0x0006, "E4M3"),
    (0x0402, "E2M1"),
    (0x0404, "E2M3"),
    (0x0406, "E3M2"),
    (0x0802, "BF16"),
    (0x0804, S2_6),
    (0x0806, "E8"),
];

const S2_6: &str = "S2_6";

/// Whether `mnemonic` converts to E2M1, the 4-bit float of FP4 formats: `F2FP` with saturation, destination `E2M1`
/// and source `F32`, `F16` or `BF16`, whatever its rounding (`.RS` is stochastic) and with or without `.RELU`.
///
/// Source: PTX ISA, `cvt.rn.satfinite{.relu}.e2m1x2.f32`, `cvt.rs.satfinite{.relu}.e2m1x4.f32` and the forms from
/// 16-bit floats, compiled by `ptxas` 12.8 to 13.5.
pub fn converts_to_e2m1(mnemonic: &str) -> bool {
    let Some(modifiers) = mnemonic.strip_prefix("F2FP.SATFINITE.") else {
        return false;
    };
    let formats = modifiers.strip_prefix("RELU.").unwrap_or(modifiers);
    let Some(rest) = formats.strip_prefix("E2M1.") else {
        return false;
    };
    let source = rest.split('.').next().unwrap_or(rest);
    matches!(source, "F32" | "F16" | "BF16")
}

/// Gives every name that [`mnemonic`] can make to `name`, some of them more than once.
pub(crate) fn each_mnemonic(mut name: impl FnMut(String)) {
    // Formats that are not named are told apart by their bits alone, so the other modifiers need not vary there.
    let others = SATFINITE | RELU | MERGE | STOCHASTIC | SCALED | ROUNDING_MASK;
    for spelling in [Spelling::Untyped, Spelling::Typed, Spelling::TypedScaled] {
        for formats in subsets(DESTINATION_MASK | SOURCE_MASK) {
            let known = mnemonic(formats, spelling);
            if known.contains('?') {
                name(known);
                continue;
            }
            for other in subsets(others) {
                name(mnemonic(formats | other, spelling));
            }
        }
    }
}

/// Every set of the bits of `mask`.
fn subsets(mask: u16) -> impl Iterator<Item = u16> {
    std::iter::successors(Some(mask), move |&bits| (bits != 0).then(|| (bits - 1) & mask))
}

/// The mnemonic with all its modifiers, as a disassembler prints it. Formats that are not known are printed as
/// `F2FP.?` with their bits in hexadecimal, so that no instruction is counted under a name that is not its own.
pub(crate) fn mnemonic(modifiers: u16, spelling: Spelling) -> String {
    let named = |table: &[(u16, &'static str)], mask: u16| {
        let bits = modifiers & mask;
        table.iter().find(|row| row.0 == bits).map(|row| row.1)
    };
    let is = |bit: u16| modifiers & bit != 0;
    let (Some(destination), Some(source)) = (
        named(&DESTINATIONS, DESTINATION_MASK),
        named(&SOURCES, SOURCE_MASK),
    ) else {
        let formats = modifiers & (DESTINATION_MASK | SOURCE_MASK);
        return format!("F2FP.?{formats:04x}");
    };
    let mut text = String::from("F2FP");
    // The fixed-point format always saturates, and its bit says where it does not.
    let saturates = is(SATFINITE) != (destination == S2_6);
    if saturates {
        text.push_str(".SATFINITE");
    }
    if is(RELU) {
        text.push_str(".RELU");
    }
    let wide = |format: &str| matches!(format, "F16" | "BF16");
    if spelling == Spelling::Untyped {
        if destination == "BF16" {
            text.push_str(".BF16");
        }
        text.push_str(if is(MERGE) { ".MERGE_C" } else { ".PACK_AB" });
    } else {
        let packing = match (source, destination) {
            ("F32", "TF32") => "PACK_B",
            ("F32", to) if wide(to) && is(MERGE) => "MERGE_C",
            ("F32", to) if wide(to) => "PACK_AB",
            ("F32", _) => "PACK_AB_MERGE_C",
            (from, _) if wide(from) => "UNPACK_B_MERGE_C",
            _ => "UNPACK_B",
        };
        // Writing to a String cannot fail.
        let _ = write!(text, ".{destination}.{source}.{packing}");
        let scalable = (source == "F32" || wide(source)) && destination != S2_6 && !is(STOCHASTIC);
        if spelling == Spelling::TypedScaled && is(SCALED) && scalable {
            text.push_str(".SCALE_BY_C");
        }
    }
    text.push_str(named(&ROUNDINGS, ROUNDING_MASK).unwrap_or_default());
    if is(STOCHASTIC) {
        text.push_str(".RS");
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{Spelling, converts_to_e2m1, each_mnemonic, mnemonic};

    #[test]
    fn conversions_are_spelt_as_a_disassembler_spells_them() {
        let cases: [(u16, &str, &str); 22] = [
            (0x2070, "121", "F2FP.SATFINITE.E2M1.F32.PACK_AB_MERGE_C"),
            (0x2078, "121", "F2FP.SATFINITE.RELU.E2M1.F32.PACK_AB_MERGE_C"),
            (0x2270, "100", "F2FP.SATFINITE.E2M1.F32.PACK_AB_MERGE_C.RS"),
            (0x2278, "103", "F2FP.SATFINITE.RELU.E2M1.F32.PACK_AB_MERGE_C.RS"),
            (0x2032, "120", "F2FP.SATFINITE.E2M1.F16.UNPACK_B_MERGE_C"),
            (0x2832, "120", "F2FP.SATFINITE.E2M1.BF16.UNPACK_B_MERGE_C"),
            (0x0402, "120", "F2FP.F16.E2M1.UNPACK_B"),
            (0x0403, "120", "F2FP.F16.E2M1.UNPACK_B"),
            (0x6060, "100", "F2FP.SATFINITE.E2M3.F32.PACK_AB_MERGE_C"),
            (0x8070, "89", "F2FP.SATFINITE.E4M3.F32.PACK_AB_MERGE_C"),
            (0x8022, "90", "F2FP.SATFINITE.E5M2.F16.UNPACK_B_MERGE_C"),
            (0x0006, "90", "F2FP.F16.E4M3.UNPACK_B"),
            (0xc140, "121", "F2FP.E8.F32.PACK_AB_MERGE_C.RP"),
            (0x0816, "121", "F2FP.BF16.E8.UNPACK_B"),
            (0x0010, "90", "F2FP.BF16.F32.PACK_AB"),
            (0x0010, "80", "F2FP.BF16.PACK_AB"),
            (0x01c0, "86", "F2FP.MERGE_C.RZ"),
            (0x4050, "90", "F2FP.TF32.F32.PACK_B"),
            (0xa050, "100", "F2FP.SATFINITE.S2_6.F32.PACK_AB_MERGE_C"),
            (0xa070, "100", "F2FP.S2_6.F32.PACK_AB_MERGE_C"),
            (
                0x31b2,
                "107",
                "F2FP.SATFINITE.E2M1.F16.UNPACK_B_MERGE_C.SCALE_BY_C.RZ",
            ),
            (0x3032, "100", "F2FP.SATFINITE.E2M1.F16.UNPACK_B_MERGE_C"),
        ];
        for (modifiers, sm, expected) in cases {
            assert_eq!(
                mnemonic(modifiers, Spelling::of(sm.parse().unwrap())),
                expected,
                "{modifiers:#06x} on sm_{sm}"
            );
        }
    }

    #[test]
    fn unknown_formats_are_not_given_a_name() {
        assert_eq!(mnemonic(0x4000, Spelling::Typed), "F2FP.?4000");
        assert_eq!(mnemonic(0x4060, Spelling::Typed), "F2FP.?4000");
    }

    #[test]
    fn conversions_to_e2m1_are_what_fills_a_four_bit_format() {
        for (mnemonic, expected) in [
            ("F2FP.SATFINITE.E2M1.F32.PACK_AB_MERGE_C", true),
            ("F2FP.SATFINITE.RELU.E2M1.F32.PACK_AB_MERGE_C", true),
            ("F2FP.SATFINITE.E2M1.F32.PACK_AB_MERGE_C.RS", true),
            ("F2FP.SATFINITE.RELU.E2M1.F32.PACK_AB_MERGE_C.RS", true),
            ("F2FP.SATFINITE.E2M1.F16.UNPACK_B_MERGE_C", true),
            ("F2FP.SATFINITE.E2M1.BF16.UNPACK_B_MERGE_C", true),
            ("F2FP.SATFINITE.E2M1.F16.UNPACK_B_MERGE_C.SCALE_BY_C", true),
            // The other direction, other formats, no saturation, other instructions.
            ("F2FP.F16.E2M1.UNPACK_B", false),
            ("F2FP.SATFINITE.E2M1.E4M3.UNPACK_B", false),
            ("F2FP.SATFINITE.E2M3.F32.PACK_AB_MERGE_C", false),
            ("F2FP.SATFINITE.E4M3.F32.PACK_AB_MERGE_C", false),
            ("F2FP.E2M1.F32.PACK_AB_MERGE_C", false),
            ("F2FP.SATFINITE.E2M1", false),
            ("F2FP", false),
            ("", false),
        ] {
            assert_eq!(converts_to_e2m1(mnemonic), expected, "{mnemonic}");
        }
    }

    #[test]
    fn every_mnemonic_is_enumerated() {
        let mut enumerated = BTreeSet::new();
        each_mnemonic(|name| _ = enumerated.insert(name));
        let mut made = BTreeSet::new();
        for spelling in [Spelling::Untyped, Spelling::Typed, Spelling::TypedScaled] {
            made.extend((0..=u16::MAX).map(|modifiers| mnemonic(modifiers, spelling)));
        }
        assert_eq!(enumerated, made);
    }
}
