//! What listing and counting cost, against decompressing the same payloads.
//!
//! `cargo bench -p blockgate-fatbin -- FILE…` prints times and ratios; without files it takes the fixtures. Nothing
//! is asserted.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a bench reads its inputs and prints what it measured"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use blockgate_fatbin::{Artifact, ImageKind, InspectOptions, Limits, SassDetail, Scratch, read};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut paths: Vec<PathBuf> = std::env::args_os()
        .skip(1)
        .filter(|argument| argument != "--bench")
        .map(PathBuf::from)
        .collect();
    if paths.is_empty() {
        let toolkits = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/fatbin/toolkits");
        for entry in std::fs::read_dir(toolkits)? {
            paths.push(entry?.path());
        }
        paths.retain(|path| path.extension().is_some_and(|extension| extension != "golden"));
        paths.sort();
    }
    for path in paths {
        measure(&path)?;
    }
    Ok(())
}

fn measure(path: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let bytes = std::fs::read(path)?;
    let limits = Limits::default();
    let (artifact, listing) = timed(|| read(&bytes, &limits));
    let artifact = artifact?;
    let (decoded_bytes, decoding) = timed(|| decode(&artifact, &limits));
    let (_, inspecting) = timed(|| inspect(&artifact, &limits, SassDetail::Off));
    let (totals, counting) = timed(|| inspect(&artifact, &limits, SassDetail::Image));
    let ratio = counting.as_secs_f64() / decoding.as_secs_f64().max(f64::MIN_POSITIVE);
    let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
    println!(
        "{}: {} images; listing {:.1} ms; decompressing {decoded_bytes} bytes {:.1} ms; \
         inspecting {:.1} ms; counting too {:.1} ms, {ratio:.2} times decompressing",
        path.display(),
        artifact.images.len(),
        milliseconds(listing),
        milliseconds(decoding),
        milliseconds(inspecting),
        milliseconds(counting),
    );
    for (arch, total) in totals {
        println!(
            "  {arch}: {} images, {} kernels, {} instructions, {} E2M1 conversions",
            total.images, total.kernels, total.instructions, total.conversions
        );
    }
    Ok(())
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let result = work();
    (result, start.elapsed())
}

fn decode(artifact: &Artifact<'_>, limits: &Limits) -> usize {
    artifact
        .images
        .iter()
        .filter_map(|image| image.decode(limits).ok())
        .map(|content| content.len())
        .sum()
}

#[derive(Default)]
struct Total {
    images: u64,
    kernels: usize,
    instructions: u64,
    conversions: u64,
}

fn inspect(artifact: &Artifact<'_>, limits: &Limits, sass: SassDetail) -> BTreeMap<String, Total> {
    let mut totals: BTreeMap<String, Total> = BTreeMap::new();
    let mut scratch = Scratch::new();
    for image in &artifact.images {
        let Ok(inspection) = image.inspect_with(limits, &InspectOptions { sass }, &mut scratch, &mut |_| {})
        else {
            continue;
        };
        let name = match image.kind {
            ImageKind::Cubin => inspection.arch.to_string(),
            kind => format!("{} {}", kind.as_str(), inspection.arch),
        };
        let total = totals.entry(name).or_default();
        total.images += 1;
        total.kernels += inspection.kernels.len();
        total.instructions += inspection.instructions.unwrap_or(0);
        total.conversions += inspection.sass.e2m1_conversions();
    }
    totals
}
