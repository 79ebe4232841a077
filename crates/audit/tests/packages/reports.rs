//! What people and programs are shown of packages.

use blockgate_audit::{NoProgress, Options, audit_bytes};
use expect_test::expect;

use crate::support::*;

#[test]
fn a_wheel_for_a_person() {
    expect![[r#"
        x.whl: wheel, 15.6 KiB, device code: present, 14 images
        device code in 2 of 6 files (binaries: 3, others: 3):
         file                 size  device code  cubins                            PTX
         pkg/lib/libx.so   1.0 MiB  present      sm_80 ×2, sm_100f ×2, sm_120a ×2  sm_120a
         pkg/lib/libk.a   40.8 KiB  present      sm_121 ×3, sm_121a                sm_121 ×3
         arch     kind   images  kernels  instructions  E2M1    stored      size
         sm_80    cubin       2        2            56     0   6.3 KiB   6.3 KiB
         sm_100f  cubin       2        2            56     0  10.2 KiB  10.2 KiB
         sm_120a  cubin       2        2            56     0  10.2 KiB  10.2 KiB
         sm_121   cubin       3        3            56     0  15.1 KiB  15.1 KiB
         sm_121a  cubin       1        1            24     1   5.1 KiB   5.1 KiB
         sm_120a  ptx         1        2             –     –     463 B   1.2 KiB
         sm_121   ptx         3        3             –     –     682 B   1.0 KiB
        zstd: 4 images, for a driver of CUDA 12.4 (550) or later

        exit status 0
    "#]]
    .assert_eq(&human(&of_bytes("x.whl", &zip(&wheel_files()))));
}

#[test]
fn a_wheel_for_a_program() {
    let files = [
        ("k/k.cubin", fixture("cubins/e_130_121a.cubin")),
        ("k/notes.txt", b"text".to_vec()),
        ("k-1.dist-info/WHEEL", b"Wheel-Version: 1.0\n".to_vec()),
    ];
    let whole = json(&of_bytes(
        "x.whl",
        &zip_by(&files, zip::CompressionMethod::Stored),
    ));
    expect![[r#"
        {
          "schema": "blockgate.audit/1",
          "inputs": [
            {
              "path": "x.whl",
              "format": "wheel",
              "size": 5367,
              "device_code": "present",
              "driver_floor": null,
              "members": [
                {
                  "name": "k/k.cubin",
                  "file": "k/k.cubin",
                  "size": 5016,
                  "device_code": "present"
                }
              ],
              "other_files": 2,
              "images": [
                {
                  "member": "k/k.cubin",
                  "file": "k/k.cubin",
                  "section": null,
                  "region": 0,
                  "offset": 0,
                  "kind": "cubin",
                  "arch": "sm_121a",
                  "arch_certain": true,
                  "relocatable": false,
                  "counted": true,
                  "compression": "none",
                  "stored_size": 5016,
                  "container": null,
                  "identical_to": null,
                  "size": 5016,
                  "toolkit": "13.0.88",
                  "tools": [
                    {
                      "name": "ptxas",
                      "version": "Cuda compilation tools, release 13.0, V13.0.88",
                      "build": "Build cuda_13.0.r13.0/compiler.36424714_0",
                      "command": "-arch sm_121a"
                    }
                  ],
                  "cuda_note": {
                    "virtual_arch": "compute_121",
                    "toolkit": "13.0"
                  },
                  "ptx": null,
                  "ptx_text": {},
                  "kernels": 1,
                  "instructions": 16,
                  "sass": {},
                  "functions": [],
                  "module": null
                }
              ],
              "totals": {
                "cubins": {
                  "sm_121a": 1
                },
                "ptx": {},
                "other": {},
                "unknown_arch": 0,
                "left_out": 0,
                "kernels": {
                  "sm_121a": 1
                },
                "instructions": {
                  "sm_121a": 16
                },
                "sass": {
                  "sm_121a": {}
                },
                "bytes": {
                  "sm_121a": {
                    "stored": 5016,
                    "size": 5016
                  }
                },
                "unattributed_bytes": 0
              },
              "ptx_text": {}
            }
          ],
          "expectations": [],
          "findings": [],
          "policy": null,
          "waived": [],
          "unchecked": []
        }
    "#]]
    .assert_eq(&whole);
}

#[test]
fn a_package_without_device_code_says_so() {
    let files = [
        ("a.py", b"print()".to_vec()),
        ("libhost.so", fixture("hosts/without-device-code.o")),
    ];
    expect![[r#"
        x.zip: zip, 388 B, device code: none, 0 images
        no device code found in 2 files (binaries: 1, others: 1)

        exit status 0
    "#]]
    .assert_eq(&human(&of_bytes("x.zip", &zip(&files))));
}

#[test]
fn a_damaged_library_hides_no_other_and_is_named() {
    let mut files = wheel_files();
    files.push(("pkg/lib/libcut.so", fixture("edge/trunc.so")));
    files.push(("pkg/data.7z", b"7z\xbc\xaf\x27\x1c\0\x04".to_vec()));
    expect![[r#"
        x.whl: wheel, 20.1 KiB, device code: unreadable, 14 images
        device code in 2 of 6 files (binaries: 3, others: 3):
         file                 size  device code  cubins                            PTX
         pkg/lib/libx.so   1.0 MiB  present      sm_80 ×2, sm_100f ×2, sm_120a ×2  sm_120a
         pkg/lib/libk.a   40.8 KiB  present      sm_121 ×3, sm_121a                sm_121 ×3
         arch     kind   images  kernels  instructions  E2M1    stored      size
         sm_80    cubin       2        2            56     0   6.3 KiB   6.3 KiB
         sm_100f  cubin       2        2            56     0  10.2 KiB  10.2 KiB
         sm_120a  cubin       2        2            56     0  10.2 KiB  10.2 KiB
         sm_121   cubin       3        3            56     0  15.1 KiB  15.1 KiB
         sm_121a  cubin       1        1            24     1   5.1 KiB   5.1 KiB
         sm_120a  ptx         1        2             –     –     463 B   1.2 KiB
         sm_121   ptx         3        3             –     –     682 B   1.0 KiB
        zstd: 4 images, for a driver of CUDA 12.4 (550) or later

        x.whl(pkg/lib/libcut.so) at offset 0x28: error[unreadable]: expected a section table within 0xa6000 bytes, found its offset as 0x114ef0: the file is cut short or lies
        x.whl(pkg/data.7z) at offset 0x4e7b: error[unreadable]: expected a file of a format that is read here, found a 7z file
        exit status 3
    "#]].assert_eq(&human(&of_bytes("x.whl", &zip(&files))));
}

/// One file of a package is selected by its name, as a release check of one library of a wheel needs.
#[test]
fn expectations_select_files_of_a_package() {
    let wheel = zip(&[
        ("pkg/libgood.so", fixture("cases/a05_combined.o")),
        ("pkg/libbad.so", fixture("cases/a05_plain.o")),
        ("pkg/lib/libk.a", fixture("cases/a07.a")),
    ]);
    for (expression, status) in [
        (r"sass(F2FP\.SATFINITE\.E2M1) >= 1 in *libgood.so", 0),
        (r"sass(F2FP\.SATFINITE\.E2M1) >= 1 in *libbad.so", 1),
        (r"cubins(sm_121a) == 1 in pkg/lib/libk.a/*", 0),
        (r"cubins(sm_121a) == 2", 0),
        (r"size == 12368 in pkg/libbad.so", 0),
        (r"cubins(*) == 0 in nothing.so", 3),
    ] {
        let options = Options {
            expectations: vec![expression.parse().unwrap()],
            ..Options::default()
        };
        let report = audit_bytes("x.whl", &wheel, &options, &NoProgress);
        assert_eq!(
            report.status(false).code(),
            status,
            "{expression}: {:?}",
            report.evaluations
        );
    }
}
