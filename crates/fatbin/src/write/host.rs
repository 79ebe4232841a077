//! Host files: what a compiler's driver leaves around regions.

use super::elf::{self, Header, SHT_PROGBITS, Section};
use super::{WriteError, pad};

/// What kind of ELF file it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HostKind {
    /// Input of a link.
    Relocatable,
    /// An executable at a fixed address.
    Executable,
    /// A shared object.
    Shared,
}

/// Builds an x86-64 ELF file with device code and without host code.
///
/// Pointers in it are 0, as in an object before it is linked; no relocations are written.
///
/// Source: the host objects that nvcc 11.8 to 13.5 make; `fatbinary_section.h` of the toolkit.
///
/// ```
/// use blockgate_fatbin::write::{HostKind, HostObject, Region};
/// use blockgate_fatbin::{DeviceCode, FileFormat, Limits, read};
///
/// let stub = Region::new().build()?;
/// let object = HostObject::new(HostKind::Shared).linked(stub).build()?;
/// let artifact = read(&object, &Limits::default())?;
/// assert_eq!(artifact.format, FileFormat::ElfShared);
/// assert_eq!(artifact.members[0].device_code, DeviceCode::None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct HostObject {
    kind: HostKind,
    linked: Vec<Vec<u8>>,
    relocatable: Vec<Vec<u8>>,
    extra: Vec<Section>,
}

impl HostObject {
    /// A file without device code.
    pub fn new(kind: HostKind) -> Self {
        Self {
            kind,
            linked: Vec::new(),
            relocatable: Vec::new(),
            extra: Vec::new(),
        }
    }

    /// Adds a region to `.nv_fatbin`, which the driver loads from.
    #[must_use]
    pub fn linked(mut self, region: impl Into<Vec<u8>>) -> Self {
        self.linked.push(region.into());
        self
    }

    /// Adds a region to `__nv_relfatbin`, whose images are input of a device link.
    #[must_use]
    pub fn relocatable(mut self, region: impl Into<Vec<u8>>) -> Self {
        self.relocatable.push(region.into());
        self
    }

    /// Adds a section of program bits.
    #[must_use]
    pub fn section(mut self, name: impl Into<String>, content: impl Into<Vec<u8>>) -> Self {
        self.extra.push(Section::new(name, SHT_PROGBITS, content.into()));
        self
    }

    /// The file.
    ///
    /// # Errors
    /// When there are more sections than an ELF header can count.
    pub fn build(&self) -> Result<Vec<u8>, WriteError> {
        const MACHINE_X86_64: u16 = 62;
        /// Allocated.
        const SHF_ALLOC: u64 = 2;
        let mut sections = self.extra.clone();
        let device = [
            (".nv_fatbin", &self.linked),
            ("__nv_relfatbin", &self.relocatable),
        ];
        for (name, regions) in device.into_iter().filter(|(_, regions)| !regions.is_empty()) {
            let mut content = Vec::new();
            for region in regions {
                pad(&mut content, 8);
                content.extend(region);
            }
            sections.push(Section {
                flags: SHF_ALLOC,
                alignment: 16,
                ..Section::new(name, SHT_PROGBITS, content)
            });
        }
        let regions = self.linked.len() + self.relocatable.len();
        if regions > 0 {
            sections.push(Section {
                flags: SHF_ALLOC,
                alignment: 8,
                ..Section::new(".nvFatBinSegment", SHT_PROGBITS, wrapper().repeat(regions))
            });
        }
        let header = Header {
            os_abi: 0,
            abi_version: 0,
            file_type: match self.kind {
                HostKind::Relocatable => 1,
                HostKind::Executable => 2,
                HostKind::Shared => 3,
            },
            machine: MACHINE_X86_64,
            version: 1,
            flags: 0,
        };
        elf::build(header, &sections)
    }
}

/// By which the host code finds a region: magic, version, pointer to the region, and another one.
fn wrapper() -> Vec<u8> {
    const MAGIC: u32 = 0x4662_43b1;
    const VERSION: u32 = 1;
    let mut wrapper = MAGIC.to_le_bytes().to_vec();
    wrapper.extend(VERSION.to_le_bytes());
    wrapper.extend([0; 16]);
    wrapper
}
