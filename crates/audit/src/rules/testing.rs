//! Libraries made up for tests of rules: an archive whose members have images of the targets that a test names.

use std::sync::Arc;

use blockgate_arch::{CodeKind, Target};
use blockgate_config::KnownRules;
use blockgate_fatbin::{Compression, DeviceCode, Histogram, ImageKind};
use blockgate_findings::Finding;
use jiff::civil::date;

use super::{apply, configurable, fixed};
use crate::census::Totals;
use crate::policy::Policy;
use crate::report::{FileReport, ImageReport, MemberReport, Report};

/// A member and the targets of its images, as in `sm_121a sm_121 compute_121`.
#[derive(Clone, Copy)]
pub(super) struct Targets {
    name: &'static str,
    targets: &'static str,
    has_code: bool,
}

pub(super) fn unit(name: &'static str, targets: &str) -> Targets {
    Targets {
        name,
        // Tests are short; their texts may live as long as they do.
        targets: Box::leak(targets.to_owned().into_boxed_str()),
        has_code: true,
    }
}

/// A member whose images have no code.
pub(super) fn stub(name: &'static str, targets: &str) -> Targets {
    Targets {
        has_code: false,
        ..unit(name, targets)
    }
}

/// The archive `lib.a` of 1 MiB.
pub(super) fn input(units: &[Targets]) -> FileReport {
    let mut images = Vec::new();
    for unit in units {
        for target in unit.targets.split_whitespace() {
            let target: Target = target.parse().unwrap();
            let offset_bytes = 16 * (images.len() as u64 + 1);
            images.push(image(unit, target, offset_bytes));
        }
    }
    let members = units.iter().map(|unit| MemberReport {
        name: unit.name.into(),
        file: None,
        size_bytes: 2048,
        digest: None,
        device_code: DeviceCode::Present,
    });
    FileReport {
        path: "lib.a".to_owned(),
        format: "archive",
        size_bytes: 1 << 20,
        digest: None,
        other_files: 0,
        device_code: DeviceCode::Present,
        members: members.collect(),
        totals: Totals::of(&images),
        images,
        unattributed_bytes: 0,
        read_in_full: true,
    }
}

/// A package of shared objects, each with the targets of one region.
pub(super) fn package(path: &str, files: &[(&'static str, &str)]) -> FileReport {
    let units: Vec<Targets> = files.iter().map(|(name, targets)| unit(name, targets)).collect();
    let mut package = input(&units);
    package.path = path.to_owned();
    package.format = "wheel";
    for image in &mut package.images {
        image.file.clone_from(&image.member);
    }
    for member in &mut package.members {
        member.file = Some(Arc::clone(&member.name));
    }
    package
}

fn image(unit: &Targets, target: Target, offset_bytes: u64) -> ImageReport {
    let is_cubin = target.kind == CodeKind::Cubin;
    let code = u64::from(unit.has_code);
    ImageReport {
        member: Some(Arc::from(unit.name)),
        file: None,
        section: Some(".nv_fatbin".into()),
        region: 0,
        entry: 0,
        offset_bytes,
        kind: if is_cubin {
            ImageKind::Cubin
        } else {
            ImageKind::Ptx
        },
        arch: Some(target.arch),
        declared: Some(target.arch),
        ptx_isa: None,
        arch_certain: true,
        relocatable: false,
        counted: true,
        compression: Compression::None,
        stored_bytes: 1024,
        container: None,
        identical_to: None,
        size_bytes: Some(1024),
        toolkit: None,
        tools: Vec::new(),
        cuda_note: None,
        ptx: None,
        ptx_text: Vec::new(),
        kernel_count: Some(code),
        instructions: is_cubin.then_some(8 * code),
        sass: Histogram::default(),
        mnemonics_known: true,
        kernels: Vec::new(),
        module: None,
        entries: Vec::new(),
        digest: None,
        ptx_matches: Vec::new(),
    }
}

/// The report on `input` under a configuration, on the first of January 2027.
pub(super) fn check(input: &FileReport, config: &str) -> Report {
    check_findings(input, Vec::new(), config)
}

/// The same, with what was found while reading.
pub(super) fn check_findings(input: &FileReport, findings: Vec<Finding>, config: &str) -> Report {
    let (configurable, fixed) = (configurable(), fixed());
    let known = KnownRules {
        configurable: &configurable,
        fixed: &fixed,
    };
    let config = blockgate_config::parse(config, "blockgate.yaml", known).unwrap();
    let policy = Policy {
        config: config.audit,
        ..Policy::none(date(2027, 1, 1))
    };
    let mut report = Report {
        files: vec![input.clone()],
        evaluations: Vec::new(),
        findings,
        unreadable: false,
        policy: None,
        waived: Vec::new(),
        unchecked: Vec::new(),
    };
    apply(&mut report, &policy, false, 0);
    report
}

/// What `rule` says about `input` by default, each finding as `severity: message`, and what it could not check.
pub(super) fn findings(rule: &str, input: &FileReport) -> Vec<String> {
    let report = check(input, "");
    let found = report
        .findings
        .iter()
        .filter(|finding| finding.rule == rule)
        .map(|finding| format!("{}: {}", finding.severity, finding.message));
    let unchecked = report
        .unchecked
        .iter()
        .filter(|row| row.rule == rule)
        .map(|row| format!("not checked: {}", row.reason));
    found.chain(unchecked).collect()
}
