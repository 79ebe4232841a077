//! The objects that sources were compiled to, read with our own reader.

use std::path::Path;

use blockgate_arch::{CodeKind, Target};
use blockgate_fatbin::{Artifact, Cubin, Image, ImageKind, InspectOptions, Limits, SassDetail};
use blockgate_kernels::Source;

use super::cmake::Compilation;
use super::facts::{Digest, ImageFacts, KernelFacts, ObjectFacts};
use crate::context::StatusError;
use crate::hash::sha256;

/// Each of `sources` with its object, out of `archives`: their members are what ships.
///
/// # Errors
/// An archive cannot be read, or a source has no member in any of them.
pub(crate) fn in_archives(sources: &[Source], archives: &[Vec<u8>]) -> anyhow::Result<Vec<ObjectFacts>> {
    let limits = Limits::default();
    let artifacts: Vec<Artifact<'_>> = archives
        .iter()
        .map(|bytes| blockgate_fatbin::read(bytes, &limits).map_err(|error| unreadable("an archive", &error)))
        .collect::<Result<_, _>>()?;
    sources
        .iter()
        .map(|source| {
            let member = source.member();
            let (artifact, data) = artifacts
                .iter()
                .find_map(|artifact| {
                    let found = artifact
                        .members
                        .iter()
                        .find(|found| found.name.as_deref() == Some(member.as_str()))?;
                    Some((artifact, found.data))
                })
                .ok_or_else(|| {
                    StatusError::unreadable(format!("no archive has the member {member} of {}", source.file))
                })?;
            let images = artifact
                .images
                .iter()
                .filter(|image| image.member.as_deref() == Some(member.as_str()));
            facts(source.file.to_owned(), data, images, &limits)
        })
        .collect()
}

/// Every source of `compilations`, by its place in `project`, with its object out of the folder `build`. A source that
/// is compiled more than once is named with the object too.
///
/// # Errors
/// An object is not named or cannot be read.
pub(crate) fn in_folder(
    compilations: &[Compilation],
    project: &Path,
    build: &Path,
) -> anyhow::Result<Vec<ObjectFacts>> {
    let limits = Limits::default();
    let names: Vec<String> = compilations
        .iter()
        .map(|compilation| compilation.source(project, build))
        .collect();
    compilations
        .iter()
        .zip(&names)
        .map(|(compilation, name)| {
            let path = compilation.object_path()?;
            let source = if names.iter().filter(|other| *other == name).count() > 1 {
                format!("{name} ({})", compilation.object()?.display())
            } else {
                name.clone()
            };
            let bytes = read(&path)?;
            let artifact = blockgate_fatbin::read(&bytes, &limits)
                .map_err(|error| unreadable(&path.display().to_string(), &error))?;
            facts(source, &bytes, artifact.images.iter(), &limits)
        })
        .collect()
}

/// What our reader cannot read could not be checked.
fn unreadable(what: &str, error: &dyn std::fmt::Display) -> anyhow::Error {
    StatusError::unreadable(format!("{what} cannot be read: {error}"))
}

pub(crate) fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    std::fs::read(path).map_err(|error| unreadable(&path.display().to_string(), &error))
}

fn facts<'a>(
    source: String,
    data: &[u8],
    images: impl Iterator<Item = &'a Image<'a>>,
    limits: &Limits,
) -> anyhow::Result<ObjectFacts> {
    let images = images
        .map(|image| image_facts(image, limits))
        .collect::<Result<_, String>>()
        .map_err(|error| unreadable(&format!("the object of {source}"), &error))?;
    Ok(ObjectFacts {
        source,
        sha256: sha256(data),
        images,
    })
}

fn image_facts(image: &Image<'_>, limits: &Limits) -> Result<ImageFacts, String> {
    let inspection = image
        .inspect(
            limits,
            &InspectOptions {
                sass: SassDetail::Kernels,
            },
        )
        .map_err(|error| error.to_string())?;
    let content = image.decode(limits).map_err(|error| error.to_string())?;
    let (kind, code) = match image.kind {
        ImageKind::Cubin => (CodeKind::Cubin, code_digest(&content)?),
        ImageKind::Ptx => (CodeKind::Ptx, sha256(&content)),
        other => {
            return Err(format!(
                "an image of kind {} where cubins and PTX are built",
                other.as_str()
            ));
        }
    };
    let kernels = inspection
        .kernels
        .iter()
        .filter(|kernel| kernel.is_entry)
        .map(|kernel| KernelFacts {
            name: kernel.name.clone(),
            conversions: kernel.instructions.map(|_| {
                kernel
                    .sass
                    .iter()
                    .filter(|(mnemonic, _)| blockgate_fatbin::converts_to_e2m1(mnemonic))
                    .map(|(_, count)| count)
                    .sum()
            }),
        })
        .collect();
    Ok(ImageFacts {
        target: Target {
            arch: inspection.arch,
            kind,
        },
        code,
        kernels,
    })
}

/// One digest over the code sections of a cubin, by name. Their order in the file says nothing.
fn code_digest(cubin: &[u8]) -> Result<Digest, String> {
    let cubin = Cubin::parse(cubin, 0).map_err(|error| error.to_string())?;
    let mut code: Vec<(&str, &[u8])> = Vec::new();
    for section in cubin.code_sections() {
        let section = section.map_err(|error| error.to_string())?;
        code.push((section.name, section.bytes));
    }
    code.sort_unstable();
    let mut listing = Vec::new();
    for (name, data) in code {
        listing.extend_from_slice(name.as_bytes());
        listing.push(b' ');
        listing.extend_from_slice(sha256(data).as_bytes());
        listing.push(b'\n');
    }
    Ok(sha256(&listing))
}

/// Names of the members that differ between two archives, or that only one of them has.
pub(crate) fn differing_members(before: &[u8], after: &[u8]) -> Vec<String> {
    let limits = Limits::default();
    let (Ok(before), Ok(after)) = (
        blockgate_fatbin::read(before, &limits),
        blockgate_fatbin::read(after, &limits),
    ) else {
        return vec!["a file that cannot be read".to_owned()];
    };
    let find = |artifact: &Artifact<'_>, name: Option<&str>| {
        artifact
            .members
            .iter()
            .find(|member| member.name.as_deref() == name)
            .map(|member| sha256(member.data))
    };
    let mut names: Vec<Option<&str>> = Vec::new();
    for member in before.members.iter().chain(&after.members) {
        let name = member.name.as_deref();
        if !names.contains(&name) && find(&before, name) != find(&after, name) {
            names.push(name);
        }
    }
    if names.is_empty() {
        // Every member is the same, so the difference is in the archive's own headers.
        return vec!["the archive's headers".to_owned()];
    }
    names
        .into_iter()
        .map(|name| name.unwrap_or("the file").to_owned())
        .collect()
}
