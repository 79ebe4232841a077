//! An image: one piece of device code, as its entry header describes it, and its decompression.

use std::borrow::Cow;
use std::sync::Arc;

use blockgate_arch::Arch;

use crate::Limits;
use crate::concat::SharedPayload;
use crate::entry::{EntryHeader, EntryTexts, flag};
use crate::error::Error;
use crate::scratch::Scratch;
use crate::view::View;

/// One piece of device code.
///
/// ```
/// use blockgate_fatbin::{Compression, Limits, read};
/// # use blockgate_arch::{Arch, Scope};
/// # use blockgate_fatbin::write::{Entry, Ptx, Region};
/// # let arch = Arch::new(12, 0, Scope::Plain);
/// # let text = Ptx::new(arch, (8, 7)).kernel("scale").text();
/// # let entry = Entry::ptx(arch, (8, 7), text).compression(Compression::Zstd);
/// # let bytes = Region::new().entry(entry).build()?;
///
/// let artifact = read(&bytes, &Limits::default())?;
/// let image = &artifact.images[0];
/// // What the header says costs nothing; the content is unpacked when it is asked for.
/// assert_eq!(image.declared.unwrap().to_string(), "sm_120");
/// assert_eq!(image.compression, Compression::Zstd);
/// let text = image.decode(&Limits::default())?;
/// assert!(text.starts_with(b"\n.version 8.7\n.target sm_120\n"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Image<'a> {
    /// The archive member that holds it.
    pub member: Option<Arc<str>>,
    /// The host section that holds it, as the file names it: `.nv_fatbin` and `__nv_relfatbin` as a rule; cut to
    /// `.nv_fatb` and `__nv_rel` in PE files; segment and section, `__NV_CUDA,__nv_fatbin`, in Mach-O files; another
    /// where device code lies among other data. `None` where there is no host file, or it has no section table.
    pub section: Option<Arc<str>>,
    /// Which region of its section or file, from 0. A bare cubin among a program's data counts as one.
    pub region: u32,
    /// Which image of its region, from 0. The images of a concat container are counted one by one.
    pub entry: u32,
    /// Absolute offset of the entry header in bytes; of the content, where a cubin or PTX text stands alone.
    pub offset: u64,
    /// What it is.
    pub kind: ImageKind,
    /// The architecture by the entry header; `None` where a cubin or PTX text stands alone.
    pub declared: Option<Arch>,
    /// The version by the entry header, major and minor: of the PTX ISA for PTX, 1.7 or 1.8 for the ELF ABI of
    /// a cubin, of NVVM IR for LTO-IR. `None` where a cubin or PTX text stands alone.
    pub declared_version: Option<(u16, u16)>,
    /// Whether the container says that it is input of a device link: it lies in `__nv_relfatbin` (under whatever
    /// name the format gives it), is LTO-IR, or is PTX to be compiled that way. Of a cubin in a raw fat binary only its own header says; see
    /// [`Inspection::relocatable`](crate::Inspection::relocatable).
    pub relocatable: bool,
    /// How it is compressed.
    pub compression: Compression,
    /// Bytes that it takes in the file, without header. 0 in a concat container, where all images are compressed
    /// together; see [`Image::container`].
    pub stored_size: u64,
    /// Bytes that it has after decompression, as declared; `None` where the header does not say.
    pub size: Option<u64>,
    /// Name of the source file, where debug or line information was asked for.
    pub ident: Option<String>,
    /// Options for compiling PTX or LTO-IR.
    pub options: Option<String>,
    /// The flags of the entry header; 0 where a cubin or PTX text stands alone.
    pub flags: u64,
    payload: Payload<'a>,
}

/// What an image is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ImageKind {
    /// Machine code.
    Cubin,
    /// PTX text.
    Ptx,
    /// Intermediate code for link-time optimisation. It is scrambled: listed, never unpacked.
    LtoIr,
    /// Another kind number. Listed, not read.
    Unknown(u16),
}

impl ImageKind {
    /// The name in machine output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cubin => "cubin",
            Self::Ptx => "ptx",
            Self::LtoIr => "lto-ir",
            Self::Unknown(_) => "unknown",
        }
    }
}

/// How a payload is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Compression {
    /// Not at all.
    None,
    /// One raw LZ4 block.
    Lz4,
    /// One zstd frame. Drivers before release 550 cannot load it.
    Zstd,
}

impl Compression {
    /// The name in machine output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
        }
    }

    fn of_flags(flags: u64) -> Self {
        if flags & flag::ZSTD != 0 {
            Self::Zstd
        } else if flags & flag::LZ4 != 0 {
            Self::Lz4
        } else {
            Self::None
        }
    }
}

/// The container that compresses several images together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Container {
    /// Absolute offset of its entry header, in bytes.
    pub offset: u64,
    /// Bytes that its payload takes in the file.
    pub stored_size: u64,
    /// How many images it holds.
    pub images: u32,
}

/// Where an image is in its artifact.
#[derive(Clone, Debug, Default)]
pub(crate) struct Position {
    pub(crate) section: Option<Arc<str>>,
    /// Whether the section is the one for input of a device link.
    pub(crate) pre_link: bool,
    pub(crate) region: u32,
    pub(crate) entry: u32,
}

#[derive(Clone, Debug)]
enum Payload<'a> {
    Own(Stored<'a>),
    Shared {
        container: Arc<SharedPayload<'a>>,
        header: View<'a>,
        at: u64,
        size: u64,
    },
}

/// A payload as it lies in the file.
#[derive(Clone, Debug)]
pub(crate) struct Stored<'a> {
    /// The whole header, to say where a wrong number stands.
    header: View<'a>,
    payload: View<'a>,
    flags: u64,
    compressed_bytes: u64,
    decompressed_bytes: u64,
}

impl<'a> Image<'a> {
    /// A file or member that is itself a cubin or PTX text.
    pub(crate) fn bare(view: &View<'a>, kind: ImageKind) -> Self {
        let size = view.len();
        Self {
            member: view.member().cloned(),
            section: None,
            region: 0,
            entry: 0,
            offset: view.place(0).offset,
            kind,
            declared: None,
            declared_version: None,
            relocatable: false,
            compression: Compression::None,
            stored_size: size,
            size: Some(size),
            ident: None,
            options: None,
            flags: 0,
            payload: Payload::Own(Stored {
                header: view.clone(),
                payload: view.clone(),
                flags: 0,
                compressed_bytes: 0,
                decompressed_bytes: 0,
            }),
        }
    }

    /// The same image, of which it is now known where it lies.
    pub(crate) fn placed(self, position: Position) -> Self {
        Self {
            section: position.section,
            region: position.region,
            entry: position.entry,
            ..self
        }
    }

    /// The image of the entry whose header, with all that follows it, is `view`.
    pub(crate) fn of_entry(
        header: &EntryHeader,
        texts: EntryTexts,
        view: &View<'a>,
        payload: View<'a>,
        position: Position,
    ) -> Self {
        let stored = Stored::new(header, view, payload);
        let size = if header.is_compressed() {
            Some(header.decompressed_bytes).filter(|&size| size != 0)
        } else {
            Some(header.payload_bytes)
        };
        Self {
            stored_size: stored.stored_size(),
            size,
            ..Self::described(header, texts, view, Payload::Own(stored), header.flags, position)
        }
    }

    /// The image of a concat container with the sub-header that starts `view`.
    pub(crate) fn of_concat(
        sub: &EntryHeader,
        texts: EntryTexts,
        view: &View<'a>,
        container: Arc<SharedPayload<'a>>,
        container_header: &EntryHeader,
        position: Position,
    ) -> Self {
        let payload = Payload::Shared {
            container,
            header: view.clone(),
            at: u64::from(sub.header_bytes),
            size: sub.payload_bytes,
        };
        Self {
            stored_size: 0,
            size: Some(sub.payload_bytes),
            ..Self::described(sub, texts, view, payload, container_header.flags, position)
        }
    }

    fn described(
        header: &EntryHeader,
        texts: EntryTexts,
        view: &View<'a>,
        payload: Payload<'a>,
        compression_flags: u64,
        position: Position,
    ) -> Self {
        let kind = header.image_kind();
        let to_be_linked = kind == ImageKind::Ptx
            && texts.options.as_deref().is_some_and(|options| {
                options
                    .split_ascii_whitespace()
                    .any(|word| word == "--compile-only")
            });
        Self {
            member: view.member().cloned(),
            section: position.section,
            region: position.region,
            entry: position.entry,
            offset: view.place(0).offset,
            kind,
            declared: header.declared(),
            declared_version: Some((header.major, header.minor)),
            relocatable: to_be_linked || kind == ImageKind::LtoIr || position.pre_link,
            compression: Compression::of_flags(compression_flags),
            stored_size: 0,
            size: None,
            ident: texts.ident,
            options: texts.options,
            flags: header.flags,
            payload,
        }
    }

    /// The container whose payload this image shares with others, where it does (CUDA 13.5's `--concat`).
    pub fn container(&self) -> Option<Container> {
        match &self.payload {
            Payload::Own(_) => None,
            Payload::Shared { container, .. } => Some(Container {
                offset: container.offset(),
                stored_size: container.stored_size(),
                images: container.images(),
            }),
        }
    }

    /// The payload as it lies in the file, still compressed where it is; `None` where it shares a container with others.
    pub fn stored(&self) -> Option<&'a [u8]> {
        match &self.payload {
            Payload::Own(stored) => stored
                .payload
                .get(0, stored.stored_size())
                .map(|view| view.bytes()),
            Payload::Shared { .. } => None,
        }
    }

    /// The content: decompressed where it is compressed, borrowed from the file where it is not. Padding behind
    /// it is kept for machine code and dropped for PTX.
    ///
    /// # Errors
    /// When the payload is damaged, does not have the size that its header states, exceeds `limits`, or is LTO-IR
    /// or of an unknown kind, which are never unpacked.
    pub fn decode(&self, limits: &Limits) -> Result<Cow<'a, [u8]>, Error> {
        self.ensure_readable()?;
        let mut content = match &self.payload {
            Payload::Own(stored) => stored.decompress(limits)?,
            Payload::Shared { .. } => {
                let mut scratch = Scratch::new();
                let size = self.decode_with(limits, &mut scratch)?.len();
                Cow::Owned(scratch.into_content(size))
            }
        };
        let size = self.content_len(&content);
        match &mut content {
            Cow::Borrowed(bytes) => *bytes = bytes.get(..size).unwrap_or(bytes),
            Cow::Owned(bytes) => bytes.truncate(size),
        }
        Ok(content)
    }

    /// Like [`Image::decode`], into memory that is reused.
    pub(crate) fn decode_with<'s>(&self, limits: &Limits, scratch: &'s mut Scratch) -> Result<&'s [u8], Error>
    where
        'a: 's,
    {
        self.ensure_readable()?;
        let content = match &self.payload {
            Payload::Own(stored) => stored.decompress_with(limits, scratch)?,
            Payload::Shared {
                container,
                header,
                at,
                size,
            } => {
                let all = container.decompress(limits)?;
                let start = usize::try_from(*at).ok();
                let end = at.checked_add(*size).and_then(|end| usize::try_from(end).ok());
                let content = start.zip(end).and_then(|(start, end)| all.get(start..end));
                let content = content.ok_or_else(|| {
                    let expected = format!("an image within the {:#x} bytes of its container", all.len());
                    header.error(4, expected, format!("{size:#x} bytes from {at:#x}"))
                })?;
                scratch.room(content.len()).copy_from_slice(content);
                scratch.content(content.len())
            }
        };
        Ok(content.get(..self.content_len(content)).unwrap_or(content))
    }

    fn ensure_readable(&self) -> Result<(), Error> {
        if matches!(self.kind, ImageKind::Cubin | ImageKind::Ptx) {
            return Ok(());
        }
        let found = format!("{} (flags {:#x})", self.kind.as_str(), self.flags);
        let expected = "a cubin or PTX: other kinds are not unpacked";
        Err(self.header().error(0, expected, found))
    }

    /// How long the content is without the padding behind it.
    fn content_len(&self, content: &[u8]) -> usize {
        match self.kind {
            ImageKind::Ptx => content
                .iter()
                .rposition(|&byte| byte != 0)
                .map_or(0, |last| last + 1),
            _ => content.len(),
        }
    }

    /// The content as [`Image::decode`] gave it, with its place for errors about it.
    pub(crate) fn view_of<'c>(&self, content: &'c [u8]) -> View<'c> {
        match &self.payload {
            Payload::Own(stored) if self.compression == Compression::None => {
                View::new(content, self.member.clone(), stored.payload.place(0).offset)
            }
            _ => View::decompressed(content, self.member.clone(), self.offset),
        }
    }

    /// The entry header, for errors about what it declares; the content itself where there is no header.
    pub(crate) fn header(&self) -> &View<'a> {
        match &self.payload {
            Payload::Own(stored) => &stored.header,
            Payload::Shared { header, .. } => header,
        }
    }
}

impl<'a> Stored<'a> {
    pub(crate) fn new(header: &EntryHeader, view: &View<'a>, payload: View<'a>) -> Self {
        Self {
            header: view.clone(),
            payload,
            flags: header.flags,
            compressed_bytes: u64::from(header.compressed_bytes),
            decompressed_bytes: header.decompressed_bytes,
        }
    }

    pub(crate) fn entry_offset(&self) -> u64 {
        self.header.place(0).offset
    }

    /// The compressed size where it is stated and possible, else the padded one.
    pub(crate) fn stored_size(&self) -> u64 {
        let compressed = self.flags & (flag::LZ4 | flag::ZSTD) != 0;
        let stated = self.compressed_bytes;
        if compressed && stated != 0 && stated <= self.payload.len() {
            stated
        } else {
            self.payload.len()
        }
    }

    /// Bytes of the payload after decompression, as the header states them.
    pub(crate) fn size(&self) -> u64 {
        if Compression::of_flags(self.flags) == Compression::None {
            self.payload.len()
        } else {
            self.decompressed_bytes
        }
    }

    /// The payload, decompressed. Never allocates more than `limits` allow for the bytes that are there.
    pub(crate) fn decompress(&self, limits: &Limits) -> Result<Cow<'a, [u8]>, Error> {
        if Compression::of_flags(self.flags) == Compression::None {
            return Ok(Cow::Borrowed(self.payload.bytes()));
        }
        let mut scratch = Scratch::new();
        let size = self.decompress_with(limits, &mut scratch)?.len();
        Ok(Cow::Owned(scratch.into_content(size)))
    }

    /// Like [`Stored::decompress`], into memory that is reused.
    pub(crate) fn decompress_with<'s>(
        &self,
        limits: &Limits,
        scratch: &'s mut Scratch,
    ) -> Result<&'s [u8], Error>
    where
        'a: 's,
    {
        /// Where the header states the compressed size, the flags and the decompressed size.
        const COMPRESSED_AT: u64 = 16;
        const FLAGS_AT: u64 = 40;
        const DECOMPRESSED_AT: u64 = 56;
        let compression = Compression::of_flags(self.flags);
        if compression == Compression::None {
            return Ok(self.payload.bytes());
        }
        if self.flags & flag::LZ4 != 0 && self.flags & flag::ZSTD != 0 {
            let expected = "one compression, LZ4 or zstd";
            return Err(self.header.error(FLAGS_AT, expected, "the flags of both"));
        }
        let stored = self
            .payload
            .get(0, self.compressed_bytes)
            .filter(|stored| stored.len() != 0);
        let Some(stored) = stored else {
            let expected = format!("a compressed size of 1 to {:#x} bytes", self.payload.len());
            let found = format!("{:#x}", self.compressed_bytes);
            return Err(self.header.error(COMPRESSED_AT, expected, found));
        };
        let size = self.decompressed_bytes;
        let allowed = limits.max_decoded_bytes(stored.len());
        let Some(capacity) = usize::try_from(size)
            .ok()
            .filter(|_| size != 0 && size <= allowed)
        else {
            let expected = format!("a decompressed size of 1 to {allowed:#x} bytes");
            return Err(self.header.error(DECOMPRESSED_AT, expected, format!("{size:#x}")));
        };
        let written = match compression {
            Compression::Zstd => scratch.zstd(stored.bytes(), capacity).map_err(|e| e.to_string()),
            _ => scratch.lz4(stored.bytes(), capacity).map_err(|e| e.to_string()),
        };
        let written = written.map_err(|reason| {
            let expected = format!(
                "{} data that decompresses to {size:#x} bytes",
                compression.as_str()
            );
            stored.error(
                0,
                expected,
                format!("{:#x} bytes that do not: {reason}", stored.len()),
            )
        })?;
        if written != capacity {
            let expected = format!("a decompressed size of {size:#x} bytes");
            return Err(stored.error(0, expected, format!("{written:#x}")));
        }
        Ok(scratch.content(written))
    }
}

// Images are read in parallel.
const _: () = {
    const fn is_shared_between_threads<T: Send + Sync>() {}
    is_shared_between_threads::<Image<'_>>();
};
