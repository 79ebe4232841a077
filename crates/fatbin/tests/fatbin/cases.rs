//! What users reported as wrong or hard to see in a build: the listing that settles it.

use std::fmt::Write as _;

use blockgate_fatbin::{ImageKind, InspectOptions, Limits, read};
use libtest_mimic::{Failed, Trial};

use crate::support::fixtures;

/// A file and its images in order. A number behind a cubin is how many E2M1 conversions it has; none stands for 0.
const CASES: [(&str, &str, &str); 16] = [
    (
        "every image is for one device, and no PTX",
        "a01.o",
        "sm_80, sm_90a, sm_100a",
    ),
    ("a local build for one device", "a03_local.o", "sm_121a"),
    (
        "released libraries that reach sm_121 by a plain image",
        "a03_released.o",
        "sm_75, sm_80, sm_86, sm_90a, sm_100f, sm_120a, sm_120, ptx sm_120",
    ),
    (
        "a plain list has no converter",
        "a05_plain.o",
        "sm_121, ptx sm_121",
    ),
    (
        "a combined list has it",
        "a05_combined.o",
        "sm_121a 1, sm_121, ptx sm_121",
    ),
    (
        "one specific image in one member",
        "a07.a",
        "k0.o sm_121, k0.o ptx sm_121, k0b.o sm_121, k0b.o ptx sm_121, \
         kg.o sm_121a 1, kg.o sm_121, kg.o ptx sm_121",
    ),
    (
        "the same machine number, three scopes",
        "a09.fatbin",
        "sm_120, sm_120a, sm_120f",
    ),
    (
        "a guard that names one architecture leaves the others empty",
        "c23.o",
        "sm_100a 1, sm_103a, sm_100f",
    ),
    ("no compression", "a11_none.o", "sm_121a 1, sm_121, ptx sm_121"),
    (
        "default compression",
        "a11_default.o",
        "sm_121a 1, sm_121, ptx sm_121",
    ),
    (
        "compression for size",
        "a11_size.o",
        "sm_121a 1, sm_121, ptx sm_121",
    ),
    (
        "compression for speed",
        "a11_speed.o",
        "sm_121a 1, sm_121, ptx sm_121",
    ),
    (
        "balanced compression",
        "a11_balance.o",
        "sm_121a 1, sm_121, ptx sm_121",
    ),
    (
        "machine code and PTX, neither with the converter",
        "a15.o",
        "sm_120, ptx sm_120",
    ),
    (
        "the shorthand option embeds PTX too",
        "a17_shorthand.o",
        "sm_89, ptx sm_89",
    ),
    ("the long option does not", "a17_real.o", "sm_89"),
];

/// A file and its matrix instructions, as `nvdisasm` 13.5 prints them.
const MATRIX_INSTRUCTIONS: [(&str, &str); 5] = [
    // Built for plain sm_120 the product is compiled out, and a trap aborts the program.
    ("a13_120.cubin", ""),
    ("a13_120a.cubin", "OMMA.SF.16864.F32.E2M1.E2M1.UE4M3.4X 1"),
    (
        "wgmma_90a.cubin",
        "BGMMA.64x8x256.AND.POPC 1, HGMMA.64x128x16.F32.BF16 1, HGMMA.64x8x16.F32.BF16 1, \
         HGMMA.64x8x8.F32.TF32 1, HGMMA.SP.64x8x32.F32 1, IGMMA.64x8x32.S8.U8.SAT 1, \
         IGMMA.SP.64x8x64.U8.U8 1, QGMMA.64x8x32.F32.E4M3.E5M2 1",
    ),
    (
        "tcgen05_100a.cubin",
        "UTCHMMA 2, UTCHMMA.2CTA 1, UTCHMMA.2CTA.ASHIFT 1, UTCHMMA.WS 1, UTCIMMA 1, UTCOMMA 1, \
         UTCOMMA.2CTA.4X 1, UTCOMMA.4X 1, UTCQMMA 2",
    ),
    (
        "tcgen05_103a.cubin",
        "UTCHMMA 2, UTCHMMA.2CTA 1, UTCHMMA.2CTA.ASHIFT 1, UTCHMMA.WS 1, UTCOMMA 1, \
         UTCOMMA.2CTA.BLOCK16 1, UTCOMMA.BLOCK16 1, UTCQMMA 2",
    ),
];

fn matrix_instructions(bytes: &[u8]) -> Result<String, Failed> {
    let limits = Limits::default();
    let mut found = Vec::new();
    for image in &read(bytes, &limits)?.images {
        let inspection = image.inspect(&limits, &InspectOptions::default())?;
        let products = inspection.sass.iter().filter(|(name, _)| name.contains("MMA"));
        found.extend(products.map(|(name, count)| format!("{name} {count}")));
    }
    Ok(found.join(", "))
}

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials: Vec<Trial> = CASES
        .into_iter()
        .map(|(title, file, expected)| {
            Trial::test(format!("case/{file}: {title}"), move || {
                compare(
                    expected,
                    &summary(&std::fs::read(fixtures().join("cases").join(file))?)?,
                )
            })
        })
        .collect();
    trials.push(Trial::test("case/a19.o: without any option", || {
        compare(
            "sm_75, ptx sm_75",
            &summary(&std::fs::read(fixtures().join("cases/a19.o"))?)?,
        )
    }));
    for (file, expected) in MATRIX_INSTRUCTIONS {
        trials.push(Trial::test(
            format!("case/{file}: matrix instructions"),
            move || {
                let bytes = std::fs::read(fixtures().join("cases").join(file))?;
                compare(expected, &matrix_instructions(&bytes)?)
            },
        ));
    }
    for (file, with_note, without_note) in [
        ("a09_120.cubin", "sm_120", "sm_120 or sm_120f"),
        ("a09_120a.cubin", "sm_120a", "sm_120a"),
        ("a09_120f.cubin", "sm_120f", "sm_120 or sm_120f"),
    ] {
        trials.push(Trial::test(
            format!("case/{file}: alone, with and without its note"),
            move || {
                let mut bytes = std::fs::read(fixtures().join("cases").join(file))?;
                compare(with_note, &summary(&bytes)?)?;
                rename_note(&mut bytes)?;
                compare(without_note, &summary(&bytes)?)
            },
        ));
    }
    trials
}

/// Takes the note of the assembler out of sight, as stripping would.
fn rename_note(bytes: &mut [u8]) -> Result<(), Failed> {
    let name = b".note.nv.tkinfo\0";
    let at = bytes
        .windows(name.len())
        .position(|window| window == name)
        .ok_or("the cubin has no note")?;
    bytes.get_mut(at).map(|byte| *byte = b'_').ok_or("out of range")?;
    Ok(())
}

fn summary(bytes: &[u8]) -> Result<String, Failed> {
    let limits = Limits::default();
    let mut text = String::new();
    for image in &read(bytes, &limits)?.images {
        let inspection = image.inspect(&limits, &InspectOptions::default())?;
        let separator = if text.is_empty() { "" } else { ", " };
        let member = image
            .member
            .as_deref()
            .map(|name| format!("{name} "))
            .unwrap_or_default();
        let kind = if image.kind == ImageKind::Ptx { "ptx " } else { "" };
        write!(text, "{separator}{member}{kind}{}", inspection.arch)?;
        if inspection.arch_evidence.plain_or_family {
            write!(
                text,
                " or {}",
                inspection.arch.with_scope(blockgate_arch::Scope::Family)
            )?;
        }
        let conversions = inspection.sass.e2m1_conversions();
        if conversions > 0 {
            write!(text, " {conversions}")?;
        }
    }
    Ok(text)
}

fn compare(expected: &str, found: &str) -> Result<(), Failed> {
    if expected == found {
        Ok(())
    } else {
        Err(format!("expected {expected}\nfound    {found}").into())
    }
}
