//! Single fields of a sound input changed, and what must then be said.

use std::fmt::Write as _;

use blockgate_fatbin::{ImageKind, InspectOptions, Limits, read};
use libtest_mimic::{Failed, Trial};

use crate::listing;
use crate::support::fixtures;

/// The first entry header of a raw fat binary.
const ENTRY: usize = 16;

/// What is changed, where, to which bytes, and what must then be said that was not said before.
struct Edit {
    title: &'static str,
    file: &'static str,
    at: usize,
    bytes: &'static [u8],
    expected: &'static str,
    /// How many images are no longer listed.
    lost: usize,
}

/// The container of two cubins in `toolkits/t135_concatsize.o`, and the number and first of its sub-headers.
const CONTAINER: usize = 0x9e0;
const COUNT: usize = CONTAINER + 64;
const FIRST_SUB: usize = COUNT + 8;

const EDITS: [Edit; 18] = [
    Edit {
        title: "both compression flags",
        file: "edge/z_base.fatbin",
        at: ENTRY + 41,
        bytes: &[0xa0],
        expected: "unreadable at 0x38: expected one compression, LZ4 or zstd, found the flags of both",
        lost: 0,
    },
    Edit {
        title: "a decompressed size of 2^60",
        file: "edge/z_base.fatbin",
        at: ENTRY + 56,
        bytes: &[0, 0, 0, 0, 0, 0, 0, 0x10],
        expected: "unreadable at 0x48: expected a decompressed size of 1 to 0x137860 bytes, \
                   found 0x1000000000000000",
        lost: 0,
    },
    Edit {
        title: "an unknown kind is listed and skipped by its size",
        file: "edge/z_base.fatbin",
        at: ENTRY,
        bytes: &[0x40, 0],
        expected: "unknown sm_121a, mnemonics unknown",
        lost: 0,
    },
    Edit {
        title: "the builder claims a suffix that the cubin does not have",
        file: "cases/a09.fatbin",
        at: ENTRY + 40,
        bytes: &[0x11, 0, 0x10],
        expected: "cubin sm_120: warning[suffix-disagreement] at 0x2c: \
                   expected sm_120a, as the entry header says, found sm_120 by the cubin itself",
        lost: 0,
    },
    Edit {
        title: "the builder claims a family that the note does not name",
        file: "cases/a09.fatbin",
        at: ENTRY + 40,
        bytes: &[0x11, 0, 0x20],
        expected: "cubin sm_120: warning[suffix-disagreement] at 0x2c: \
                   expected sm_120f, as the entry header says, found sm_120 by the cubin itself",
        lost: 0,
    },
    Edit {
        title: "both suffix flags",
        file: "cases/a09.fatbin",
        at: ENTRY + 40,
        bytes: &[0x11, 0, 0x30],
        expected: "warning[entry-flags] at 0x38: \
                   expected at most one of the flags for suffix a and suffix f, found both",
        lost: 0,
    },
    Edit {
        title: "an ELF ABI from the future",
        file: "cubins/e_130_121a.cubin",
        at: 8,
        bytes: &[9],
        expected: "unreadable at 0x8: expected a cubin of ELF ABI version 7 or 8, found 9",
        lost: 0,
    },
    Edit {
        title: "an architecture from the future",
        file: "cubins/e_130_121a.cubin",
        at: 0x31,
        bytes: &[199],
        expected: "cubin sm_199a, mnemonics unknown: warning[arch-disagreement] at 0x488: \
                   expected sm_121a, as the assembler's command line says, found sm_199a by the cubin itself",
        lost: 0,
    },
    Edit {
        title: "a container that says it is empty",
        file: "toolkits/t135_concatsize.o",
        at: COUNT,
        bytes: &[0],
        expected: "error[concat-table] at 0xa20: expected images that cover the payload of 0x2878 bytes, \
                   found none from 0x0 to 0x2878",
        lost: 2,
    },
    Edit {
        title: "a container that leaves an image out",
        file: "toolkits/t135_concatsize.o",
        at: COUNT,
        bytes: &[1],
        expected: "error[concat-table] at 0xa20: expected images that cover the payload of 0x2878 bytes, \
                   found none from 0x1368 to 0x2878",
        lost: 1,
    },
    Edit {
        title: "a container that leaves part of an image out",
        file: "toolkits/t135_concatsize.o",
        at: FIRST_SUB + 8,
        bytes: &[0, 0],
        expected: "error[concat-table] at 0xa20: expected images that cover the payload of 0x2878 bytes, \
                   found none from 0x0 to 0x1368",
        lost: 0,
    },
    Edit {
        title: "a container whose images overlap",
        file: "toolkits/t135_concatsize.o",
        at: FIRST_SUB + 64 + 4,
        bytes: &[0, 0],
        expected: "error[concat-table] at 0xa20: expected images one after the other in 0x2878 bytes, \
                   found one at 0x0, before the end of another at 0x1368",
        lost: 0,
    },
    Edit {
        title: "a container that says it has more images than sub-headers",
        file: "toolkits/t135_concatsize.o",
        at: COUNT,
        bytes: &[3],
        expected: "error[concat-table] at 0xa20: expected at most 2 images in a header of 0xc8 bytes, found 3",
        lost: 2,
    },
    Edit {
        title: "a device section of another type",
        file: "toolkits/p_def.o",
        at: 0x5858 + 4,
        bytes: &[1, 0, 0, 0x70],
        expected: "info[device-section-type] at 0x585c: expected section `.nv_fatbin` of type PROGBITS (1), \
                   found type 0x70000001",
        lost: 0,
    },
    Edit {
        title: "a device section that says it has no content",
        file: "toolkits/p_def.o",
        at: 0x5858 + 4,
        bytes: &[8],
        expected: "error[device-section-out-of-file] at 0x585c: expected section `.nv_fatbin` with content in the \
                   file, found 0x38a8 bytes of type NOBITS",
        lost: 3,
    },
    Edit {
        title: "machine code that says it has no content",
        file: "cubins/e_130_121a.cubin",
        at: 0x1000 + 4,
        bytes: &[8],
        expected: "unreadable at 0x1004: expected section `.text.k` with content in the file, \
                   found 0x100 bytes of type NOBITS",
        lost: 0,
    },
    Edit {
        title: "a note whose string lies outside",
        file: "cubins/e_130_121a.cubin",
        at: 0x490,
        bytes: &[0xff],
        expected: "error[unreadable-note] at 0x490: expected a string that ends within a note of 0x88 bytes, \
                   found its offset as 0xff",
        lost: 0,
    },
    Edit {
        title: "two symbol tables",
        file: "cubins/e_130_121a.cubin",
        at: 0x1240 + 4,
        bytes: &[2, 0, 0, 0],
        expected: "error[unreadable-symbols] at 0x1240: expected one symbol table, found another",
        lost: 0,
    },
];

/// Fields that do not decide what is read: the listing stays as it is.
const WITHOUT_EFFECT: [(&str, &str, usize, &[u8]); 4] = [
    (
        "machine code of another type",
        "cubins/e_130_121a.cubin",
        0x1000 + 4,
        &[1, 0, 0, 0x70],
    ),
    (
        "machine code not marked executable",
        "cubins/e_130_121a.cubin",
        0x1000 + 8,
        &[2],
    ),
    (
        "a note of another type",
        "cubins/e_130_121a.cubin",
        0xe40 + 4,
        &[1, 0, 0, 0x70],
    ),
    (
        "attributes of another type",
        "cubins/e_130_121a.cubin",
        0xf00 + 4,
        &[1, 0, 0, 0],
    ),
];

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials: Vec<Trial> = EDITS
        .iter()
        .map(|edit| Trial::test(format!("edit/{}: {}", edit.file, edit.title), move || check(edit)))
        .collect();
    trials.extend(WITHOUT_EFFECT.iter().map(|&(title, file, at, bytes)| {
        Trial::test(format!("edit/{file}: {title}"), move || {
            let original = std::fs::read(fixtures().join(file))?;
            let edited = edited(file, at, bytes)?;
            let (mut before, mut after) = (Vec::new(), Vec::new());
            listing::print(&mut before, &original, &Limits::default())?;
            listing::print(&mut after, &edited, &Limits::default())?;
            if original != edited && before == after {
                Ok(())
            } else {
                Err(String::from_utf8(after)?.into())
            }
        })
    }));
    trials
}

/// The file with other bytes in one place.
fn edited(file: &str, at: usize, bytes: &[u8]) -> Result<Vec<u8>, Failed> {
    let mut content = std::fs::read(fixtures().join(file))?;
    content
        .get_mut(at..at + bytes.len())
        .ok_or("the edit is outside the file")?
        .copy_from_slice(bytes);
    Ok(content)
}

fn check(edit: &Edit) -> Result<(), Failed> {
    let bytes = edited(edit.file, edit.at, edit.bytes)?;
    let before = summary(&std::fs::read(fixtures().join(edit.file))?)?;
    let after = summary(&bytes)?;
    let is_new = !before.contains(edit.expected) && after.contains(edit.expected);
    // One edit must not take other images away.
    let images = |text: &str| text.lines().filter(|line| line.starts_with('-')).count();
    let as_many = images(&before) == images(&after) + edit.lost;
    if is_new && as_many {
        Ok(())
    } else {
        Err(format!("expected {}\nbefore\n{before}after\n{after}", edit.expected).into())
    }
}

fn summary(bytes: &[u8]) -> Result<String, Failed> {
    let limits = Limits::default();
    let artifact = read(bytes, &limits)?;
    let mut text = String::new();
    for defect in &artifact.defects {
        writeln!(text, "{defect}")?;
    }
    for image in &artifact.images {
        match image.inspect(&limits, &InspectOptions::default()) {
            Ok(inspection) => {
                write!(text, "- {} {}", image.kind.as_str(), inspection.arch)?;
                if !inspection.mnemonics_known {
                    text.push_str(", mnemonics unknown");
                }
                for defect in &inspection.defects {
                    write!(text, ": {defect}")?;
                }
                let opaque = matches!(image.kind, ImageKind::Unknown(_) | ImageKind::LtoIr);
                if opaque && image.decode(&limits).is_ok() {
                    return Err("an image of unknown kind was decoded".into());
                }
                writeln!(text)?;
            }
            Err(error) => writeln!(text, "- unreadable {error}")?,
        }
    }
    Ok(text)
}
