//! `HGMMA`, `QGMMA`, `IGMMA` and `BGMMA`: `wgmma.mma_async` on 16-bit floats and TF32, on floats of 8 bits, on integers
//! and on single bits (PTX ISA, `wgmma`). Only sm_90a has them.

use super::{Encoding, Part, bit, rows};

pub(super) const ENCODINGS: &[Encoding] = &[
    Encoding {
        capabilities: HOPPER,
        forms: &[0x9f0, 0xdf0],
        mask: 0,
        value: 0,
        name: "HGMMA",
        parts: &[
            SPARSE,
            COLUMNS,
            Part {
                mask: bit(58) | bit(59) | bit(73),
                rows: &[
                    (0, "x16"),
                    (bit(58), "x8"),
                    (bit(73), "x16"),
                    (bit(73) | bit(59), "x32"),
                ],
            },
            ACCUMULATOR,
            Part {
                mask: bit(76) | bit(77),
                rows: &[(0, ""), (bit(76), ".BF16"), (bit(77), ".TF32")],
            },
        ],
    },
    Encoding {
        capabilities: HOPPER,
        forms: &[0x9f1, 0xdf1],
        mask: 0,
        value: 0,
        name: "IGMMA",
        parts: &[
            SPARSE,
            Part {
                mask: FEWER_COLUMNS_MASK | bit(73),
                rows: &INTEGER_COLUMNS,
            },
            Part {
                mask: bit(73),
                rows: &[(0, "x32"), (bit(73), "x64")],
            },
            Part {
                mask: bit(76) | bit(77),
                rows: &[(0, ".U8"), (bit(76), ".S8")],
            },
            Part {
                mask: bit(82) | bit(83),
                rows: &[(0, ".U8"), (bit(82), ".S8")],
            },
            Part {
                mask: bit(75),
                rows: &[(0, ""), (bit(75), ".SAT")],
            },
        ],
    },
    Encoding {
        capabilities: HOPPER,
        forms: &[0x9f2, 0xdf2],
        mask: 0,
        value: 0,
        name: "BGMMA",
        parts: &[
            Part {
                mask: FEWER_COLUMNS_MASK,
                rows: &rows(FEWER_COLUMNS, 0, bit(53)),
            },
            Part {
                mask: bit(77) | bit(78),
                rows: &[(bit(78), "x256.AND")],
            },
            Part {
                mask: bit(80),
                rows: &[(bit(80), ".POPC")],
            },
        ],
    },
    Encoding {
        capabilities: HOPPER,
        forms: &[0x9f3, 0xdf3],
        mask: 0,
        value: 0,
        name: "QGMMA",
        parts: &[
            SPARSE,
            COLUMNS,
            Part {
                mask: bit(58) | bit(73),
                rows: &[(0, "x32"), (bit(73) | bit(58), "x64")],
            },
            ACCUMULATOR,
            Part {
                mask: bit(76),
                rows: &[(0, ".E4M3"), (bit(76), ".E5M2")],
            },
            Part {
                mask: bit(77),
                rows: &[(0, ".E4M3"), (bit(77), ".E5M2")],
            },
        ],
    },
];

const HOPPER: &[(u16, u8)] = &[(9, 0)];

const SPARSE: Part = Part {
    mask: bit(73) | bit(74),
    rows: &[
        (0, ""),
        (bit(74), ""),
        (bit(73), ".SP"),
        (bit(73) | bit(74), ".SP.REGOFFSET"),
    ],
};

const ACCUMULATOR: Part = Part {
    mask: bit(75),
    rows: &[(0, ".F16"), (bit(75), ".F32")],
};

/// Every multiple of 8, by its number.
const COLUMNS: Part = Part {
    mask: bit(53) | bit(54) | bit(55) | bit(56) | bit(57),
    rows: &rows(
        [
            ".64x8", ".64x16", ".64x24", ".64x32", ".64x40", ".64x48", ".64x56", ".64x64", ".64x72",
            ".64x80", ".64x88", ".64x96", ".64x104", ".64x112", ".64x120", ".64x128", ".64x136", ".64x144",
            ".64x152", ".64x160", ".64x168", ".64x176", ".64x184", ".64x192", ".64x200", ".64x208",
            ".64x216", ".64x224", ".64x232", ".64x240", ".64x248", ".64x256",
        ],
        0,
        bit(53),
    ),
};

const FEWER_COLUMNS_MASK: u32 = COLUMNS.mask | bit(58);

/// From 32 on, multiples of 16 alone.
const FEWER_COLUMNS: [&str; 18] = [
    ".64x8", ".64x16", ".64x24", ".64x32", ".64x48", ".64x64", ".64x80", ".64x96", ".64x112", ".64x128",
    ".64x144", ".64x160", ".64x176", ".64x192", ".64x208", ".64x224", ".64x240", ".64x256",
];

/// The number times three; one more for a sparse matrix.
const INTEGER_COLUMNS: [(u32, &str); 36] = {
    let dense = rows(FEWER_COLUMNS, 0, 3 * bit(53));
    let sparse = rows(FEWER_COLUMNS, bit(73) | bit(53), 3 * bit(53));
    let mut both = [(0, ""); 36];
    let mut index = 0;
    while index < dense.len() {
        both[index] = dense[index];
        both[dense.len() + index] = sparse[index];
        index += 1;
    }
    both
};
