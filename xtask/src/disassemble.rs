//! Instruction counts against NVIDIA's disassembler, over images of a released file.
//!
//! The disassembler is a thousand times slower than the reader, so images are chosen: small ones that together have,
//! for each architecture, every opcode and every spelt-out mnemonic that occurs in the file. The choice is committed,
//! with the hash of each image.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, bail, ensure};
use blockgate_audit::Bytes;
use blockgate_fatbin::{
    Cubin, Image, ImageKind, InspectOptions, Limits, SassDetail, WITH_MODIFIERS, count_code,
};
use blockgate_findings::ExitStatus;
use rayon::prelude::*;

use crate::context::publish;
use crate::{hash, output};

/// So many images are chosen where fewer would do.
const AT_LEAST: usize = 60;

/// An image by its place and the hash of its decoded content.
struct Chosen {
    arch: String,
    region: u32,
    entry: u32,
    sha256: String,
}

/// Compares the images that `list` names.
pub(crate) fn compare_listed(nvdisasm: &Path, path: &Path, list: &Path) -> anyhow::Result<ExitStatus> {
    let text = std::fs::read_to_string(list).with_context(|| list.display().to_string())?;
    let chosen = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| match line.split_whitespace().collect::<Vec<_>>()[..] {
            [arch, region, entry, sha256] => Ok(Chosen {
                arch: arch.to_owned(),
                region: region.parse()?,
                entry: entry.parse()?,
                sha256: sha256.to_owned(),
            }),
            _ => bail!("{}: expected four words, found `{line}`", list.display()),
        })
        .collect::<anyhow::Result<Vec<_>>>()?;
    compare(nvdisasm, path, &chosen)
}

/// Compares images that are chosen now, as [`choose`] does.
pub(crate) fn compare_any(nvdisasm: &Path, path: &Path) -> anyhow::Result<ExitStatus> {
    compare(nvdisasm, path, &cover(path)?)
}

/// Writes a choice of images to `list`.
pub(crate) fn choose(path: &Path, list: &Path) -> anyhow::Result<()> {
    let chosen = cover(path)?;
    let mut text = String::from(
        "# Images that have every opcode and mnemonic of the file: architecture, region, entry, SHA-256 once decoded.\n\
         # `cargo xtask real-artifacts --choose-images` writes this file.\n",
    );
    for Chosen {
        arch,
        region,
        entry,
        sha256,
    } in &chosen
    {
        writeln!(text, "{arch} {region} {entry} {sha256}")?;
    }
    publish(list, text.as_bytes())?;
    output::line(&format!("{}: {} images", list.display(), chosen.len()))
}

fn compare(nvdisasm: &Path, path: &Path, chosen: &[Chosen]) -> anyhow::Result<ExitStatus> {
    let bytes = Bytes::open(path)?;
    let artifact = blockgate_fatbin::read(&bytes, &Limits::default())?;
    let mut images = BTreeMap::new();
    for image in artifact
        .images
        .iter()
        .filter(|image| image.kind == ImageKind::Cubin)
    {
        images.entry((image.region, image.entry)).or_insert(image);
    }
    let results = chosen
        .par_iter()
        .map(|chosen| {
            let at = (chosen.region, chosen.entry);
            let image = images.get(&at).with_context(|| format!("no cubin at {at:?}"))?;
            compare_image(nvdisasm, image, chosen).with_context(|| format!("{} at {at:?}", chosen.arch))
        })
        .collect::<anyhow::Result<Vec<_>>>()?;
    let instructions: u64 = results.iter().map(|(instructions, ..)| instructions).sum();
    let unnamed: u64 = results.iter().map(|(_, unnamed, _)| unnamed).sum();
    let differences: Vec<&String> = results.iter().flat_map(|(.., differences)| differences).collect();
    for difference in differences.iter().take(20) {
        output::line(difference)?;
    }
    output::line(&format!(
        "{}: against nvdisasm {} images, {instructions} instructions, {} differences, \
         {unnamed} instructions that neither names",
        path.file_name().unwrap_or_default().display(),
        results.len(),
        differences.len(),
    ))?;
    ensure!(instructions > 0, "no instruction was compared");
    Ok(if differences.is_empty() {
        ExitStatus::Clean
    } else {
        ExitStatus::Failed
    })
}

/// Counts by function and mnemonic.
type Counts = BTreeMap<String, BTreeMap<String, u64>>;

/// How many instructions an image has, how many of them neither side names, and what the disassembler counts otherwise.
type Compared = (u64, u64, Vec<String>);

fn compare_image(nvdisasm: &Path, image: &Image<'_>, chosen: &Chosen) -> anyhow::Result<Compared> {
    let limits = Limits::default();
    let content = image.decode(&limits)?;
    let sha256 = hash::sha256(&content);
    ensure!(
        sha256 == chosen.sha256,
        "expected content {}, found {sha256}",
        chosen.sha256
    );
    let options = InspectOptions {
        sass: SassDetail::Kernels,
    };
    let inspection = image.inspect(&limits, &options)?;
    let mut file = tempfile::NamedTempFile::new()?;
    file.write_all(&content)?;
    let output = Command::new(nvdisasm).arg("-c").arg(file.path()).output()?;
    ensure!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let theirs = disassembled(&String::from_utf8_lossy(&output.stdout));
    let mut ours = Counts::new();
    for kernel in &inspection.kernels {
        let counts = kernel.sass.iter().map(|(name, count)| (name.to_owned(), count));
        ours.insert(kernel.name.clone(), counts.collect());
    }
    let none = BTreeMap::new();
    let (mut unnamed, mut differences) = (0, Vec::new());
    for function in ours.keys().chain(theirs.keys()).collect::<BTreeSet<_>>() {
        let (ours, theirs) = (
            ours.get(function).unwrap_or(&none),
            theirs.get(function).unwrap_or(&none),
        );
        for name in ours.keys().chain(theirs.keys()).collect::<BTreeSet<_>>() {
            let (ours, theirs) = (ours.get(name).unwrap_or(&0), theirs.get(name).unwrap_or(&0));
            // The disassembler prints such words as numbers alone. Where it has a name for one, that name differs.
            if name.starts_with('?') && *theirs == 0 {
                unnamed += ours;
            } else if ours != theirs {
                differences.push(format!(
                    "{} {function}: {name}: ours {ours}, theirs {theirs}",
                    chosen.arch
                ));
            }
        }
    }
    Ok((inspection.instructions.unwrap_or(0), unnamed, differences))
}

/// What `nvdisasm -c` prints, counted the way the reader counts.
fn disassembled(text: &str) -> Counts {
    let mut counts = Counts::new();
    let mut function = String::new();
    for line in text.lines().map(str::trim) {
        if let Some(section) = line.strip_prefix(".section\t.text.") {
            section
                .split(',')
                .next()
                .unwrap_or(section)
                .trim_matches('"')
                .clone_into(&mut function);
        }
        let instruction = line
            .strip_prefix("/*")
            .and_then(|line| line.split_once("*/"))
            .filter(|(address, _)| u64::from_str_radix(address, 16).is_ok());
        let Some(mnemonic) = instruction.and_then(|(_, text)| {
            text.split_whitespace()
                .find(|word| !word.starts_with('@'))
                .map(|word| word.trim_end_matches(';'))
        }) else {
            continue;
        };
        let base = mnemonic.split('.').next().unwrap_or(mnemonic);
        let counted = if WITH_MODIFIERS.contains(&base) {
            mnemonic
        } else {
            base
        };
        *counts
            .entry(function.clone())
            .or_default()
            .entry(counted.to_owned())
            .or_default() += 1;
    }
    counts
}

/// What an image is chosen for: an architecture with one of its opcodes or spelt-out mnemonics.
type Features = BTreeSet<String>;

fn cover(path: &Path) -> anyhow::Result<Vec<Chosen>> {
    let bytes = Bytes::open(path)?;
    let artifact = blockgate_fatbin::read(&bytes, &Limits::default())?;
    let mut left = artifact
        .images
        .par_iter()
        .filter(|image| image.kind == ImageKind::Cubin)
        .map(|image| Ok((image, features(image)?)))
        .collect::<anyhow::Result<Vec<_>>>()?;
    left.retain(|(_, (features, _))| !features.is_empty());
    let all: Features = left
        .iter()
        .flat_map(|(_, (features, _))| features)
        .cloned()
        .collect();
    let mut chosen = Vec::new();
    let mut open = all.clone();
    while !left.is_empty() && (!open.is_empty() || chosen.len() < AT_LEAST) {
        // What an image adds for its size; u128, so that nothing is rounded.
        let worth = |features: &Features, size: u64| {
            (features.intersection(&open).count() as u128) * (1 << 64) / u128::from(size.max(1))
        };
        let best = (0..left.len())
            .max_by_key(|&index| worth(&left[index].1.0, left[index].1.1))
            .filter(|&index| worth(&left[index].1.0, left[index].1.1) > 0);
        let Some(best) = best else {
            // What the images left can cover is covered: they cover it once more.
            open.clone_from(&all);
            continue;
        };
        let (image, (features, _)) = left.swap_remove(best);
        open.retain(|feature| !features.contains(feature));
        let content = image.decode(&Limits::default())?;
        chosen.push(Chosen {
            arch: image
                .declared
                .map_or_else(|| "-".to_owned(), |arch| arch.to_string()),
            region: image.region,
            entry: image.entry,
            sha256: hash::sha256(&content),
        });
    }
    chosen.sort_by_key(|chosen| (chosen.region, chosen.entry));
    Ok(chosen)
}

/// The features of an image, and the size of its code in bytes.
fn features(image: &Image<'_>) -> anyhow::Result<(Features, u64)> {
    let content = image.decode(&Limits::default())?;
    let arch = image
        .inspect(
            &Limits::default(),
            &InspectOptions {
                sass: SassDetail::Off,
            },
        )?
        .arch;
    let mut features = Features::new();
    let mut opcodes = BTreeSet::new();
    let mut code_bytes = 0;
    for section in Cubin::parse(&content, 0)?.code_sections() {
        let code = section?.bytes;
        code_bytes += code.len() as u64;
        opcodes.extend(
            code.chunks_exact(16)
                .map(|word| u16::from_le_bytes([word[0], word[1] & 0xf])),
        );
        let Some(counts) = count_code(arch, code) else {
            return Ok((Features::new(), 0));
        };
        features.extend(counts.iter().map(|(name, _)| format!("{arch} {name}")));
    }
    features.extend(opcodes.iter().map(|opcode| format!("{arch} {opcode:03x}")));
    Ok((features, code_bytes))
}
