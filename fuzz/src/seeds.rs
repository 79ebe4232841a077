//! Inputs to start from, cut out of files that the readers are tested with.

mod packages;

use std::collections::BTreeSet;

use blockgate_fatbin::{FileFormat, ImageKind, Limits, read};

pub use packages::of_packages;

/// An input for a target.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seed {
    /// The name of the target.
    pub target: &'static str,
    /// The file that it was cut out of, and the offset there where it is a part of one.
    pub name: String,
    /// The input.
    pub data: Vec<u8>,
}

/// Larger inputs slow a fuzzer down, and are mostly code in which a random change hits nothing.
const MAX_BYTES: usize = 64 << 10;

/// Whether a file of the fixtures, given by name, is an input of a reader: recipes, sources and goldens lie beside them.
pub fn is_input(name: &str) -> bool {
    const BESIDE: [&str; 6] = ["cu", "golden", "json", "md", "sh", "txt"];
    let extension = name.rsplit_once('.').map(|(_, extension)| extension);
    !extension.is_some_and(|extension| BESIDE.contains(&extension))
}

/// The seeds in these files, given by name and content: each file as it is for the target that reads such files, and
/// its images for the targets that read these. An input that several files hold is taken once.
pub fn of_files<'a>(files: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Vec<Seed> {
    let mut seeds = Vec::new();
    let mut seen = BTreeSet::new();
    let mut add = |target, name: String, data: &[u8]| {
        if data.len() <= MAX_BYTES && seen.insert((target, data.to_vec())) {
            let data = data.to_vec();
            seeds.push(Seed { target, name, data });
        }
    };
    for (name, bytes) in files {
        // What cannot be read is worth trying too.
        let Ok(artifact) = read(bytes, &Limits::default()) else {
            add("region", name.to_owned(), bytes);
            continue;
        };
        let target = match artifact.format {
            FileFormat::Archive | FileFormat::ThinArchive => "archive",
            FileFormat::Cubin => "cubin",
            FileFormat::Ptx => "ptx",
            _ => "region",
        };
        add(target, name.to_owned(), bytes);
        if artifact.format == FileFormat::Fatbin {
            /// Size of the header of the first region.
            const HEADER_BYTES: usize = 16;
            add(
                "entry",
                name.to_owned(),
                bytes.get(HEADER_BYTES..).unwrap_or_default(),
            );
        }
        for image in &artifact.images {
            let target = match image.kind {
                ImageKind::Cubin => "cubin",
                ImageKind::Ptx => "ptx",
                _ => continue,
            };
            if let Ok(content) = image.decode(&Limits::default()) {
                add(
                    target,
                    format!("{name}@{:#x}.{}", image.offset, image.entry),
                    &content,
                );
            }
        }
    }
    seeds
}

/// Descriptions of files for the target that writes and reads them: numbers that look random and are the same each time.
pub fn descriptions() -> impl Iterator<Item = Seed> {
    const SEEDS: u64 = 64;
    (0..SEEDS).map(|seed| {
        let mut state = seed;
        let words = (0..8 << (seed % 6)).map(|_| next(&mut state));
        Seed {
            target: "roundtrip",
            name: format!("description-{seed}"),
            data: words.flat_map(u64::to_le_bytes).collect(),
        }
    })
}

/// SplitMix64.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}
