//! `QMMA` and `OMMA`: `mma` on floats of 8, 6 and 4 bits, with block scales (`.SF`) and without.
//!
//! Source of what they are made of: PTX ISA, `mma.sync` with `.kind::f8f6f4`, `.kind::mxf8f6f4`, `.kind::mxf4` and
//! `.kind::mxf4nvf4`. `.4X` is a scale for each 16 elements of K, without it for each 32.

use super::{Encoding, Part, bit};

pub(super) const ENCODINGS: &[Encoding] = &[
    Encoding {
        capabilities: ADA,
        forms: &[0x27a],
        mask: 0,
        value: 0,
        name: "QMMA",
        parts: &[
            Part {
                mask: bit(80) | bit(81),
                rows: &[
                    (0, ""),
                    (bit(81), ""),
                    (bit(80), ".SP"),
                    (bit(80) | bit(81), ".SP.REGOFFSET"),
                ],
            },
            SHAPE,
            ACCUMULATOR,
            Part {
                mask: bit(78),
                rows: &[(0, ".E4M3"), (bit(78), ".E5M2")],
            },
            Part {
                mask: bit(79),
                rows: &[(0, ".E4M3"), (bit(79), ".E5M2")],
            },
        ],
    },
    Encoding {
        capabilities: BLACKWELL,
        forms: &[0x27a],
        mask: 0,
        value: 0,
        name: "QMMA",
        parts: &[SPARSE, SHAPE, ACCUMULATOR, A, B],
    },
    Encoding {
        capabilities: BLACKWELL,
        forms: &[0x47a],
        mask: 0,
        value: 0,
        name: "QMMA.SF",
        parts: &[
            SPARSE,
            Part {
                mask: bit(80),
                rows: &[(0, ".16832.F32"), (bit(80), ".16864.F32")],
            },
            A,
            B,
            Part {
                mask: 0,
                rows: &[(0, ".E8")],
            },
        ],
    },
    Encoding {
        capabilities: BLACKWELL,
        forms: &[0x47f],
        mask: 0,
        value: 0,
        name: "OMMA.SF",
        parts: &[
            SPARSE,
            Part {
                mask: bit(80),
                rows: &[(0, ".16864.F32.E2M1.E2M1"), (bit(80), ".168128.F32.E2M1.E2M1")],
            },
            Part {
                mask: bit(82),
                rows: &[(0, ".E8"), (bit(82), ".UE4M3")],
            },
            Part {
                mask: bit(83),
                rows: &[(0, ".4X"), (bit(83), "")],
            },
        ],
    },
];

/// Of these only sm_89 has it.
const ADA: &[(u16, u8)] = &[(8, 0), (8, 6), (8, 7), (8, 8), (8, 9)];

const BLACKWELL: &[(u16, u8)] = &[(12, 0), (12, 1)];

const SPARSE: Part = Part {
    mask: bit(80) | bit(81),
    rows: &[(0, ""), (bit(81), ""), (bit(80), ".SP")],
};

const SHAPE: Part = Part {
    mask: bit(75) | bit(76) | bit(80),
    rows: &[
        (0, ".16816"),
        (bit(75), ".16832"),
        (bit(80) | bit(75), ".16832"),
        (bit(80) | bit(76), ".16864"),
    ],
};

const ACCUMULATOR: Part = Part {
    mask: bit(77),
    rows: &[(0, ".F16"), (bit(77), ".F32")],
};

const A: Part = Part {
    mask: bit(78) | bit(82) | bit(83),
    rows: &[
        (0, ".E4M3"),
        (bit(78), ".E5M2"),
        (bit(78) | bit(82), ".E3M2"),
        (bit(83), ".E2M3"),
        (bit(83) | bit(78), ".E2M1"),
    ],
};

const B: Part = Part {
    mask: bit(79) | bit(84) | bit(85),
    rows: &[
        (0, ".E4M3"),
        (bit(79), ".E5M2"),
        (bit(79) | bit(84), ".E3M2"),
        (bit(85), ".E2M3"),
        (bit(85) | bit(79), ".E2M1"),
    ],
};
