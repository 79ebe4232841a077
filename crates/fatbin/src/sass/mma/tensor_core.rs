//! `UTCHMMA`, `UTCIMMA`, `UTCQMMA` and `UTCOMMA`: `tcgen05.mma` on elements of 16, 8 (integer), 8 and 4 bits (PTX ISA,
//! `tcgen05.mma` with `.kind::f16` and `.kind::tf32`, `.kind::i8`, `.kind::f8f6f4` and `.kind::mxf8f6f4`, `.kind::mxf4`
//! and `.kind::mxf4nvf4`).
//!
//! `UTCQMMA` with and without block scales differ by an operand alone. `.4X`, or `.BLOCK16`, is a scale for each 16
//! elements of K; `UTCOMMA` without it has one for each 32.

use super::{Encoding, Part, bit};

pub(super) const ENCODINGS: &[Encoding] = &[
    of_kind("UTCHMMA", ALL, FROM_MEMORY, HALF, &[PAIR, WARP_SPECIALIZED]),
    of_kind(
        "UTCIMMA",
        WITH_INTEGERS,
        FROM_MEMORY,
        INTEGER,
        &[PAIR, WARP_SPECIALIZED],
    ),
    of_kind(
        "UTCQMMA",
        WITHOUT_TABLES,
        FROM_MEMORY,
        QUARTER,
        &[PAIR, WARP_SPECIALIZED],
    ),
    of_kind(
        "UTCQMMA",
        WITH_TABLES,
        FROM_MEMORY,
        QUARTER,
        &[TABLE, PAIR, WARP_SPECIALIZED],
    ),
    of_kind(
        "UTCHMMA",
        ALL,
        FROM_TENSOR_MEMORY,
        HALF,
        &[PAIR, WARP_SPECIALIZED, SHIFTED],
    ),
    of_kind(
        "UTCIMMA",
        WITH_INTEGERS,
        FROM_TENSOR_MEMORY,
        INTEGER,
        &[PAIR, WARP_SPECIALIZED, SHIFTED],
    ),
    of_kind(
        "UTCQMMA",
        WITHOUT_TABLES,
        FROM_TENSOR_MEMORY,
        QUARTER,
        &[PAIR, WARP_SPECIALIZED, SHIFTED],
    ),
    of_kind(
        "UTCQMMA",
        WITH_TABLES,
        FROM_TENSOR_MEMORY,
        QUARTER,
        &[TABLE, PAIR, WARP_SPECIALIZED, SHIFTED],
    ),
    of_kind("UTCOMMA", SCALES_BY_NUMBER, UNSCALED, OCTAL, &[PAIR, SCALES_4X]),
    of_kind(
        "UTCOMMA",
        SCALES_BY_SIZE,
        UNSCALED,
        OCTAL,
        &[PAIR, SCALES_BLOCK16],
    ),
    of_kind("UTCQMMA", WITHOUT_TABLES, SCALED, ANY, &[PAIR]),
    of_kind("UTCQMMA", WITH_TABLES, SCALED, ANY, &[TABLE, PAIR]),
];

/// Bits of a key and their value.
type Kind = (u32, u32);

const fn of_kind(
    name: &'static str,
    capabilities: &'static [(u16, u8)],
    forms: &'static [u16],
    (mask, value): Kind,
    parts: &'static [Part],
) -> Encoding {
    Encoding {
        capabilities,
        forms,
        mask,
        value,
        name,
        parts,
    }
}

const ALL: &[(u16, u8)] = &[(10, 0), (10, 1), (10, 3), (10, 7), (11, 0)];
const WITH_INTEGERS: &[(u16, u8)] = &[(10, 0), (10, 1), (11, 0)];
const WITHOUT_TABLES: &[(u16, u8)] = &[(10, 0), (10, 1), (10, 3), (11, 0)];
const WITH_TABLES: &[(u16, u8)] = &[(10, 7)];
const SCALES_BY_NUMBER: &[(u16, u8)] = &[(10, 0), (10, 1), (11, 0)];
const SCALES_BY_SIZE: &[(u16, u8)] = &[(10, 3), (10, 7)];

/// By where A comes from: shared memory or tensor memory.
const FROM_MEMORY: &[u16] = &[0x5ea];
const FROM_TENSOR_MEMORY: &[u16] = &[0x9ea];
const UNSCALED: &[u16] = &[0x5ea, 0x9ea];
const SCALED: &[u16] = &[0xdea, 0xfea];

const KIND_MASK: u32 = bit(63) | bit(72) | bit(73);
const HALF: Kind = (KIND_MASK, 0);
const INTEGER: Kind = (KIND_MASK, bit(72));
const QUARTER: Kind = (KIND_MASK, bit(72) | bit(73));
const OCTAL: Kind = (bit(63), bit(63));
const ANY: Kind = (0, 0);

/// Two CTAs work together.
const PAIR: Part = Part {
    mask: bit(85),
    rows: &[(0, ""), (bit(85), ".2CTA")],
};

const WARP_SPECIALIZED: Part = Part {
    mask: bit(83),
    rows: &[(0, ""), (bit(83), ".WS")],
};

/// The rows of A are shifted by one.
const SHIFTED: Part = Part {
    mask: bit(74),
    rows: &[(0, ""), (bit(74), ".ASHIFT")],
};

/// B is looked up in a table.
const TABLE: Part = Part {
    mask: bit(60),
    rows: &[(0, ""), (bit(60), ".LUTB")],
};

const SCALES_4X: Part = Part {
    mask: bit(62),
    rows: &[(0, ".4X"), (bit(62), "")],
};

const SCALES_BLOCK16: Part = Part {
    mask: bit(62),
    rows: &[(0, ".BLOCK16"), (bit(62), "")],
};
