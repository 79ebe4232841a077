//! The pieces of work that are measured: ours, and what they are held against.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context as _;
use blockgate_audit::{Bytes, NoProgress, Options};
use blockgate_fatbin::{Artifact, Compression, Image, Limits};
use rayon::prelude::*;

/// A piece of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Work {
    /// A whole audit, every instruction counted.
    Audit,
    /// An audit of headers.
    List,
    /// Decompress the payloads of a library, and nothing else.
    Decompress,
    /// Inflate the members of a wheel, and nothing else.
    Inflate,
    /// Another program.
    Program,
}

impl Work {
    /// The name on the command line.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Audit => "audit",
            Self::List => "list",
            Self::Decompress => "decompress",
            Self::Inflate => "inflate",
            Self::Program => "program",
        }
    }

    pub(super) fn run(self, operands: &[OsString]) -> anyhow::Result<()> {
        let (first, rest) = operands.split_first().context("no operand")?;
        let path = Path::new(first);
        match self {
            Self::Audit => audit(path, false),
            Self::List => audit(path, true),
            Self::Decompress => decompress(path),
            Self::Inflate => inflate(path),
            Self::Program => program(path, rest),
        }
    }
}

fn audit(path: &Path, list_only: bool) -> anyhow::Result<()> {
    let options = Options {
        list_only,
        ..Options::default()
    };
    let report = blockgate_audit::audit(&[path.to_owned()], &options, &NoProgress);
    anyhow::ensure!(!report.unreadable, "the audit could not read everything");
    Ok(())
}

/// Straight from the bytes, so that this does nothing but decompress. Raw payloads cost nothing here.
fn decompress(path: &Path) -> anyhow::Result<()> {
    let bytes = Bytes::open(path)?;
    let artifact = blockgate_fatbin::read(&bytes, &Limits::default())?;
    let payloads = payloads(&bytes, &artifact)?;
    payloads
        .par_iter()
        .try_for_each_init(zstd::bulk::Decompressor::new, |zstd, payload| {
            let zstd = zstd.as_mut().map_err(|error| anyhow::anyhow!("zstd: {error}"))?;
            let content = match payload.compression {
                Compression::Zstd => zstd.decompress(payload.stored, payload.size)?,
                _ => lz4_flex::block::decompress(payload.stored, payload.size)?,
            };
            anyhow::ensure!(
                content.len() == payload.size,
                "a payload has another size than its header says"
            );
            Ok(())
        })
}

struct Payload<'a> {
    compression: Compression,
    stored: &'a [u8],
    size: usize,
}

fn payloads<'a>(bytes: &'a [u8], artifact: &Artifact<'_>) -> anyhow::Result<Vec<Payload<'a>>> {
    let compressed = |image: &&Image<'_>| image.compression != Compression::None && image.size.is_some();
    artifact
        .images
        .iter()
        .filter(compressed)
        .map(|image| {
            let entry = usize::try_from(image.offset)?;
            let header_bytes = bytes
                .get(entry + 4..entry + 8)
                .context("an entry header is cut")?;
            let start = entry + u32::from_le_bytes(header_bytes.try_into()?) as usize;
            let end = start + usize::try_from(image.stored_size)?;
            Ok(Payload {
                compression: image.compression,
                stored: bytes.get(start..end).context("a payload is cut")?,
                size: usize::try_from(image.size.context("no size")?)?,
            })
        })
        .collect()
}

fn inflate(path: &Path) -> anyhow::Result<()> {
    let bytes = Bytes::open(path)?;
    let count = zip::ZipArchive::new(std::io::Cursor::new(&bytes[..]))?.len();
    (0..count).into_par_iter().try_for_each(|index| {
        let mut archive = zip::ZipArchive::new(std::io::Cursor::new(&bytes[..]))?;
        let mut member = archive.by_index(index)?;
        let size = member.size();
        let inflated = std::io::copy(&mut member, &mut std::io::sink())?;
        anyhow::ensure!(inflated == size, "a member has another size than its header says");
        Ok(())
    })
}

fn program(program: &Path, arguments: &[OsString]) -> anyhow::Result<()> {
    let status = Command::new(PathBuf::from(program))
        .args(arguments)
        .stdout(Stdio::null())
        .status()
        .with_context(|| format!("{} cannot be started", program.display()))?;
    anyhow::ensure!(status.success(), "{} ends with {status}", program.display());
    Ok(())
}
