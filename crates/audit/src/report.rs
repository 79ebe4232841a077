//! What an audit found out, as a model. The machine shapes are in `render`.

use std::collections::BTreeMap;
use std::sync::Arc;

use blockgate_arch::{Arch, ToolkitVersion};
use blockgate_fatbin::{Compression, Container, DeviceCode, Histogram, ImageKind};
use blockgate_findings::{ExitStatus, Finding, Severity};

use crate::census::Totals;
use crate::evaluate::Evaluation;

/// The result of one audit run.
#[derive(Debug)]
pub struct Report {
    /// One row per input, thin archives included, in the order in which they were given.
    pub files: Vec<FileReport>,
    /// One row per expectation, in the order in which they were given.
    pub evaluations: Vec<Evaluation>,
    /// Everything that is wrong or doubtful, inputs that could not be read included.
    pub findings: Vec<Finding>,
    /// Inputs or images that could not be read or checked, which no verdict may hide.
    pub unreadable: bool,
    /// The configuration file that was followed.
    pub policy: Option<String>,
    /// Findings that the configuration accepts.
    pub waived: Vec<Waived>,
    /// Rules that could not be checked, which is not the same as nothing found.
    pub unchecked: Vec<Unchecked>,
}

/// A finding that the configuration accepts.
#[derive(Clone, Debug)]
pub struct Waived {
    /// The finding.
    pub finding: Finding,
    /// Why it is accepted.
    pub reason: String,
}

/// A rule that could not be checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unchecked {
    /// The rule's id.
    pub rule: &'static str,
    /// The severity that its findings would have had.
    pub severity: Severity,
    /// What it could not be checked on; everything if absent.
    pub artifact: Option<String>,
    /// What stood in the way.
    pub reason: String,
}

impl Report {
    /// The exit status. `strict` counts warnings as errors.
    pub fn status(&self, strict: bool) -> ExitStatus {
        let findings = self.findings.iter().fold(ExitStatus::Clean, |status, finding| {
            status.and(ExitStatus::of(finding.severity, strict))
        });
        let expectations = self
            .evaluations
            .iter()
            .fold(ExitStatus::Clean, |status, row| status.and(row.status()));
        let reading = if self.unreadable {
            ExitStatus::Unreadable
        } else {
            ExitStatus::Clean
        };
        let unchecked = self.unchecked.iter().any(|row| {
            // Not checked where a finding would have failed the run: that is no pass.
            ExitStatus::of(row.severity, strict) == ExitStatus::Failed
        });
        let checking = if unchecked {
            ExitStatus::Unreadable
        } else {
            ExitStatus::Clean
        };
        findings.and(expectations).and(reading).and(checking)
    }
}

/// One input.
#[derive(Clone, Debug)]
pub struct FileReport {
    /// The path as it was given.
    pub path: String,
    /// `elf-shared`, `archive` and so on; `unknown` where the file could not be read.
    pub format: &'static str,
    /// Size of the file in bytes; 0 where it could not be opened.
    pub size_bytes: u64,
    /// What kind of device code the file holds, so that an empty answer is never mistaken for a clean one.
    pub device_code: DeviceCode,
    /// Members of an archive, package or folder; empty for other files.
    pub members: Vec<MemberReport>,
    /// Every image, in file order.
    pub images: Vec<ImageReport>,
    /// Sums over the images.
    pub totals: Totals,
    /// Bytes in the device-code sections that no region, entry or image accounts for.
    pub unattributed_bytes: u64,
    /// Whether every member, region and entry could be read, so that what is listed is all there is.
    pub read_in_full: bool,
}

/// One member of an archive, package or folder that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberReport {
    /// Its full name: the path in the package, then the name in the archive (`lib/libx.a/quantize.cu.o`).
    pub name: Arc<str>,
    /// The file of the package or folder that it is or lies in; `None` where the input is no package. What loads or links
    /// as a whole is such a file, or the input.
    pub file: Option<Arc<str>>,
    /// Its size in bytes, decompressed.
    pub size_bytes: u64,
    /// What kind of device code it holds.
    pub device_code: DeviceCode,
}

/// One image: a cubin, a PTX text, LTO-IR or something else that a fat binary names.
#[derive(Clone, Debug)]
pub struct ImageReport {
    /// The member that holds it, as [`MemberReport::name`] has it; `None` where the input has no members.
    pub member: Option<Arc<str>>,
    /// The file of the package or folder that holds it, as [`MemberReport::file`] has it.
    pub file: Option<Arc<str>>,
    /// The section of the host file that holds it.
    pub section: Option<&'static str>,
    /// Running number of its region in the file.
    pub region: u32,
    /// Absolute offset of its entry header in bytes.
    pub offset_bytes: u64,
    /// What it is.
    pub kind: ImageKind,
    /// The architecture; `None` only where neither the entry nor the image names one.
    pub arch: Option<Arch>,
    /// A bare cubin whose note is gone could be plain or family; then this is false.
    pub arch_certain: bool,
    /// Whether it is input to a device link.
    pub relocatable: bool,
    /// Whether totals and expectations count it: relocatable images are left out where the same file also holds
    /// the images that were linked from them, or every kernel would count twice.
    pub counted: bool,
    /// How it is stored.
    pub compression: Compression,
    /// Size in the file in bytes.
    pub stored_bytes: u64,
    /// The container whose one compressed payload it shares with other images; its own `stored_bytes` is then 0.
    pub container: Option<Container>,
    /// The offset of the first image of the same input whose payload is the same, byte for byte.
    pub identical_to: Option<u64>,
    /// Size when decoded, in bytes, where it is known.
    pub size_bytes: Option<u64>,
    /// The toolkit that made it.
    pub toolkit: Option<ToolkitVersion>,
    /// Number of kernels (entry functions), where the image was inspected.
    pub kernel_count: Option<u64>,
    /// Number of instructions; `None` where they cannot be counted, which is not the same as none.
    pub instructions: Option<u64>,
    /// Instructions by mnemonic.
    pub sass: Histogram,
    /// Whether a mnemonic that `sass` does not have is not in the image either.
    pub mnemonics_known: bool,
    /// Code sections by kernel, where they were asked for.
    pub kernels: Vec<KernelReport>,
    /// Matches of each `ptx_text` expectation, by its position in the options.
    pub(crate) ptx_matches: Vec<Option<u64>>,
}

/// What a driver must be to decompress. Source: NVIDIA's notes on `--compress-mode`; ollama issue 12258 reports the
/// failure on older ones.
pub(crate) const ZSTD_DRIVER_FLOOR: ToolkitVersion = ToolkitVersion::new(12, 4);

impl FileReport {
    /// The oldest driver, by its CUDA release, that can decompress every image; `None` where any driver can. CUDA 12.4 is
    /// driver 550.
    pub fn driver_floor(&self) -> Option<ToolkitVersion> {
        let zstd = self
            .images
            .iter()
            .any(|image| image.compression == Compression::Zstd);
        zstd.then_some(ZSTD_DRIVER_FLOOR)
    }

    /// Bytes of the containers that compress several images together, each counted once.
    pub fn shared_bytes(&self) -> u64 {
        let containers = self.images.iter().filter_map(|image| image.container);
        let by_offset: BTreeMap<u64, u64> = containers
            .map(|container| (container.offset, container.stored_size))
            .collect();
        by_offset.values().sum()
    }
}

impl ImageReport {
    /// How many instructions convert to E2M1; `None` where that cannot be told.
    pub fn e2m1_conversions(&self) -> Option<u64> {
        (self.instructions.is_some() && self.mnemonics_known).then(|| self.sass.e2m1_conversions())
    }

    /// Whether it is machine code.
    pub fn is_cubin(&self) -> bool {
        self.kind == ImageKind::Cubin
    }
}

/// One code section of a cubin.
#[derive(Clone, Debug)]
pub struct KernelReport {
    /// The name as the compiler wrote it.
    pub name: String,
    /// Size of its machine code in bytes.
    pub code_bytes: u64,
    /// Number of instructions.
    pub instructions: Option<u64>,
    /// Instructions by mnemonic.
    pub sass: Histogram,
}
