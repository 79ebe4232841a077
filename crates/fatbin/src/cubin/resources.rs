//! What each kernel takes of a multiprocessor: registers, memory, barriers.

use std::collections::{HashMap, HashSet};

use blockgate_arch::{Arch, ToolkitVersion};
use object::LittleEndian as LE;

use super::info::{self, FunctionInfo, KernelInfo, SpillList};
use super::spills::Spills;
use super::{Cubin, code_name, is_code, valid_utf8};
use crate::elf::Symbol;
use crate::error::Error;

/// What one code section takes, by `.nv.info`, `.nv.info.<kernel>` and section headers.
///
/// Source: cubins of CUDA 12.4 to 13.5 beside what `ptxas -v`, `nvlink -v` and `cuobjdump -res-usage` say of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resources {
    /// Registers of a thread; of a linked kernel, with those of the functions that it calls. `None` where the cubin does
    /// not say.
    pub registers: Option<u32>,
    /// The most registers that the assembler was allowed to use, from `-maxrregcount` or launch bounds; 255 where there
    /// was no limit. The least number of blocks per multiprocessor is not kept, only this consequence of it.
    pub register_limit: Option<u16>,
    /// The largest block in x, y and z that may be launched: `__launch_bounds__`, `.maxntid`.
    pub max_threads: Option<[u32; 3]>,
    /// The only block in x, y and z that may be launched: `.reqntid`.
    pub exact_threads: Option<[u32; 3]>,
    /// Named barriers. `None` where the cubin does not say.
    pub barriers: Option<u32>,
    /// Shared memory of a block in bytes, as the driver sets it aside: what the kernel declares and, from sm_90 on, 1024
    /// bytes that the system keeps. This is `SHARED` of `cuobjdump -res-usage`. Dynamic shared memory is known at launch
    /// alone; in code to be linked, what the system keeps and what is shared with other objects comes with the link.
    pub shared_bytes: u64,
    /// What the kernel itself declares of it, in bytes: `smem` of `ptxas -v`.
    pub static_shared_bytes: u64,
    /// Local memory of a thread in bytes for this function alone, for arrays and spilled registers: the stack frame of
    /// `ptxas -v`.
    pub frame_bytes: Option<u32>,
    /// Local memory of a thread in bytes with everything that is called: `STACK` of `cuobjdump -res-usage`. `None` in code
    /// to be linked, and of functions that no host launches.
    pub stack_bytes: Option<u32>,
    /// Bytes of the section `.nv.local`: `LOCAL` of `cuobjdump -res-usage`. Present assemblers use the stack instead.
    pub local_bytes: u64,
    /// Banks of constants of this kernel alone, by number. Bank 0 holds the launch parameters, behind values of the
    /// driver.
    pub constants: Vec<ConstantBank>,
    /// Launch parameters in bytes, a part of bank 0.
    pub parameter_bytes: Option<u16>,
    /// Instructions that load from local memory (`LDL`), whether a spilled register or an array. `None` where
    /// instructions are not counted by name.
    pub local_loads: Option<u64>,
    /// Instructions that store to local memory (`STL`), likewise.
    pub local_stores: Option<u64>,
    /// Registers that did not fit, in the code of this section: functions that were linked in on their own are not part
    /// of it. `None` where the cubin cannot tell, which is not the same as none.
    pub spills: Option<Spills>,
}

/// A bank of constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConstantBank {
    /// Its number.
    pub bank: u8,
    /// Its size in bytes.
    pub bytes: u64,
}

/// What an image takes for all its kernels together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModuleResources {
    /// Global variables in bytes, initialized ones included.
    pub global_bytes: u64,
    /// Banks of constants that all kernels see, by number. Bank 3 holds `__constant__` variables.
    pub constants: Vec<ConstantBank>,
}

/// The resources of the code sections of one cubin, by names that each only one of them has.
pub(crate) struct AllResources<'a> {
    pub(crate) by_name: HashMap<&'a str, Resources>,
    pub(crate) module: ModuleResources,
    /// The first damage, which stands for all: a file may have as many as it has sections.
    pub(crate) damage: Option<Error>,
}

/// The first release whose assembler is known to list spills. 12.4 does not, and those between were not seen.
const LISTS_SPILLS_SINCE: ToolkitVersion = ToolkitVersion::new(12, 8);

/// What the system keeps of the shared memory of each block, where that is part of the kernel's section.
const RESERVED_SHARED_BYTES: u64 = 1024;

/// The first major compute capability where it is.
const RESERVED_SHARED_SINCE_MAJOR: u16 = 9;

/// What was found about one code section.
#[derive(Default)]
struct Draft<'a> {
    /// How many code sections have this name.
    sections: u32,
    code: &'a [u8],
    /// Barriers by the flags of the code section, which is where assemblers up to CUDA 12.9 put them below sm_100.
    flag_barriers: u32,
    info: Option<KernelInfo>,
    shared_bytes: Option<u64>,
    local_bytes: u64,
    constants: Vec<ConstantBank>,
}

impl<'a> Cubin<'a> {
    /// The resources of every code section. `symbols` are those of the cubin in their order, `entries` the functions that
    /// a host can launch.
    pub(crate) fn resources(
        &self,
        arch: Arch,
        symbols: &[Symbol<'a>],
        entries: &HashSet<&str>,
    ) -> AllResources<'a> {
        let mut functions = HashMap::new();
        let mut drafts: HashMap<&'a str, Draft<'a>> = HashMap::new();
        let mut module = ModuleResources::default();
        let mut damage = None;
        for section in self.elf.sections().iter().filter(|section| is_code(section)) {
            let draft = drafts.entry(code_name(section)).or_default();
            draft.sections += 1;
            draft.flag_barriers = barriers_of_flags(section.header.sh_flags.get(LE).0);
            // Code that cannot be read is an error of whoever counts its instructions.
            draft.code = self.elf.data(section).map_or(&[][..], |code| code.bytes());
        }
        for section in self.elf.sections() {
            let Some((kind, name)) = SectionKind::of(section.name) else {
                continue;
            };
            let bytes = section.header.sh_size.get(LE);
            let draft = name.and_then(|name| drafts.get_mut(valid_utf8(name)));
            match (kind, draft) {
                (SectionKind::Info, None) if name.is_none() => {
                    let data = self.elf.data(section);
                    let read = data.and_then(|data| info::read_functions(&data, symbols, &mut functions));
                    damage = damage.or(read.err());
                }
                (SectionKind::Info, Some(draft)) => {
                    match self.elf.data(section).and_then(|data| info::read_kernel(&data)) {
                        Ok(info) => draft.info = Some(info),
                        Err(error) => damage = damage.or(Some(error)),
                    }
                }
                (SectionKind::Shared, Some(draft)) => draft.shared_bytes = Some(bytes),
                (SectionKind::Local, Some(draft)) => draft.local_bytes = bytes,
                (SectionKind::Constant(bank), Some(draft)) => {
                    draft.constants.push(ConstantBank { bank, bytes });
                }
                (SectionKind::Constant(bank), None) if name.is_none() => {
                    module.constants.push(ConstantBank { bank, bytes });
                }
                (SectionKind::Global, _) => {
                    module.global_bytes = module.global_bytes.saturating_add(bytes);
                }
                _ => {}
            }
        }
        module.constants.sort_unstable();
        let by_name = drafts
            .into_iter()
            // What is said of a name that two have is of neither.
            .filter(|(_, draft)| draft.sections == 1)
            .map(|(name, draft)| {
                let function = functions.get(name.as_bytes()).copied().unwrap_or_default();
                let reserved_bytes = self.reserved_shared_bytes(arch);
                (
                    name,
                    draft.finish(function, arch, reserved_bytes, entries.contains(name)),
                )
            })
            .collect();
        AllResources {
            by_name,
            module,
            damage,
        }
    }

    /// What the shared memory of each kernel holds beside what the kernel declares. The link adds it.
    fn reserved_shared_bytes(&self, arch: Arch) -> u64 {
        if arch.major() >= RESERVED_SHARED_SINCE_MAJOR && !self.is_relocatable() {
            RESERVED_SHARED_BYTES
        } else {
            0
        }
    }
}

/// Sections that are about a kernel, or in a few cases about all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SectionKind {
    Info,
    Shared,
    Local,
    Constant(u8),
    Global,
}

impl SectionKind {
    /// The kind of a section by its name, and the kernel that it is about.
    fn of(name: &[u8]) -> Option<(Self, Option<&[u8]>)> {
        let rest = name.strip_prefix(b".nv.")?;
        let stem_end = rest.iter().position(|&byte| byte == b'.').unwrap_or(rest.len());
        let (stem, kernel) = (rest.get(..stem_end)?, rest.get(stem_end + 1..));
        let kind = match stem {
            b"info" => Self::Info,
            b"shared" => Self::Shared,
            b"local" => Self::Local,
            // `.nv.global.init` holds those with a value.
            b"global" => Self::Global,
            _ => {
                let bank = stem.strip_prefix(b"constant")?;
                Self::Constant(std::str::from_utf8(bank).ok()?.parse().ok()?)
            }
        };
        Some((kind, kernel))
    }
}

/// The number of barriers that the flags of a code section state.
fn barriers_of_flags(flags: u64) -> u32 {
    const SHIFT: u32 = 20;
    const MASK: u32 = 0x7f;
    u32::try_from(flags >> SHIFT & u64::from(MASK)).unwrap_or(MASK)
}

impl Draft<'_> {
    fn finish(
        mut self,
        function: FunctionInfo,
        arch: Arch,
        reserved_shared_bytes: u64,
        is_entry: bool,
    ) -> Resources {
        let shared_bytes = self.shared_bytes.unwrap_or(0);
        self.constants.sort_unstable();
        let mut resources = Resources {
            registers: function.registers,
            frame_bytes: function.frame_bytes,
            stack_bytes: function.stack_bytes,
            shared_bytes,
            static_shared_bytes: shared_bytes.saturating_sub(reserved_shared_bytes),
            local_bytes: self.local_bytes,
            constants: self.constants,
            barriers: Some(self.flag_barriers).filter(|&barriers| barriers != 0),
            ..Resources::default()
        };
        let Some(info) = self.info else {
            return resources;
        };
        resources.register_limit = info.register_limit;
        resources.max_threads = info.max_threads;
        resources.exact_threads = info.exact_threads;
        resources.parameter_bytes = info.parameter_bytes;
        resources.barriers = Some(info.barriers.map_or(self.flag_barriers, u32::from));
        resources.spills = match info.spills {
            _ if !is_entry => None,
            SpillList::At(offsets) => Spills::of(arch, self.code, &offsets),
            SpillList::Unknown => None,
            SpillList::Absent => info
                .toolkit
                .filter(|toolkit| *toolkit >= LISTS_SPILLS_SINCE)
                .and_then(|_| Spills::of(arch, self.code, &[])),
        };
        resources
    }
}

#[cfg(test)]
mod tests {
    use super::{SectionKind, barriers_of_flags};

    #[test]
    fn sections_are_told_apart_by_name() {
        for (name, expected) in [
            (".nv.info", Some((SectionKind::Info, None))),
            (".nv.info.k", Some((SectionKind::Info, Some("k")))),
            (".nv.info.a.b", Some((SectionKind::Info, Some("a.b")))),
            (".nv.shared.k", Some((SectionKind::Shared, Some("k")))),
            (".nv.local.k", Some((SectionKind::Local, Some("k")))),
            (".nv.constant0.k", Some((SectionKind::Constant(0), Some("k")))),
            (".nv.constant17", Some((SectionKind::Constant(17), None))),
            (".nv.global", Some((SectionKind::Global, None))),
            (".nv.constant", None),
            (".nv.constant256.k", None),
            (".nv.callgraph", None),
            (".nv.merc.nv.info.k", None),
            (".text.k", None),
        ] {
            let found = SectionKind::of(name.as_bytes());
            let expected = expected.map(|(kind, kernel)| (kind, kernel.map(str::as_bytes)));
            assert_eq!(found, expected, "{name}");
        }
    }

    #[test]
    fn flags_of_code_state_barriers() {
        assert_eq!(barriers_of_flags(0x60_0006), 6);
        assert_eq!(barriers_of_flags(6), 0);
        assert_eq!(barriers_of_flags(u64::MAX), 0x7f);
    }
}
