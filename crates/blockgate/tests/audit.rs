//! `blockgate audit` as a user runs it: output, expectations and exit status.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "the tests run a program on files")]

use std::path::Path;
use std::process::Output;

use assert_cmd::cargo::cargo_bin_cmd;
use expect_test::{Expect, expect};

/// Runs the program in the folder of the fat binary fixtures, so that paths in its output are short and the same
/// everywhere.
fn audit(arguments: &[&str]) -> Output {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/fatbin");
    cargo_bin_cmd!("blockgate")
        .current_dir(fixtures)
        .env_remove("NO_COLOR")
        .arg("audit")
        .args(arguments)
        .output()
        .unwrap()
}

#[track_caller]
fn check(arguments: &[&str], status: i32, stdout: &Expect) {
    let output = audit(arguments);
    let printed = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = printed.lines().map(str::trim_end).collect();
    stdout.assert_eq(&(lines.join("\n") + "\n"));
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{complaint}");
}

const CONVERSIONS: &str = r"sass(F2FP\.SATFINITE\.E2M1) > 0";

#[test]
fn census_of_a_fat_binary() {
    check(&["toolkits/x.fatbin"], 0, &expect![[""]]);
}

#[test]
fn census_of_an_archive() {
    check(&["toolkits/x_ar.a", "--sass", "^F2FP", "--sass", "^EXIT$"], 0, &expect![[""]]);
}

#[test]
fn machine_output_is_versioned_and_raw() {
    check(&["toolkits/x_121a.fatbin", "--format", "json", "--sass", "^EXIT$"], 0, &expect![[""]]);
}

#[test]
fn a_plain_build_fails_the_expectation_and_a_combined_one_holds_it() {
    check(&["cases/a05_plain.o", "--expect", CONVERSIONS], 1, &expect![[""]]);
    check(&["cases/a05_combined.o", "--expect", CONVERSIONS, "--expect", "ptx(sm_121) == 1"], 0, &expect![[""]]);
}

#[test]
fn one_member_may_hold_the_only_converter() {
    let arguments =
        ["cases/a07.a", "--expect", CONVERSIONS, "--expect", r"sass(F2FP\.SATFINITE\.E2M1) == 0 in K0*"];
    check(&arguments, 0, &expect![[""]]);
}

#[test]
fn expectations_hold_over_the_files_together() {
    check(
        &[
            "cubins/e_130_121a.cubin",
            "cubins/e_130_121.cubin",
            "--expect",
            "cubins(sm_121*) == 2",
            "--expect",
            "cubins(sm_121a) == 1",
            "--expect",
            "ptx(*) == 0",
        ],
        0,
        &expect![[""]],
    );
}

#[test]
fn what_cannot_be_disassembled_is_listed_and_fails_only_who_asks() {
    check(&["cubins/e_124_50.cubin"], 0, &expect![[""]]);
    check(&["cubins/e_124_50.cubin", "--expect", "sass(.) == 0"], 3, &expect![[""]]);
}

#[test]
fn a_damaged_image_hides_no_other_and_no_count() {
    check(
        &["edge/z_corrupt.fatbin", "--expect", "sass(.)@sm_90a > 0", "--expect", "sass(.)@sm_121a > 0"],
        3,
        &expect![[""]],
    );
}

#[test]
fn a_file_that_is_cut_satisfies_nothing() {
    check(&["edge/trunc_last8.fatbin", "--expect", "cubins(sm_80) >= 1"], 3, &expect![[""]]);
}

#[test]
fn a_host_object_without_device_code_says_so() {
    check(&["toolkits/p_host.o"], 0, &expect![[""]]);
}

#[test]
fn members_of_a_thin_archive_are_opened_beside_it() {
    check(&["archives/thin.a", "--list-only"], 0, &expect![[""]]);
}

#[test]
fn a_member_that_is_not_there_is_not_a_pass() {
    check(&["toolkits/x_ar.a", "--expect", "sass(E2M1) == 0 in nothing.o"], 3, &expect![[""]]);
}

#[test]
fn the_converter_in_ptx_text_gets_a_warning() {
    let arguments = ["edge/c5.ptx", "--expect", r"ptx_text(cvt\.rn\.satfinite\.e2m1x2) == 0"];
    check(&arguments, 0, &expect![[""]]);
    assert_eq!(audit(&[&arguments[..], &["--strict"]].concat()).status.code(), Some(1));
}

#[test]
fn the_worst_status_wins() {
    check(&["no-such-file", "cubins/e_130_121.cubin", "--expect", "ptx(*) > 0"], 3, &expect![[""]]);
}

#[test]
fn wrong_usage_is_2() {
    for arguments in [
        &["toolkits/x.fatbin", "--expect", "cubins(sm_121a) => 1"][..],
        &["toolkits/x.fatbin", "--list-only", "--sass", "."][..],
        &[][..],
    ] {
        let output = audit(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(output.stdout.is_empty());
        assert!(!output.stderr.is_empty());
    }
}
