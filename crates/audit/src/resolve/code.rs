//! Block-float and tensor-core code of images, by the instructions that only some architectures have.

use blockgate_fatbin::Histogram;

use crate::report::ImageReport;

/// Matrix instructions that tell architectures apart: block-scaled and eight-bit ones of the workstation GPUs, those of
/// tensor memory, and those of warp groups.
const MMA: [&str; 10] = [
    "OMMA", "QMMA", "UTCOMMA", "UTCQMMA", "UTCHMMA", "UTCIMMA", "HGMMA", "QGMMA", "IGMMA", "BGMMA",
];

/// How many instructions of each family images have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TensorCode {
    /// Conversions to E2M1 in hardware.
    pub e2m1_conversions: u64,
    /// Matrix instructions by base mnemonic, in a fixed order, without zeros.
    pub mma: Vec<(&'static str, u64)>,
    /// Images of machine code whose instructions are not known by name, which no count here includes.
    pub unknown_images: u64,
}

impl TensorCode {
    /// Adds the code of `image`. PTX has none of its own: what it becomes is the driver's business.
    pub fn add(&mut self, image: &ImageReport) {
        if !image.is_cubin() {
            return;
        }
        let Some(conversions) = image.e2m1_conversions() else {
            self.unknown_images += 1;
            return;
        };
        self.e2m1_conversions += conversions;
        for family in MMA {
            let number = count(&image.sass, family);
            if number == 0 {
                continue;
            }
            match self.mma.iter_mut().find(|(known, _)| *known == family) {
                Some((_, total)) => *total += number,
                None => self.mma.push((family, number)),
            }
        }
        self.mma
            .sort_by_key(|(family, _)| MMA.iter().position(|known| known == family));
    }
}

/// Instructions whose base mnemonic is `family`, with whatever modifiers.
fn count(histogram: &Histogram, family: &str) -> u64 {
    histogram
        .iter()
        .filter(|(mnemonic, _)| mnemonic.split('.').next() == Some(family))
        .map(|(_, number)| number)
        .sum()
}
