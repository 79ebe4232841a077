//! The inspector against its limits (mere decompression, mere inflation) and against NVIDIA's tools.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use blockgate_audit::Bytes;
use blockgate_fatbin::{Image, ImageKind, InspectOptions, Limits};
use blockgate_toolkit::{Oracles, read_version};

use super::sample::on;
use super::work::Work;
use super::{Input, Record, Row, Side, compare};
use crate::context::{Context, StatusError, publish};
use crate::hash;
use crate::measured;
use crate::real_artifacts::{ARTIFACTS, RealArtifact, TIMED};
use crate::toolkit::{provisioner, unreadable};

pub(super) fn run(context: &Context, rounds: u16) -> anyhow::Result<Record> {
    let provisioner = provisioner(context);
    let oracles = Oracles::obtain(&provisioner).map_err(unreadable)?;
    let cuobjdump_version = read_version(&oracles.cuobjdump, provisioner.places().query_limits)
        .map_err(|error| StatusError::unreadable(format!("cuobjdump: {error}")))?
        .version;
    let cuobjdump = Cuobjdump {
        program: oracles.cuobjdump,
        release: cuobjdump_version.release().to_string(),
    };
    let mut inputs = Vec::new();
    let mut rows = Vec::new();
    for artifact in ARTIFACTS.iter().chain(TIMED) {
        let wheel = artifact.fetch(context)?;
        let library = artifact.library(context)?;
        inputs.push(input(artifact.what(), &wheel)?);
        inputs.push(input(artifact.library, &library)?);
        rows.extend(of_library(context, artifact, &library, &cuobjdump, rounds)?);
        rows.push(compare(
            &format!("audit the wheel of {}", artifact.what()),
            Side::of(Work::Audit, on(&wheel)),
            "inflate it",
            Side::of(Work::Inflate, on(&wheel)),
            rounds,
        )?);
    }
    Ok(Record {
        schema: "blockgate.bench/2",
        measured_at_utc: measured::now_utc(),
        machine: measured::machine(),
        rounds,
        tools: BTreeMap::from([
            ("cuobjdump", cuobjdump_version.to_string()),
            ("zstd", zstd_version()),
        ]),
        inputs,
        rows,
    })
}

struct Cuobjdump {
    program: PathBuf,
    release: String,
}

impl Cuobjdump {
    fn side(&self, option: &str, path: &Path) -> Side {
        let operands = [self.program.as_os_str(), option.as_ref(), path.as_os_str()];
        Side::of(Work::Program, operands.map(OsString::from).to_vec())
    }
}

fn of_library(
    context: &Context,
    artifact: &RealArtifact,
    library: &Path,
    cuobjdump: &Cuobjdump,
    rounds: u16,
) -> anyhow::Result<Vec<Row>> {
    let name = artifact.library.rsplit('/').next().unwrap_or(artifact.library);
    let one = one_image(context, artifact, library)?;
    let release = &cuobjdump.release;
    Ok(vec![
        compare(
            &format!("audit {name}, every instruction"),
            Side::of(Work::Audit, on(library)),
            "decompress its payloads",
            Side::of(Work::Decompress, on(library)),
            rounds,
        )?,
        compare(
            &format!("list {name}"),
            Side::of(Work::List, on(library)),
            &format!("cuobjdump {release} -lelf"),
            cuobjdump.side("-lelf", library),
            rounds,
        )?,
        compare(
            &format!("audit {name}, every instruction"),
            Side::of(Work::Audit, on(library)),
            &format!(
                "cuobjdump {release} -sass of one {} image ({} instructions), times {:.0}",
                one.arch, one.instructions, one.share
            ),
            Side {
                times: one.share,
                ..cuobjdump.side("-sass", &one.path)
            },
            rounds,
        )?,
    ])
}

/// An image of average size in a file of its own, for a disassembler that would need an hour for all of them.
struct OneImage {
    path: PathBuf,
    arch: String,
    instructions: u64,
    /// Instructions of all images over those of this one.
    share: f64,
}

fn one_image(context: &Context, artifact: &RealArtifact, library: &Path) -> anyhow::Result<OneImage> {
    let limits = Limits::default();
    let bytes = Bytes::open(library)?;
    let read = blockgate_fatbin::read(&bytes, &limits)?;
    let mut counted: Vec<(&Image<'_>, String, u64)> = Vec::new();
    for image in read.images.iter().filter(|image| image.kind == ImageKind::Cubin) {
        let inspection = image.inspect(&limits, &InspectOptions::default())?;
        let instructions = inspection.instructions.unwrap_or(0);
        if instructions > 0 {
            counted.push((image, inspection.arch.to_string(), instructions));
        }
    }
    let total: u64 = counted.iter().map(|(_, _, instructions)| instructions).sum();
    let average = total / u64::try_from(counted.len().max(1))?;
    let (image, arch, instructions) = counted
        .into_iter()
        .min_by_key(|(_, _, instructions)| instructions.abs_diff(average))
        .context("no image has instructions")?;
    let path = context
        .target()
        .join("bench")
        .join(format!("{}.cubin", artifact.what().replace(' ', "-")));
    publish(&path, &image.decode(&limits)?)?;
    #[allow(
        clippy::cast_precision_loss,
        reason = "a ratio of counts far below the precision of an f64"
    )]
    let share = total as f64 / instructions as f64;
    Ok(OneImage {
        path,
        arch,
        instructions,
        share,
    })
}

fn input(name: &str, path: &Path) -> anyhow::Result<Input> {
    let bytes = Bytes::open(path)?;
    Ok(Input {
        name: name.to_owned(),
        size: bytes.len() as u64,
        sha256: hash::sha256(&bytes),
    })
}

/// 1.5.7 of the number 10507.
fn zstd_version() -> String {
    let number = zstd::zstd_safe::version_number();
    format!("{}.{}.{}", number / 10_000, number / 100 % 100, number % 100)
}
