//! Regions, and containers of images that are compressed together.

use super::entry::{Entry, HEADER_BYTES, Numbers, Payload, Tail, container_header};
use super::{WriteError, field, pad};
use crate::Compression;

/// Builds a region: a header and entries. Regions may be put one after the other, with zeros between them in multiples
/// of eight.
///
/// ```
/// use blockgate_fatbin::{Limits, read, write::Region};
///
/// // A region without images is a valid, empty fat binary.
/// let empty = Region::new().build()?;
/// assert_eq!(empty.len(), 16);
/// assert!(read(&empty, &Limits::default())?.images.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Region {
    parts: Vec<Part>,
}

#[derive(Clone, Debug)]
enum Part {
    Entry(Entry),
    Concat(Concat),
}

impl Region {
    /// A region without entries.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an entry.
    #[must_use]
    pub fn entry(mut self, entry: Entry) -> Self {
        self.parts.push(Part::Entry(entry));
        self
    }

    /// Adds a container.
    #[must_use]
    pub fn concat(mut self, concat: Concat) -> Self {
        self.parts.push(Part::Concat(concat));
        self
    }

    /// The region.
    ///
    /// # Errors
    /// When something in it exceeds its field, or cannot be compressed.
    pub fn build(&self) -> Result<Vec<u8>, WriteError> {
        const MAGIC: [u8; 4] = [0x50, 0xed, 0x55, 0xba];
        const VERSION: u16 = 1;
        const REGION_HEADER_BYTES: u16 = 16;
        let mut entries = Vec::new();
        for part in &self.parts {
            match part {
                Part::Entry(entry) => entry.write(&mut entries)?,
                Part::Concat(concat) => concat.write(&mut entries)?,
            }
        }
        let mut region = MAGIC.to_vec();
        region.extend(VERSION.to_le_bytes());
        region.extend(REGION_HEADER_BYTES.to_le_bytes());
        region.extend((entries.len() as u64).to_le_bytes());
        region.extend(entries);
        Ok(region)
    }
}

/// Builds a container of several images with one zstd payload, as `--concat` of CUDA 13.5 does.
///
/// The compression of its entries plays no part, and neither do their source names, which have no place there.
#[derive(Clone, Debug, Default)]
pub struct Concat {
    images: Vec<Entry>,
}

impl Concat {
    /// A container without images.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an image.
    #[must_use]
    pub fn image(mut self, image: Entry) -> Self {
        self.images.push(image);
        self
    }

    fn write(&self, out: &mut Vec<u8>) -> Result<(), WriteError> {
        let mut content = Vec::new();
        let mut sub_headers = Vec::new();
        for image in &self.images {
            let at = field("the place of an image in a container", content.len() as u64)?;
            content.extend(image.content());
            pad(&mut content, 8);
            image.write_sub_header(&mut sub_headers, at, content.len() as u64 - u64::from(at))?;
        }
        let count: u32 = field("the number of images in a container", self.images.len() as u64)?;
        let table_bytes: u32 = field("the table of a container", sub_headers.len() as u64 + 8)?;
        let mut table = count.to_le_bytes().to_vec();
        table.extend(table_bytes.to_le_bytes());
        table.extend(sub_headers);
        let payload = Payload::of(&content, Compression::Zstd)?;
        let numbers = Numbers {
            header_bytes: field(
                "the header of a container",
                u64::from(HEADER_BYTES) + table.len() as u64,
            )?,
            payload_bytes: payload.bytes.len() as u64,
            compressed_bytes: payload.compressed_bytes,
            flags: payload.flags,
            decompressed_bytes: payload.decompressed_bytes,
        };
        let tail = Tail {
            extra_at: u32::from(HEADER_BYTES),
            bytes: table,
            ..Tail::default()
        };
        out.extend(container_header(&numbers, &tail));
        out.extend(payload.bytes);
        Ok(())
    }
}
