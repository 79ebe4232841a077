//! `label-without-code`: a specific image without an instruction that plain code could not have.

use std::collections::BTreeMap;

use blockgate_arch::{Arch, DisplayKey, Scope};
use blockgate_fatbin::ImageKind;
use blockgate_findings::{RuleInfo, Severity};

use super::library::{Library, images, some_of, unit_name};
use super::{Check, Hit, Needs, Rule, SINCE, Sink, page};
use crate::report::ImageReport;

pub(super) const RULE: Rule = Rule {
    info: RuleInfo {
        id: "label-without-code",
        summary: "an architecture-specific image holds no architecture-specific instruction",
        severity: Some(Severity::Info),
        since: SINCE,
        page: page!("label-without-code"),
    },
    needs: Needs::Code,
    check: Check::Library(check),
};

/// Beginnings of mnemonics that only suffixed targets have. ptxas 13.0.88 assembled each PTX instruction for every target
/// that takes it, and nvdisasm named the result.
const SUFFIXED: [(&str, &str); 11] = [
    ("HGMMA", "wgmma"),
    ("IGMMA", "wgmma"),
    ("QGMMA", "wgmma"),
    ("BGMMA", "wgmma"),
    ("WARPGROUP", "wgmma"),
    ("USETMAXREG", "setmaxnreg"),
    ("OMMA", "mma with kind::mxf4 or kind::mxf4nvf4"),
    ("QMMA.SF", "mma with kind::mxf8f6f4"),
    ("UTC", "tcgen05"),
    ("LDTM", "tcgen05.ld"),
    ("STTM", "tcgen05.st"),
];

/// Instructions that plain targets have too, with other operand formats.
const BY_FORMAT: [&str; 2] = ["F2FP", "QMMA"];

/// Formats of F2FP and QMMA, and the stochastic rounding, that only suffixed targets have; found in the same way.
const SUFFIXED_FORMATS: [&str; 5] = ["E2M1", "E2M3", "E3M2", "E8", "RS"];

/// Whether an instruction is one that only suffixed targets have; `None` where its modifiers would tell and are not known.
fn is_specific(mnemonic: &str) -> Option<bool> {
    let mut parts = mnemonic.split('.');
    let base = parts.next().unwrap_or_default();
    if SUFFIXED.iter().any(|(start, _)| mnemonic.starts_with(start)) {
        return Some(true);
    }
    if !BY_FORMAT.contains(&base) {
        return Some(false);
    }
    let modifiers: Vec<&str> = parts.collect();
    if modifiers.is_empty() {
        return None;
    }
    Some(modifiers.iter().any(|part| SUFFIXED_FORMATS.contains(part)))
}

/// Whether the image holds such an instruction.
///
/// # Errors
/// Why that cannot be told.
fn holds_specific(image: &ImageReport) -> Result<bool, String> {
    if image.instructions.is_none() || !image.mnemonics_known {
        return Err(format!(
            "instructions of the image at offset {:#x} cannot be counted",
            image.offset_bytes
        ));
    }
    let answers: Vec<Option<bool>> = image.sass.iter().map(|(name, _)| is_specific(name)).collect();
    if answers.contains(&Some(true)) {
        return Ok(true);
    }
    if answers.contains(&None) {
        return Err("modifiers of QMMA, which would tell, are not decoded".to_owned());
    }
    Ok(false)
}

fn check(library: &Library<'_>, sink: &mut Sink<'_>) {
    let mut by_arch: BTreeMap<DisplayKey, (Arch, Vec<&ImageReport>)> = BTreeMap::new();
    for image in library.of_kind(ImageKind::Cubin) {
        // What a device link adds has no instruction at all, and no label that anybody chose.
        if let Some(arch) = image.arch
            && arch.scope() == Scope::Specific
            && image.instructions != Some(0)
        {
            let row = by_arch.entry(arch.display_key());
            row.or_insert_with(|| (arch, Vec::new())).1.push(image);
        }
    }
    for (arch, found) in by_arch.into_values() {
        check_arch(arch, &found, sink);
    }
}

fn check_arch(arch: Arch, found: &[&ImageReport], sink: &mut Sink<'_>) {
    let mut without = Vec::new();
    for image in found {
        match holds_specific(image) {
            Ok(true) => {}
            Ok(false) => without.push(*image),
            Err(reason) => {
                sink.not_checked(format!("{arch}: {reason}"));
                return;
            }
        }
    }
    let Some(first) = without.first() else { return };
    sink.report(
        Hit::new(format!(
            "no instruction that the plain target lacks in {} of {} for {arch}",
            without.len(),
            images(found.len())
        ))
        .arch(arch)
        .at(first)
        .note(format!(
            "here: {}",
            some_of(without.iter().map(|image| unit_name(image).to_string()))
        )),
    );
}

#[cfg(test)]
mod tests {
    use super::super::testing::{findings, input, unit};
    use super::{SUFFIXED, is_specific};

    #[test]
    fn instructions_that_need_a_suffix() {
        for (mnemonic, expected) in [
            ("F2FP.SATFINITE.E2M1.F32.PACK_AB_MERGE_C", Some(true)),
            ("F2FP.SATFINITE.E8.F32.PACK_AB_MERGE_C.RP", Some(true)),
            ("F2FP.BF16.E8.UNPACK_B", Some(true)),
            ("F2FP.F16.F32.PACK_AB.RS", Some(true)),
            ("F2FP.F16.F32.PACK_AB", Some(false)),
            ("F2FP.SATFINITE.E4M3.F32.PACK_AB_MERGE_C", Some(false)),
            ("OMMA.SF.16864.F32.E2M1.E2M1.UE4M3.4X", Some(true)),
            ("OMMA", Some(true)),
            ("QMMA.SF.16832.F32.E4M3.E4M3.E8", Some(true)),
            ("QMMA.16832.F32.E2M1.E2M1", Some(true)),
            ("QMMA.16832.F32.E4M3.E4M3", Some(false)),
            ("QMMA", None),
            ("HMMA", Some(false)),
            ("UTCHMMA", Some(true)),
            ("CREDUX", Some(false)),
        ] {
            assert_eq!(is_specific(mnemonic), expected, "{mnemonic}");
        }
        // A table that names what no reader ever counts would never hit.
        for (start, source) in SUFFIXED.iter().filter(|(start, _)| !start.contains('.')) {
            assert!(
                blockgate_fatbin::can_name(|name| name.starts_with(start)),
                "{start} ({source})"
            );
        }
    }

    #[test]
    fn what_cannot_be_counted_is_not_passed() {
        let mut library = input(&[unit("a.o", "sm_121a")]);
        assert_eq!(
            findings("label-without-code", &library),
            ["info: no instruction that the plain target lacks in 1 of 1 image for sm_121a"]
        );
        library.images[0].instructions = None;
        assert_eq!(
            findings("label-without-code", &library),
            ["not checked: sm_121a: instructions of the image at offset 0x10 cannot be counted"]
        );
        let plain = input(&[unit("a.o", "sm_121 sm_121f")]);
        assert_eq!(findings("label-without-code", &plain), [""; 0]);
    }
}
