//! The choice among the images of one module.

use std::collections::HashSet;
use std::fmt;

use blockgate_arch::devices::DRIVER_ENDS;
use blockgate_arch::ptx_isa::{DriverFloor, PtxIsa};
use blockgate_arch::{Arch, CodeKind, Device, RunsOn, Scope, Target, ToolkitVersion, select, toolkits};
use blockgate_fatbin::{Compression, ImageKind};

use super::Module;
use crate::report::{ImageReport, ZSTD_DRIVER_FLOOR};

/// What becomes of the kernels of one module on one device.
#[derive(Debug)]
pub enum Verdict<'a> {
    /// The driver takes an image.
    Taken(Taken<'a>),
    /// It finds none that it may load.
    NoImage {
        /// Every image, and why not it.
        excluded: Vec<Excluded<'a>>,
    },
}

/// The image that the driver takes.
#[derive(Debug)]
pub struct Taken<'a> {
    /// The image.
    pub image: &'a ImageReport,
    /// What its header says that it is, which is what the driver selects by.
    pub target: Target,
    /// Images that would do as well: NVIDIA does not document which of them and `image` the driver prefers.
    pub rivals: Vec<Rival<'a>>,
    /// What the code is for, where the header says otherwise.
    pub contradiction: Option<Arch>,
    /// Whether that code loads on the device.
    pub code_loads: bool,
    /// Kernels of the module that this image lacks.
    pub missing: Vec<&'a str>,
    /// Images that could not be looked into, one of which may be taken instead.
    pub unknown_images: u64,
    /// The oldest driver that takes it, as far as compression and the version of PTX decide it.
    pub driver_floor: Option<DriverFloor>,
}

/// An image that would do as well as the one that is taken.
#[derive(Clone, Copy, Debug)]
pub struct Rival<'a> {
    /// The image.
    pub image: &'a ImageReport,
    /// What its header says that it is.
    pub target: Target,
}

/// An image that the driver cannot take.
#[derive(Debug)]
pub struct Excluded<'a> {
    /// The image.
    pub image: &'a ImageReport,
    /// What its header says that it is; `None` where that is neither machine code nor PTX, or not known.
    pub target: Option<Target>,
    /// Why.
    pub reason: Reason,
}

/// Why an image is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// By the rules of what runs where.
    Loader(RunsOn),
    /// The driver is too old for this version of PTX.
    PtxTooNew(PtxIsa, DriverFloor),
    /// The driver is too old to decompress it.
    Compression(ToolkitVersion),
    /// The driver does not run the device.
    Driver(DriverProblem),
    /// LTO-IR is input of a link, never loaded.
    LtoIr,
    /// An image of an unknown kind, or one that could not be read.
    NotKnown,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Loader(answer) => answer.fmt(f),
            Self::PtxTooNew(isa, floor) => write!(f, "PTX {isa} needs a driver of {floor}"),
            Self::Compression(floor) => write!(f, "zstd needs a driver of CUDA {floor} (550) or later"),
            Self::Driver(problem) => problem.fmt(f),
            Self::LtoIr => f.write_str("LTO-IR is input of a link"),
            Self::NotKnown => f.write_str("not known: the image could not be looked into"),
        }
    }
}

/// Why a driver does not run a device at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DriverProblem {
    /// It is from before the device.
    TooOld {
        /// The release that knows the device first.
        first: ToolkitVersion,
    },
    /// It is from after the end of support.
    TooNew {
        /// The last release that ran the device.
        last: ToolkitVersion,
    },
}

impl DriverProblem {
    /// What keeps a driver of CUDA `driver` from running `device`.
    pub fn of(device: Device, driver: ToolkitVersion) -> Option<Self> {
        let driver = driver.release();
        let ended = DRIVER_ENDS.iter().find(|row| {
            (device.major(), device.minor()) < (row.below.major(), row.below.minor()) && driver > row.last
        });
        if let Some(row) = ended {
            return Some(Self::TooNew { last: row.last });
        }
        let plain = Arch::new(device.major(), device.minor(), Scope::Plain);
        let first = toolkits::releases_that_know(plain)?.first;
        // Where the table starts, a target may be older than its row says.
        let [oldest, ..] = toolkits::MEASURED_RELEASES;
        (first > oldest && driver < first).then_some(Self::TooOld { first })
    }
}

impl fmt::Display for DriverProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooOld { first } => write!(f, "the device is known from CUDA {first} on"),
            Self::TooNew { last } => write!(f, "CUDA {last} was the last with a driver for the device"),
        }
    }
}

impl Verdict<'_> {
    /// Whether another image may be taken, which could not be looked into.
    pub fn is_doubtful(&self) -> bool {
        matches!(self, Self::Taken(taken) if taken.unknown_images > 0)
    }

    /// Whether a kernel of the module cannot run.
    pub fn fails(&self) -> bool {
        match self {
            Self::Taken(taken) => !taken.code_loads || !taken.missing.is_empty(),
            Self::NoImage { .. } => true,
        }
    }
}

/// What the driver takes `image` for: the header's word, or where there is no header the image's own.
pub(super) fn target(image: &ImageReport) -> Option<Target> {
    let kind = match image.kind {
        ImageKind::Cubin => CodeKind::Cubin,
        ImageKind::Ptx => CodeKind::Ptx,
        ImageKind::LtoIr | ImageKind::Unknown(_) => return None,
    };
    let arch = image.declared.or(image.arch)?;
    Some(Target { arch, kind })
}

/// Whether the kernels of `image` are known.
pub(super) fn can_be_looked_into(image: &ImageReport) -> bool {
    matches!(image.kind, ImageKind::Cubin | ImageKind::Ptx) && image.kernel_count.is_some()
}

pub(super) fn verdict<'a>(
    module: &Module<'a>,
    device: Device,
    driver: Option<ToolkitVersion>,
    driver_problem: Option<DriverProblem>,
) -> Verdict<'a> {
    let mut candidates: Vec<(&'a ImageReport, Target)> = Vec::new();
    let mut excluded = Vec::new();
    for &image in &module.images {
        let target = target(image);
        match reason_against(image, target, device, driver, driver_problem) {
            Ok(target) => candidates.push((image, target)),
            Err(reason) => excluded.push(Excluded {
                image,
                target,
                reason,
            }),
        }
    }
    let selection = select(device, candidates.iter().map(|(_, target)| *target));
    let Some(pick) = selection.pick else {
        return Verdict::NoImage { excluded };
    };
    let of_pick: Vec<&ImageReport> = candidates
        .iter()
        .filter(|(_, target)| *target == pick)
        .map(|(image, _)| *image)
        .collect();
    let Some((&image, twins)) = of_pick.split_first() else {
        return Verdict::NoImage { excluded };
    };
    let twins = twins.iter().map(|&image| Rival { image, target: pick });
    let others = candidates
        .iter()
        .filter(|(_, target)| selection.undocumented_rivals.contains(target))
        .map(|&(image, target)| Rival { image, target });
    let contradiction = image.arch.filter(|&arch| image.arch_certain && arch != pick.arch);
    let code = Target {
        arch: contradiction.unwrap_or(pick.arch),
        kind: pick.kind,
    };
    let present: HashSet<&str> = image.entries.iter().map(String::as_str).collect();
    Verdict::Taken(Taken {
        image,
        target: pick,
        rivals: twins.chain(others).collect(),
        contradiction,
        code_loads: code.runs_on(device).loads(),
        missing: module
            .kernels
            .iter()
            .copied()
            .filter(|kernel| !present.contains(kernel))
            .collect(),
        unknown_images: excluded
            .iter()
            .filter(|row| row.reason == Reason::NotKnown)
            .count() as u64,
        driver_floor: driver_floor(image),
    })
}

fn reason_against(
    image: &ImageReport,
    target: Option<Target>,
    device: Device,
    driver: Option<ToolkitVersion>,
    driver_problem: Option<DriverProblem>,
) -> Result<Target, Reason> {
    if image.kind == ImageKind::LtoIr {
        return Err(Reason::LtoIr);
    }
    let target = target
        .filter(|_| can_be_looked_into(image))
        .ok_or(Reason::NotKnown)?;
    let answer = target.runs_on(device);
    if !answer.loads() {
        return Err(Reason::Loader(answer));
    }
    if let Some(problem) = driver_problem {
        return Err(Reason::Driver(problem));
    }
    let Some(driver) = driver else {
        return Ok(target);
    };
    if let Some(isa) = image.ptx_isa.filter(|isa| !isa.driver_floor().allows(driver)) {
        return Err(Reason::PtxTooNew(isa, isa.driver_floor()));
    }
    if image.compression == Compression::Zstd && driver.release() < ZSTD_DRIVER_FLOOR {
        return Err(Reason::Compression(ZSTD_DRIVER_FLOOR));
    }
    Ok(target)
}

/// The later of what decompression and the version of PTX need.
fn driver_floor(image: &ImageReport) -> Option<DriverFloor> {
    let zstd = (image.compression == Compression::Zstd).then_some(ZSTD_DRIVER_FLOOR);
    match (zstd, image.ptx_isa.map(PtxIsa::driver_floor)) {
        (Some(zstd), Some(DriverFloor::Release(ptx))) => Some(DriverFloor::Release(ptx.max(zstd))),
        (zstd, None) => zstd.map(DriverFloor::Release),
        (_, ptx) => ptx,
    }
}
