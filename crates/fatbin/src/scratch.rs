//! Memory that decoding reuses from image to image.

use std::fmt;
use std::io;

use zstd::bulk::Decompressor;

/// A buffer of at most this size is kept for the next image. Larger images are few, and would pin their memory to
/// every thread that ever met one.
const KEPT_BYTES: usize = 64 << 20;

/// Memory that [`Image::inspect_with`](crate::Image::inspect_with) reuses from image to image.
///
/// Fresh memory for each image costs about a fifth of the time that decompression takes, since the system hands it out
/// page by page. One for each thread is enough; it keeps at most 64 MiB between images.
#[derive(Default)]
pub struct Scratch {
    zstd: Option<Decompressor<'static>>,
    /// As long as the largest content so far: what lies behind the content is left over from others.
    content: Vec<u8>,
}

impl Scratch {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Room for `size` bytes, which hold what an earlier content left there.
    pub(crate) fn room(&mut self, size: usize) -> &mut [u8] {
        if self.content.len() < size {
            // Freed first, so that never two of them are there; and zeroed by the system where it is large.
            self.content = Vec::new();
            self.content = vec![0; size];
        }
        self.content.get_mut(..size).unwrap_or_default()
    }

    /// Decompresses a zstd frame to at most `size` bytes, and gives how many there are.
    pub(crate) fn zstd(&mut self, frame: &[u8], size: usize) -> io::Result<usize> {
        if let Some(stated) = zstd::decompressed_size(frame).filter(|&stated| stated > size as u64) {
            return Err(io::Error::other(format!("the frame states {stated:#x}")));
        }
        let mut zstd = match self.zstd.take() {
            Some(zstd) => zstd,
            None => Decompressor::new()?,
        };
        let written = zstd.decompress_to_buffer(frame, self.room(size));
        self.zstd = Some(zstd);
        written
    }

    /// Decompresses an LZ4 block to at most `size` bytes, and gives how many there are.
    pub(crate) fn lz4(
        &mut self,
        block: &[u8],
        size: usize,
    ) -> Result<usize, lz4_flex::block::DecompressError> {
        lz4_flex::block::decompress_into(block, self.room(size))
    }

    /// The first `size` bytes of what was written last.
    pub(crate) fn content(&self, size: usize) -> &[u8] {
        self.content.get(..size).unwrap_or_default()
    }

    pub(crate) fn into_content(mut self, size: usize) -> Vec<u8> {
        self.content.truncate(size);
        self.content
    }

    /// Frees what is not worth keeping.
    pub(crate) fn trim(&mut self) {
        if self.content.len() > KEPT_BYTES {
            self.content = Vec::new();
        }
    }
}

impl fmt::Debug for Scratch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scratch")
            .field("bytes", &self.content.len())
            .finish_non_exhaustive()
    }
}
