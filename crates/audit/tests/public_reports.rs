//! What users reported about shipped binaries, by the id of the report: what each device takes, and what a check says.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "the tests read files of this repository"
)]

use std::path::{Path, PathBuf};

use blockgate_arch::devices::find_device;
use blockgate_arch::{Scope, Target};
use blockgate_audit::resolve::{Resolution, Summary, resolve};
use blockgate_audit::{FileReport, NoProgress, Options, Report, audit};
use blockgate_expect::Expectation;
use blockgate_findings::ExitStatus;

fn report(file: &str, expectations: &[&str]) -> Report {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fixtures/fatbin/cases")
        .join(file);
    let options = Options {
        entries: true,
        expectations: expectations
            .iter()
            .map(|text| text.parse::<Expectation>().unwrap())
            .collect(),
        ..Options::default()
    };
    audit(&[path], &options, &NoProgress)
}

/// `sm_121 ×2, sm_121a ×1 (E2M1 1)`, with `JIT` behind PTX and `or …` behind an undocumented choice.
fn answer(resolution: &Resolution<'_>) -> String {
    let mut parts = Vec::new();
    for library in &resolution.libraries {
        for device in &library.devices {
            let summary = Summary::of(library, device, resolution.driver);
            for row in &summary.taken {
                let jit = if row.target.to_string().starts_with("compute") {
                    " JIT"
                } else {
                    ""
                };
                let mut code = Vec::new();
                if row.code.e2m1_conversions > 0 {
                    code.push(format!("E2M1 {}", row.code.e2m1_conversions));
                }
                code.extend(
                    row.code
                        .mma
                        .iter()
                        .map(|(family, number)| format!("{family} {number}")),
                );
                let code = if code.is_empty() {
                    String::new()
                } else {
                    format!(" ({})", code.join(", "))
                };
                parts.push(format!("{}{jit} ×{}{code}", row.target, row.tally.kernels));
            }
            if summary.no_image.kernels > 0 {
                parts.push(format!("NONE ×{}", summary.no_image.kernels));
            }
            parts.extend(
                summary
                    .missing
                    .iter()
                    .map(|(_, kernel)| format!("missing: {kernel}")),
            );
            parts.extend(
                summary
                    .undocumented
                    .iter()
                    .map(|(names, _)| format!("not documented: {names}")),
            );
        }
    }
    parts.join(", ")
}

/// Report, file, device, driver, answer, exit status.
type Verdict = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    u8,
);

const VERDICTS: &[Verdict] = &[
    ("A01", "a01.o", "10.3", "", "NONE ×1", 1),
    ("A01", "a01.o", "10.0", "", "sm_100a ×1", 0),
    ("A01", "a01.o", "9.0", "", "sm_90a ×1", 0),
    ("A01", "a01.o", "8.9", "", "sm_80 ×1", 0),
    ("A01", "a01.o", "12.0", "", "NONE ×1", 1),
    ("A03", "a03_local.o", "12.1", "", "sm_121a ×1", 0),
    ("A03", "a03_local.o", "12.0", "", "NONE ×1", 1),
    // Machine code goes before PTX, so that the plain image of 12.0 is taken and nothing is compiled.
    ("A03", "a03_released.o", "12.1", "", "sm_120 ×1", 0),
    (
        "A03",
        "a03_released.o",
        "12.0",
        "",
        "sm_120a ×1, not documented: sm_120a or sm_120",
        0,
    ),
    ("A03", "a03_released.o", "10.3", "", "sm_100f ×1", 0),
    ("A03", "a03_released.o", "9.0", "", "sm_90a ×1", 0),
    ("A03", "a03_released.o", "8.9", "", "sm_86 ×1", 0),
    ("A03", "a03_released.o", "7.0", "", "NONE ×1", 1),
    ("A05", "a05_plain.o", "12.1", "", "sm_121 ×1", 0),
    (
        "A05",
        "a05_combined.o",
        "12.1",
        "",
        "sm_121a ×1 (E2M1 1), not documented: sm_121a or sm_121",
        0,
    ),
    (
        "A07",
        "a07.a",
        "12.1",
        "",
        "sm_121 ×2, sm_121a ×1 (E2M1 1), not documented: sm_121a or sm_121",
        0,
    ),
    ("A07", "a07.a", "12.0", "", "NONE ×3", 1),
    ("A09", "a09_120.cubin", "12.1", "", "sm_120 ×1", 0),
    ("A09", "a09_120a.cubin", "12.0", "", "sm_120a ×1", 0),
    ("A09", "a09_120a.cubin", "12.1", "", "NONE ×1", 1),
    ("A09", "a09_120f.cubin", "12.1", "", "sm_120f ×1", 0),
    (
        "A09",
        "a09.fatbin",
        "12.0",
        "",
        "sm_120a ×1, not documented: sm_120a or sm_120 or sm_120f",
        0,
    ),
    (
        "A09",
        "a09.fatbin",
        "12.1",
        "",
        "sm_120f ×1, not documented: sm_120f or sm_120",
        0,
    ),
    ("A13", "a13_120.o", "12.0", "", "sm_120 ×1", 0),
    ("A13", "a13_120a.o", "12.0", "", "sm_120a ×1 (OMMA 1)", 0),
    ("A13", "a13_120a.o", "12.1", "", "NONE ×1", 1),
    ("A15", "a15.o", "RTX PRO 6000", "", "sm_120 ×1", 0),
    ("A15", "a15.o", "12.1", "", "sm_120 ×1", 0),
    ("A17", "a17_shorthand.o", "12.0", "", "compute_89 JIT ×1", 0),
    ("A17", "a17_shorthand.o", "8.9", "", "sm_89 ×1", 0),
    ("A17", "a17_real.o", "12.0", "", "NONE ×1", 1),
    // PTX 9.0 is of CUDA 13.0.
    ("A17", "a17_shorthand.o", "12.0", "12.9", "NONE ×1", 1),
    ("A17", "a17_shorthand.o", "12.0", "13.0", "compute_89 JIT ×1", 0),
    ("A19", "a19.o", "12.1", "", "compute_75 JIT ×1", 0),
    ("A19", "a19.o", "12.1", "12.9", "NONE ×1", 1),
    // Not from reports: a kernel that only one image has, one architecture twice, code that is not what its header says, and a driver from before the
    // device.
    ("partial", "partial.o", "8.0", "", "sm_80 ×2", 0),
    (
        "partial",
        "partial.o",
        "9.0",
        "",
        "sm_90 ×2, missing: _Z4onlyPi",
        1,
    ),
    (
        "twice",
        "twice_120.fatbin",
        "12.0",
        "",
        "sm_120 ×1, not documented: sm_120 or sm_120",
        0,
    ),
    ("claim", "claims_120.fatbin", "12.0", "", "sm_120 ×1", 0),
    ("claim", "claims_120.fatbin", "12.1", "", "sm_120 ×1", 1),
    ("driver", "a05_combined.o", "12.1", "12.8", "NONE ×1", 1),
    ("driver", "a01.o", "8.9", "13.1", "sm_80 ×1", 0),
];

#[test]
fn each_device_takes_what_the_rules_say() {
    for (id, file, device, driver, expected, code) in VERDICTS {
        let report = report(file, &[]);
        let driver = (!driver.is_empty()).then(|| driver.parse().unwrap());
        let resolution = resolve(&report, &[find_device(device).unwrap()], driver, false);
        assert_eq!(
            (answer(&resolution).as_str(), resolution.status().code()),
            (*expected, *code),
            "{id}: {file} on {device}"
        );
    }
}

const CONVERTER: &str = r"sass(F2FP\.SATFINITE\.E2M1)";

/// Report, file, expectation, what is found, and whether that is a pass.
const CHECKS: &[(&str, &str, &str, u64, bool)] = &[
    ("A05", "a05_plain.o", "CONVERTER > 0", 0, false),
    ("A05", "a05_plain.o", "cubins(sm_121) == 1", 1, true),
    ("A05", "a05_plain.o", "ptx(sm_121) == 1", 1, true),
    ("A05", "a05_combined.o", "CONVERTER@sm_121a > 0", 1, true),
    ("A05", "a05_combined.o", "CONVERTER@sm_121 == 0", 0, true),
    ("A05", "a05_combined.o", "ptx(sm_121) == 1", 1, true),
    ("A07", "a07.a", "cubins(*) == 4", 4, true),
    ("A07", "a07.a", "cubins(sm_121a) == 1", 1, true),
    ("A07", "a07.a", "CONVERTER > 0 in kg.o", 1, true),
    ("A07", "a07.a", "CONVERTER == 0 in k0*.o", 0, true),
    ("A13", "a13_120.o", "sass(^OMMA) > 0", 0, false),
    ("A13", "a13_120a.o", "sass(^OMMA) > 0", 1, true),
    ("A15", "a15.o", "cubins(sm_120) == 1", 1, true),
    ("A15", "a15.o", "ptx(sm_120) == 1", 1, true),
    ("A15", "a15.o", "CONVERTER > 0", 0, false),
    ("A19", "a19.o", "cubins(sm_75) == 1", 1, true),
    ("A19", "a19.o", "ptx(sm_75) == 1", 1, true),
    ("A19", "a19.o", "cubins(sm_12*) >= 1", 0, false),
];

#[test]
fn checks_pass_and_fail_as_they_should() {
    for (id, file, expectation, found, holds) in CHECKS {
        let expectation = expectation.replace("CONVERTER", CONVERTER);
        let report = report(file, &[&expectation]);
        let outcome = &report.evaluations[0].outcome;
        assert_eq!(
            format!("{outcome:?}"),
            format!("Checked {{ found: {found}, holds: {holds} }}"),
            "{id}: {file}, {expectation}"
        );
        let status = if *holds {
            ExitStatus::Clean
        } else {
            ExitStatus::Failed
        };
        assert_eq!(report.status(false), status, "{id}");
    }
}

#[test]
fn a03_a_library_for_one_device_is_called_that() {
    for (file, only) in [
        ("a03_local.o", Some("12.1")),
        ("a03_released.o", None),
        ("a05_combined.o", None),
    ] {
        let report = report(file, &[]);
        let resolution = resolve(&report, &[], None, false);
        let found = resolution.libraries[0]
            .only_device()
            .map(|device| device.to_string());
        assert_eq!(found.as_deref(), only, "{file}");
    }
}

/// The images of a file by name, and its driver floor.
fn listing(file: &FileReport) -> (Vec<String>, Option<String>) {
    let images = file
        .images
        .iter()
        .map(|image| {
            let arch = image.arch.unwrap();
            let target = if image.is_cubin() {
                Target::cubin(arch)
            } else {
                Target::ptx(arch)
            };
            target.to_string()
        })
        .collect();
    (images, file.driver_floor().map(|floor| floor.to_string()))
}

#[test]
fn a11_every_compression_lists_the_same_and_says_which_driver_it_needs() {
    for (file, compressions, floor) in [
        ("a11_none.o", ["none", "none", "none"], None),
        ("a11_default.o", ["none", "none", "zstd"], Some("12.4")),
        ("a11_size.o", ["zstd", "zstd", "zstd"], Some("12.4")),
        ("a11_speed.o", ["lz4", "none", "none"], None),
        ("a11_balance.o", ["none", "none", "zstd"], Some("12.4")),
    ] {
        let report = report(file, &["sass(F2FP\\.SATFINITE\\.E2M1) == 1"]);
        let input = &report.files[0];
        let (mut images, found_floor) = listing(input);
        images.sort();
        assert_eq!(images, ["compute_121", "sm_121", "sm_121a"], "{file}");
        let mut found: Vec<&str> = input
            .images
            .iter()
            .map(|image| image.compression.as_str())
            .collect();
        found.sort_unstable();
        assert_eq!(found, compressions, "{file}");
        assert_eq!(found_floor.as_deref(), floor, "{file}");
        assert_eq!(report.status(false), ExitStatus::Clean, "{file}");
    }
}

#[test]
fn a21_names_are_parsed_with_their_suffix_or_refused() {
    for (name, major, minor, scope) in [
        ("sm_120a", 12, 0, Scope::Specific),
        ("sm_90a", 9, 0, Scope::Specific),
        ("sm_100f", 10, 0, Scope::Family),
        ("compute_120", 12, 0, Scope::Plain),
        ("sm_75", 7, 5, Scope::Plain),
    ] {
        let target: Target = name.parse().unwrap();
        assert_eq!(
            (target.arch.major(), target.arch.minor(), target.arch.scope()),
            (major, minor, scope),
            "{name}"
        );
        assert_eq!(target.to_string(), name);
    }
    for name in ["sm_12", "sm_", "sm_120A", "sm_1200"] {
        assert!(name.parse::<Target>().is_err(), "{name}");
    }
}
