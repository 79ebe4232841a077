//! Cubins: one architecture, some kernels, and where each toolkit leaves the architecture.

use blockgate_arch::{Arch, Scope, ToolkitVersion};

use super::elf::{self, Header, SHT_NOTE, SHT_PROGBITS, SHT_STRTAB, SHT_SYMTAB, Section, Strings};
use super::{WriteError, field, pad};

/// A machine instruction of sm_70 and later, low word first.
pub type Instruction = [u64; 2];

/// The instruction whose low 12 bits, operation and form of operands, are `opcode`; all else is 0, but for the
/// predicate, which says "always".
pub const fn instruction(opcode: u16) -> Instruction {
    const ALWAYS: u64 = 0x7000;
    [(opcode & 0xfff) as u64 | ALWAYS, 0]
}

/// A function with its machine code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    name: String,
    instructions: Vec<Instruction>,
    is_entry: bool,
    registers: u8,
}

impl Kernel {
    /// A kernel that a host can launch. Its name is taken as it is: mangled, where it shall be.
    pub fn new(name: impl Into<String>, instructions: impl Into<Vec<Instruction>>) -> Self {
        Self {
            name: name.into(),
            instructions: instructions.into(),
            is_entry: true,
            registers: 0,
        }
    }

    /// Makes it a function for other device code, which no host can launch.
    #[must_use]
    pub fn device_function(mut self) -> Self {
        self.is_entry = false;
        self
    }

    /// How many registers a thread of it has.
    #[must_use]
    pub fn registers(mut self, count: u8) -> Self {
        self.registers = count;
        self
    }
}

/// Builds a cubin as the assembler of a toolkit lays it out.
///
/// Up to CUDA 12.9 code below sm_100 has ELF ABI 7, which states the suffix `a` in its flags; all other code has ABI 8,
/// which states it in its flags (12.x) or in `.nv.compat` (13.x). Suffix `f` is stated by the command line in the note
/// alone, which ABI 7 doesn't have.
///
/// Source: cubins of `ptxas` 11.8 to 13.5 for every target each knows.
#[derive(Clone, Debug)]
pub struct Cubin {
    arch: Arch,
    toolkit: ToolkitVersion,
    kernels: Vec<Kernel>,
    relocatable: bool,
    note: bool,
    extra: Vec<Section>,
}

/// CUDA's machine number in an ELF header.
const MACHINE_CUDA: u16 = 190;

/// The type of `.nv.compat`.
const SHT_COMPAT: u32 = 0x7000_0086;

/// Allocated; executable.
const SHF_ALLOC: u64 = 2;
const SHF_EXECINSTR: u64 = 4;

/// Symbols: global function, and the mark of those that a host can launch.
const GLOBAL_FUNC: u8 = 0x12;
const STO_CUDA_ENTRY: u8 = 0x10;
const SYMBOL_BYTES: u8 = 24;

/// Code sections start at multiples of this, and their sizes are multiples of it.
const CODE_ALIGNMENT_BYTES: usize = 128;

/// The instruction that pads them.
const NOP: u16 = 0x918;

impl Cubin {
    /// A cubin without kernels for `arch`, as `toolkit` makes it.
    pub fn new(arch: Arch, toolkit: ToolkitVersion) -> Self {
        Self {
            arch,
            toolkit,
            kernels: Vec::new(),
            relocatable: false,
            note: true,
            extra: Vec::new(),
        }
    }

    /// Adds a kernel.
    #[must_use]
    pub fn kernel(mut self, kernel: Kernel) -> Self {
        self.kernels.push(kernel);
        self
    }

    /// Makes it input of a device link.
    #[must_use]
    pub fn relocatable(mut self) -> Self {
        self.relocatable = true;
        self
    }

    /// Leaves out the note with the command line, as stripping does. What tells family from plain goes with it.
    #[must_use]
    pub fn without_note(mut self) -> Self {
        self.note = false;
        self
    }

    /// Adds a section as it is, with its ELF type.
    #[must_use]
    pub fn section(mut self, name: impl Into<String>, kind: u32, content: impl Into<Vec<u8>>) -> Self {
        self.extra.push(Section::new(name, kind, content.into()));
        self
    }

    fn has_abi_8(&self) -> bool {
        self.toolkit.major() >= 13 || self.arch.number() >= 100
    }

    /// The content of its `.nv.compat`, which the entry header of code for sm_100 and later repeats; `None` where the
    /// toolkit writes no such section.
    pub fn compat(&self) -> Option<Vec<u8>> {
        /// Records of a format, an attribute and a value: `ISA_CLASS`, and the one that says "for this compute
        /// capability alone".
        const ISA_CLASS: [u8; 4] = [2, 2, 1, 0];
        const ACCELERATOR_TARGET: [u8; 4] = [2, 9, 1, 0];
        if !self.has_abi_8() {
            return None;
        }
        let mut compat = ISA_CLASS.to_vec();
        if self.toolkit.major() >= 13 && self.arch.scope() == Scope::Specific {
            compat.extend(ACCELERATOR_TARGET);
        }
        Some(compat)
    }

    fn header(&self) -> Result<Header, WriteError> {
        let number: u8 = field(
            "the architecture number of a cubin",
            u64::from(self.arch.number()),
        )?;
        let number = u32::from(number);
        let specific = self.arch.scope() == Scope::Specific;
        let file_type = if self.relocatable { 1 } else { 2 };
        let release = u32::from(self.toolkit.major()) * 10 + u32::from(self.toolkit.minor());
        Ok(if self.has_abi_8() {
            let kind = if number < 100 { 4 } else { 2 };
            let suffix = if specific && self.toolkit.major() < 13 {
                8
            } else {
                0
            };
            Header {
                os_abi: 0x41,
                abi_version: 8,
                file_type,
                machine: MACHINE_CUDA,
                version: 1,
                flags: 0x0600_0000 | number << 8 | kind | suffix,
            }
        } else {
            let suffix = if specific { 0x800 } else { 0 };
            Header {
                os_abi: 0x33,
                abi_version: 7,
                file_type,
                machine: MACHINE_CUDA,
                version: release,
                flags: number << 16 | 0x500 | number | suffix,
            }
        })
    }

    /// The note of the assembler: offsets of five strings (object, tool, version, build, command line), then these.
    fn tool_note(&self) -> Result<Vec<u8>, WriteError> {
        const OWNER_BYTES: u32 = 12;
        const OWNER: &[u8; OWNER_BYTES as usize] = b"NVIDIA Corp\0";
        const TOOL_INFO: u32 = 2000;
        let (major, minor, patch) = (self.toolkit.major(), self.toolkit.minor(), self.toolkit.patch());
        let mut strings = Strings::new();
        let offsets = [
            0,
            strings.add("ptxas")?,
            strings.add(&format!(
                "Cuda compilation tools, release {major}.{minor}, V{major}.{minor}.{patch}"
            ))?,
            strings.add(&format!("Build cuda_{major}.{minor}"))?,
            strings.add(&format!("-arch {} -m 64 ", self.arch))?,
        ];
        let mut description = 2_u32.to_le_bytes().to_vec();
        description.extend(offsets.into_iter().flat_map(u32::to_le_bytes));
        description.extend(strings.into_bytes());
        let size: u32 = field("a note", description.len() as u64)?;
        let mut note = OWNER_BYTES.to_le_bytes().to_vec();
        note.extend(size.to_le_bytes());
        note.extend(TOOL_INFO.to_le_bytes());
        note.extend(OWNER);
        note.extend(description);
        pad(&mut note, 4);
        Ok(note)
    }

    /// The file.
    ///
    /// # Errors
    /// When the architecture number exceeds 255, or there are more sections than an ELF header can count.
    pub fn build(&self) -> Result<Vec<u8>, WriteError> {
        let header = self.header()?;
        // Index 0 is the empty section and 1 the names of sections.
        const STRINGS_INDEX: u32 = 2;
        const FIRST_INDEX: usize = 4;
        let mut rest = Vec::new();
        if let Some(compat) = self.compat() {
            rest.push(Section {
                alignment: 4,
                ..Section::new(".nv.compat", SHT_COMPAT, compat)
            });
        }
        if self.note && self.has_abi_8() {
            rest.push(Section {
                alignment: 4,
                ..Section::new(".note.nv.tkinfo", SHT_NOTE, self.tool_note()?)
            });
        }
        rest.extend(self.extra.iter().cloned());
        let mut strings = Strings::new();
        let mut symbols = vec![0; usize::from(SYMBOL_BYTES)];
        for (index, kernel) in self.kernels.iter().enumerate() {
            let section: u16 = field("the index of a section", (FIRST_INDEX + rest.len()) as u64)?;
            let symbol: u32 = field("the index of a symbol", index as u64 + 1)?;
            let code = code(&kernel.instructions);
            let size = code.len() as u64;
            symbols.extend(strings.add(&kernel.name)?.to_le_bytes());
            symbols.extend([GLOBAL_FUNC, if kernel.is_entry { STO_CUDA_ENTRY } else { 0 }]);
            symbols.extend(section.to_le_bytes());
            symbols.extend([0, size].into_iter().flat_map(u64::to_le_bytes));
            rest.push(Section {
                flags: SHF_ALLOC | SHF_EXECINSTR,
                link: STRINGS_INDEX + 1,
                // The symbol's index, below the number of registers.
                info: symbol & 0xff_ffff | u32::from(kernel.registers) << 24,
                alignment: CODE_ALIGNMENT_BYTES as u64,
                ..Section::new(format!(".text.{}", kernel.name), SHT_PROGBITS, code)
            });
        }
        let mut sections = vec![
            Section::new(".strtab", SHT_STRTAB, strings.into_bytes()),
            Section {
                link: STRINGS_INDEX,
                info: 1,
                alignment: 8,
                entry_bytes: u64::from(SYMBOL_BYTES),
                ..Section::new(".symtab", SHT_SYMTAB, symbols)
            },
        ];
        sections.extend(rest);
        elf::build(header, &sections)
    }
}

/// The bytes of `instructions`, with NOPs behind them up to a size that code sections have.
fn code(instructions: &[Instruction]) -> Vec<u8> {
    let mut code: Vec<u8> = instructions
        .iter()
        .flatten()
        .flat_map(|word| word.to_le_bytes())
        .collect();
    let nop: Vec<u8> = instruction(NOP)
        .iter()
        .flat_map(|word| word.to_le_bytes())
        .collect();
    while !code.len().is_multiple_of(CODE_ALIGNMENT_BYTES) {
        code.extend(&nop);
    }
    code
}
