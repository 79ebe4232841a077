//! Which image a device would take, for every kernel.
//!
//! The driver chooses per module (one fat binary, which is one translation unit in an object or one region in a linked
//! file), not per kernel: the images of a module are alternatives, and a kernel that the chosen one lacks is not found
//! although another image has it.

mod choose;
mod code;
mod summary;

use std::collections::BTreeMap;

use blockgate_arch::devices::NamedDevice;
use blockgate_arch::{Arch, Device, FAMILIES, Scope, Target, ToolkitVersion, toolkits};
use blockgate_findings::{ExitStatus, Finding};

pub use choose::{DriverProblem, Excluded, Reason, Rival, Taken, Verdict};
pub use code::TensorCode;
pub use summary::{Contradiction, NoImageGroup, Summary, TakenRow, Tally};

use crate::modules::modules;
use crate::report::{FileReport, ImageReport, Report};

/// What was asked, and the answer for every library.
#[derive(Debug)]
pub struct Resolution<'a> {
    /// The CUDA release of the driver; `None` for one that is new enough for everything.
    pub driver: Option<ToolkitVersion>,
    /// One row per library: what loads or links as a whole.
    pub libraries: Vec<Library<'a>>,
    /// What the audit found wrong or doubtful.
    pub findings: &'a [Finding],
    reading: ExitStatus,
}

/// An input, or one file of a package or folder, with the kernels that it holds.
#[derive(Debug)]
pub struct Library<'a> {
    /// The input as it was given.
    pub path: &'a str,
    /// The file in the package or folder; `None` where the input is itself the file.
    pub file: Option<&'a str>,
    /// Its modules that have kernels, in file order.
    pub modules: Vec<Module<'a>>,
    /// Modules without a kernel, such as the stub of a device link: nothing is ever looked up in them.
    pub modules_without_kernels: u64,
    /// Modules of which no image can be looked into (LTO-IR, unknown kinds), so that their kernels are not known.
    pub opaque_modules: u64,
    /// Images that are input of a device link, and not what a driver loads.
    pub relocatable_images: u64,
    /// One row per device, in the order in which they were asked for.
    pub devices: Vec<DeviceResolution<'a>>,
}

/// The images of one fat binary: the driver takes one of them.
#[derive(Debug)]
pub struct Module<'a> {
    /// The member that holds it, in archives.
    pub member: Option<&'a str>,
    /// The section that holds it.
    pub section: Option<&'a str>,
    /// Running number of its region in the file or member.
    pub region: u32,
    /// In file order.
    pub images: Vec<&'a ImageReport>,
    /// The mangled names of the kernels that any of its images has, sorted.
    pub kernels: Vec<&'a str>,
}

/// The answer for one device.
#[derive(Debug)]
pub struct DeviceResolution<'a> {
    /// The device.
    pub device: NamedDevice,
    /// Why the driver does not run the device at all.
    pub driver_problem: Option<DriverProblem>,
    /// One per module, in the order of [`Library::modules`].
    pub verdicts: Vec<Verdict<'a>>,
}

/// Answers for every library of `report`, which must come from an audit with
/// [`Options::entries`](crate::Options::entries).
pub fn resolve<'a>(
    report: &'a Report,
    devices: &[NamedDevice],
    driver: Option<ToolkitVersion>,
    strict: bool,
) -> Resolution<'a> {
    Resolution {
        driver,
        libraries: report
            .files
            .iter()
            .flat_map(libraries)
            .map(|mut library| {
                library.devices = devices
                    .iter()
                    .map(|&device| resolve_device(&library.modules, device, driver))
                    .collect();
                library
            })
            .collect(),
        findings: &report.findings,
        reading: report.status(strict),
    }
}

fn resolve_device<'a>(
    modules: &[Module<'a>],
    device: NamedDevice,
    driver: Option<ToolkitVersion>,
) -> DeviceResolution<'a> {
    let driver_problem = driver.and_then(|driver| DriverProblem::of(device.device, driver));
    DeviceResolution {
        device,
        driver_problem,
        verdicts: modules
            .iter()
            .map(|module| choose::verdict(module, device.device, driver, driver_problem))
            .collect(),
    }
}

impl Resolution<'_> {
    /// 3 where something could not be read, or where no kernel was found to answer for; 1 where a device finds no image
    /// for a kernel; else 0.
    pub fn status(&self) -> ExitStatus {
        let nothing_known = self.libraries.iter().all(|library| library.modules.is_empty());
        let opaque = self.libraries.iter().any(|library| library.opaque_modules > 0);
        let verdicts = || {
            let devices = self.libraries.iter().flat_map(|library| &library.devices);
            devices.flat_map(|device| &device.verdicts)
        };
        let reading = if nothing_known || opaque || verdicts().any(Verdict::is_doubtful) {
            ExitStatus::Unreadable
        } else {
            ExitStatus::Clean
        };
        let verdict = if verdicts().any(Verdict::fails) {
            ExitStatus::Failed
        } else {
            ExitStatus::Clean
        };
        self.reading.and(reading).and(verdict)
    }
}

impl Library<'_> {
    /// Kernels of all modules; one that two translation units hold counts twice, as each has its own.
    pub fn kernel_count(&self) -> u64 {
        self.modules
            .iter()
            .map(|module| module.kernels.len() as u64)
            .sum()
    }

    /// The only device that any image is for, where all machine code is architecture-specific for it and no PTX is for
    /// another: such a library runs on nothing else, now or later.
    pub fn only_device(&self) -> Option<Device> {
        let mut images = self
            .modules
            .iter()
            .flat_map(|module| &module.images)
            .filter_map(|image| choose::target(image));
        let first = images.next()?;
        let is_specific = |target: Target| target.arch.scope() == Scope::Specific;
        (is_specific(first) && images.all(|target| is_specific(target) && target.arch == first.arch))
            .then(|| Device::of(first.arch))
    }
}

/// What would give `device` an image: its own specific one, the first family that reaches it, the first plain one.
pub fn advice(device: Device) -> Vec<Target> {
    let known = |arch: Arch| toolkits::releases_that_know(arch).is_some();
    let own = Arch::new(device.major(), device.minor(), Scope::Specific);
    let number = u32::from(device.major()) * 10 + u32::from(device.minor());
    let family = FAMILIES
        .iter()
        .filter(|row| row.members.contains(&number))
        .filter_map(|row| Arch::from_number(*row.members.first()?, Scope::Family))
        .find(|&arch| Target::cubin(arch).runs_on(device).loads());
    let plain = (0..=device.minor())
        .map(|minor| Arch::new(device.major(), minor, Scope::Plain))
        .find(|&arch| known(arch));
    [Some(own).filter(|&own| known(own)), family, plain]
        .into_iter()
        .flatten()
        .map(Target::cubin)
        .collect()
}

/// The libraries of an input: groups of images by file, and in each the modules.
fn libraries(report: &FileReport) -> Vec<Library<'_>> {
    let mut by_file: BTreeMap<Option<&str>, Vec<&ImageReport>> = BTreeMap::new();
    for image in report.images.iter().filter(|image| image.counted) {
        by_file.entry(image.file.as_deref()).or_default().push(image);
    }
    by_file
        .into_iter()
        .map(|(file, images)| library(&report.path, file, images))
        .collect()
}

fn library<'a>(path: &'a str, file: Option<&'a str>, images: Vec<&'a ImageReport>) -> Library<'a> {
    let relocatable_images = images.iter().filter(|image| image.relocatable).count() as u64;
    let mut library = Library {
        path,
        file,
        modules: Vec::new(),
        modules_without_kernels: 0,
        opaque_modules: 0,
        relocatable_images,
        devices: Vec::new(),
    };
    for module in modules(images).into_iter().filter_map(module) {
        let opaque = module
            .images
            .iter()
            .all(|image| !choose::can_be_looked_into(image));
        if !module.kernels.is_empty() {
            library.modules.push(module);
        } else if opaque {
            library.opaque_modules += 1;
        } else {
            library.modules_without_kernels += 1;
        }
    }
    library
}

fn module<'a>(images: Vec<&'a ImageReport>) -> Option<Module<'a>> {
    let first = *images.first()?;
    let mut kernels: Vec<&str> = images
        .iter()
        .flat_map(|image| image.entries.iter().map(String::as_str))
        .collect();
    kernels.sort_unstable();
    kernels.dedup();
    Some(Module {
        member: first.member.as_deref(),
        section: first.section.as_deref(),
        region: first.region,
        images,
        kernels,
    })
}
