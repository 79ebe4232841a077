//! From what a person types to a device.

use std::fmt;

use super::{DEVICES, DeviceRow};
use crate::device::Device;
use crate::parse::ArchError;

/// A device that was asked for, with its product name where it was asked for by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamedDevice {
    /// Its compute capability.
    pub device: Device,
    /// The first product of the table with the name that was given.
    pub row: Option<&'static DeviceRow>,
}

/// `12.1`, or `GB10 (12.1)` where it was named.
impl fmt::Display for NamedDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.row {
            Some(row) => write!(f, "{} ({})", row.name, self.device),
            None => write!(f, "{}", self.device),
        }
    }
}

/// A text that names no device, or more than one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeviceNameError {
    /// It starts like a compute capability and is none.
    #[error(transparent)]
    Capability(#[from] ArchError),
    /// No product has the name, or several of different capabilities do.
    #[error("`{text}` names no device; {}", Near(.near))]
    Unknown {
        /// What was asked for.
        text: String,
        /// Products with a similar name.
        near: Vec<&'static DeviceRow>,
    },
    /// Products of different capabilities are called that.
    #[error("`{text}` could be any of several devices; {}", Near(.near))]
    Ambiguous {
        /// What was asked for.
        text: String,
        /// The products.
        near: Vec<&'static DeviceRow>,
    },
}

struct Near<'a>(&'a [&'static DeviceRow]);

impl fmt::Display for Near<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("expected a compute capability such as `12.1` or a product such as `GB10`");
        }
        f.write_str("near names: ")?;
        for (index, row) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            write!(f, "{separator}{} ({})", row.name, row.capability)?;
        }
        Ok(())
    }
}

/// The device that `text` names: a compute capability (`12.1`, `121`, `sm_121`) or a product (`RTX 5090`, `gb10`,
/// `NVIDIA H100 80GB HBM3`).
///
/// Product names are compared without case, punctuation, the maker's name, and what says nothing about the chip: memory
/// size, form factor, edition.
///
/// # Errors
/// When nothing has that name, or devices of different capabilities have it; the error lists near names.
pub fn find_device(text: &str) -> Result<NamedDevice, DeviceNameError> {
    let key = key(text);
    let named: Vec<&'static DeviceRow> = DEVICES.iter().filter(|row| is_called(row, &key)).collect();
    if let [first, rest @ ..] = named.as_slice() {
        if rest.iter().all(|row| row.capability == first.capability) {
            return Ok(NamedDevice {
                device: first.capability,
                row: Some(first),
            });
        }
        return Err(DeviceNameError::Ambiguous {
            text: text.to_owned(),
            near: named,
        });
    }
    let as_capability = text.parse::<Device>();
    match as_capability {
        Ok(device) => Ok(NamedDevice { device, row: None }),
        Err(error) if looks_like_capability(text) => Err(error.into()),
        Err(_) => Err(DeviceNameError::Unknown {
            text: text.to_owned(),
            near: near(&key),
        }),
    }
}

/// Words of a product name that say nothing about the capability.
const DECORATION: &[&str] = &[
    "nvidia",
    "geforce",
    "gpu",
    "laptop",
    "mobile",
    "generation",
    "edition",
    "server",
    "workstation",
    "max",
    "q",
    "sxm",
    "sxm2",
    "sxm3",
    "sxm4",
    "sxm5",
    "sxm6",
    "pcie",
    "nvl",
    "hbm2",
    "hbm2e",
    "hbm3",
    "hbm3e",
];

/// The letters and digits of what is left of `text` without decoration, in lower case.
fn key(text: &str) -> String {
    text.to_ascii_lowercase()
        .split(|character: char| !character.is_ascii_alphanumeric())
        .filter(|word| !DECORATION.contains(word) && !is_memory_size(word))
        .collect()
}

/// `80gb`, as in `H100 80GB HBM3`.
fn is_memory_size(word: &str) -> bool {
    word.strip_suffix("gb")
        .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

fn is_called(row: &DeviceRow, wanted: &str) -> bool {
    !wanted.is_empty()
        && std::iter::once(&row.name).chain(row.aliases).any(|name| {
            let name = key(name);
            name == wanted || without_line(&name) == wanted
        })
}

fn looks_like_capability(text: &str) -> bool {
    text.starts_with("sm_")
        || text.starts_with("compute_")
        || text.starts_with(|first: char| first.is_ascii_digit())
}

/// Up to eight products whose name contains what was asked for or is contained in it; after those, the ones that are a
/// slip of the keyboard away.
fn near(wanted: &str) -> Vec<&'static DeviceRow> {
    const MOST: usize = 8;
    let wanted = without_line(wanted);
    let distance = |row: &DeviceRow| {
        std::iter::once(&row.name)
            .chain(row.aliases)
            .filter_map(|name| {
                let name = key(name);
                let name = without_line(&name);
                let shortest = name.len().min(wanted.len());
                if shortest >= 3 && (name.contains(wanted) || wanted.contains(name)) {
                    return Some(0);
                }
                let slips = slips(name, wanted);
                (shortest >= 3 && slips == 1).then_some(slips)
            })
            .min()
    };
    let mut near: Vec<(usize, &DeviceRow)> = DEVICES
        .iter()
        .filter_map(|row| Some((distance(row)?, row)))
        .collect();
    near.sort_by_key(|(distance, _)| *distance);
    near.into_iter().map(|(_, row)| row).take(MOST).collect()
}

/// `5090` and `A6000` are what people call the RTX 5090 and the RTX A6000.
fn without_line(key: &str) -> &str {
    ["rtx", "gtx"]
        .into_iter()
        .find_map(|line| key.strip_prefix(line))
        .unwrap_or(key)
}

/// Characters to insert, remove or replace to make `left` into `right`.
fn slips(left: &str, right: &str) -> usize {
    let mut last: Vec<usize> = (0..=right.len()).collect();
    for (row, a) in left.bytes().enumerate() {
        let mut current = vec![row + 1];
        for (column, b) in right.bytes().enumerate() {
            let replaced = last[column] + usize::from(a != b);
            current.push(replaced.min(last[column + 1] + 1).min(current[column] + 1));
        }
        last = current;
    }
    last[right.len()]
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::{DEVICES, find_device};
    use crate::toolkits::releases_that_know;
    use crate::{Arch, Scope};

    #[test]
    fn people_and_drivers_spell_names_in_many_ways() {
        for (text, shown) in [
            ("12.1", "12.1"),
            ("121", "12.1"),
            ("sm_103", "10.3"),
            ("gb10", "GB10 (12.1)"),
            ("DGX Spark", "GB10 (12.1)"),
            ("NVIDIA GB10", "GB10 (12.1)"),
            ("RTX 5090", "GeForce RTX 5090 (12.0)"),
            ("rtx5090", "GeForce RTX 5090 (12.0)"),
            ("5090", "GeForce RTX 5090 (12.0)"),
            ("NVIDIA GeForce RTX 4090 Laptop GPU", "GeForce RTX 4090 (8.9)"),
            ("rtx-5070-ti", "GeForce RTX 5070 Ti (12.0)"),
            (
                "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition",
                "RTX PRO 6000 Blackwell (12.0)",
            ),
            ("NVIDIA RTX 6000 Ada Generation", "RTX 6000 Ada (8.9)"),
            ("Quadro RTX 6000", "Quadro RTX 6000 (7.5)"),
            ("NVIDIA H100 80GB HBM3", "H100 (9.0)"),
            ("NVIDIA A100-SXM4-40GB", "A100 (8.0)"),
            ("Tesla V100-SXM2-16GB", "V100 (7.0)"),
            ("tesla t4", "T4 (7.5)"),
            ("b300", "B300 (10.3)"),
            ("Thor", "Jetson T5000 (11.0)"),
            ("Orin", "Jetson AGX Orin (8.7)"),
            ("RTX 50 series", "GeForce RTX 5090 (12.0)"),
        ] {
            let found = find_device(text).map(|found| found.to_string());
            assert_eq!(found.as_deref(), Ok(shown), "{text}");
        }
    }

    #[test]
    fn what_is_no_device_is_refused_with_near_names() {
        let mut text = String::new();
        for name in [
            "RTX 6000",
            "RTX 5099",
            "gb100",
            "12.1a",
            "sm_12",
            "Blackwell",
            "nonsense",
            "",
            "NVIDIA",
        ] {
            text.push_str(&format!("{}\n", find_device(name).unwrap_err()));
        }
        expect![[r#"
            `RTX 6000` names no device; near names: RTX PRO 6000 Blackwell (12.0), RTX 6000 Ada (8.9), RTX A6000 (8.6), Quadro RTX 6000 (7.5)
            `RTX 5099` names no device; near names: GeForce RTX 5090 (12.0)
            `gb100` names no device; near names: GB10 (12.1), GB300 (10.3), GB200 (10.0)
            `12.1a` names no CUDA architecture: it is no device; expected a compute capability such as `12.1`, without `a`
            `sm_12` names no CUDA architecture: `12` is no compute capability; expected two or three digits of which the last is the minor version, from 20 to 999
            `Blackwell` names no device; near names: RTX PRO 6000 Blackwell (12.0), RTX PRO 5000 Blackwell (12.0), RTX PRO 4500 Blackwell (12.0), RTX PRO 4000 Blackwell (12.0), RTX PRO 2000 Blackwell (12.0), B300 (10.3)
            `nonsense` names no device; expected a compute capability such as `12.1` or a product such as `GB10`
            `` names no device; expected a compute capability such as `12.1` or a product such as `GB10`
            `NVIDIA` names no device; expected a compute capability such as `12.1` or a product such as `GB10`
        "#]].assert_eq(&text);
    }

    #[test]
    fn every_name_finds_its_own_row_and_every_capability_is_one() {
        for row in DEVICES {
            for name in std::iter::once(&row.name).chain(row.aliases) {
                let found = find_device(name).map(|found| found.device);
                assert_eq!(found, Ok(row.capability), "{name}");
            }
            let number = u32::from(row.capability.major()) * 10 + u32::from(row.capability.minor());
            let arch = Arch::from_number(number, Scope::Plain).unwrap();
            assert!(releases_that_know(arch).is_some(), "{}", row.name);
            assert!(!row.source.is_empty());
        }
    }
}
