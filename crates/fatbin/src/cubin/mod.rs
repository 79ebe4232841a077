//! Cubins: ELF files with machine code for one architecture.

mod arch;
mod info;
mod note;
mod record;
mod resources;
mod spills;

use std::collections::HashSet;

use blockgate_arch::{Arch, ToolkitVersion};
use object::LittleEndian as LE;
use object::elf::{SHF_EXECINSTR, SHT_PROGBITS};

pub(crate) use arch::COMPAT_SECTION;
pub(crate) use info::{INFO_PREFIX, INFO_SECTION, SHT_CUDA_INFO};
pub(crate) use note::{CUDA_NOTE_SECTIONS, NOTE_SECTION, ToolNote};
pub use note::{CudaNote, Tool};
pub use resources::{ConstantBank, ModuleResources, Resources};
pub use spills::Spills;

use crate::elf::{Elf, MACHINE_CUDA, Section, Symbol};
use crate::error::Error;
use crate::view::View;

/// A parsed cubin.
///
/// ```
/// use blockgate_fatbin::Cubin;
/// # use blockgate_arch::{Arch, Scope, ToolkitVersion};
/// # use blockgate_fatbin::write::{Cubin as Writer, Kernel, instruction};
/// # let bytes = Writer::new(Arch::new(9, 0, Scope::Plain), ToolkitVersion::new(12, 4))
/// #     .kernel(Kernel::new("copy", [instruction(0x94d)]))
/// #     .build()?;
///
/// let cubin = Cubin::parse(&bytes, 0)?;
/// for section in cubin.code_sections() {
///     let section = section?;
///     assert_eq!((section.name, section.bytes.len()), ("copy", 128));
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Cubin<'a> {
    elf: Elf<'a>,
}

/// A section with machine code. There is one per kernel, and in code to be linked one per device function.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct CodeSection<'a> {
    /// The mangled name of the function: the section's name without `.text.`. Bytes that are no UTF-8 end it.
    pub name: &'a str,
    /// The instructions.
    pub bytes: &'a [u8],
}

/// How the names of sections with machine code start. The name of the function follows.
pub(crate) const CODE_PREFIX: &[u8] = b".text.";

/// Symbols of functions that a host can launch carry this bit in `st_other`.
const STO_CUDA_ENTRY: u8 = 0x10;

/// The symbol type of functions.
const STT_FUNC: u8 = 2;

impl<'a> Cubin<'a> {
    /// Parses a cubin that starts `bytes`; padding behind it is ignored. `offset` is where `bytes` start in the
    /// file, for errors.
    ///
    /// # Errors
    /// When it is no 64-bit little-endian ELF file for CUDA, or its section table lies outside.
    pub fn parse(bytes: &'a [u8], offset: u64) -> Result<Self, Error> {
        Self::parse_view(View::new(bytes, None, offset))
    }

    pub(crate) fn parse_view(view: View<'a>) -> Result<Self, Error> {
        /// Where the ELF header names the machine.
        const MACHINE_AT: u64 = 18;
        let elf = Elf::parse(view)?;
        if elf.machine() != MACHINE_CUDA {
            let expected = format!("ELF machine {MACHINE_CUDA} (CUDA)");
            return Err(elf
                .view()
                .error(MACHINE_AT, expected, format!("{}", elf.machine())));
        }
        Ok(Self { elf })
    }

    /// The sections with machine code, in file order: by name, or by type and flags.
    ///
    /// What only the driver's finalizer reads (`.nv.capmerc.*`, `.nv.merc.*`) is not among them.
    pub fn code_sections(&self) -> impl Iterator<Item = Result<CodeSection<'a>, Error>> {
        self.code_views().map(|found| {
            found.map(|(name, code)| CodeSection {
                name,
                bytes: code.bytes(),
            })
        })
    }

    pub(crate) fn code_views(&self) -> impl Iterator<Item = Result<(&'a str, View<'a>), Error>> {
        self.elf
            .sections()
            .iter()
            .filter(|section| is_code(section))
            .map(|section| Ok((code_name(section), self.elf.data(section)?)))
    }

    /// The symbols, in their order.
    pub(crate) fn symbols(&self) -> Result<Vec<Symbol<'a>>, Error> {
        self.elf.symbols()
    }

    /// Whether it is input of a device link.
    pub(crate) fn is_relocatable(&self) -> bool {
        self.elf.file_type() == 1
    }

    /// The architecture by the ELF header and `.nv.compat`. Scope plain means "plain or family": nothing here
    /// tells those two apart.
    pub(crate) fn header_arch(&self) -> Result<Arch, Error> {
        arch::of_cubin(&self.elf)
    }

    /// The release that made it, where the ELF header says so (ABI 7).
    pub(crate) fn header_toolkit(&self) -> Option<ToolkitVersion> {
        arch::toolkit_of_header(&self.elf)
    }

    /// What the note about its target and release says.
    pub(crate) fn cuda_note(&self) -> Option<CudaNote> {
        note::read_cuda(&self.elf)
    }

    /// What each tool that wrote it said of itself.
    pub(crate) fn tool_notes(&self) -> Result<Vec<ToolNote>, Error> {
        note::read(&self.elf)
    }

    pub(crate) fn view(&self) -> &View<'a> {
        self.elf.view()
    }
}

/// The names of functions that a host can launch.
pub(crate) fn entry_names<'a>(symbols: &[Symbol<'a>]) -> HashSet<&'a str> {
    symbols
        .iter()
        .filter(|symbol| symbol.kind == STT_FUNC && symbol.other & STO_CUDA_ENTRY != 0)
        .map(|symbol| valid_utf8(symbol.name))
        .collect()
}

/// Whether a section holds machine code: by name, or by type and flags.
fn is_code(section: &Section<'_>) -> bool {
    let header = section.header;
    let by_header = header.sh_type.get(LE) == SHT_PROGBITS && header.sh_flags.get(LE).contains(SHF_EXECINSTR);
    by_header || section.name.starts_with(CODE_PREFIX)
}

/// The name of the function that a section of code is for.
fn code_name<'a>(section: &Section<'a>) -> &'a str {
    let name = valid_utf8(section.name);
    name.strip_prefix(".text.").unwrap_or(name)
}

fn valid_utf8(bytes: &[u8]) -> &str {
    bytes.utf8_chunks().next().map_or("", |chunk| chunk.valid())
}
