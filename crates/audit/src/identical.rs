//! Which images of an artifact are byte for byte the same.

use std::collections::BTreeMap;

use blockgate_arch::Arch;
use blockgate_fatbin::{Image, ImageKind};

/// How many different payloads of one size, kind and architecture are compared with each other. Real artifacts have
/// a few; a made-up one must not cost the square of its images.
const MAX_DIFFERENT: usize = 64;

/// For each image the offset of the first one with the same payload, where there is an earlier one. Payloads are compared
/// as they are stored: a compressor gives the same bytes for the same content. Images in a shared container are left out.
pub(crate) fn offsets(images: &[Image<'_>]) -> Vec<Option<u64>> {
    // The display key stands for the architecture, which has no order.
    let key = |image: &Image<'_>| {
        let kind = match image.kind {
            ImageKind::Cubin => 0,
            ImageKind::Ptx => 1,
            _ => return None,
        };
        let arch = image.declared.map(Arch::display_key);
        Some((kind, arch, image.stored_size, image.size))
    };
    let mut seen: BTreeMap<_, Vec<(&[u8], u64)>> = BTreeMap::new();
    images
        .iter()
        .map(|image| {
            let bytes = image.stored().filter(|bytes| !bytes.is_empty())?;
            let group = seen.entry(key(image)?).or_default();
            if let Some((_, offset)) = group.iter().find(|(other, _)| *other == bytes) {
                return Some(*offset);
            }
            if group.len() < MAX_DIFFERENT {
                group.push((bytes, image.offset));
            }
            None
        })
        .collect()
}
