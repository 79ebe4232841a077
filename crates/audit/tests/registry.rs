//! Whatever an audit reports is a rule that `explain` knows, and sums of what headers claim do not overflow.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "the test audits every fixture"
)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use blockgate_audit::render::{HumanOptions, Mnemonics, human, json};
use blockgate_audit::{NoProgress, Options, Policy, audit, audit_bytes, rules};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else {
            found.push(path);
        }
    }
}

#[test]
fn every_finding_is_of_a_known_rule() {
    let mut paths = vec![fixtures()];
    files(&fixtures(), &mut paths);
    let options = Options {
        policy: Some(Policy::none(Policy::today())),
        ..Options::default()
    };
    let report = audit(&paths, &options, &NoProgress);
    let known: BTreeSet<&str> = rules::all().iter().map(|rule| rule.id).collect();
    let found: BTreeSet<&str> = report.findings.iter().map(|finding| finding.rule).collect();
    let unknown: Vec<&&str> = found.difference(&known).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
    // Few of them would prove little.
    assert!(found.len() >= 30, "{found:?}");
}

#[test]
fn claims_near_the_end_of_the_number_range_are_added_up() {
    /// Where an entry header states the size after decompression, from the start of the file.
    const CLAIM_AT: usize = 16 + 56;
    let mut bytes = std::fs::read(fixtures().join("fatbin/edge/z_base.fatbin")).unwrap();
    let entry_bytes = u32::from_le_bytes(bytes[20..24].try_into().unwrap()) as usize
        + usize::try_from(u64::from_le_bytes(bytes[24..32].try_into().unwrap())).unwrap();
    for at in [0, entry_bytes] {
        // Kind 8 is intermediate code, which is listed with the size that it claims.
        bytes[16 + at..18 + at].copy_from_slice(&8_u16.to_le_bytes());
        bytes[CLAIM_AT + at..CLAIM_AT + 8 + at].copy_from_slice(&(u64::MAX - 8).to_le_bytes());
    }
    let report = audit_bytes("claims.fatbin", &bytes, &Options::default(), &NoProgress);
    let claimed = |image: &blockgate_audit::ImageReport| image.size_bytes == Some(u64::MAX - 8);
    assert_eq!(
        report.files[0]
            .images
            .iter()
            .filter(|image| claimed(image))
            .count(),
        2
    );
    human(&mut Vec::new(), &report, &HumanOptions::default()).unwrap();
    json(&mut Vec::new(), &report, &Mnemonics::default()).unwrap();
}
