//! Sums over a comparison, by architecture.

use std::collections::BTreeMap;

use blockgate_arch::Arch;
use blockgate_fatbin::Histogram;

use super::compare::mnemonics;
use super::{Change, Code, Diff};
use crate::report::ImageReport;

/// One architecture and kind.
#[derive(Debug)]
pub struct ArchTotals {
    /// The architecture; `None` where an image names none.
    pub arch: Option<Arch>,
    /// The kind, as machine output names it.
    pub kind: &'static str,
    /// Images.
    pub images: Before,
    /// Images on both sides whose code is the same.
    pub identical_images: u64,
    /// Images that cannot be compared.
    pub not_compared_images: u64,
    /// Kernels and device functions that are the same, came, went, or have other code.
    pub same_kernels: u64,
    /// Kernels on both sides with other code.
    pub changed_kernels: u64,
    /// Kernels that came.
    pub added_kernels: u64,
    /// Kernels that went.
    pub removed_kernels: u64,
    /// Instructions; `None` where a side's are not counted.
    pub instructions: Option<Before>,
    /// Bytes in the file.
    pub stored_bytes: Before,
    /// Bytes decoded, where that is known of all.
    pub size_bytes: Option<Before>,
    sass: (Histogram, Histogram),
}

/// A number before and after.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Before {
    /// In the old input.
    pub old: u64,
    /// In the new input.
    pub new: u64,
}

impl Before {
    /// After less before.
    pub const fn change(self) -> i64 {
        self.new.cast_signed().wrapping_sub(self.old.cast_signed())
    }
}

impl ArchTotals {
    fn new(arch: Option<Arch>, kind: &'static str) -> Self {
        Self {
            arch,
            kind,
            images: Before::default(),
            identical_images: 0,
            not_compared_images: 0,
            same_kernels: 0,
            changed_kernels: 0,
            added_kernels: 0,
            removed_kernels: 0,
            instructions: Some(Before::default()),
            stored_bytes: Before::default(),
            size_bytes: Some(Before::default()),
            sass: (Histogram::default(), Histogram::default()),
        }
    }

    /// Instructions by mnemonic where their number changed: before and after.
    pub fn mnemonics(&self) -> BTreeMap<&str, (u64, u64)> {
        mnemonics(Some(&self.sass.0), Some(&self.sass.1))
    }

    fn add(&mut self, image: &ImageReport, side: fn(&mut Before) -> &mut u64) {
        *side(&mut self.images) += 1;
        // Sizes are what headers state, and those of images that are not decoded nobody has checked.
        let stored_bytes = side(&mut self.stored_bytes);
        *stored_bytes = stored_bytes.saturating_add(image.stored_bytes);
        self.instructions = self
            .instructions
            .zip(image.instructions)
            .map(|(mut sum, number)| {
                *side(&mut sum) += number;
                sum
            });
        self.size_bytes = self.size_bytes.zip(image.size_bytes).map(|(mut sum, number)| {
            *side(&mut sum) = side(&mut sum).saturating_add(number);
            sum
        });
    }
}

/// One row per kind and architecture of either side, machine code first.
pub fn totals(diff: &Diff<'_>) -> Vec<ArchTotals> {
    let mut rows: Vec<ArchTotals> = Vec::new();
    for image in diff.modules.iter().flat_map(|module| &module.images) {
        let Some(any) = image.sides().next() else {
            continue;
        };
        let kind = any.kind.as_str();
        let place = rows
            .iter()
            .position(|row| row.arch == any.arch && row.kind == kind)
            .unwrap_or_else(|| {
                rows.push(ArchTotals::new(any.arch, kind));
                rows.len() - 1
            });
        let row = &mut rows[place];
        if let Some(old) = image.old {
            row.add(old, |before| &mut before.old);
            row.sass.0.merge(&old.sass);
        }
        if let Some(new) = image.new {
            row.add(new, |before| &mut before.new);
            row.sass.1.merge(&new.sass);
        }
        match image.code {
            Code::Identical => row.identical_images += 1,
            Code::NotCompared => row.not_compared_images += 1,
            Code::Different => {}
        }
        for kernel in &image.kernels {
            *match kernel.change() {
                Change::Same => &mut row.same_kernels,
                Change::Changed => &mut row.changed_kernels,
                Change::Added => &mut row.added_kernels,
                Change::Removed => &mut row.removed_kernels,
            } += 1;
        }
    }
    rows.sort_by_key(|row| (row.kind, row.arch.map(Arch::display_key)));
    rows
}
