//! `blockgate resolve` as a user runs it: output and exit status.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "the tests run a program on files"
)]

mod support;

use expect_test::{Expect, expect};

use support::{blockgate, fixtures};

#[track_caller]
fn check(arguments: &[&str], status: i32, stdout: &Expect, stderr: Option<&Expect>) {
    let output = blockgate(&fixtures("fatbin"), &[&["resolve"], arguments].concat());
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    stdout.assert_eq(&text(&output.stdout));
    match stderr {
        Some(expected) => expected.assert_eq(&text(&output.stderr)),
        None => assert_eq!(text(&output.stderr), ""),
    }
    assert_eq!(output.status.code(), Some(status));
}

#[test]
fn the_summary_has_a_row_per_device_and_image() {
    check(
        &[
            "cases/a01.o",
            "-d",
            "B300",
            "-d",
            "B200",
            "-d",
            "h100",
            "-d",
            "l4",
            "-d",
            "rtx 5090",
        ],
        1,
        &expect![[r#"
            cases/a01.o: 1 kernel in 1 module
             device                   takes     by            modules  kernels  tensor code  driver
             B300 (10.3)              NO IMAGE  –                   1        1  –            –
             B200 (10.0)              sm_100a   machine code        1        1  none         any
             H100 (9.0)               sm_90a    machine code        1        1  none         any
             L4 (8.9)                 sm_80     machine code        1        1  none         any
             GeForce RTX 5090 (12.0)  NO IMAGE  –                   1        1  –            –
            B300 (10.3): no image for 1 kernel in 1 module
              sm_80: does not load: machine code runs on its own major version only
              sm_90a: does not load: architecture-specific code runs on its own compute capability only
              sm_100a: does not load: architecture-specific code runs on its own compute capability only
                k(int*)
              would do: sm_103a, sm_100f or sm_100, or plain PTX of this or an earlier capability
            GeForce RTX 5090 (12.0): no image for 1 kernel in 1 module
              sm_80: does not load: machine code runs on its own major version only
              sm_90a: does not load: architecture-specific code runs on its own compute capability only
              sm_100a: does not load: architecture-specific code runs on its own compute capability only
                k(int*)
              would do: sm_120a, sm_120f or sm_120, or plain PTX of this or an earlier capability

        "#]],
        None,
    );
}

#[test]
fn an_archive_is_resolved_member_by_member() {
    check(
        &["cases/a07.a", "-d", "gb10", "--kernels"],
        0,
        &expect![[r#"
        cases/a07.a: 3 kernels in 3 modules
         device       takes    by            modules  kernels  tensor code  driver
         GB10 (12.1)  sm_121   machine code        2        2  none         any
                      sm_121a  machine code        1        1  E2M1 1       any
        GB10 (12.1): not documented which is taken, sm_121a or sm_121, in 1 module
        GB10 (12.1), by module:
          k0.o, .nv_fatbin region 0: sm_121
            k(int*)
          k0b.o, .nv_fatbin region 0: sm_121
            kb(int*)
          kg.o, .nv_fatbin region 0: sm_121a
            kg(float const*, unsigned short*)

    "#]],
        None,
    );
}

#[test]
fn a_driver_may_be_too_old() {
    check(
        &["cases/a17_shorthand.o", "-d", "12.0", "--driver", "12.9"],
        1,
        &expect![[r#"
            cases/a17_shorthand.o: 1 kernel in 1 module, driver of CUDA 12.9
             device  takes     by  modules  kernels  tensor code  driver
             12.0    NO IMAGE  –         1        1  –            –
            12.0: no image for 1 kernel in 1 module
              sm_89: does not load: machine code runs on its own major version only
              compute_89: PTX 9.0 needs a driver of CUDA 13.0
                k(int*)
              would do: sm_120a, sm_120f or sm_120, or plain PTX of this or an earlier capability

        "#]],
        None,
    );
    check(
        &["toolkits/x_ar.a", "-d", "8.0", "--driver", "12.3"],
        1,
        &expect![[r#"
            toolkits/x_ar.a: 2 kernels in 1 module, driver of CUDA 12.3
             device  takes     by  modules  kernels  tensor code  driver
             8.0     NO IMAGE  –         1        2  –            –
            without kernels: 1 module
            8 images are input of a device link: the driver loads what is linked from them
            8.0: no image for 2 kernels in 1 module
              sm_80: zstd needs a driver of CUDA 12.4 (550) or later
              sm_100f: does not load: family code runs on its own family only
              compute_120a: does not load: architecture-specific code runs on its own compute capability only
              sm_120a: does not load: architecture-specific code runs on its own compute capability only
                void tk<float>(float*)
                kern
              would do: sm_80, or plain PTX of this or an earlier capability

        "#]],
        None,
    );
    check(
        &["cases/a05_plain.o", "-d", "gb10", "--driver", "12.8"],
        1,
        &expect![[r#"
            cases/a05_plain.o: 1 kernel in 1 module, driver of CUDA 12.8
             device       takes     by  modules  kernels  tensor code  driver
             GB10 (12.1)  NO IMAGE  –         1        1  –            –
            GB10 (12.1): no image for 1 kernel in 1 module
              sm_121: the device is known from CUDA 12.9 on
              compute_121: the device is known from CUDA 12.9 on
                kg(float const*, unsigned short*)

        "#]],
        None,
    );
}

#[test]
fn a_header_that_claims_something_else_is_reported() {
    check(
        &["cases/claims_120.fatbin", "-d", "12.0", "-d", "12.1"],
        1,
        &expect![[r#"
        cases/claims_120.fatbin: 1 kernel in 1 module
         device  takes   by            modules  kernels  tensor code  driver
         12.0    sm_120  machine code        1        1  none         any
         12.1    sm_120  machine code        1        1  none         any
        12.0: the header says sm_120, the code is sm_120a, which loads here (1 module)
        12.1: the header says sm_120, the code is sm_120a, which does not load here (1 module)

        cases/claims_120.fatbin at offset 0x2c: warning[suffix-disagreement]: expected sm_120, as the entry header says, found sm_120a by the cubin itself
    "#]],
        None,
    );
}

#[test]
fn nothing_to_resolve_is_no_pass() {
    check(
        &["toolkits/p_lto.o", "-d", "12.1"],
        3,
        &expect![[r#"
        toolkits/p_lto.o: 0 kernels in 0 modules
        not checked: 1 module of LTO-IR or unknown images, whose kernels are not known
        2 images are input of a device link: the driver loads what is linked from them

        not checked: there is no kernel that an image could be chosen for
    "#]],
        None,
    );
    check(
        &["hosts/without-device-code.o", "-d", "12.1"],
        3,
        &expect![[r#"
        not checked: there is no kernel that an image could be chosen for
    "#]],
        None,
    );
    check(
        &["edge/z_corrupt.fatbin", "-d", "12.1"],
        3,
        &expect![[r#"
            edge/z_corrupt.fatbin: 1 kernel in 1 module
             device  takes   by            modules  kernels  tensor code  driver
             12.1    sm_121  machine code        1        1  none         CUDA 12.4+
            12.1: not checked: another image, which could not be looked into, may be taken in 1 module

            edge/z_corrupt.fatbin at offset 0x80: error[unreadable-image]: expected zstd data that decompresses to 0x14d0 bytes, found 0x4fc bytes that do not: Data corruption detected
        "#]],
        None,
    );
}

#[test]
fn machine_output_names_every_reason() {
    check(
        &["cases/a01.o", "-d", "B300", "-d", "10.0", "--format", "json"],
        1,
        &expect![[r#"
            {
              "schema": "blockgate.resolve/1",
              "driver": null,
              "libraries": [
                {
                  "path": "cases/a01.o",
                  "file": null,
                  "modules": 1,
                  "kernels": 1,
                  "modules_without_kernels": 0,
                  "opaque_modules": 0,
                  "relocatable_images": 0,
                  "only_device": null,
                  "devices": [
                    {
                      "name": "B300",
                      "capability": "10.3",
                      "complete": false,
                      "takes": [],
                      "no_image": {
                        "modules": 1,
                        "kernels": 1
                      },
                      "would_do": [
                        "sm_103a",
                        "sm_100f",
                        "sm_100"
                      ],
                      "driver_problem": null,
                      "later_major": {
                        "modules": 0,
                        "kernels": 0
                      },
                      "module_rows": [
                        {
                          "member": null,
                          "section": ".nv_fatbin",
                          "region": 0,
                          "kernels": [
                            "_Z1kPi"
                          ],
                          "image": null,
                          "offset": null,
                          "contradiction": null,
                          "not_documented": [],
                          "unknown_images": 0,
                          "missing": [],
                          "excluded": [
                            {
                              "image": "sm_80",
                              "offset": 944,
                              "reason": "does not load: machine code runs on its own major version only"
                            },
                            {
                              "image": "sm_90a",
                              "offset": 3992,
                              "reason": "does not load: architecture-specific code runs on its own compute capability only"
                            },
                            {
                              "image": "sm_100a",
                              "offset": 7624,
                              "reason": "does not load: architecture-specific code runs on its own compute capability only"
                            }
                          ]
                        }
                      ]
                    },
                    {
                      "name": null,
                      "capability": "10.0",
                      "complete": true,
                      "takes": [
                        {
                          "image": "sm_100a",
                          "by": "machine-code",
                          "modules": 1,
                          "kernels": 1,
                          "code": {
                            "e2m1_conversions": 0,
                            "mma": {},
                            "unknown_images": 0
                          },
                          "driver_floor": null
                        }
                      ],
                      "no_image": {
                        "modules": 0,
                        "kernels": 0
                      },
                      "would_do": [],
                      "driver_problem": null,
                      "later_major": {
                        "modules": 0,
                        "kernels": 0
                      },
                      "module_rows": []
                    }
                  ]
                }
              ],
              "findings": []
            }
        "#]],
        None,
    );
}

#[test]
fn an_unknown_device_is_wrong_usage() {
    check(
        &["cases/a01.o", "-d", "RTX 6000"],
        2,
        &expect![[""]],
        Some(&expect![[r#"
        error: invalid value 'RTX 6000' for '--device <CC|NAME>': `RTX 6000` names no device; near names: RTX PRO 6000 Blackwell (12.0), RTX 6000 Ada (8.9), RTX A6000 (8.6), Quadro RTX 6000 (7.5)

        For more information, try '--help'.
    "#]]),
    );
    check(
        &["cases/a01.o"],
        2,
        &expect![[""]],
        Some(&expect![[r#"
        error: the following required arguments were not provided:
          --device <CC|NAME>

        Usage: blockgate resolve --device <CC|NAME> <FILE>...

        For more information, try '--help'.
    "#]]),
    );
}
