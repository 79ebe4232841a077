//! The memory bound, measured: a child process audits a package and says how much it took at most.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "the test starts itself as a child, which prints its measurement"
)]

use std::io::{Cursor, Write};
use std::path::Path;
use std::process::{Command, ExitCode};

use blockgate_audit::{NoProgress, Options, PackageLimits, audit};
use libtest_mimic::{Arguments, Failed, Trial};
use zip::write::{SimpleFileOptions, ZipWriter};

const CHILD: &str = "BLOCKGATE_TEST_MEMORY_OF";
const BUDGET: &str = "BLOCKGATE_TEST_BUDGET";

const MIB: u64 = 1 << 20;
const MEMBERS: usize = 24;
const MEMBER_BYTES: u64 = 12 * MIB;
const BUDGET_BYTES: u64 = 64 * MIB;

/// What the program, its threads and its allocator take whatever the input is, in bytes.
const FIXED_BYTES: u64 = 48 * MIB;

fn main() -> ExitCode {
    if let Ok(path) = std::env::var(CHILD) {
        child(Path::new(&path));
        return ExitCode::SUCCESS;
    }
    let arguments = Arguments::from_args();
    let trial = |name: &'static str, run: fn() -> Result<(), Failed>| {
        Trial::test(name, run).with_ignored_flag(cfg!(not(target_os = "linux")))
    };
    let trials = vec![
        trial("a_zip_stays_within_the_budget", || within(&zip_file())),
        trial("a_tar_stays_within_the_budget", || within(&tar_file())),
        trial("without_a_budget_the_check_fails", || {
            let peak = peak_of(&zip_file(), u64::MAX);
            if peak > bound() {
                Ok(())
            } else {
                Err(format!(
                    "{peak} bytes without a budget are within {}: this checks nothing",
                    bound()
                )
                .into())
            }
        }),
    ];
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// The stated bound: the budget, the images that are decompressed at one time, and what is always there.
fn bound() -> u64 {
    // The members hold no images that are compressed, so that the second term is nothing here.
    BUDGET_BYTES + FIXED_BYTES
}

fn within(package: &[u8]) -> Result<(), Failed> {
    let peak = peak_of(package, BUDGET_BYTES);
    if peak <= bound() {
        Ok(())
    } else {
        Err(format!("{peak} bytes, more than {}", bound()).into())
    }
}

fn peak_of(package: &[u8], budget_bytes: u64) -> u64 {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(package).unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .env(CHILD, file.path())
        .env(BUDGET, budget_bytes.to_string())
        .env("RAYON_NUM_THREADS", "16")
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap().trim().parse().unwrap()
}

fn child(path: &Path) {
    let options = Options {
        packages: PackageLimits {
            budget_bytes: std::env::var(BUDGET).unwrap().parse().unwrap(),
            ..PackageLimits::default()
        },
        ..Options::default()
    };
    let report = audit(&[path.to_owned()], &options, &NoProgress);
    assert!(!report.unreadable, "{:?}", report.findings);
    assert_eq!(report.files[0].members.len(), MEMBERS);
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap();
    let kib: u64 = peak.trim().strip_suffix(" kB").unwrap().trim().parse().unwrap();
    println!("{}", kib * 1024);
}

/// An object with a long section of bytes that compress about eightfold, so that the package itself takes little.
fn member(seed: usize) -> Vec<u8> {
    let object =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/fatbin/hosts/without-device-code.o");
    let mut content = std::fs::read(object).unwrap();
    let mut state = seed as u64 + 1;
    while (content.len() as u64) < MEMBER_BYTES {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        content.extend(&state.to_le_bytes());
        content.extend([0; 120]);
    }
    content
}

fn zip_file() -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for index in 0..MEMBERS {
        writer
            .start_file(format!("{index}.o"), SimpleFileOptions::default())
            .unwrap();
        writer.write_all(&member(index)).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn tar_file() -> Vec<u8> {
    let encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let mut builder = tar::Builder::new(encoder);
    for index in 0..MEMBERS {
        let mut header = tar::Header::new_gnu();
        let content = member(index);
        header.set_size(content.len() as u64);
        header.set_cksum();
        builder
            .append_data(&mut header, format!("{index}.o"), &content[..])
            .unwrap();
    }
    builder.into_inner().unwrap().finish().unwrap()
}
