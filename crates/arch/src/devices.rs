//! Devices by name: which compute capability each product has.

mod find;
mod page;

pub use find::{DeviceNameError, NamedDevice, find_device};
pub use page::write_devices_markdown;

use crate::device::Device;
use crate::evidence::Evidence;
use crate::version::ToolkitVersion;

/// A product, or several that differ in nothing that matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceRow {
    /// The product's name, without the maker's.
    pub name: &'static str,
    /// What else people call it.
    pub aliases: &'static [&'static str],
    /// Its compute capability.
    pub capability: Device,
    /// What else there is to know; mostly empty.
    pub note: &'static str,
    /// How the capability is known.
    pub evidence: Evidence,
    /// Where it is written.
    pub source: &'static str,
}

const PAGE: &str = "NVIDIA, \"CUDA GPU Compute Capability\"";
const LEGACY: &str = "NVIDIA, \"Legacy CUDA GPU Compute Capability\"";
const VARIANT: &str = "as the product whose chip it has; deviceQuery listings in public reports";

const fn row(
    name: &'static str,
    aliases: &'static [&'static str],
    capability: (u16, u8),
    source: &'static str,
) -> DeviceRow {
    DeviceRow {
        name,
        aliases,
        capability: Device::new(capability.0, capability.1),
        note: "",
        evidence: Evidence::Documented,
        source,
    }
}

const fn variant(name: &'static str, aliases: &'static [&'static str], capability: (u16, u8)) -> DeviceRow {
    DeviceRow {
        evidence: Evidence::Read,
        ..row(name, aliases, capability, VARIANT)
    }
}

const fn noted(row: DeviceRow, note: &'static str) -> DeviceRow {
    DeviceRow { note, ..row }
}

const THOR: &str = "10.1 before CUDA 13.0";

/// The devices, newest capability first.
pub const DEVICES: &[DeviceRow] = &[
    row("GB10", &["DGX Spark", "Spark"], (12, 1), PAGE),
    row("RTX PRO 6000 Blackwell", &["RTX PRO 6000"], (12, 0), PAGE),
    row("RTX PRO 5000 Blackwell", &["RTX PRO 5000"], (12, 0), PAGE),
    row("RTX PRO 4500 Blackwell", &["RTX PRO 4500"], (12, 0), PAGE),
    row("RTX PRO 4000 Blackwell", &["RTX PRO 4000"], (12, 0), PAGE),
    row("RTX PRO 2000 Blackwell", &["RTX PRO 2000"], (12, 0), PAGE),
    row("GeForce RTX 5090", &["RTX 50", "RTX 50 series"], (12, 0), PAGE),
    variant("GeForce RTX 5090 D", &[], (12, 0)),
    row("GeForce RTX 5080", &[], (12, 0), PAGE),
    row("GeForce RTX 5070 Ti", &[], (12, 0), PAGE),
    row("GeForce RTX 5070", &[], (12, 0), PAGE),
    row("GeForce RTX 5060 Ti", &[], (12, 0), PAGE),
    row("GeForce RTX 5060", &[], (12, 0), PAGE),
    row("GeForce RTX 5050", &[], (12, 0), PAGE),
    noted(
        row(
            "Jetson T5000",
            &["Thor", "Jetson AGX Thor", "Jetson Thor"],
            (11, 0),
            PAGE,
        ),
        THOR,
    ),
    noted(row("Jetson T4000", &[], (11, 0), PAGE), THOR),
    row(
        "B300",
        &["HGX B300", "DGX B300", "Blackwell Ultra"],
        (10, 3),
        PAGE,
    ),
    row("GB300", &["GB300 NVL72"], (10, 3), PAGE),
    row("B200", &["HGX B200", "DGX B200"], (10, 0), PAGE),
    row("GB200", &["GB200 NVL72"], (10, 0), PAGE),
    row("H100", &["Hopper"], (9, 0), PAGE),
    row("H200", &[], (9, 0), PAGE),
    row("GH200", &["Grace Hopper"], (9, 0), PAGE),
    variant("H800", &[], (9, 0)),
    variant("H20", &[], (9, 0)),
    row("L4", &[], (8, 9), PAGE),
    row("L40", &[], (8, 9), PAGE),
    row("L40S", &[], (8, 9), PAGE),
    row("RTX 6000 Ada", &[], (8, 9), PAGE),
    row("RTX 5000 Ada", &[], (8, 9), PAGE),
    row("RTX 4500 Ada", &[], (8, 9), PAGE),
    row("RTX 4000 Ada", &[], (8, 9), PAGE),
    row("RTX 4000 SFF Ada", &[], (8, 9), PAGE),
    row("RTX 2000 Ada", &[], (8, 9), PAGE),
    row(
        "GeForce RTX 4090",
        &["RTX 40", "RTX 40 series", "Ada"],
        (8, 9),
        PAGE,
    ),
    variant("GeForce RTX 4090 D", &[], (8, 9)),
    row("GeForce RTX 4080", &[], (8, 9), PAGE),
    variant("GeForce RTX 4080 SUPER", &[], (8, 9)),
    row("GeForce RTX 4070 Ti", &[], (8, 9), PAGE),
    variant("GeForce RTX 4070 Ti SUPER", &[], (8, 9)),
    row("GeForce RTX 4070", &[], (8, 9), PAGE),
    variant("GeForce RTX 4070 SUPER", &[], (8, 9)),
    row("GeForce RTX 4060 Ti", &[], (8, 9), PAGE),
    row("GeForce RTX 4060", &[], (8, 9), PAGE),
    row("GeForce RTX 4050", &[], (8, 9), PAGE),
    row("Jetson AGX Orin", &["Orin", "Jetson Orin"], (8, 7), PAGE),
    row("Jetson Orin NX", &[], (8, 7), PAGE),
    row("Jetson Orin Nano", &[], (8, 7), PAGE),
    row("A40", &[], (8, 6), PAGE),
    row("A10", &[], (8, 6), PAGE),
    variant("A10G", &[], (8, 6)),
    row("A16", &[], (8, 6), PAGE),
    row("A2", &[], (8, 6), PAGE),
    row("RTX A6000", &[], (8, 6), PAGE),
    variant("RTX A5500", &[], (8, 6)),
    row("RTX A5000", &[], (8, 6), PAGE),
    variant("RTX A4500", &[], (8, 6)),
    row("RTX A4000", &[], (8, 6), PAGE),
    row("RTX A3000", &[], (8, 6), PAGE),
    row("RTX A2000", &[], (8, 6), PAGE),
    row("GeForce RTX 3090 Ti", &[], (8, 6), PAGE),
    row("GeForce RTX 3090", &["RTX 30", "RTX 30 series"], (8, 6), PAGE),
    row("GeForce RTX 3080 Ti", &[], (8, 6), PAGE),
    row("GeForce RTX 3080", &[], (8, 6), PAGE),
    row("GeForce RTX 3070 Ti", &[], (8, 6), PAGE),
    row("GeForce RTX 3070", &[], (8, 6), PAGE),
    row("GeForce RTX 3060 Ti", &[], (8, 6), PAGE),
    row("GeForce RTX 3060", &[], (8, 6), PAGE),
    row("GeForce RTX 3050 Ti", &[], (8, 6), PAGE),
    row("GeForce RTX 3050", &[], (8, 6), PAGE),
    row("A100", &[], (8, 0), PAGE),
    row("A30", &[], (8, 0), PAGE),
    variant("A800", &[], (8, 0)),
    row("T4", &["Tesla T4"], (7, 5), PAGE),
    row("Quadro RTX 8000", &[], (7, 5), PAGE),
    row("Quadro RTX 6000", &[], (7, 5), PAGE),
    row("Quadro RTX 5000", &[], (7, 5), PAGE),
    row("Quadro RTX 4000", &[], (7, 5), PAGE),
    row("Quadro RTX 3000", &[], (7, 5), PAGE),
    row("T1000", &["Quadro T1000"], (7, 5), PAGE),
    row("TITAN RTX", &[], (7, 5), PAGE),
    row(
        "GeForce RTX 2080 Ti",
        &["RTX 20", "RTX 20 series", "Turing"],
        (7, 5),
        PAGE,
    ),
    row("GeForce RTX 2080", &[], (7, 5), PAGE),
    variant("GeForce RTX 2080 SUPER", &[], (7, 5)),
    row("GeForce RTX 2070", &[], (7, 5), PAGE),
    variant("GeForce RTX 2070 SUPER", &[], (7, 5)),
    row("GeForce RTX 2060", &[], (7, 5), PAGE),
    variant("GeForce RTX 2060 SUPER", &[], (7, 5)),
    row("GeForce GTX 1660 Ti", &["GTX 16", "GTX 16 series"], (7, 5), PAGE),
    variant("GeForce GTX 1660", &[], (7, 5)),
    row("GeForce GTX 1650 Ti", &[], (7, 5), PAGE),
    variant("GeForce GTX 1650", &[], (7, 5)),
    row("Jetson AGX Xavier", &["Xavier"], (7, 2), LEGACY),
    row("Jetson Xavier NX", &[], (7, 2), LEGACY),
    row("V100", &["Tesla V100", "Volta"], (7, 0), LEGACY),
    row("TITAN V", &[], (7, 0), LEGACY),
    row("Quadro GV100", &[], (7, 0), LEGACY),
    row("Jetson TX2", &[], (6, 2), LEGACY),
    row("P40", &["Tesla P40"], (6, 1), LEGACY),
    row("P4", &["Tesla P4"], (6, 1), LEGACY),
    row(
        "GeForce GTX 1080 Ti",
        &["GTX 10", "GTX 10 series"],
        (6, 1),
        LEGACY,
    ),
    row("GeForce GTX 1080", &[], (6, 1), LEGACY),
    row("GeForce GTX 1070", &[], (6, 1), LEGACY),
    row("GeForce GTX 1060", &[], (6, 1), LEGACY),
    row("GeForce GTX 1050", &[], (6, 1), LEGACY),
    row("P100", &["Tesla P100"], (6, 0), LEGACY),
    row("M60", &["Tesla M60"], (5, 2), LEGACY),
    row("M40", &["Tesla M40"], (5, 2), LEGACY),
    row("GeForce GTX 980", &[], (5, 2), LEGACY),
    row("GeForce GTX 750 Ti", &[], (5, 0), LEGACY),
];

/// The last CUDA release whose driver runs devices below a capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DriverEndRow {
    /// Devices of a lower capability than this one.
    pub below: Device,
    /// The last release.
    pub last: ToolkitVersion,
    /// How it is known.
    pub evidence: Evidence,
    /// Where it is written.
    pub source: &'static str,
}

/// Where support ended, as far as releases of this table's time go.
pub const DRIVER_ENDS: &[DriverEndRow] = &[DriverEndRow {
    below: Device::new(7, 5),
    last: ToolkitVersion::new(13, 0),
    evidence: Evidence::Documented,
    source: "CUDA 13.0 release notes: driver branch 580 is the last for Maxwell, Pascal and Volta",
}];
