//! Single fields of a sound input changed, and what must then be said.

use std::fmt::Write as _;

use blockgate_fatbin::{ImageKind, InspectOptions, Limits, read};
use libtest_mimic::{Failed, Trial};

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
}

const EDITS: [Edit; 8] = [
    Edit {
        title: "both compression flags",
        file: "edge/z_base.fatbin",
        at: ENTRY + 41,
        bytes: &[0xa0],
        expected: "unreadable at 0x38: expected one compression, LZ4 or zstd, found the flags of both",
    },
    Edit {
        title: "a decompressed size of 2^60",
        file: "edge/z_base.fatbin",
        at: ENTRY + 56,
        bytes: &[0, 0, 0, 0, 0, 0, 0, 0x10],
        expected: "unreadable at 0x48: expected a decompressed size of 1 to 0x137860 bytes, \
                   found 0x1000000000000000",
    },
    Edit {
        title: "an unknown kind is listed and skipped by its size",
        file: "edge/z_base.fatbin",
        at: ENTRY,
        bytes: &[0x40, 0],
        expected: "unknown sm_121a",
    },
    Edit {
        title: "the builder claims a suffix that the cubin does not have",
        file: "cases/a09.fatbin",
        at: ENTRY + 40,
        bytes: &[0x11, 0, 0x10],
        expected: "cubin sm_120: warning[suffix-disagreement] at 0x2c: \
                   expected sm_120a, as the entry header says, found sm_120 by the cubin itself",
    },
    Edit {
        title: "the builder claims a family that the note does not name",
        file: "cases/a09.fatbin",
        at: ENTRY + 40,
        bytes: &[0x11, 0, 0x20],
        expected: "cubin sm_120: warning[suffix-disagreement] at 0x2c: \
                   expected sm_120f, as the entry header says, found sm_120 by the cubin itself",
    },
    Edit {
        title: "both suffix flags",
        file: "cases/a09.fatbin",
        at: ENTRY + 40,
        bytes: &[0x11, 0, 0x30],
        expected: "warning[entry-flags] at 0x38: \
                   expected at most one of the flags for suffix a and suffix f, found both",
    },
    Edit {
        title: "an ELF ABI from the future",
        file: "cubins/e_130_121a.cubin",
        at: 8,
        bytes: &[9],
        expected: "unreadable at 0x8: expected a cubin of ELF ABI version 7 or 8, found 9",
    },
    Edit {
        title: "an architecture from the future",
        file: "cubins/e_130_121a.cubin",
        at: 0x31,
        bytes: &[199],
        expected: "cubin sm_199a, mnemonics unknown: warning[arch-disagreement] at 0x488: \
                   expected sm_121a, as the assembler's command line says, found sm_199a by the cubin itself",
    },
];

pub(crate) fn trials() -> Vec<Trial> {
    EDITS
        .iter()
        .map(|edit| Trial::test(format!("edit/{}: {}", edit.file, edit.title), move || check(edit)))
        .collect()
}

fn check(edit: &Edit) -> Result<(), Failed> {
    let mut bytes = std::fs::read(fixtures().join(edit.file))?;
    bytes
        .get_mut(edit.at..edit.at + edit.bytes.len())
        .ok_or("the edit is outside the file")?
        .copy_from_slice(edit.bytes);
    let before = summary(&std::fs::read(fixtures().join(edit.file))?)?;
    let after = summary(&bytes)?;
    let is_new = !before.contains(edit.expected) && after.contains(edit.expected);
    // One edit must not take the other images away.
    let same_count = before.lines().filter(|line| line.starts_with('-')).count()
        == after.lines().filter(|line| line.starts_with('-')).count();
    if is_new && same_count {
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
