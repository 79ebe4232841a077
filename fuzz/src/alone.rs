//! One image, by itself or packed: what is found in it must not depend on that.

use blockgate_arch::Arch;
use blockgate_fatbin::write::{Entry, Region};
use blockgate_fatbin::{Compression, Error, Histogram, Image, InspectOptions, Limits, PtxFacts, read};

use crate::limits;

/// Kind numbers in entry headers.
pub(crate) const PTX: u16 = 1;
pub(crate) const CUBIN: u16 = 2;

/// What is found in the content of an image, its surroundings left out.
#[derive(Debug, PartialEq)]
pub(crate) struct Alone {
    arch: Option<Arch>,
    found: Result<Content, Unread>,
}

#[derive(Debug, PartialEq)]
struct Content {
    size: u64,
    toolkit_command: Option<String>,
    relocatable: bool,
    kernels: Vec<(String, bool, u64, Histogram)>,
    instructions: Option<u64>,
    sass: Histogram,
    mnemonics_known: bool,
    ptx: Option<PtxFacts>,
    defects: Vec<&'static str>,
}

#[derive(Debug, PartialEq)]
struct Unread {
    at: u64,
    expected: String,
    found: String,
}

impl Alone {
    pub(crate) fn of(image: &Image<'_>) -> Self {
        // Zeros compress by any factor, which is no matter here.
        let limits = Limits {
            max_expansion_ratio: u64::MAX,
            ..limits()
        };
        match image.inspect(&limits, &InspectOptions::default()) {
            Ok(inspection) => Self {
                arch: Some(inspection.arch),
                found: Ok(Content {
                    size: inspection.size,
                    toolkit_command: inspection.toolkit_command,
                    relocatable: inspection.relocatable,
                    kernels: inspection
                        .kernels
                        .into_iter()
                        .map(|kernel| (kernel.name, kernel.is_entry, kernel.code_bytes, kernel.sass))
                        .collect(),
                    instructions: inspection.instructions,
                    sass: inspection.sass,
                    mnemonics_known: inspection.mnemonics_known,
                    ptx: inspection.ptx,
                    defects: inspection
                        .defects
                        .iter()
                        .map(|defect| defect.rule)
                        .filter(|rule| !depends_on_entry(rule))
                        .collect(),
                }),
            },
            Err(error) => Self {
                arch: None,
                found: Err(Unread::of(&error)),
            },
        }
    }

    pub(crate) fn assert_same(&self, packed: &Self) {
        let too_large = |alone: &Self| matches!(&alone.found, Err(unread) if unread.expected.contains("decompressed size"));
        // By itself an image needs no memory, and so no limit holds for it.
        if !too_large(packed) {
            assert_eq!(self, packed, "by itself, and packed");
        }
    }
}

impl Unread {
    fn of(error: &Error) -> Self {
        let place = error.place();
        Self {
            at: place.image_offset.unwrap_or(place.offset),
            expected: error.expected().to_owned(),
            found: error.found().to_owned(),
        }
    }
}

/// Defects that compare the content with an entry header, or miss one.
fn depends_on_entry(rule: &str) -> bool {
    rule == "plain-or-family" || rule == "ptx-version-disagreement"
}

/// The same content, compressed in an entry of this kind number that claims what was found in it by itself.
pub(crate) fn packed(kind: u16, data: &[u8], bare: Option<&Alone>, compression: Compression) -> Alone {
    let arch = bare.and_then(|bare| bare.arch);
    let entry = Entry::other(kind, arch, data).compression(compression);
    let file = Region::new()
        .entry(entry)
        .build()
        .expect("inputs of a fuzzer are small");
    let artifact = read(&file, &limits()).expect("a region with one entry is sound");
    let [image] = artifact.images.as_slice() else {
        panic!("{} images of one", artifact.images.len());
    };
    assert_eq!(artifact.unattributed_bytes, 0);
    Alone::of(image)
}
