//! What an audit found out, as a model. The machine shapes are in `render`.

use std::collections::BTreeMap;
use std::sync::Arc;

use blockgate_arch::ptx_isa::PtxIsa;
use blockgate_arch::{Arch, ToolkitVersion};
use blockgate_fatbin::{
    Compression, Container, CudaNote, DeviceCode, Histogram, ImageKind, ModuleResources, PtxFacts, Resources,
    Tool,
};
use blockgate_findings::{ExitStatus, Finding, Severity};

use crate::census::{ArchCount, Totals};
use crate::digest::Digest;
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
    /// Of its bytes, where digests were asked for and the file could be opened.
    pub digest: Option<Digest>,
    /// What kind of device code the file holds, so that an empty answer is never mistaken for a clean one.
    pub device_code: DeviceCode,
    /// Members of an archive, package or folder; empty for other files.
    pub members: Vec<MemberReport>,
    /// How many files of a package or folder are no binaries: text, pictures, compiled Python. They are not members.
    pub other_files: u64,
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
    /// Of its bytes, where digests were asked for.
    pub digest: Option<Digest>,
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
    pub section: Option<Arc<str>>,
    /// Running number of its region in the file.
    pub region: u32,
    /// Running number of the image in its region.
    pub entry: u32,
    /// Absolute offset of its entry header in bytes.
    pub offset_bytes: u64,
    /// What it is.
    pub kind: ImageKind,
    /// The architecture; `None` only where neither the entry nor the image names one.
    pub arch: Option<Arch>,
    /// The architecture by the entry header, which is what the driver selects by; `None` for a bare cubin or PTX text.
    pub declared: Option<Arch>,
    /// The version of PTX.
    pub ptx_isa: Option<PtxIsa>,
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
    /// The programs that wrote a cubin, in their order, with version, build and command line, where they left notes.
    pub tools: Vec<Tool>,
    /// What a cubin's note says of its target and release.
    pub cuda_note: Option<CudaNote>,
    /// What PTX says of itself; its kernels are listed where kernels were asked for.
    pub ptx: Option<PtxFacts>,
    /// Places in the text of PTX that each asked pattern finds, in the order of the options; empty for other images.
    pub ptx_text: Vec<PtxTextCount>,
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
    /// What a cubin takes for all its kernels together, where they were asked for.
    pub module: Option<ModuleResources>,
    /// The mangled names of the kernels (entry functions), where they were asked for.
    pub entries: Vec<String>,
    /// Of the text of PTX, where digests were asked for. Those of machine code are in `kernels`.
    pub digest: Option<Digest>,
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

    /// Places in PTX text that each asked pattern finds, by architecture as [`Totals`] sorts them, over the counted images.
    /// An architecture with a text that could not be searched has no row.
    pub fn ptx_text(&self) -> Vec<(Arc<str>, Vec<ArchCount>)> {
        let mut rows: Vec<(Arc<str>, Vec<ArchCount>)> = Vec::new();
        for ArchCount { arch, .. } in &self.totals.ptx {
            let texts: Vec<&ImageReport> = self
                .images
                .iter()
                .filter(|image| image.counted && image.kind == ImageKind::Ptx && image.arch == Some(*arch))
                .collect();
            let asked = texts.first().map_or(0, |text| text.ptx_text.len());
            for index in 0..asked {
                let mut counts = texts.iter().map(|text| text.ptx_text.get(index));
                let sum = counts.try_fold(0, |sum: u64, row| Some(sum + row?.count?));
                let pattern = texts.first().and_then(|text| text.ptx_text.get(index));
                let Some(pattern) = pattern.map(|row| Arc::clone(&row.pattern)) else {
                    continue;
                };
                if rows.len() <= index {
                    rows.push((pattern, Vec::new()));
                }
                rows[index]
                    .1
                    .extend(sum.map(|count| ArchCount { arch: *arch, count }));
            }
        }
        rows
    }

    /// Bytes of the containers that compress several images together, each counted once.
    pub fn shared_bytes(&self) -> u64 {
        let containers = self
            .images
            .iter()
            .filter_map(|image| Some((image.file.as_ref(), image.container?)));
        let by_offset: BTreeMap<(Option<&Arc<str>>, u64), u64> = containers
            .map(|(file, container)| ((file, container.offset), container.stored_size))
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
    /// Whether a host can launch it.
    pub is_entry: bool,
    /// Of its machine code, where digests were asked for.
    pub digest: Option<Digest>,
    /// Size of its machine code in bytes.
    pub code_bytes: u64,
    /// Number of instructions.
    pub instructions: Option<u64>,
    /// Instructions by mnemonic.
    pub sass: Histogram,
    /// What it takes of a multiprocessor; `None` where that was not looked at.
    pub resources: Option<Resources>,
}

/// How often a pattern is found in the text of one PTX image, comments included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PtxTextCount {
    /// The pattern as it was written.
    pub pattern: Arc<str>,
    /// Places, not overlapping; `None` where the text could not be searched.
    pub count: Option<u64>,
}
