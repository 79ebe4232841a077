//! What must hold of the report on any package, however damaged.

use std::collections::BTreeSet;

use blockgate_audit::render::{self, HumanOptions, Mnemonics};
use blockgate_audit::{FileReport, NoProgress, Options, PackageLimits, Report, audit_bytes};
use blockgate_fatbin::DeviceCode;
use blockgate_findings::{ExitStatus, Severity};

use crate::repair::repaired;

/// How the input is shown. What is in a package that is one compressed file is called so, without the ending.
const LABEL: &str = "input.whl";

/// Small, so that a few bytes of input can run into each of them.
fn options() -> Options {
    Options {
        kernels: true,
        entries: true,
        digests: true,
        limits: crate::limits(),
        packages: PackageLimits {
            budget_bytes: 1 << 20,
            max_member_bytes: 1 << 20,
            max_package_bytes: 4 << 20,
            max_expansion_ratio: 50,
            max_entries: 64,
            max_depth: 3,
            max_decoder_bytes: 8 << 20,
        },
        ..Options::default()
    }
}

/// Audits `data`, and with its checksums put right, and panics where something does not hold.
pub(crate) fn check(data: &[u8]) {
    check_one(data);
    if let Some(repaired) = repaired(data) {
        check_one(&repaired);
    }
}

fn check_one(data: &[u8]) {
    let options = options();
    let report = audit_bytes(LABEL, data, &options, &NoProgress);
    check_report(&report, data, &options);
    let again = audit_bytes(LABEL, data, &options, &NoProgress);
    assert_eq!(json(&report), json(&again), "audited twice");
    let mut shown = Vec::new();
    render::human(&mut shown, &report, &HumanOptions::default()).expect("memory takes all");
    assert!(
        std::str::from_utf8(&shown).is_ok_and(|shown| shown.contains(LABEL)),
        "the table names its input"
    );
    check_compressed(&report, data, &options);
}

fn json(report: &Report) -> String {
    let mut out = Vec::new();
    let all = Mnemonics {
        all: true,
        ..Mnemonics::default()
    };
    render::json(&mut out, report, &all).expect("memory takes all");
    String::from_utf8(out).expect("JSON is text")
}

fn check_report(report: &Report, data: &[u8], options: &Options) {
    let [file] = report.files.as_slice() else {
        panic!("{} inputs of one", report.files.len());
    };
    assert_eq!((file.path.as_str(), file.size_bytes), (LABEL, data.len() as u64));
    let errors = report
        .findings
        .iter()
        .filter(|finding| finding.severity == Severity::Error)
        .count();
    // What could not be read is an error that is said, and the other way round.
    assert_eq!(errors > 0, report.unreadable, "{errors} errors");
    assert_eq!(
        report.status(false) == ExitStatus::Unreadable,
        report.unreadable,
        "exit status"
    );
    assert!(
        file.read_in_full || report.unreadable,
        "a part is missing without a word"
    );
    if matches!(file.device_code, DeviceCode::None | DeviceCode::NvrtcOnly) {
        // An empty answer is never a clean one where something could not be read.
        assert!(file.read_in_full && errors == 0 && file.images.is_empty());
    }
    for finding in &report.findings {
        assert!(!finding.message.is_empty() && !finding.rule.is_empty());
    }
    check_names(file);
    check_sizes(file, data.len() as u64, options);
}

/// A row belongs to a member, and that to a file, by their names.
fn check_names(file: &FileReport) {
    let within = |name: &str, file: &str| {
        name.strip_prefix(file)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let mut members = BTreeSet::new();
    for member in &file.members {
        if let Some(of) = &member.file {
            assert!(within(&member.name, of), "`{}` in `{of}`", member.name);
        }
        assert!(member.digest.is_some(), "digests were asked for");
        members.insert((&member.name, &member.file));
    }
    let is_package = file.members.iter().any(|member| member.file.is_some());
    assert!(
        !is_package || file.members.iter().all(|member| member.file.is_some()),
        "members in files, and without"
    );
    for image in &file.images {
        assert_eq!(image.file.is_some(), is_package, "an image in a file");
        if let Some(name) = &image.member {
            assert!(
                members.contains(&(name, &image.file)),
                "an image of `{name}`, which is no member"
            );
        } else {
            assert!(file.members.is_empty(), "an image of no member, among members");
        }
    }
}

/// Nothing is larger than the limits allow, whatever the package says of itself.
fn check_sizes(file: &FileReport, len: u64, options: &Options) {
    let packages = &options.packages;
    // What is stored as it is lies in the input, and costs nothing.
    let most = packages.max_member_bytes.max(len);
    let mut sum_bytes = 0;
    let mut files = BTreeSet::new();
    for member in &file.members {
        assert!(member.size_bytes <= most, "a member of {:#x}", member.size_bytes);
        sum_bytes += member.size_bytes;
        files.insert(&member.file);
    }
    assert!(
        sum_bytes <= len + packages.max_package_bytes,
        "members of {sum_bytes:#x} bytes together"
    );
    let is_package = file.members.iter().any(|member| member.file.is_some());
    let entries = file.other_files + if is_package { files.len() as u64 } else { 0 };
    assert!(entries <= packages.max_entries, "{entries} entries");
    let members_each = options.limits.max_members;
    assert!(file.members.len() <= members_each * files.len().max(1));
    assert!(file.images.len() <= options.limits.max_images * files.len().max(1));
}

/// A tar file is read where it lies, and a compressed one as it arrives: both must find the same.
fn check_compressed(plain: &Report, data: &[u8], options: &Options) {
    if !plain
        .files
        .iter()
        .all(|file| file.format == "tar" && file.read_in_full)
    {
        return;
    }
    let packed = zstd::encode_all(data, 1).expect("memory takes all");
    let packed = audit_bytes(LABEL, &packed, options, &NoProgress);
    // What lies in the input is not decompressed, and so fewer limits hold for it.
    if packed
        .findings
        .iter()
        .any(|finding| finding.rule == "package-limit")
    {
        return;
    }
    assert_eq!(content(plain), content(&packed), "as it is, and compressed");
}

/// What was found in a package, without how it is packed.
fn content(report: &Report) -> Vec<String> {
    let mut lines = Vec::new();
    for file in &report.files {
        lines.push(format!("{} others, {}", file.other_files, file.read_in_full));
        lines.extend(file.members.iter().map(|member| {
            let (name, digest) = (&member.name, &member.digest);
            let digest = digest.map(|digest| digest.to_string()).unwrap_or_default();
            format!(
                "{name}: {} bytes, {}, {digest}",
                member.size_bytes,
                member.device_code.as_str()
            )
        }));
        lines.extend(file.images.iter().map(|image| {
            let arch = image.arch.map(|arch| arch.to_string()).unwrap_or_default();
            let name = image.member.as_deref().unwrap_or_default();
            let (offset, instructions) = (image.offset_bytes, image.instructions.unwrap_or_default());
            format!(
                "{name}: {offset:#x}, {arch}, {instructions} instructions, {} kernels",
                image.kernels.len()
            )
        }));
    }
    lines.extend(
        report
            .findings
            .iter()
            .map(|finding| format!("{}: {}", finding.rule, finding.message)),
    );
    lines
}
