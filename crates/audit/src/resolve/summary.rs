//! The answer for a device in a few rows: modules and kernels by the image that is taken.

use std::collections::BTreeMap;

use blockgate_arch::ptx_isa::DriverFloor;
use blockgate_arch::{CodeKind, Target};

use super::{DeviceResolution, Excluded, Library, Module, Reason, TensorCode, Verdict};

/// What one device takes from one library.
#[derive(Debug, Default)]
pub struct Summary<'a> {
    /// One row per image target, machine code before PTX, then by the order of display.
    pub taken: Vec<TakenRow>,
    /// Modules that find no image.
    pub no_image: Tally,
    /// The same by the images that they have and why each does not do: most kernels first.
    pub no_image_groups: Vec<NoImageGroup<'a>>,
    /// Modules for which NVIDIA does not document which of several images is taken, by the names of those.
    pub undocumented: Vec<(String, Tally)>,
    /// Modules of which an image could not be looked into that may be taken instead.
    pub doubtful: Tally,
    /// Kernels that the image of their module lacks.
    pub missing: Vec<(Target, &'a str)>,
    /// Modules whose image is for something else than its header says: header, code, whether the code loads.
    pub contradictions: Vec<Contradiction>,
    /// Modules whose machine code is of a CUDA major release above the driver's.
    pub newer_major: Tally,
}

/// A number of modules and of the kernels in them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Modules.
    pub modules: u64,
    /// Kernels.
    pub kernels: u64,
}

/// Modules that take the same kind of image.
#[derive(Debug)]
pub struct TakenRow {
    /// The image, by its header.
    pub target: Target,
    /// How many modules and kernels.
    pub tally: Tally,
    /// What their code has.
    pub code: TensorCode,
    /// The oldest driver that takes them all; `None` for any that knows the device.
    pub driver_floor: Option<DriverFloor>,
}

/// Modules without an image for the same reasons.
#[derive(Debug)]
pub struct NoImageGroup<'a> {
    /// Images and reasons, each pair once.
    pub excluded: Vec<(String, Reason)>,
    /// The modules.
    pub modules: Vec<&'a Module<'a>>,
    /// How many, and how many kernels.
    pub tally: Tally,
}

/// An image whose code is for something else than its header says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contradiction {
    /// By the header.
    pub declared: Target,
    /// By the code.
    pub code: Target,
    /// Whether the code loads on the device.
    pub loads: bool,
    /// How many modules.
    pub modules: u64,
}

impl Tally {
    fn add(&mut self, module: &Module<'_>) {
        self.modules += 1;
        self.kernels += module.kernels.len() as u64;
    }
}

impl<'a> Summary<'a> {
    /// Of `device` in `library`.
    pub fn of(
        library: &'a Library<'a>,
        device: &'a DeviceResolution<'a>,
        driver: Option<blockgate_arch::ToolkitVersion>,
    ) -> Self {
        let mut summary = Self::default();
        let mut groups: BTreeMap<String, NoImageGroup<'a>> = BTreeMap::new();
        for (module, verdict) in library.modules.iter().zip(&device.verdicts) {
            match verdict {
                Verdict::NoImage { excluded } => {
                    summary.no_image.add(module);
                    let excluded = reasons(excluded);
                    let key = excluded
                        .iter()
                        .map(|(name, reason)| format!("{name} {reason}\n"))
                        .collect();
                    let group = groups.entry(key).or_insert_with(|| NoImageGroup {
                        excluded,
                        modules: Vec::new(),
                        tally: Tally::default(),
                    });
                    group.modules.push(module);
                    group.tally.add(module);
                }
                Verdict::Taken(taken) => {
                    summary.add_taken(module, taken);
                    let newer = |driver: blockgate_arch::ToolkitVersion| {
                        taken.target.kind == CodeKind::Cubin
                            && taken
                                .image
                                .toolkit
                                .is_some_and(|toolkit| toolkit.major() > driver.major())
                    };
                    if driver.is_some_and(newer) {
                        summary.newer_major.add(module);
                    }
                }
            }
        }
        summary.no_image_groups = groups.into_values().collect();
        summary
            .no_image_groups
            .sort_by_key(|group| std::cmp::Reverse(group.tally.kernels));
        summary
            .taken
            .sort_by_key(|row| (row.target.kind == CodeKind::Ptx, row.target.arch.display_key()));
        summary
    }

    fn add_taken(&mut self, module: &'a Module<'a>, taken: &super::Taken<'a>) {
        let row = match self.taken.iter().position(|row| row.target == taken.target) {
            Some(index) => &mut self.taken[index],
            None => {
                self.taken.push(TakenRow {
                    target: taken.target,
                    tally: Tally::default(),
                    code: TensorCode::default(),
                    driver_floor: None,
                });
                let last = self.taken.len() - 1;
                &mut self.taken[last]
            }
        };
        row.tally.add(module);
        if taken.unknown_images > 0 {
            self.doubtful.add(module);
        }
        row.code.add(taken.image);
        row.driver_floor = later(row.driver_floor, taken.driver_floor);
        if !taken.rivals.is_empty() {
            let mut names = vec![taken.target.to_string()];
            names.extend(taken.rivals.iter().map(|rival| rival.target.to_string()));
            let names = names.join(" or ");
            match self.undocumented.iter_mut().find(|(known, _)| *known == names) {
                Some((_, tally)) => tally.add(module),
                None => {
                    let mut tally = Tally::default();
                    tally.add(module);
                    self.undocumented.push((names, tally));
                }
            }
        }
        self.missing
            .extend(taken.missing.iter().map(|kernel| (taken.target, *kernel)));
        if let Some(arch) = taken.contradiction {
            let code = Target {
                arch,
                kind: taken.target.kind,
            };
            let known = self
                .contradictions
                .iter_mut()
                .find(|known| known.declared == taken.target && known.code == code);
            match known {
                Some(known) => known.modules += 1,
                None => self.contradictions.push(Contradiction {
                    declared: taken.target,
                    code,
                    loads: taken.code_loads,
                    modules: 1,
                }),
            }
        }
    }
}

/// Image names and reasons, each pair once, in file order.
fn reasons(excluded: &[Excluded<'_>]) -> Vec<(String, Reason)> {
    let mut reasons: Vec<(String, Reason)> = Vec::new();
    for row in excluded {
        let name = row
            .target
            .map_or_else(|| row.image.kind.as_str().to_owned(), |target| target.to_string());
        let pair = (name, row.reason);
        if !reasons.contains(&pair) {
            reasons.push(pair);
        }
    }
    reasons
}

fn later(a: Option<DriverFloor>, b: Option<DriverFloor>) -> Option<DriverFloor> {
    match (a, b) {
        (Some(DriverFloor::Release(a)), Some(DriverFloor::Release(b))) => {
            Some(DriverFloor::Release(a.max(b)))
        }
        (Some(after @ DriverFloor::After(_)), _) | (_, Some(after @ DriverFloor::After(_))) => Some(after),
        (one, other) => one.or(other),
    }
}
