//! Containers of several images with one compressed payload (`--concat` of CUDA 13.5).

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

use crate::Limits;
use crate::artifact::Reader;
use crate::entry::{EntryHeader, EntryTexts, HEADER_BYTES};
use crate::error::Error;
use crate::image::{Image, Position, Stored};
use crate::region::ALIGNMENT_BYTES;
use crate::view::View;
use blockgate_findings::Severity::Error as Unread;

/// A payload that several images share.
#[derive(Debug)]
pub(crate) struct SharedPayload<'a> {
    stored: Stored<'a>,
    images: u32,
    cache: Mutex<Cache<'a>>,
}

/// The decompressed payload stays until each image has been decoded once, so that a pass over all images
/// decompresses it once and keeps it no longer than needed. A failure takes no room, and stays.
#[derive(Debug, Default)]
struct Cache<'a> {
    decompressed: Option<Arc<Cow<'a, [u8]>>>,
    uses_left: u32,
    /// What went wrong, under which limits: others may allow more.
    failed: Option<(Limits, Error)>,
}

impl<'a> SharedPayload<'a> {
    /// Where the container's entry header is, in bytes of the file.
    pub(crate) fn offset(&self) -> u64 {
        self.stored.entry_offset()
    }

    /// Bytes that the payload takes in the file.
    pub(crate) fn stored_size(&self) -> u64 {
        self.stored.stored_size()
    }

    /// How many images share it.
    pub(crate) fn images(&self) -> u32 {
        self.images
    }

    /// The whole payload, decompressed.
    pub(crate) fn decompress(&self, limits: &Limits) -> Result<Arc<Cow<'a, [u8]>>, Error> {
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, error)) = cache.failed.as_ref().filter(|(under, _)| under == limits) {
            return Err(error.clone());
        }
        let decompressed = match cache.decompressed.take() {
            Some(decompressed) => decompressed,
            None => {
                cache.uses_left = self.images;
                match self.stored.decompress(limits) {
                    Ok(decompressed) => Arc::new(decompressed),
                    Err(error) => {
                        cache.failed = Some((limits.clone(), error.clone()));
                        return Err(error);
                    }
                }
            }
        };
        cache.uses_left = cache.uses_left.saturating_sub(1);
        if cache.uses_left > 0 {
            cache.decompressed = Some(Arc::clone(&decompressed));
        }
        Ok(decompressed)
    }
}

/// Where the sub-headers start in the container's header: a count, their size, then the sub-headers.
const TABLE_AT: u64 = HEADER_BYTES;
const FIRST_AT: u64 = TABLE_AT + 8;

/// Reads the sub-headers of the container whose header, with all that follows it, is `view`.
pub(crate) fn read<'a>(
    reader: &mut Reader<'a, '_>,
    header: &EntryHeader,
    view: &View<'a>,
    payload: &View<'a>,
    position: &mut Position,
) {
    let Some(count) = view.u32(TABLE_AT) else {
        let expected = "a table of images behind the container's header";
        let found = format!("a header of {:#x} bytes", view.len());
        reader.defect(view.defect(4, "concat-table", Unread, expected, found));
        return;
    };
    // A sub-header is at least as large as an entry header, so the count is bounded by what is there.
    let room = view.len().saturating_sub(FIRST_AT) / HEADER_BYTES;
    if u64::from(count) > room {
        let expected = format!("at most {room} images in a header of {:#x} bytes", view.len());
        let error = view.error(TABLE_AT, expected, format!("{count}"));
        reader.defect(error.into_defect("concat-table"));
        return;
    }
    let shared = Arc::new(SharedPayload {
        stored: Stored::new(header, view, payload.clone()),
        images: count,
        cache: Mutex::default(),
    });
    let mut at = FIRST_AT;
    let whole = shared.stored.size();
    let mut total = 0_u64;
    let mut covered = Vec::new();
    for _ in 0..count {
        // Where the last sub-header ended is within the header, so there is at least nothing.
        let rest = match view.range(TABLE_AT, at, view.len().saturating_sub(at), "a sub-header") {
            Ok(rest) => rest,
            Err(error) => return reader.defect(error.into_defect("concat-table")),
        };
        let sub = match EntryHeader::parse(&rest, 0) {
            Ok(sub) => sub,
            Err(error) => return reader.defect(error.into_defect("concat-table")),
        };
        if reader.images.len() >= reader.limits.max_images {
            let expected = format!("at most {} images", reader.limits.max_images);
            return reader.defect(view.defect(at, "limit-images", Unread, expected, "more"));
        }
        for defect in sub.oddities(&rest) {
            reader.defect(defect);
        }
        // Images that overlap would cost more to decode than the container's size allows.
        total = total.saturating_add(sub.payload_bytes);
        if total > whole {
            let expected = format!("images of together {whole:#x} bytes");
            let found = format!("{total:#x} with this one");
            return reader.defect(view.defect(at, "concat-table", Unread, expected, found));
        }
        let size = HEADER_BYTES + extra_bytes(&sub, &rest);
        let Some(sub_view) = view.get(at, size) else {
            let expected = format!("a sub-header within the header of {:#x} bytes", view.len());
            let found = format!("{size:#x} bytes");
            return reader.defect(view.defect(at, "concat-table", Unread, expected, found));
        };
        let mut defects = Vec::new();
        let texts = EntryTexts::read(&sub, &sub_view, &mut defects);
        for defect in defects {
            reader.defect(defect);
        }
        covered.push((u64::from(sub.header_bytes), sub.payload_bytes));
        let image = Image::of_concat(
            &sub,
            texts,
            &sub_view,
            Arc::clone(&shared),
            header,
            position.clone(),
        );
        reader.images.push(image);
        position.entry += 1;
        at += size;
    }
    if let Err((expected, found)) = check_coverage(covered, whole) {
        reader.defect(view.defect(TABLE_AT, "concat-table", Unread, expected, found));
    }
}

/// Whether images, given as start and size, are the whole payload of `whole` bytes, one after the other: what no image
/// covers would go unread. `fatbinary` 13.5 leaves nothing between images, whose stated sizes are padded; less than the
/// alignment hides nothing, since no image starts there.
fn check_coverage(mut images: Vec<(u64, u64)>, whole: u64) -> Result<(), (String, String)> {
    images.sort_unstable();
    let mut end = 0_u64;
    // The end of the payload stands for an image of no size.
    for (start, size) in images.into_iter().chain([(whole, 0)]) {
        if start < end {
            let found = format!("one at {start:#x}, before the end of another at {end:#x}");
            let expected = format!("images one after the other in {whole:#x} bytes");
            return Err((expected, found));
        }
        if start - end >= ALIGNMENT_BYTES {
            let expected = format!("images that cover the payload of {whole:#x} bytes");
            let found = format!("none from {end:#x} to {start:#x}");
            return Err((expected, found));
        }
        end = start.saturating_add(size);
    }
    Ok(())
}

/// Size of what follows a sub-header: nothing, or two numbers and a NUL-terminated string padded to eight bytes.
fn extra_bytes(sub: &EntryHeader, view: &View<'_>) -> u64 {
    let at = u64::from(sub.extra_at);
    match view.u32(at + 4) {
        Some(length) if at != 0 => 8 + (u64::from(length) + 1).next_multiple_of(8),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::SharedPayload;
    use crate::Limits;
    use crate::entry::{EntryHeader, flag};
    use crate::image::Stored;
    use crate::view::View;

    /// A damaged payload that hundreds of images share must not be decompressed hundreds of times.
    #[test]
    fn a_failure_is_remembered_for_the_same_limits() {
        let mut bytes = [0_u8; 80];
        bytes[16] = 16;
        bytes[40..48].copy_from_slice(&flag::ZSTD.to_le_bytes());
        bytes[56] = 100;
        let view = View::new(&bytes, None, 0);
        let header = EntryHeader::parse(&view, 0).unwrap();
        let shared = SharedPayload {
            stored: Stored::new(&header, &view, view.get(64, 16).unwrap()),
            images: 2,
            cache: Mutex::default(),
        };
        let limits = Limits::default();
        let error = shared.decompress(&limits).unwrap_err();
        let failed = shared.cache.lock().unwrap().failed.clone();
        assert_eq!(failed, Some((limits.clone(), error.clone())));
        assert_eq!(shared.decompress(&limits).unwrap_err(), error);
        let others = Limits {
            max_image_bytes: 10,
            ..limits
        };
        assert_eq!(shared.decompress(&others).unwrap_err().offset(), 56);
    }
}
