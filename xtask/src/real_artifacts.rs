//! `cargo xtask real-artifacts`: audits released files of other projects and holds them against known counts.
//!
//! The counts were made with NVIDIA's disassembler once; a difference is a fault of our reader.

use std::fs::File;
use std::io::Read as _;
use std::path::PathBuf;

use blockgate_audit::Options;
use blockgate_audit::render::{self, HumanOptions, Mnemonics};
use blockgate_expect::Expectation;
use blockgate_findings::ExitStatus;
use blockgate_toolkit::{Oracles, Package, PackageForm};
use regex::Regex;

use crate::context::{Context, StatusError, publish};
use crate::disassemble;
use crate::output::print;
use crate::toolkit::{provisioner, unreadable};
use blockgate::Format;

/// A released file and what it is known to hold.
pub(crate) struct RealArtifact {
    package: Package,
    /// The wheel, relative to the package's folder.
    wheel: &'static str,
    /// The largest library in it.
    pub(crate) library: &'static str,
    /// The images to disassemble: see [`crate::disassemble`].
    images: Option<&'static str>,
    /// What NVIDIA's tools say of it.
    expect: &'static [&'static str],
}

/// The mnemonics that the report shows.
const CONVERSION: &str = r"^F2FP\.SATFINITE(\.RELU)?\.E2M1\.";

pub(crate) const ARTIFACTS: &[RealArtifact] = &[RealArtifact {
    package: Package {
        what: "mlx-cuda-13 0.32.4",
        requirements: "ci/real-artifacts/mlx-cuda-13.txt",
        folder: "real-artifacts/mlx-cuda-13-0.32.4",
        files: &["mlx_cuda_13-0.32.4-py3-none-manylinux_2_35_x86_64.whl"],
        download_megabytes: 90,
        form: PackageForm::Wheels,
        wheel_platform: Some("manylinux_2_35_x86_64"),
        macos: true,
        elsewhere: "download the wheel by hand and use `cargo xtask audit-fatbin`.",
    },
    wheel: "mlx_cuda_13-0.32.4-py3-none-manylinux_2_35_x86_64.whl",
    library: "mlx/lib/libmlx.so",
    images: Some("ci/real-artifacts/mlx-cuda-13.images"),
    // Images: cuobjdump 13.5.37 -lelf -lptx. Instructions and mnemonics: nvdisasm 13.5.37 -c over every image.
    expect: &[
        "cubins(*) == 594",
        "cubins(sm_75) == 99",
        "cubins(sm_80) == 99",
        "cubins(sm_90a) == 99",
        "cubins(sm_100a) == 99",
        "cubins(sm_120a) == 99",
        "cubins(sm_121a) == 99",
        "ptx(*) == 99",
        "ptx(sm_120) == 99",
        "sass(.)@sm_75 == 8826504",
        "sass(.)@sm_80 == 8589384",
        "sass(.)@sm_90a == 8862840",
        "sass(.)@sm_100a == 9028448",
        "sass(.)@sm_120a == 9223320",
        "sass(.)@sm_121a == 9216232",
        r"sass(^F2FP\.SATFINITE\.E2M1\.F32\.PACK_AB_MERGE_C$)@sm_75 == 0",
        r"sass(^F2FP\.SATFINITE\.E2M1\.F32\.PACK_AB_MERGE_C$)@sm_80 == 0",
        r"sass(^F2FP\.SATFINITE\.E2M1\.F32\.PACK_AB_MERGE_C$)@sm_90a == 0",
        r"sass(^F2FP\.SATFINITE\.E2M1\.F32\.PACK_AB_MERGE_C$)@sm_100a == 216",
        r"sass(^F2FP\.SATFINITE\.E2M1\.F32\.PACK_AB_MERGE_C$)@sm_120a == 216",
        r"sass(^F2FP\.SATFINITE\.E2M1\.F32\.PACK_AB_MERGE_C$)@sm_121a == 216",
    ],
}];

/// Large files that are only timed.
pub(crate) const TIMED: &[RealArtifact] = &[RealArtifact {
    package: Package {
        what: "sgl-kernel 0.3.21",
        requirements: "ci/real-artifacts/sgl-kernel.txt",
        folder: "real-artifacts/sgl-kernel-0.3.21",
        files: &["sgl_kernel-0.3.21-cp310-abi3-manylinux2014_x86_64.whl"],
        download_megabytes: 536,
        form: PackageForm::Wheels,
        wheel_platform: Some("manylinux2014_x86_64"),
        macos: true,
        elsewhere: "download the wheel by hand and use `cargo xtask audit-fatbin`.",
    },
    wheel: "sgl_kernel-0.3.21-cp310-abi3-manylinux2014_x86_64.whl",
    library: "sgl_kernel/sm100/common_ops.abi3.so",
    images: None,
    expect: &[],
}];

/// Audit released files of other projects against known counts.
///
/// Fetches them by hash into target/real-artifacts/. Exit status: 0 all counts agree, 1 one differs, 3 a file could not
/// be had or read.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How to print the reports.
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,

    /// Compare every instruction of chosen images with NVIDIA's disassembler instead, which takes minutes.
    ///
    /// With files, of images of these: as few as have all their opcodes.
    #[arg(long, value_name = "FILE", num_args = 0..)]
    disassemble: Option<Vec<PathBuf>>,

    /// Choose these images anew, and write the lists of them.
    #[arg(long, conflicts_with = "disassemble")]
    choose_images: bool,
}

pub(crate) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitStatus> {
    if args.choose_images {
        for (artifact, images) in listed() {
            disassemble::choose(&artifact.library(context)?, &context.root().join(images))?;
        }
        return Ok(ExitStatus::Clean);
    }
    if let Some(files) = &args.disassemble {
        let nvdisasm = Oracles::obtain(&provisioner(context))
            .map_err(unreadable)?
            .nvdisasm;
        let mut status = ExitStatus::Clean;
        for file in files {
            let result = disassemble::compare_any(&nvdisasm, file);
            status = status.and(result.map_err(unchecked)?);
        }
        for (artifact, images) in listed().filter(|_| files.is_empty()) {
            let list = context.root().join(images);
            let result = disassemble::compare_listed(&nvdisasm, &artifact.library(context)?, &list);
            status = status.and(result.map_err(unchecked)?);
        }
        return Ok(status);
    }
    let mut status = ExitStatus::Clean;
    let mnemonics = Mnemonics {
        all: false,
        patterns: vec![Regex::new(CONVERSION)?],
    };
    for artifact in ARTIFACTS {
        let path = artifact.fetch(context)?;
        let expectations = artifact
            .expect
            .iter()
            .map(|text| text.parse::<Expectation>())
            .collect::<Result<Vec<_>, _>>()?;
        let options = Options {
            expectations,
            ..Options::default()
        };
        let report = blockgate_audit::audit(&[path], &options, &blockgate_audit::NoProgress);
        let human = HumanOptions {
            mnemonics: mnemonics.clone(),
            ..HumanOptions::default()
        };
        print(|out| match args.format {
            Format::Json => render::json(out, &report, &mnemonics),
            Format::Human => render::human(out, &report, &human),
        })?;
        status = status.and(report.status(false));
    }
    Ok(status)
}

/// The artifacts of which chosen images are disassembled, with the list of these.
fn listed() -> impl Iterator<Item = (&'static RealArtifact, &'static str)> {
    ARTIFACTS
        .iter()
        .filter_map(|artifact| Some((artifact, artifact.images?)))
}

/// What could not be compared was not checked.
fn unchecked(error: anyhow::Error) -> anyhow::Error {
    StatusError::unreadable(format!("{error:#}"))
}

impl RealArtifact {
    /// Name and version.
    pub(crate) const fn what(&self) -> &'static str {
        self.package.what
    }

    /// The wheel, fetched now where it is not there.
    pub(crate) fn fetch(&self, context: &Context) -> anyhow::Result<PathBuf> {
        let folder = provisioner(context)
            .install(&self.package, |_| Ok(()))
            .map_err(unreadable)?;
        Ok(folder.join(self.wheel))
    }

    /// The library in a file of its own, for tools that read no wheels.
    pub(crate) fn library(&self, context: &Context) -> anyhow::Result<PathBuf> {
        let wheel = self.fetch(context)?;
        let path = wheel.with_file_name(self.library.rsplit('/').next().unwrap_or(self.library));
        let mut archive = zip::ZipArchive::new(File::open(&wheel)?)?;
        let mut member = archive.by_name(self.library)?;
        if !path.metadata().is_ok_and(|found| found.len() == member.size()) {
            let mut content = Vec::new();
            member.read_to_end(&mut content)?;
            publish(&path, &content)?;
        }
        Ok(path)
    }
}

#[cfg(test)]
mod tests {
    use blockgate_expect::Expectation;

    use super::ARTIFACTS;

    #[test]
    fn every_expectation_parses() {
        for text in ARTIFACTS.iter().flat_map(|artifact| artifact.expect) {
            text.parse::<Expectation>().unwrap();
        }
    }
}
