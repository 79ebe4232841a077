//! Machine instructions: how many of which kind, without a disassembler.
//!
//! From sm_70 on an instruction is 16 bytes. Its low 12 bits name the operation (9 bits) and the form of its
//! operands (3 bits); a few operations need one more bit, and conversions and some matrix instructions are told apart
//! by their modifiers.

mod counter;
mod f2fp;
mod histogram;
mod mma;
mod opcodes;
mod vocabulary;

pub(crate) use counter::{Counter, INSTRUCTION_BYTES};
pub use f2fp::converts_to_e2m1;
pub use histogram::Histogram;
pub use vocabulary::{NOT_A_MNEMONIC, WITH_MODIFIERS, can_name};

use blockgate_arch::{Arch, Scope};
use opcodes::{CLASSES, NO_NAME, OPERATIONS};

/// How instructions of a group of architectures are encoded. The suffix of an architecture plays no part.
#[derive(Debug)]
pub(crate) struct Class {
    /// The compute capabilities, major and minor.
    capabilities: &'static [(u16, u8)],
    /// Index into `NAMES` by the low 9 bits.
    operations: &'static [u16; OPERATIONS],
    /// What the low 9 bits alone do not tell, by the low 12 bits.
    exceptions: &'static [(u16, Exception)],
}

#[derive(Clone, Copy, Debug)]
enum Exception {
    /// This form has a name of its own.
    Name(u16),
    /// A bit of the upper word decides.
    Bit { hi_mask: u32, clear: u16, set: u16 },
}

impl Class {
    /// The class of `arch`; `None` where its encoding is not known.
    pub(crate) fn of(arch: Arch) -> Option<&'static Self> {
        let capability = (arch.major(), arch.minor());
        CLASSES
            .iter()
            .find(|class| class.capabilities.contains(&capability))
    }

    /// The name, as an index into `NAMES`, of the opcode `low12`, where `bit` is the one that may decide.
    fn name(&self, low12: u16, bit: bool) -> Option<u16> {
        match self.exception(low12) {
            Some(Exception::Name(name)) => Some(name),
            Some(Exception::Bit { clear, set, .. }) => Some(if bit { set } else { clear }),
            None => self
                .operations
                .get(usize::from(low12) % OPERATIONS)
                .copied()
                .filter(|&name| name != NO_NAME),
        }
    }

    /// The bits of a key (see [`mma::key`]) that the modifiers of the form depend on; `None` where it is counted under
    /// its base mnemonic, or has no name.
    fn key_mask(&self, low12: u16) -> Option<u32> {
        self.name(low12, false)?;
        if low12 & LOW_9 == f2fp::OPERATION {
            return Some(f2fp::KEY_MASK);
        }
        let (major, minor) = self.capabilities.first()?;
        mma::key_mask(Arch::new(*major, *minor, Scope::Plain), low12)
    }

    /// The base mnemonic under which the opcode is counted; `None` where it has none or more than a base.
    fn base_name(&self, low12: u16, bit: bool) -> Option<u16> {
        self.name(low12, bit).filter(|_| self.key_mask(low12).is_none())
    }

    fn exception(&self, low12: u16) -> Option<Exception> {
        let found = self.exceptions.binary_search_by_key(&low12, |row| row.0).ok()?;
        self.exceptions.get(found).map(|row| row.1)
    }
}

/// The bits of an opcode that name the operation; three more name the form of its operands.
const LOW_9: u16 = 0x1ff;

/// The first major compute capability whose instructions have 16 bytes each.
const FIRST_COUNTED_MAJOR: u16 = 7;

/// Whether the instructions of `arch` have the size that this module counts by.
pub(crate) fn is_countable(arch: Arch) -> bool {
    arch.major() >= FIRST_COUNTED_MAJOR
}

/// Counts the instructions of machine code for `arch` that is in no cubin; bytes behind the last whole instruction are
/// not looked at. `None` for sm_50 to sm_62, whose instructions have another size.
pub fn count_code(arch: Arch, code: &[u8]) -> Option<Histogram> {
    is_countable(arch).then(|| Counter::new(arch).count(code))
}

/// Whether the opcodes of `arch` are known.
pub(crate) fn is_known(arch: Arch) -> bool {
    Class::of(arch).is_some()
}
