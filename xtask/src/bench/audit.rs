//! The full audit against mere decompression, and the listing against NVIDIA's.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Context as _;
use blockgate_audit::{Bytes, NoProgress, Options};
use blockgate_fatbin::{Compression, Limits};
use blockgate_toolkit::{Oracles, read_version};
use rayon::prelude::*;

use super::{Input, Record, compare};
use crate::context::{Context, StatusError};
use crate::hash;
use crate::measured;
use crate::real_artifacts;
use crate::toolkit::{provisioner, unreadable};

pub(super) fn run(context: &Context, rounds: u16) -> anyhow::Result<Record> {
    let path = real_artifacts::ARTIFACTS[0].fetch(context)?;
    let bytes = Bytes::open(&path)?;
    let payloads = payloads(&bytes)?;
    let provisioner = provisioner(context);
    let oracles = Oracles::obtain(&provisioner).map_err(unreadable)?;
    let cuobjdump_version = read_version(&oracles.cuobjdump, provisioner.places().query_limits)
        .map_err(|error| StatusError::unreadable(format!("cuobjdump: {error}")))?
        .version;
    let threads = rayon::current_num_threads();
    let rows = vec![
        compare(
            &format!("audit libmlx.so, every instruction, {threads} threads"),
            &format!("zstd, the same payloads, {threads} threads"),
            rounds,
            || audit(&path, false),
            || decompress(&payloads),
        )?,
        compare(
            "list libmlx.so",
            &format!("cuobjdump {} -lelf", cuobjdump_version.release()),
            rounds,
            || audit(&path, true),
            || cuobjdump(&oracles.cuobjdump, &path),
        )?,
    ];
    Ok(Record {
        schema: "blockgate.bench/1",
        measured_at_utc: measured::now_utc(),
        machine: measured::machine(),
        rounds,
        tools: BTreeMap::from([
            ("cuobjdump", cuobjdump_version.to_string()),
            ("zstd", zstd_version()),
        ]),
        inputs: vec![Input {
            name: "libmlx.so of mlx-cuda-13 0.32.4".to_owned(),
            size: bytes.len() as u64,
            sha256: hash::sha256(&bytes),
        }],
        rows,
    })
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

/// A compressed payload and its decompressed size in bytes.
type Payload<'a> = (&'a [u8], usize);

/// The zstd payloads of a file, straight from the bytes, so that the peer does nothing but decompress.
fn payloads(bytes: &[u8]) -> anyhow::Result<Vec<Payload<'_>>> {
    let artifact = blockgate_fatbin::read(bytes, &Limits::default())?;
    artifact
        .images
        .iter()
        .filter(|image| image.compression == Compression::Zstd)
        .map(|image| {
            let entry = usize::try_from(image.offset)?;
            let header_bytes = bytes
                .get(entry + 4..entry + 8)
                .context("the entry header is cut")?;
            let start = entry + u32::from_le_bytes(header_bytes.try_into()?) as usize;
            let end = start + usize::try_from(image.stored_size)?;
            let payload = bytes.get(start..end).context("the payload is cut")?;
            Ok((payload, usize::try_from(image.size.context("no size")?)?))
        })
        .collect()
}

fn decompress(payloads: &[Payload<'_>]) -> anyhow::Result<()> {
    payloads
        .par_iter()
        .try_for_each_init(zstd::bulk::Decompressor::new, |decompressor, (payload, size)| {
            let decompressor = decompressor
                .as_mut()
                .map_err(|error| anyhow::anyhow!("zstd: {error}"))?;
            let content = decompressor.decompress(payload, *size)?;
            anyhow::ensure!(
                content.len() == *size,
                "a payload has another size than its header says"
            );
            Ok(())
        })
}

fn cuobjdump(program: &Path, path: &Path) -> anyhow::Result<()> {
    let status = Command::new(program)
        .arg("-lelf")
        .arg(path)
        .stdout(Stdio::null())
        .status()?;
    anyhow::ensure!(status.success(), "cuobjdump ends with {status}");
    Ok(())
}

/// 1.5.7 of the number 10507.
fn zstd_version() -> String {
    let number = zstd::zstd_safe::version_number();
    format!("{}.{}.{}", number / 10_000, number / 100 % 100, number % 100)
}
