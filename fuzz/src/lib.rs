//! Fuzz targets as plain functions: libFuzzer calls them for hours, tests call them with seeds and mutations of these.
//!
//! A target panics where something that must hold does not. None of them may take long, or memory out of proportion to
//! its input and [`limits`]; libFuzzer and the test runner watch that.

mod alone;
mod invariants;
mod model;
mod repair;
pub mod seeds;
mod wheel;

use blockgate_fatbin::{Artifact, Compression, FileFormat, Limits, read};

use crate::alone::Alone;

/// A target: what it is called, and the function.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The name of the function, of the program that libFuzzer drives, and of the folder with its corpus.
    pub name: &'static str,
    /// Panics where something does not hold of these bytes.
    pub run: fn(&[u8]),
}

/// Every target.
pub const TARGETS: [Target; 7] = [
    Target {
        name: "region",
        run: region,
    },
    Target {
        name: "entry",
        run: entry,
    },
    Target {
        name: "cubin",
        run: cubin,
    },
    Target {
        name: "ptx",
        run: ptx,
    },
    Target {
        name: "archive",
        run: archive,
    },
    Target {
        name: "wheel",
        run: wheel,
    },
    Target {
        name: "roundtrip",
        run: roundtrip,
    },
];

/// Small, so that a few bytes of input can run into each of them.
pub fn limits() -> Limits {
    Limits {
        max_image_bytes: 1 << 20,
        max_name_bytes: 1 << 16,
        max_expansion_ratio: 200,
        max_regions: 64,
        max_images: 256,
        max_members: 64,
        max_defects: 32,
    }
}

/// Reads `data` as a file of any kind: regions where it starts with one, and host files with regions in their sections.
pub fn region(data: &[u8]) {
    invariants::check(data, &limits());
}

/// Reads `data` as the entries of a region, whose header is sound.
pub fn entry(data: &[u8]) {
    let mut file = vec![0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0];
    file.extend((data.len() as u64).to_le_bytes());
    file.extend(data);
    invariants::check(&file, &limits());
}

/// Reads `data` as a cubin by itself, and compressed in an entry: the findings must be the same.
pub fn cubin(data: &[u8]) {
    invariants::check(data, &limits());
    invariants::check_cubin(data);
    let bare = sole_image(data, FileFormat::Cubin);
    for compression in [Compression::Lz4, Compression::Zstd] {
        let packed = alone::packed(alone::CUBIN, data, bare.as_ref(), compression);
        if let Some(bare) = &bare {
            bare.assert_same(&packed);
        }
    }
}

/// Reads `data` as PTX by itself, and compressed in an entry: the findings must be the same.
pub fn ptx(data: &[u8]) {
    invariants::check(data, &limits());
    let bare = sole_image(data, FileFormat::Ptx);
    let packed = alone::packed(alone::PTX, data, bare.as_ref(), Compression::Zstd);
    if let Some(bare) = &bare {
        bare.assert_same(&packed);
    }
}

/// Reads `data` as an archive: its members together must hold what each of them holds by itself.
pub fn archive(data: &[u8]) {
    if let Some(artifact) = invariants::check(data, &limits()) {
        check_members(&artifact);
    }
}

/// Audits `data` as a package with files in it, or whatever else it is.
pub fn wheel(data: &[u8]) {
    wheel::check(data);
}

/// Writes a file that `data` describes, and reads it: what is found must be what was written.
pub fn roundtrip(data: &[u8]) {
    // Descriptions that end early describe less.
    let mut description = arbitrary::Unstructured::new(data);
    let file = model::File::describe(&mut description).unwrap_or_default();
    file.check();
}

/// The inspection of a file that is itself one image of this kind.
fn sole_image(data: &[u8], format: FileFormat) -> Option<Alone> {
    let artifact = read(data, &limits()).ok()?;
    let image = artifact.images.first()?;
    (artifact.format == format).then(|| Alone::of(image))
}

fn check_members(artifact: &Artifact<'_>) {
    let was_cut = artifact
        .defects
        .iter()
        .any(|defect| defect.rule.starts_with("limit-") || defect.rule == "too-many-defects");
    if was_cut || artifact.format != FileFormat::Archive {
        return;
    }
    let alone: usize = artifact
        .members
        .iter()
        // An archive among the members was not opened, and that was said.
        .filter(|member| !member.data.starts_with(b"!<arch>\n"))
        .map(|member| read(member.data, &limits()).map_or(0, |alone| alone.images.len()))
        .sum();
    assert_eq!(
        artifact.images.len(),
        alone,
        "images of the archive, and of its members"
    );
}
