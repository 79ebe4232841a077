//! Containers of several images with one compressed payload (`--concat` of CUDA 13.5).

use std::sync::{Arc, Mutex, PoisonError};

use crate::Limits;
use crate::artifact::Reader;
use crate::entry::{EntryHeader, EntryTexts, HEADER_BYTES};
use crate::error::Error;
use crate::image::{Image, Position, Stored};
use crate::view::View;
use blockgate_findings::Severity::Error as Unread;

/// A payload that several images share.
#[derive(Debug)]
pub(crate) struct SharedPayload<'a> {
    stored: Stored<'a>,
    images: u32,
    cache: Mutex<Cache>,
}

/// The decompressed payload stays until each image has been decoded once, so that a pass over all images
/// decompresses it once and keeps it no longer than needed.
#[derive(Debug, Default)]
struct Cache {
    decompressed: Option<Arc<[u8]>>,
    uses_left: u32,
}

impl SharedPayload<'_> {
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
    pub(crate) fn decompress(&self, limits: &Limits) -> Result<Arc<[u8]>, Error> {
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        let decompressed = match cache.decompressed.take() {
            Some(decompressed) => decompressed,
            None => {
                cache.uses_left = self.images;
                Arc::from(self.stored.decompress(limits)?)
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
    let mut decompressed_bytes = 0_u64;
    for _ in 0..count {
        let Some(sub_view) = view.get(at, view.len().saturating_sub(at)) else {
            return;
        };
        let sub = match EntryHeader::parse(&sub_view, 0) {
            Ok(sub) => sub,
            Err(error) => return reader.defect(error.into_defect("concat-table")),
        };
        if reader.images.len() >= reader.limits.max_images {
            let expected = format!("at most {} images", reader.limits.max_images);
            return reader.defect(view.defect(at, "limit-images", Unread, expected, "more"));
        }
        for defect in sub.oddities(&sub_view) {
            reader.defect(defect);
        }
        // Images that overlap would cost more than the container's size allows.
        decompressed_bytes = decompressed_bytes.saturating_add(sub.payload_bytes);
        if decompressed_bytes > header.decompressed_bytes {
            let expected = format!("images of together {:#x} bytes", header.decompressed_bytes);
            let found = format!("{decompressed_bytes:#x} with this one");
            return reader.defect(view.defect(at, "concat-table", Unread, expected, found));
        }
        let size = HEADER_BYTES + extra_bytes(&sub, &sub_view);
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
        let image = Image::of_concat(&sub, texts, &sub_view, Arc::clone(&shared), header, *position);
        reader.images.push(image);
        position.entry += 1;
        at += size;
    }
}

/// Size of what follows a sub-header: nothing, or two numbers and a NUL-terminated string padded to eight bytes.
fn extra_bytes(sub: &EntryHeader, view: &View<'_>) -> u64 {
    let at = u64::from(sub.extra_at);
    match view.u32(at + 4) {
        Some(length) if at != 0 => 8 + (u64::from(length) + 1).next_multiple_of(8),
        _ => 0,
    }
}
