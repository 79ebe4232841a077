//! Sums over images, by architecture.

use blockgate_arch::Arch;
use blockgate_fatbin::{Histogram, ImageKind};

use crate::report::ImageReport;

/// Sums over the counted images of one input.
///
/// Rows are sorted by [`Arch::display_key`]; an architecture stands in a table once.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// Machine-code images.
    pub cubins: Vec<ArchCount>,
    /// PTX images.
    pub ptx: Vec<ArchCount>,
    /// LTO-IR and unknown images.
    pub other: Vec<ArchCount>,
    /// Images whose architecture could not be told, which are in none of the tables.
    pub unknown_arch: u64,
    /// Relocatable images that are left out of everything else here.
    pub left_out: u64,
    /// Instructions; no row for an architecture with an image whose instructions cannot be counted.
    pub instructions: Vec<ArchCount>,
    /// Instructions by mnemonic; no row for an architecture with an image whose instructions cannot be counted.
    pub sass: Vec<(Arch, Histogram)>,
    /// Kernels (entry functions).
    pub kernels: Vec<ArchCount>,
    /// Bytes of machine code and PTX together.
    pub bytes: Vec<(Arch, ByteCount)>,
}

/// A count for an architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArchCount {
    /// The architecture.
    pub arch: Arch,
    /// How many.
    pub count: u64,
}

/// Sizes in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByteCount {
    /// In the file.
    pub stored: u64,
    /// Decoded.
    pub size: u64,
}

impl Totals {
    /// The sums over `images`.
    pub fn of<'a>(images: impl IntoIterator<Item = &'a ImageReport>) -> Self {
        let mut totals = Self::default();
        let mut uncountable: Vec<Arch> = Vec::new();
        for image in images {
            if !image.counted {
                totals.left_out += 1;
                continue;
            }
            let Some(arch) = image.arch else {
                totals.unknown_arch += 1;
                continue;
            };
            match image.kind {
                ImageKind::Cubin => {
                    add(&mut totals.cubins, arch, 1);
                    add(&mut totals.kernels, arch, image.kernel_count.unwrap_or(0));
                    match image.instructions {
                        Some(instructions) => add(&mut totals.instructions, arch, instructions),
                        None => uncountable.push(arch),
                    }
                    row(&mut totals.sass, arch).merge(&image.sass);
                }
                ImageKind::Ptx => add(&mut totals.ptx, arch, 1),
                _ => add(&mut totals.other, arch, 1),
            }
            let bytes = row(&mut totals.bytes, arch);
            // Sizes of what is not unpacked are what a header claims.
            bytes.stored = bytes.stored.saturating_add(image.stored_bytes);
            bytes.size = bytes.size.saturating_add(image.size_bytes.unwrap_or(0));
        }
        totals.instructions.retain(|row| !uncountable.contains(&row.arch));
        totals.sass.retain(|(arch, _)| !uncountable.contains(arch));
        for rows in [
            &mut totals.cubins,
            &mut totals.ptx,
            &mut totals.other,
            &mut totals.instructions,
            &mut totals.kernels,
        ] {
            rows.sort_by_key(|row| row.arch.display_key());
        }
        totals.sass.sort_by_key(|(arch, _)| arch.display_key());
        totals.bytes.sort_by_key(|(arch, _)| arch.display_key());
        totals
    }

    /// The count in `rows` for `arch`, 0 where there is no row.
    pub fn count(rows: &[ArchCount], arch: Arch) -> u64 {
        rows.iter()
            .find(|row| row.arch == arch)
            .map_or(0, |row| row.count)
    }

    /// Instructions of `arch` whose mnemonic `matches` accepts.
    pub fn sass_count(&self, arch: Arch, matches: impl Fn(&str) -> bool) -> u64 {
        self.sass
            .iter()
            .filter(|(row_arch, _)| *row_arch == arch)
            .flat_map(|(_, histogram)| histogram.iter())
            .filter(|(mnemonic, _)| matches(mnemonic))
            .map(|(_, count)| count)
            .sum()
    }
}

fn add(rows: &mut Vec<ArchCount>, arch: Arch, count: u64) {
    match rows.iter_mut().find(|row| row.arch == arch) {
        Some(row) => row.count += count,
        None => rows.push(ArchCount { arch, count }),
    }
}

fn row<T: Default>(rows: &mut Vec<(Arch, T)>, arch: Arch) -> &mut T {
    let index = match rows.iter().position(|(row_arch, _)| *row_arch == arch) {
        Some(index) => index,
        None => {
            rows.push((arch, T::default()));
            rows.len() - 1
        }
    };
    &mut rows[index].1
}
