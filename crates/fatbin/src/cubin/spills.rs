//! How many bytes the instructions move that a cubin lists as spilling registers.

use blockgate_arch::Arch;

use crate::sass;

/// Registers that were spilled to memory and brought back.
///
/// Assemblers since CUDA 12.8 list each such instruction in the section about the kernel (`EIATTR_ANNOTATIONS`), those of
/// the functions inside its code too; a kernel of theirs without a list has none. The sums are then what `ptxas -v` prints
/// for the kernel and those functions together. Functions that are linked in on their own have no list, though they may
/// save registers, so that nothing is known of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spills {
    /// Instructions, in both directions.
    pub instructions: u64,
    /// Bytes that they store to local memory, each instruction counted once: `spill stores` of `ptxas -v`.
    pub store_bytes: u64,
    /// Bytes that they load from local memory, likewise: `spill loads` of `ptxas -v`.
    pub load_bytes: u64,
    /// Bytes that they store to shared memory, where the source asked for that (`enable_smem_spilling`).
    pub shared_store_bytes: u64,
    /// Bytes that they load from shared memory, likewise.
    pub shared_load_bytes: u64,
}

/// Which memory an instruction moves a register to or from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Move {
    LocalStore,
    LocalLoad,
    SharedStore,
    SharedLoad,
}

/// One way to encode these instructions.
struct Encoding {
    instruction_bytes: usize,
    opcode_shift: u32,
    opcode_mask: u64,
    opcodes: &'static [(u64, Move)],
    /// Where the 3-bit width of the access is, counted from the start of the instruction.
    width_shift: u32,
}

/// sm_70 and later. Source: opcodes by `nvdisasm`, the same on sm_75 to sm_121; widths by `ptxas -v` of CUDA 12.8 to 13.5.
const WIDE: Encoding = Encoding {
    instruction_bytes: sass::INSTRUCTION_BYTES,
    opcode_shift: 0,
    opcode_mask: 0xfff,
    opcodes: &[
        (0x387, Move::LocalStore),
        (0x987, Move::LocalStore),
        (0x983, Move::LocalLoad),
        (0x388, Move::SharedStore),
        (0x988, Move::SharedStore),
        (0x984, Move::SharedLoad),
    ],
    width_shift: 64 + 9,
};

/// sm_50 to sm_62. Source: cubins of `ptxas` of CUDA 12.8 and 12.9 beside its `-v`.
const NARROW: Encoding = Encoding {
    instruction_bytes: 8,
    opcode_shift: 51,
    opcode_mask: 0x1fff,
    opcodes: &[(0x1dea, Move::LocalStore), (0x1de8, Move::LocalLoad)],
    width_shift: 48,
};

/// The list is one record whose size has 16 bits, at 8 bytes an instruction. Of a longer list the assembler keeps the rest
/// of a division by that (seen with 13.0: 2158 of 10350), so that instructions are lost by this many at a time.
const LOST_AT_A_TIME: u64 = (1 << 16) / 8;

/// Bytes of an access by its width field: U8, S8, U16, S16, 32, 64 and 128 bits.
const WIDTHS: [u64; 7] = [1, 1, 2, 2, 4, 8, 16];

impl Spills {
    /// Of the instructions at `offsets` of `code`. `None` where one of them is no access to local or shared memory, or
    /// does not lie in the code: then the list means something else. `None` too where the code has so many more of them that
    /// part of the list may be lost.
    pub(super) fn of(arch: Arch, code: &[u8], offsets: &[u32]) -> Option<Self> {
        let encoding = if sass::is_countable(arch) { &WIDE } else { &NARROW };
        let mut spills = Self::default();
        for &offset in offsets {
            let (movement, bytes) = encoding.decode(code, offset)?;
            spills.instructions += 1;
            *match movement {
                Move::LocalStore => &mut spills.store_bytes,
                Move::LocalLoad => &mut spills.load_bytes,
                Move::SharedStore => &mut spills.shared_store_bytes,
                Move::SharedLoad => &mut spills.shared_load_bytes,
            } += bytes;
        }
        let uses_shared = spills.shared_store_bytes + spills.shared_load_bytes != 0;
        let unlisted = encoding
            .count(code, uses_shared)
            .saturating_sub(spills.instructions);
        (unlisted < LOST_AT_A_TIME).then_some(spills)
    }
}

impl Encoding {
    /// How many instructions of `code` access local memory, or shared memory where that is asked for too. Code too short to
    /// matter counts as none.
    fn count(&self, code: &[u8], with_shared: bool) -> u64 {
        let instructions = code.chunks_exact(self.instruction_bytes);
        if (instructions.len() as u64) < LOST_AT_A_TIME {
            return 0;
        }
        let accesses = instructions.filter_map(|instruction| self.decode(instruction, 0));
        let asked = accesses
            .filter(|(movement, _)| with_shared || matches!(movement, Move::LocalStore | Move::LocalLoad));
        asked.count() as u64
    }

    fn decode(&self, code: &[u8], offset: u32) -> Option<(Move, u64)> {
        let start = usize::try_from(offset).ok()?;
        let bytes = code.get(start..start.checked_add(self.instruction_bytes)?)?;
        let mut word = [0; size_of::<u128>()];
        word.get_mut(..bytes.len())?.copy_from_slice(bytes);
        let word = u128::from_le_bytes(word);
        let opcode = word >> self.opcode_shift & u128::from(self.opcode_mask);
        let known = self.opcodes.iter().find(|row| u128::from(row.0) == opcode)?;
        let width = usize::try_from(word >> self.width_shift & 7).ok()?;
        Some((known.1, *WIDTHS.get(width)?))
    }
}

#[cfg(test)]
mod tests {
    use super::Spills;

    #[test]
    fn instructions_are_sorted_by_memory_and_direction() {
        let word = |low12: u128, width: u128| (low12 | width << 73).to_le_bytes();
        let code = [
            word(0x387, 4),
            word(0x983, 5),
            word(0x388, 6),
            word(0x984, 2),
            word(0x221, 0),
        ]
        .concat();
        let arch = "sm_90".parse().unwrap();
        let spills = Spills::of(arch, &code, &[0, 16, 32, 48, 0]).unwrap();
        let expected = Spills {
            instructions: 5,
            store_bytes: 8,
            load_bytes: 8,
            shared_store_bytes: 16,
            shared_load_bytes: 2,
        };
        assert_eq!(spills, expected);
        for offset in [64, 72, 80, u32::MAX] {
            assert_eq!(Spills::of(arch, &code, &[offset]), None, "{offset}");
        }
        assert_eq!(Spills::of(arch, &code, &[]), Some(Spills::default()));
    }

    #[test]
    fn a_list_that_may_have_lost_entries_is_no_answer() {
        let store = (0x387_u128 | 4 << 73).to_le_bytes();
        let arch = "sm_90".parse().unwrap();
        let code = store.repeat(8192 + 1);
        assert_eq!(Spills::of(arch, &code, &[]), None);
        assert_eq!(Spills::of(arch, &code, &[0]), None);
        let spills = Spills::of(arch, &code, &[0, 16]).unwrap();
        assert_eq!((spills.instructions, spills.store_bytes), (2, 8));
    }
}
