//! `blockgate audit` as a user runs it: output, expectations and exit status.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "the tests run a program on files"
)]

mod support;

use std::path::{Path, PathBuf};
use std::process::Output;

use assert_cmd::cargo::cargo_bin_cmd;
use expect_test::{Expect, expect};

use support::{blockgate, fixtures};

fn audit(arguments: &[&str]) -> Output {
    blockgate(&fixtures("fatbin"), &[&["audit"], arguments].concat())
}

#[track_caller]
fn check(arguments: &[&str], status: i32, stdout: &Expect) {
    let output = audit(arguments);
    let printed = String::from_utf8(output.stdout).unwrap();
    stdout.assert_eq(&printed);
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{complaint}");
}

const CONVERSIONS: &str = r"sass(F2FP\.SATFINITE\.E2M1) > 0";

#[test]
fn census_of_a_fat_binary() {
    check(
        &["toolkits/x.fatbin"],
        0,
        &expect![[r#"
            toolkits/x.fatbin: fatbin, 22.8 KiB, device code: present, 4 images
             arch     kind   images  kernels  instructions  E2M1   stored     size
             sm_80    cubin       1        2            56     0  4.8 KiB  4.8 KiB
             sm_100f  cubin       1        2            56     0  8.5 KiB  8.5 KiB
             sm_120a  cubin       1        2            56     0  8.5 KiB  8.5 KiB
             sm_120a  ptx         1        2             –     –    463 B  1.2 KiB
            zstd: 1 image, for a driver of CUDA 12.4 (550) or later

            toolkits/x.fatbin: info[compression-driver-floor]: 1 image compressed with zstd, which needs a driver of CUDA 12.4 (550) or later
            toolkits/x.fatbin: info[family-image]: 1 image for the family target sm_100f
              note: code that asks for the specific target (sm_100a) before it uses the hardware conversion takes its software path here
            toolkits/x.fatbin at offset 0x38a8: info[label-without-code]: no instruction that the plain target lacks in 1 of 1 image for sm_120a
              note: here: region 0
            toolkits/x.fatbin: info[no-forward-ptx]: no PTX for a plain target, so a GPU that is later than all of these finds nothing to run
              note: there are images for sm_80, sm_100f, sm_120a, compute_120a
              note: PTX for a specific or family target is compiled for that capability or family alone
        "#]],
    );
}

#[test]
fn census_of_an_archive() {
    check(
        &["toolkits/x_ar.a", "--sass", "^F2FP", "--sass", "^EXIT$"],
        0,
        &expect![[r#"
            toolkits/x_ar.a: archive, 23.8 KiB, device code: present, 8 images
             arch     kind   images  kernels  instructions  E2M1   stored      size
             sm_80    cubin       2        2            64     0  1.7 KiB   7.0 KiB
             sm_100f  cubin       2        2            64     0  2.7 KiB  12.3 KiB
             sm_120a  cubin       2        2            64     0  2.7 KiB  12.3 KiB
             sm_120a  ptx         2        2             –     –    640 B   1.3 KiB
            zstd: 8 images, for a driver of CUDA 12.4 (550) or later
             mnemonic  sm_80  sm_100f  sm_120a
             EXIT          2        2        2

            toolkits/x_ar.a: info[compression-driver-floor]: 8 images compressed with zstd, which needs a driver of CUDA 12.4 (550) or later
            toolkits/x_ar.a: info[family-image]: 2 images for the family target sm_100f
              note: code that asks for the specific target (sm_100a) before it uses the hardware conversion takes its software path here
            toolkits/x_ar.a(x_r1.o) at offset 0x17c4: info[label-without-code]: no instruction that the plain target lacks in 2 of 2 images for sm_120a
              note: here: x_r1.o, x_r2.o
            toolkits/x_ar.a: info[no-forward-ptx]: no PTX for a plain target, so a GPU that is later than all of these finds nothing to run
              note: there are images for sm_80, sm_100f, sm_120a, compute_120a
              note: PTX for a specific or family target is compiled for that capability or family alone
        "#]],
    );
}

#[test]
fn machine_output_is_versioned_and_raw() {
    check(
        &["toolkits/x_121a.fatbin", "--format", "json", "--sass", "^EXIT$"],
        0,
        &expect![[r#"
            {
              "schema": "blockgate.audit/1",
              "inputs": [
                {
                  "path": "toolkits/x_121a.fatbin",
                  "format": "fatbin",
                  "size": 10016,
                  "device_code": "present",
                  "driver_floor": "12.4",
                  "members": [],
                  "other_files": 0,
                  "images": [
                    {
                      "member": null,
                      "file": null,
                      "section": null,
                      "region": 0,
                      "offset": 16,
                      "kind": "ptx",
                      "arch": "sm_121",
                      "arch_certain": true,
                      "relocatable": false,
                      "counted": true,
                      "compression": "zstd",
                      "stored_size": 462,
                      "container": null,
                      "identical_to": null,
                      "size": 1239,
                      "toolkit": null,
                      "tools": [],
                      "cuda_note": null,
                      "ptx": {
                        "version": "9.0",
                        "target": "sm_121",
                        "target_options": [],
                        "address_size": 64,
                        "entries": []
                      },
                      "ptx_text": {},
                      "kernels": 2,
                      "instructions": null,
                      "sass": {},
                      "functions": [],
                      "module": null
                    },
                    {
                      "member": null,
                      "file": null,
                      "section": null,
                      "region": 0,
                      "offset": 560,
                      "kind": "cubin",
                      "arch": "sm_121a",
                      "arch_certain": true,
                      "relocatable": false,
                      "counted": true,
                      "compression": "none",
                      "stored_size": 8800,
                      "container": null,
                      "identical_to": null,
                      "size": 8800,
                      "toolkit": "13.0.88",
                      "tools": [
                        {
                          "name": "ptxas",
                          "version": "Cuda compilation tools, release 13.0, V13.0.88",
                          "build": "Build cuda_13.0.r13.0/compiler.36424714_0",
                          "command": "-arch sm_121a -m 64"
                        }
                      ],
                      "cuda_note": {
                        "virtual_arch": "compute_121",
                        "toolkit": "13.0"
                      },
                      "ptx": null,
                      "ptx_text": {},
                      "kernels": 2,
                      "instructions": 56,
                      "sass": {
                        "EXIT": 2
                      },
                      "functions": [],
                      "module": null
                    },
                    {
                      "member": null,
                      "file": null,
                      "section": null,
                      "region": 0,
                      "offset": 9472,
                      "kind": "ptx",
                      "arch": "sm_121a",
                      "arch_certain": true,
                      "relocatable": false,
                      "counted": true,
                      "compression": "zstd",
                      "stored_size": 463,
                      "container": null,
                      "identical_to": null,
                      "size": 1240,
                      "toolkit": null,
                      "tools": [],
                      "cuda_note": null,
                      "ptx": {
                        "version": "9.0",
                        "target": "sm_121a",
                        "target_options": [],
                        "address_size": 64,
                        "entries": []
                      },
                      "ptx_text": {},
                      "kernels": 2,
                      "instructions": null,
                      "sass": {},
                      "functions": [],
                      "module": null
                    }
                  ],
                  "totals": {
                    "cubins": {
                      "sm_121a": 1
                    },
                    "ptx": {
                      "sm_121": 1,
                      "sm_121a": 1
                    },
                    "other": {},
                    "unknown_arch": 0,
                    "left_out": 0,
                    "kernels": {
                      "sm_121a": 2
                    },
                    "instructions": {
                      "sm_121a": 56
                    },
                    "sass": {
                      "sm_121a": {
                        "EXIT": 2
                      }
                    },
                    "bytes": {
                      "sm_121": {
                        "stored": 462,
                        "size": 1239
                      },
                      "sm_121a": {
                        "stored": 9263,
                        "size": 10040
                      }
                    },
                    "unattributed_bytes": 0
                  },
                  "ptx_text": {}
                }
              ],
              "expectations": [],
              "findings": [
                {
                  "rule": "compression-driver-floor",
                  "severity": "info",
                  "message": "2 images compressed with zstd, which needs a driver of CUDA 12.4 (550) or later",
                  "location": {
                    "path": "toolkits/x_121a.fatbin",
                    "member": null,
                    "offset": null
                  },
                  "notes": [],
                  "fix": null
                },
                {
                  "rule": "label-without-code",
                  "severity": "info",
                  "message": "no instruction that the plain target lacks in 1 of 1 image for sm_121a",
                  "location": {
                    "path": "toolkits/x_121a.fatbin",
                    "member": null,
                    "offset": 560
                  },
                  "notes": [
                    "here: region 0"
                  ],
                  "fix": null
                }
              ],
              "policy": null,
              "waived": [],
              "unchecked": []
            }
        "#]],
    );
}

#[test]
fn a_plain_build_fails_the_expectation_and_a_combined_one_holds_it() {
    check(
        &["cases/a05_plain.o", "--expect", CONVERSIONS],
        1,
        &expect![[r#"
            cases/a05_plain.o: elf-relocatable, 12.0 KiB, device code: present, 2 images
             arch    kind   images  kernels  instructions  E2M1   stored     size
             sm_121  cubin       1        1            24     0  5.1 KiB  5.1 KiB
             sm_121  ptx         1        1             –     –    275 B    540 B
            zstd: 1 image, for a driver of CUDA 12.4 (550) or later

            fails: sass(F2FP\.SATFINITE\.E2M1) > 0 (found 0)
            cases/a05_plain.o: info[compression-driver-floor]: 1 image compressed with zstd, which needs a driver of CUDA 12.4 (550) or later
            cases/a05_plain.o: info[missing-specific-image]: 1 image for sm_121 and none for sm_121a
              note: the conversion to E2M1 and the block-scaled MMA exist for sm_121a, not for sm_121
        "#]],
    );
    check(
        &[
            "cases/a05_combined.o",
            "--expect",
            CONVERSIONS,
            "--expect",
            "ptx(sm_121) == 1",
        ],
        0,
        &expect![[r#"
            cases/a05_combined.o: elf-relocatable, 17.3 KiB, device code: present, 3 images
             arch     kind   images  kernels  instructions  E2M1   stored     size
             sm_121   cubin       1        1            24     0  5.1 KiB  5.1 KiB
             sm_121a  cubin       1        1            24     1  5.1 KiB  5.1 KiB
             sm_121   ptx         1        1             –     –    275 B    540 B
            zstd: 1 image, for a driver of CUDA 12.4 (550) or later

            holds: sass(F2FP\.SATFINITE\.E2M1) > 0 (found 1)
            holds: ptx(sm_121) == 1 (found 1)
            cases/a05_combined.o: info[compression-driver-floor]: 1 image compressed with zstd, which needs a driver of CUDA 12.4 (550) or later
        "#]],
    );
}

#[test]
fn one_member_may_hold_the_only_converter() {
    let arguments = [
        "cases/a07.a",
        "--expect",
        CONVERSIONS,
        "--expect",
        r"sass(F2FP\.SATFINITE\.E2M1) == 0 in k0*",
    ];
    check(
        &arguments,
        0,
        &expect![[r#"
            cases/a07.a: archive, 41.3 KiB, device code: present, 7 images
             arch     kind   images  kernels  instructions  E2M1    stored      size
             sm_121   cubin       3        3            56     0  15.1 KiB  15.1 KiB
             sm_121a  cubin       1        1            24     1   5.1 KiB   5.1 KiB
             sm_121   ptx         3        3             –     –     682 B   1.0 KiB
            zstd: 3 images, for a driver of CUDA 12.4 (550) or later

            holds: sass(F2FP\.SATFINITE\.E2M1) > 0 (found 1)
            holds: sass(F2FP\.SATFINITE\.E2M1) == 0 in k0* (found 0)
            cases/a07.a: info[compression-driver-floor]: 3 images compressed with zstd, which needs a driver of CUDA 12.4 (550) or later
        "#]],
    );
}

#[test]
fn a_specific_image_without_the_conversion_is_caught() {
    let arguments = [
        "cases/c23.o",
        "--expect",
        r"sass(F2FP\.SATFINITE\.E2M1)@sm_100a > 0",
        "--expect",
        r"sass(F2FP\.SATFINITE\.E2M1)@sm_103a > 0",
    ];
    check(
        &arguments,
        1,
        &expect![[r#"
            cases/c23.o: elf-relocatable, 21.8 KiB, device code: present, 3 images
             arch     kind   images  kernels  instructions  E2M1   stored     size
             sm_100f  cubin       1        1            16     0  4.9 KiB  4.9 KiB
             sm_100a  cubin       1        1            24     1  5.1 KiB  5.1 KiB
             sm_103a  cubin       1        1            16     0  4.9 KiB  4.9 KiB

            holds: sass(F2FP\.SATFINITE\.E2M1)@sm_100a > 0 (found 1)
            fails: sass(F2FP\.SATFINITE\.E2M1)@sm_103a > 0 (found 0)
            cases/c23.o: info[family-image]: 1 image for the family target sm_100f
              note: code that asks for the specific target (sm_100a) before it uses the hardware conversion takes its software path here
            cases/c23.o at offset 0x1900: info[label-without-code]: no instruction that the plain target lacks in 1 of 1 image for sm_103a
              note: here: region 0
            cases/c23.o: info[no-forward-ptx]: no PTX for a plain target, so a GPU that is later than all of these finds nothing to run
              note: there are images for sm_100f, sm_100a, sm_103a
        "#]],
    );
}

#[test]
fn a_block_scaled_product_that_was_compiled_out_is_caught() {
    let arguments = [
        "cases/a13_120.cubin",
        "cases/a13_120a.cubin",
        "--expect",
        r"sass(OMMA\.SF.*E2M1\.E2M1\.UE4M3\.4X)@sm_120a > 0",
        "--expect",
        r"sass(OMMA)@sm_120 > 0",
    ];
    check(
        &arguments,
        1,
        &expect![[r#"
            cases/a13_120.cubin: cubin, 5.1 KiB, device code: present, 1 image
             arch    kind   images  kernels  instructions  E2M1   stored     size
             sm_120  cubin       1        1            16     0  5.1 KiB  5.1 KiB

            cases/a13_120a.cubin: cubin, 5.6 KiB, device code: present, 1 image
             arch     kind   images  kernels  instructions  E2M1   stored     size
             sm_120a  cubin       1        1            32     0  5.6 KiB  5.6 KiB

            holds: sass(OMMA\.SF.*E2M1\.E2M1\.UE4M3\.4X)@sm_120a > 0 (found 1)
            fails: sass(OMMA)@sm_120 > 0 (found 0)
        "#]],
    );
}

#[test]
fn matrix_instructions_are_told_by_shape_and_type() {
    let arguments = [
        "cases/wgmma_90a.cubin",
        "cases/tcgen05_100a.cubin",
        "--sass",
        "^HGMMA.64x128x16",
        "--sass",
        "^UTCOMMA.*4X",
    ];
    check(
        &arguments,
        0,
        &expect![[r#"
            cases/wgmma_90a.cubin: cubin, 8.7 KiB, device code: present, 1 image
             arch    kind   images  kernels  instructions  E2M1   stored     size
             sm_90a  cubin       1        2           264     0  8.7 KiB  8.7 KiB
             mnemonic                  sm_90a
             HGMMA.64x128x16.F32.BF16       1

            cases/tcgen05_100a.cubin: cubin, 10.3 KiB, device code: present, 1 image
             arch     kind   images  kernels  instructions  E2M1    stored      size
             sm_100a  cubin       1        2           112     0  10.3 KiB  10.3 KiB
             mnemonic         sm_100a
             UTCOMMA.2CTA.4X        1
             UTCOMMA.4X             1

        "#]],
    );
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
        &expect![[r#"
            cubins/e_130_121a.cubin: cubin, 4.8 KiB, device code: present, 1 image
             arch     kind   images  kernels  instructions  E2M1   stored     size
             sm_121a  cubin       1        1            16     0  4.8 KiB  4.8 KiB

            cubins/e_130_121.cubin: cubin, 4.8 KiB, device code: present, 1 image
             arch    kind   images  kernels  instructions  E2M1   stored     size
             sm_121  cubin       1        1            16     0  4.8 KiB  4.8 KiB

            holds: cubins(sm_121*) == 2 (found 2)
            holds: cubins(sm_121a) == 1 (found 1)
            holds: ptx(*) == 0 (found 0)
            cubins/e_130_121a.cubin at offset 0x0: info[label-without-code]: no instruction that the plain target lacks in 1 of 1 image for sm_121a
              note: here: region 0
        "#]],
    );
}

#[test]
fn what_cannot_be_disassembled_is_listed_and_fails_only_who_asks() {
    check(
        &["cubins/e_124_50.cubin"],
        0,
        &expect![[r#"
            cubins/e_124_50.cubin: cubin, 1.9 KiB, device code: present, 1 image
             arch   kind   images  kernels  instructions  E2M1   stored     size
             sm_50  cubin       1        1             –     –  1.9 KiB  1.9 KiB
            not disassembled: 1 of the cubins, which no count here includes

        "#]],
    );
    check(
        &["cubins/e_124_50.cubin", "--expect", "sass(.) == 0"],
        3,
        &expect![[r#"
            cubins/e_124_50.cubin: cubin, 1.9 KiB, device code: present, 1 image
             arch   kind   images  kernels  instructions  E2M1   stored     size
             sm_50  cubin       1        1             –     –  1.9 KiB  1.9 KiB
            not disassembled: 1 of the cubins, which no count here includes

            not checked: sass(.) == 0 (instructions of the sm_50 cubin image (offset 0x0) cannot be counted)
        "#]],
    );
}

#[test]
fn a_damaged_image_hides_no_other_and_no_count() {
    check(
        &[
            "edge/z_corrupt.fatbin",
            "--expect",
            "sass(.)@sm_90a > 0",
            "--expect",
            "sass(.)@sm_121a > 0",
        ],
        3,
        &expect![[r#"
            edge/z_corrupt.fatbin: fatbin, 7.0 KiB, device code: present, 8 images
             arch     kind   images  kernels  instructions  E2M1   stored     size
             sm_80    cubin       1        1            24     0    830 B  3.0 KiB
             sm_90a   cubin       1        1            24     0    926 B  3.6 KiB
             sm_100f  cubin       1        1            24     0  1.2 KiB  5.1 KiB
             sm_121   cubin       1        1            24     0  1.2 KiB  5.2 KiB
             sm_121a  cubin       1        –             –     –  1.2 KiB  5.2 KiB
             sm_100f  ptx         1        1             –     –    287 B    557 B
             sm_121   ptx         1        1             –     –    286 B    556 B
             sm_121a  ptx         1        1             –     –    341 B    637 B
            zstd: 8 images, for a driver of CUDA 12.4 (550) or later
            not disassembled: 1 of the cubins, which no count here includes

            holds: sass(.)@sm_90a > 0 (found 24)
            not checked: sass(.)@sm_121a > 0 (instructions of the sm_121a cubin image (offset 0x10) cannot be counted)
            edge/z_corrupt.fatbin at offset 0x80: error[unreadable-image]: expected zstd data that decompresses to 0x14d0 bytes, found 0x4fc bytes that do not: Data corruption detected
            edge/z_corrupt.fatbin: info[compression-driver-floor]: 8 images compressed with zstd, which needs a driver of CUDA 12.4 (550) or later
            edge/z_corrupt.fatbin: info[family-image]: 1 image for the family target sm_100f
              note: code that asks for the specific target (sm_100a) before it uses the hardware conversion takes its software path here
            edge/z_corrupt.fatbin: info[family-image]: 1 image for the family target compute_100f
              note: code that asks for the specific target (sm_100a) before it uses the hardware conversion takes its software path here
            edge/z_corrupt.fatbin at offset 0x14a8: info[label-without-code]: no instruction that the plain target lacks in 1 of 1 image for sm_90a
              note: here: region 0
            not checked on edge/z_corrupt.fatbin: 1 rule (label-without-code), because sm_121a: instructions of the image at offset 0x10 cannot be counted
        "#]],
    );
}

#[test]
fn a_file_that_is_cut_satisfies_nothing() {
    check(
        &["edge/trunc_last8.fatbin", "--expect", "cubins(sm_80) >= 1"],
        3,
        &expect![[r#"
            edge/trunc_last8.fatbin: fatbin, 22.8 KiB, device code: present, 3 images
             arch     kind   images  kernels  instructions  E2M1   stored     size
             sm_80    cubin       1        2            56     0  4.8 KiB  4.8 KiB
             sm_100f  cubin       1        2            56     0  8.5 KiB  8.5 KiB
             sm_120a  ptx         1        2             –     –    463 B  1.2 KiB
            zstd: 1 image, for a driver of CUDA 12.4 (550) or later
            unattributed: 8.6 KiB in device-code sections

            not checked: cubins(sm_80) >= 1 (edge/trunc_last8.fatbin could not be read in full)
            edge/trunc_last8.fatbin at offset 0x8: error[region-cut]: expected a region that ends within 0x5b70 bytes, found entries of 0x5b68 bytes from 0x10
            edge/trunc_last8.fatbin at offset 0x38b0: error[entry-cut]: expected a payload (cubin, arch 120) of at most 0x2258 bytes, found 0x2260 bytes
            edge/trunc_last8.fatbin: info[compression-driver-floor]: 1 image compressed with zstd, which needs a driver of CUDA 12.4 (550) or later
            edge/trunc_last8.fatbin: info[family-image]: 1 image for the family target sm_100f
              note: code that asks for the specific target (sm_100a) before it uses the hardware conversion takes its software path here
            not checked on edge/trunc_last8.fatbin: 1 rule (no-forward-ptx), because it could not be read in full
        "#]],
    );
}

#[test]
fn a_file_without_device_code_says_so() {
    check(
        &["edge/empty.fatbin"],
        0,
        &expect![[r#"
        edge/empty.fatbin: fatbin, 16 B, device code: none, 0 images

    "#]],
    );
}

#[test]
fn a_member_of_a_thin_archive_that_is_gone_is_unreadable() {
    check(
        &["archives/thin.a", "--expect", "cubins(*) == 0"],
        3,
        &expect![[r#"
        archives/thin.a: thin-archive, 622 B, device code: unreadable, 0 images

        not checked: cubins(*) == 0 (archives/thin.a could not be read in full)
        archives/thin.a(a_member_with_a_long_name.cu.o) at offset 0x1f6: error[unreadable]: the thin archive's member cannot be opened: No such file or directory (os error 2)
        archives/thin.a(k.cubin) at offset 0x232: error[unreadable]: the thin archive's member cannot be opened: No such file or directory (os error 2)
    "#]],
    );
}

/// A folder with the thin archive and its first member, whose second member `k.cubin` is missing.
fn thin_archive() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    for (fixture, name) in [
        ("archives/thin.a", "thin.a"),
        ("cases/a05_combined.o", "a_member_with_a_long_name.cu.o"),
    ] {
        std::fs::copy(fixtures("fatbin").join(fixture), folder.path().join(name)).unwrap();
    }
    let archive = folder.path().join("thin.a");
    (folder, archive)
}

#[test]
fn members_of_a_thin_archive_are_opened_beside_it() {
    let (folder, archive) = thin_archive();
    std::fs::copy(
        fixtures("fatbin").join("cubins/e_130_90a.cubin"),
        folder.path().join("k.cubin"),
    )
    .unwrap();
    let output = audit(&[
        archive.to_str().unwrap(),
        "--expect",
        "cubins(*) == 3",
        "--expect",
        "cubins(sm_90a) == 1 in k.cubin",
        "--expect",
        &format!("{CONVERSIONS} in a_member*"),
    ]);
    let printed = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{printed}");
    assert_eq!(printed.matches("holds: ").count(), 3, "{printed}");
}

#[test]
fn a_member_of_a_thin_archive_must_be_a_file_with_code() {
    let (folder, archive) = thin_archive();
    let member = folder.path().join("k.cubin");
    let unreadable = |because: &str| {
        let output = audit(&[archive.to_str().unwrap(), "--expect", "cubins(*) == 2"]);
        let printed = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(3), "{printed}");
        assert!(printed.contains(because), "{printed}");
    };
    std::fs::create_dir(&member).unwrap();
    unreadable("is no regular file");
    std::fs::remove_dir(&member).unwrap();
    std::fs::copy(&archive, &member).unwrap();
    unreadable("a thin archive in a thin archive is not followed");
}

#[test]
fn a_member_that_is_not_there_is_not_a_pass() {
    check(
        &["toolkits/x_ar.a", "--expect", "sass(E2M1) == 0 in nothing.o"],
        3,
        &expect![[r#"
            toolkits/x_ar.a: archive, 23.8 KiB, device code: present, 8 images
             arch     kind   images  kernels  instructions  E2M1   stored      size
             sm_80    cubin       2        2            64     0  1.7 KiB   7.0 KiB
             sm_100f  cubin       2        2            64     0  2.7 KiB  12.3 KiB
             sm_120a  cubin       2        2            64     0  2.7 KiB  12.3 KiB
             sm_120a  ptx         2        2             –     –    640 B   1.3 KiB
            zstd: 8 images, for a driver of CUDA 12.4 (550) or later

            not checked: sass(E2M1) == 0 in nothing.o (no archive member has a name like that)
            toolkits/x_ar.a: info[compression-driver-floor]: 8 images compressed with zstd, which needs a driver of CUDA 12.4 (550) or later
            toolkits/x_ar.a: info[family-image]: 2 images for the family target sm_100f
              note: code that asks for the specific target (sm_100a) before it uses the hardware conversion takes its software path here
            toolkits/x_ar.a(x_r1.o) at offset 0x17c4: info[label-without-code]: no instruction that the plain target lacks in 2 of 2 images for sm_120a
              note: here: x_r1.o, x_r2.o
            toolkits/x_ar.a: info[no-forward-ptx]: no PTX for a plain target, so a GPU that is later than all of these finds nothing to run
              note: there are images for sm_80, sm_100f, sm_120a, compute_120a
              note: PTX for a specific or family target is compiled for that capability or family alone
        "#]],
    );
}

#[test]
fn the_converter_in_ptx_text_gets_a_warning() {
    let arguments = [
        "edge/c5.ptx",
        "--expect",
        r"ptx_text(cvt\.rn\.satfinite\.e2m1x2) == 0",
    ];
    check(
        &arguments,
        0,
        &expect![[r#"
        edge/c5.ptx: ptx, 73 B, device code: ptx-only, 1 image
         arch     kind  images  kernels  instructions  E2M1  stored  size
         sm_121a  ptx        1        1             –     –    73 B  73 B

        holds: ptx_text(cvt\.rn\.satfinite\.e2m1x2) == 0 (found 0)
        edge/c5.ptx: warning[converter-in-ptx-text]: `ptx_text(cvt\.rn\.satfinite\.e2m1x2) == 0` looks for the converter in PTX, where a correct build need not have it
          note: under a combined or per-source list the PTX comes from the plain pass, which holds no conversion; count it in machine code: sass(F2FP\.SATFINITE\.E2M1) >= 1
    "#]],
    );
    assert_eq!(
        audit(&[&arguments[..], &["--strict"]].concat()).status.code(),
        Some(1)
    );
}

#[test]
fn the_worst_status_wins() {
    check(
        &["no-such-file", "cubins/e_130_121.cubin", "--expect", "ptx(*) > 0"],
        3,
        &expect![[r#"
            no-such-file: unknown, 0 B, device code: unreadable, 0 images

            cubins/e_130_121.cubin: cubin, 4.8 KiB, device code: present, 1 image
             arch    kind   images  kernels  instructions  E2M1   stored     size
             sm_121  cubin       1        1            16     0  4.8 KiB  4.8 KiB

            not checked: ptx(*) > 0 (no-such-file could not be read in full)
            no-such-file: error[unreadable]: cannot be opened: No such file or directory (os error 2)
        "#]],
    );
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

#[test]
fn a_modifier_that_is_not_decoded_is_not_answered_with_0() {
    for pattern in [r"LDG\.E", r"\.64$", "HMMMA"] {
        let output = audit(&["toolkits/x.fatbin", "--expect", &format!("sass({pattern}) == 0")]);
        assert_eq!(output.status.code(), Some(3), "{pattern}");
        assert_eq!(
            audit(&["toolkits/x.fatbin", "--sass", pattern]).status.code(),
            Some(2),
            "{pattern}"
        );
    }
}

#[test]
fn a_report_goes_to_a_file_whole() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("report.html");
    let arguments = |path: &Path| {
        let mut arguments = vec![
            "toolkits/x.fatbin".to_owned(),
            "--format".to_owned(),
            "html".to_owned(),
        ];
        arguments.extend(["--output".to_owned(), path.display().to_string()]);
        arguments
    };
    std::fs::write(&page, "what was there before").unwrap();
    let run = |path: &Path| {
        let arguments = arguments(path);
        audit(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let output = run(&page);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 0));
    let printed = audit(&["toolkits/x.fatbin", "--format", "html"]).stdout;
    assert!(printed.starts_with(b"<!doctype html>"));
    assert_eq!(std::fs::read(&page).unwrap(), printed);
    // Nothing else is left in the folder, and a folder that is not there is said to be none.
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    let output = run(&folder.path().join("none/report.html"));
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{complaint}");
    assert!(complaint.starts_with("error: "), "{complaint}");
    assert!(
        complaint.contains("report.html cannot be written: "),
        "{complaint}"
    );
    // So is a folder that has the file's name, and the verdict of a report that went nowhere is none.
    let output = run(folder.path());
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[cfg(unix)]
#[test]
fn a_report_never_takes_the_place_of_a_link_or_a_pipe() {
    let folder = tempfile::tempdir().unwrap();
    let printed = audit(&["toolkits/x.fatbin", "--format", "json"]).stdout;
    let report_to = |path: &Path| {
        let path = path.display().to_string();
        audit(&["toolkits/x.fatbin", "--format", "json", "--output", &path])
    };
    let (target, link) = (folder.path().join("target"), folder.path().join("link"));
    std::fs::write(&target, "before").unwrap();
    std::os::unix::fs::symlink(&target, &link).unwrap();
    assert_eq!(report_to(&link).status.code(), Some(0));
    assert!(link.symlink_metadata().unwrap().is_symlink());
    assert_eq!(std::fs::read(&target).unwrap(), printed);
    // A device behaves the same, and a test that fails must not cost the system one.
    let pipe = folder.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || std::fs::read(pipe).unwrap()
    });
    assert_eq!(report_to(&pipe).status.code(), Some(0));
    assert!(!pipe.symlink_metadata().unwrap().is_file());
    assert_eq!(reader.join().unwrap(), printed);
}

#[test]
fn standard_input_may_be_a_file_or_a_pipe() {
    let archive = std::fs::read(fixtures("fatbin").join("cases/a07.a")).unwrap();
    let run = |input: std::process::Stdio, bytes: Option<&[u8]>| {
        let mut child = std::process::Command::new(cargo_bin_cmd!("blockgate").get_program())
            .args(["audit", "-", "--expect", "cubins(sm_121a) == 1"])
            .stdin(input)
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        if let Some(bytes) = bytes {
            std::io::Write::write_all(&mut child.stdin.take().unwrap(), bytes).unwrap();
        }
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        String::from_utf8(output.stdout).unwrap()
    };
    let piped = run(std::process::Stdio::piped(), Some(&archive));
    assert!(piped.starts_with("<stdin>: archive, 41.3 KiB, "), "{piped}");
    let file = std::fs::File::open(fixtures("fatbin").join("cases/a07.a")).unwrap();
    assert_eq!(run(file.into(), None), piped);
}

#[test]
fn standard_input_is_read_once() {
    let output = audit(&["-", "-"]);
    let printed = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(3), "{printed}");
    assert!(printed.contains("standard input can be read once"), "{printed}");
}
