//! What runs where: the loader's rules, as answers with reasons.

use std::fmt;
use std::str::FromStr;

use crate::arch::{Arch, CodeKind, Scope};
use crate::evidence::Evidence;
use crate::parse::{ArchError, ArchProblem, SpelledArch, Spelling, Target};

/// A device, by the compute capability that it reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Device {
    major: u16,
    minor: u8,
}

impl Device {
    /// The device of compute capability `major.minor`. `minor` is one decimal digit.
    ///
    /// # Panics
    /// When `minor` is above 9, which no capability has.
    pub const fn new(major: u16, minor: u8) -> Self {
        assert!(
            minor <= 9,
            "the minor version of a compute capability is one digit"
        );
        Self { major, minor }
    }

    /// The device on which `arch` is exactly right.
    pub const fn of(arch: Arch) -> Self {
        Self {
            major: arch.major(),
            minor: arch.minor(),
        }
    }

    /// 12 of 12.1.
    pub const fn major(self) -> u16 {
        self.major
    }

    /// 1 of 12.1.
    pub const fn minor(self) -> u8 {
        self.minor
    }

    const fn number(self) -> u32 {
        self.major as u32 * 10 + self.minor as u32
    }
}

/// `12.1`, as `nvidia-smi --query-gpu=compute_cap` prints it.
impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// Accepts `12.1`, `121` and `sm_121`. A suffix is refused: a device has a capability, not a scope.
impl FromStr for Device {
    type Err = ArchError;

    fn from_str(text: &str) -> Result<Self, ArchError> {
        let SpelledArch { arch, spelling } = text.parse()?;
        let problem = match (arch.scope(), spelling) {
            (Scope::Plain, Spelling::Number | Spelling::Dotted | Spelling::Sm) => return Ok(Self::of(arch)),
            (Scope::Plain, _) => ArchProblem::NotADevice { extra: "that mark" },
            (Scope::Family, _) => ArchProblem::NotADevice { extra: "`f`" },
            (Scope::Specific, _) => ArchProblem::NotADevice { extra: "`a`" },
        };
        Err(ArchError::new(text, problem))
    }
}

/// A set of capabilities whose members run each other's family-specific code, from an earlier to a later one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FamilyRow {
    /// The numbers of the members, ascending: 100, 103, 107.
    pub members: &'static [u32],
    /// How it is known.
    pub evidence: Evidence,
    /// Where it is written or was measured.
    pub source: &'static str,
}

/// The families. 10.1 and 11.0 are one device under two names, so they share no family with 10.0.
pub const FAMILIES: &[FamilyRow] = &[
    FamilyRow {
        members: &[100, 103, 107],
        evidence: Evidence::Compiled,
        source: "ptxas 12.9.86 assembles PTX for 100f for 100 and 103, 13.4.92 for 107 too, and PTX for 103f for 107; both refuse it for 101, 110 and 120",
    },
    FamilyRow {
        members: &[101],
        evidence: Evidence::Compiled,
        source: "ptxas 12.9.86 assembles PTX for 101f for 101 alone",
    },
    FamilyRow {
        members: &[110],
        evidence: Evidence::Compiled,
        source: "ptxas 13.0.88, 13.4.92 and 13.5.37 assemble PTX for 110f for 110 alone",
    },
    FamilyRow {
        members: &[120, 121],
        evidence: Evidence::Compiled,
        source: "ptxas 12.9.86, 13.0.88, 13.4.92 and 13.5.37 assemble PTX for 120f for 120 and 121, and PTX for 121f for 121 alone",
    },
];

fn family(number: u32) -> Option<&'static FamilyRow> {
    FAMILIES.iter().find(|row| row.members.contains(&number))
}

/// Whether a device can load an image, and why.
///
/// Source: CUDA C++ programming guide, "Binary compatibility", "PTX compatibility" and "Feature availability";
/// the families are in [`FAMILIES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunsOn {
    /// The device can load it.
    Yes(Why),
    /// The device cannot load it.
    No(WhyNot),
    /// Nothing that NVIDIA publishes settles it.
    Undocumented(Open),
}

impl RunsOn {
    /// Whether the rules promise that the image loads.
    pub const fn loads(self) -> bool {
        matches!(self, Self::Yes(_))
    }
}

/// Why an image loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// It was made for exactly this capability.
    SameCapability,
    /// Plain machine code for an earlier minor version of the same major version.
    LaterMinor,
    /// Family code of an earlier or equal member of the device's family.
    SameFamily,
    /// Plain PTX for this or an earlier capability, compiled by the driver.
    Jit,
}

/// Why an image does not load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhyNot {
    /// Machine code does not cross major versions.
    OtherMajor,
    /// Made for a later capability than the device's.
    EarlierDevice,
    /// Family code, and the device is in another family.
    OtherFamily,
    /// Architecture-specific code runs on its own capability only.
    OtherCapability,
}

/// What is left open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Open {
    /// The device was renamed between toolkits (10.1 is 11.0 since CUDA 13.0).
    Renamed,
    /// The family of this capability is in no table.
    UnknownFamily,
}

impl fmt::Display for RunsOn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Yes(Why::SameCapability) => "loads: made for this compute capability",
            Self::Yes(Why::LaterMinor) => {
                "loads: plain machine code runs on later minor versions of its major version"
            }
            Self::Yes(Why::SameFamily) => "loads: family code runs on later members of its family",
            Self::Yes(Why::Jit) => "loads: the driver compiles plain PTX for this and every later capability",
            Self::No(WhyNot::OtherMajor) => "does not load: machine code runs on its own major version only",
            Self::No(WhyNot::EarlierDevice) => "does not load: made for a later compute capability",
            Self::No(WhyNot::OtherFamily) => "does not load: family code runs on its own family only",
            Self::No(WhyNot::OtherCapability) => {
                "does not load: architecture-specific code runs on its own compute capability only"
            }
            Self::Undocumented(Open::Renamed) => {
                "not documented: the capability was renamed, and NVIDIA does not say whether old images still load"
            }
            Self::Undocumented(Open::UnknownFamily) => {
                "not documented: no source names the family of this compute capability"
            }
        })
    }
}

/// Pairs of numbers that name one device under different toolkits.
const RENAMED_DEVICE: (u32, u32) = (101, 110);

impl Target {
    /// Whether `device` can load this image.
    pub fn runs_on(self, device: Device) -> RunsOn {
        let number = self.arch.number();
        if (number, device.number()) == RENAMED_DEVICE
            && !(self.kind == CodeKind::Ptx && self.arch.scope() == Scope::Plain)
        {
            return RunsOn::Undocumented(Open::Renamed);
        }
        let same = number == device.number();
        match self.arch.scope() {
            _ if same => RunsOn::Yes(Why::SameCapability),
            Scope::Specific => RunsOn::No(WhyNot::OtherCapability),
            Scope::Family => match (family(number), family(device.number())) {
                (Some(ours), Some(theirs)) if ours == theirs => {
                    if number < device.number() {
                        RunsOn::Yes(Why::SameFamily)
                    } else {
                        RunsOn::No(WhyNot::EarlierDevice)
                    }
                }
                (Some(_), Some(_)) => RunsOn::No(WhyNot::OtherFamily),
                _ if self.arch.major() != device.major => RunsOn::No(WhyNot::OtherFamily),
                _ if number > device.number() => RunsOn::No(WhyNot::EarlierDevice),
                _ => RunsOn::Undocumented(Open::UnknownFamily),
            },
            Scope::Plain if number > device.number() => RunsOn::No(WhyNot::EarlierDevice),
            Scope::Plain => match self.kind {
                CodeKind::Ptx => RunsOn::Yes(Why::Jit),
                CodeKind::Cubin if self.arch.major() == device.major => RunsOn::Yes(Why::LaterMinor),
                CodeKind::Cubin => RunsOn::No(WhyNot::OtherMajor),
            },
        }
    }
}

/// Which image a device takes, as far as that is known.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Selection {
    /// The most specific image that loads: machine code before PTX; specific, family, then plain; of several of
    /// one scope the nearest capability.
    pub pick: Option<Target>,
    /// Images of the same kind and another scope that load as well. NVIDIA does not document which of them and `pick`
    /// the driver prefers.
    pub undocumented_rivals: Vec<Target>,
}

/// The image out of `images` that `device` takes. The order between machine code of different scopes (say
/// `sm_121a` and `sm_120f` on 12.1) is not documented; the pick is then the more specific one, with the others
/// as rivals. Between plain images the nearest capability wins; so it is reported of the driver, and of
/// plain PTX too.
pub fn select(device: Device, images: impl IntoIterator<Item = Target>) -> Selection {
    let mut loadable: Vec<Target> = images
        .into_iter()
        .filter(|image| image.runs_on(device).loads())
        .collect();
    let rank = |target: &Target| {
        let kind = matches!(target.kind, CodeKind::Cubin);
        let scope = match target.arch.scope() {
            Scope::Plain => 0,
            Scope::Family => 1,
            Scope::Specific => 2,
        };
        std::cmp::Reverse((kind, scope, target.arch.number()))
    };
    loadable.sort_by_key(rank);
    loadable.dedup();
    let Some(&pick) = loadable.first() else {
        return Selection::default();
    };
    let undocumented_rivals = loadable
        .into_iter()
        .filter(|other| *other != pick && other.kind == pick.kind && other.arch.scope() != pick.arch.scope())
        .collect();
    Selection {
        pick: Some(pick),
        undocumented_rivals,
    }
}

#[cfg(test)]
mod tests {
    use super::{Device, Open, RunsOn, Selection, Why, WhyNot, select};
    use crate::Target;

    fn target(text: &str) -> Target {
        text.parse().unwrap()
    }

    fn device(text: &str) -> Device {
        text.parse().unwrap()
    }

    #[test]
    fn the_loader_rules() {
        use Open::Renamed;
        use RunsOn::{No, Undocumented, Yes};
        use Why::{Jit, LaterMinor, SameCapability, SameFamily};
        use WhyNot::{EarlierDevice, OtherCapability, OtherFamily, OtherMajor};
        let cases = [
            ("sm_80", "8.9", Yes(LaterMinor)),
            ("sm_80", "9.0", No(OtherMajor)),
            ("sm_89", "8.6", No(EarlierDevice)),
            ("sm_120", "12.1", Yes(LaterMinor)),
            ("sm_121", "12.0", No(EarlierDevice)),
            ("sm_100a", "10.3", No(OtherCapability)),
            ("sm_100a", "10.0", Yes(SameCapability)),
            ("sm_120a", "12.1", No(OtherCapability)),
            ("sm_100f", "10.3", Yes(SameFamily)),
            ("sm_103f", "10.0", No(EarlierDevice)),
            ("sm_100f", "10.7", Yes(SameFamily)),
            ("sm_100f", "12.0", No(OtherFamily)),
            ("sm_100f", "11.0", No(OtherFamily)),
            ("sm_100f", "10.1", No(OtherFamily)),
            ("sm_120f", "12.1", Yes(SameFamily)),
            ("sm_121f", "12.1", Yes(SameCapability)),
            ("compute_89", "12.0", Yes(Jit)),
            ("compute_120", "12.1", Yes(Jit)),
            ("compute_121", "12.0", No(EarlierDevice)),
            ("compute_121a", "12.1", Yes(SameCapability)),
            ("compute_120a", "12.1", No(OtherCapability)),
            ("compute_90a", "10.0", No(OtherCapability)),
            ("compute_120f", "12.1", Yes(SameFamily)),
            ("sm_101a", "11.0", Undocumented(Renamed)),
            ("compute_101", "11.0", Yes(Jit)),
            ("sm_130f", "13.1", Undocumented(Open::UnknownFamily)),
            ("sm_130f", "13.0", Yes(SameCapability)),
        ];
        for (image, on, expected) in cases {
            assert_eq!(target(image).runs_on(device(on)), expected, "{image} on {on}");
        }
    }

    /// Device, images, pick, rivals.
    type Case = (
        &'static str,
        &'static [&'static str],
        Option<&'static str>,
        &'static [&'static str],
    );

    #[test]
    fn the_most_specific_image_is_picked_and_open_questions_are_shown() {
        // pytorch/FBGEMM#6151, rapidsai/rapids-cmake#1012 and their like.
        let cases: [Case; 9] = [
            ("10.3", &["sm_80", "sm_90a", "sm_100a"], None, &[]),
            ("10.0", &["sm_80", "sm_90a", "sm_100a"], Some("sm_100a"), &[]),
            ("8.9", &["sm_80", "sm_90a", "sm_100a"], Some("sm_80"), &[]),
            (
                "12.1",
                &["sm_100f", "sm_120a", "sm_120", "compute_120"],
                Some("sm_120"),
                &[],
            ),
            (
                "12.1",
                &["sm_121", "sm_121a", "compute_121"],
                Some("sm_121a"),
                &["sm_121"],
            ),
            ("12.1", &["sm_120f", "sm_121a"], Some("sm_121a"), &["sm_120f"]),
            ("8.9", &["sm_80", "sm_86", "sm_90"], Some("sm_86"), &[]),
            (
                "12.0",
                &["sm_89", "compute_75", "compute_89"],
                Some("compute_89"),
                &[],
            ),
            ("12.1", &["sm_121", "sm_121"], Some("sm_121"), &[]),
        ];
        for (on, images, pick, rivals) in cases {
            let expected = Selection {
                pick: pick.map(target),
                undocumented_rivals: rivals.iter().map(|text| target(text)).collect(),
            };
            let selection = select(device(on), images.iter().map(|text| target(text)));
            assert_eq!(selection, expected, "{images:?} on {on}");
        }
    }

    #[test]
    fn a_device_has_no_scope() {
        assert_eq!(device("12.1"), Device::new(12, 1));
        assert_eq!(device("sm_121"), Device::new(12, 1));
        for text in ["12.1a", "121f", "compute_121", "121-real", "GB10"] {
            assert!(text.parse::<Device>().is_err(), "{text}");
        }
    }
}
