//! The rows of a census: one for each architecture and kind.

use std::collections::BTreeMap;

use blockgate_arch::Arch;
use blockgate_fatbin::ImageKind;

use crate::report::{FileReport, ImageReport};

/// The rows over the counted images of an input.
pub(super) fn census_rows(file: &FileReport) -> BTreeMap<RowKey, Row> {
    let mut rows: BTreeMap<RowKey, Row> = BTreeMap::new();
    for image in file.images.iter().filter(|image| image.counted) {
        let key = RowKey {
            kind: kind_rank(image),
            arch: image.arch.map(Arch::display_key),
            name: image.arch.map_or_else(|| "?".to_owned(), |arch| arch.to_string()),
            kind_name: image.kind.as_str(),
        };
        rows.entry(key).or_default().add(image);
    }
    rows
}

/// What a row of the census is about, in the order of display: cubins, PTX, then what can only be listed.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RowKey {
    kind: u8,
    arch: Option<blockgate_arch::DisplayKey>,
    pub(super) name: String,
    pub(super) kind_name: &'static str,
}

/// Sums over the images of a row; `None` where one of them is not known.
pub(super) struct Row {
    pub(super) images: u64,
    pub(super) kernels: Option<u64>,
    pub(super) instructions: Option<u64>,
    pub(super) conversions: Option<u64>,
    pub(super) stored_bytes: u64,
    pub(super) size_bytes: Option<u64>,
}

impl Default for Row {
    fn default() -> Self {
        Self {
            images: 0,
            kernels: Some(0),
            instructions: Some(0),
            conversions: Some(0),
            stored_bytes: 0,
            size_bytes: Some(0),
        }
    }
}

impl Row {
    fn add(&mut self, image: &ImageReport) {
        let sum = |total: Option<u64>, part: Option<u64>| Some(total?.saturating_add(part?));
        self.images += 1;
        self.kernels = sum(self.kernels, image.kernel_count);
        self.instructions = sum(self.instructions, image.instructions);
        self.conversions = sum(self.conversions, image.e2m1_conversions());
        self.stored_bytes = self.stored_bytes.saturating_add(image.stored_bytes);
        self.size_bytes = sum(self.size_bytes, image.size_bytes);
    }
}

fn kind_rank(image: &ImageReport) -> u8 {
    match image.kind {
        ImageKind::Cubin => 0,
        ImageKind::Ptx => 1,
        ImageKind::LtoIr => 2,
        ImageKind::Unknown(_) => 3,
    }
}
