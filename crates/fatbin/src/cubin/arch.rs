//! The architecture as the ELF header and `.nv.compat` state it. Where it stands depends on the toolkit.
//!
//! Source: cubins of `ptxas` 11.8 to 13.5 for every target each knows. LLVM's `ELF.h` describes the first two.

use blockgate_arch::{Arch, Scope, ToolkitVersion};
use object::LittleEndian as LE;

use super::record::{Records, Value};
use crate::elf::Elf;
use crate::error::Error;

/// One layout of the machine field of the ELF header.
struct Abi {
    version: u8,
    /// Where the architecture number starts in `e_flags`; it is 8 bits.
    arch_shift: u32,
    /// The bit of `e_flags` that says "this compute capability alone".
    specific_mask: u32,
}

/// ABI 7: up to CUDA 12.9 below sm_100. ABI 8: CUDA 12.8 and 12.9 from sm_100 on, and everything since 13.0, which
/// leaves the bit clear and states the scope in `.nv.compat` instead.
const ABIS: [Abi; 2] = [
    Abi {
        version: 7,
        arch_shift: 0,
        specific_mask: 0x800,
    },
    Abi {
        version: 8,
        arch_shift: 8,
        specific_mask: 0x8,
    },
];

const ABI_VERSION_AT: u64 = 8;
const FLAGS_AT: u64 = 0x30;

pub(super) fn of_cubin(elf: &Elf<'_>) -> Result<Arch, Error> {
    let version = elf.header().e_ident.abi_version;
    let Some(abi) = ABIS.iter().find(|abi| abi.version == version) else {
        let expected = "a cubin of ELF ABI version 7 or 8";
        return Err(elf.view().error(ABI_VERSION_AT, expected, format!("{version}")));
    };
    let flags = elf.header().e_flags.get(LE).0;
    let number = flags >> abi.arch_shift & 0xff;
    let specific = flags & abi.specific_mask != 0 || compat_says_specific(elf)?;
    let scope = if specific { Scope::Specific } else { Scope::Plain };
    Arch::from_number(number, scope)
        .filter(|_| number >= 10)
        .ok_or_else(|| {
            let expected = "an architecture number in the ELF flags";
            elf.view().error(FLAGS_AT, expected, format!("flags {flags:#x}"))
        })
}

/// Of a cubin of ABI 7, the version field of the ELF header is the release: 124 for 12.4.
pub(super) fn toolkit_of_header(elf: &Elf<'_>) -> Option<ToolkitVersion> {
    let version = elf.header().e_version.get(LE);
    if elf.header().e_ident.abi_version != 7 || !(80..200).contains(&version) {
        return None;
    }
    let (major, minor) = (
        u16::try_from(version / 10).ok()?,
        u16::try_from(version % 10).ok()?,
    );
    Some(ToolkitVersion::new(major, minor))
}

/// The section of attributes, of a type of its own.
pub(crate) const COMPAT_SECTION: &[u8] = b".nv.compat";

/// The attribute that says whether a cubin is for its compute capability alone.
const ATTRIBUTE_TARGET: u8 = 9;

/// Looks for the attribute in the list.
fn compat_says_specific(elf: &Elf<'_>) -> Result<bool, Error> {
    for section in elf
        .sections()
        .iter()
        .filter(|section| section.name == COMPAT_SECTION)
    {
        for record in Records::of(&elf.data(section)?) {
            let record = record?;
            if record.attribute == ATTRIBUTE_TARGET && record.value == Value::Byte(1) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}
