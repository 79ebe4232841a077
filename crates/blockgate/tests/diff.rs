//! `blockgate diff` as a user runs it: output and exit status.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "the tests run a program on files"
)]

mod support;

use expect_test::{Expect, expect};

use support::{blockgate, fixtures};

#[track_caller]
fn check(arguments: &[&str], status: i32, stdout: &Expect) {
    let output = blockgate(&fixtures("diff"), &[&["diff"], arguments].concat());
    let printed = String::from_utf8(output.stdout).unwrap();
    // Findings are sentences; tables fit.
    for line in printed.lines().filter(|line| !line.contains("error[")) {
        assert!(
            line.chars().count() <= 100 || arguments.contains(&"json"),
            "{} columns: {line}",
            line.chars().count()
        );
    }
    let lines: Vec<&str> = printed.lines().map(str::trim_end).collect();
    stdout.assert_eq(&(lines.join("\n") + "\n"));
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{complaint}");
}

#[test]
fn archives_are_compared_member_by_member() {
    check(
        &["old.a", "new.a"],
        0,
        &expect![[r#"
        old.a -> new.a: 42.9 KiB -> 46.5 KiB (+3.5 KiB)
         arch   kind   images  same code  kernels same  changed  new  gone  instr.    stored
         sm_80  cubin       4          2             3        1    1     1       0       0 B
         sm_90  cubin  0 -> 1          0             0        0    1     0     +16  +3.4 KiB
         sm_80  ptx         4          2             –        –    –     –       –     +15 B
        sm_80: NOP -2, FMUL +1, MOV +1
        sm_90: NOP +9, LDC +2, BRA +1, EXIT +1, HFMA2 +1, STG +1, and 1 more
        only in the new input: 1 member
          fresh.o
        only in the old input: 1 member
          gone.o
        images, largest change first:
         where    arch   kind   change  kernels  instr.    stored
         wider.o  sm_90  cubin  new      1 of 1     +16  +3.4 KiB
         fresh.o  sm_80  cubin  new      1 of 1     +16  +3.0 KiB
         gone.o   sm_80  cubin  gone     1 of 1     -16  -3.0 KiB
         fresh.o  sm_80  ptx    new           –       –    +201 B
         gone.o   sm_80  ptx    gone          –       –    -198 B
         scale.o  sm_80  ptx    code          –       –     +12 B
         scale.o  sm_80  cubin  code     1 of 2       0       0 B
        kernels, largest change first (with its architecture, and in how many more):
         kernel  arch   change  instr.  mnemonics
         scale   sm_80  code         0  NOP -2, FMUL +1
        total: 4 of 5 modules changed; kernels 3 same, 1 changed, 2 new, 1 gone; images +3.4 KiB
        compared: the code of kernels byte by byte, and the text of PTX; not relocations, notes, debug data
    "#]],
    );
}

#[test]
fn regions_are_compared_by_their_kernels() {
    check(
        &[
            "old.fatbin",
            "new.fatbin",
            "--same-code",
            "same*",
            "--same-code",
            "scale*",
        ],
        1,
        &expect![[r#"
            old.fatbin -> new.fatbin: 11.8 KiB -> 15.2 KiB (+3.4 KiB)
             arch   kind   images  same code  kernels same  changed  new  gone  instr.    stored
             sm_80  cubin  3 -> 4          2             3        1    1     0     +16  +3.0 KiB
             sm_80  ptx    3 -> 4          2             –        –    –     –       –    +213 B
            sm_80: NOP +6, MOV +3, IMAD +2, BRA +1, EXIT +1, FMUL +1, and 2 more
            images, largest change first:
             where     arch   kind   change  kernels  instr.    stored
             0: fresh  sm_80  cubin  new      1 of 1     +16  +3.0 KiB
             0: fresh  sm_80  ptx    new           –       –    +201 B
             2: shift  sm_80  ptx    code          –       –     +12 B
             2: shift  sm_80  cubin  code     1 of 2       0       0 B
            kernels, largest change first (with its architecture, and in how many more):
             kernel  arch   change  instr.  mnemonics
             scale   sm_80  code         0  NOP -2, FMUL +1
            holds: same code in same* (1 kernel compared)
            fails: same code in scale* (1 difference)
              changed: sm_80 cubin, scale(float*, float)
            total: 2 of 4 modules changed; kernels 3 same, 1 changed, 1 new, 0 gone; images +3.2 KiB
            compared: the code of kernels byte by byte, and the text of PTX; not relocations, notes, debug data
        "#]],
    );
}

#[test]
fn a_file_is_the_same_as_itself() {
    check(
        &["old.a", "old.a", "--same-code", "*"],
        0,
        &expect![[r#"
        old.a -> old.a: 42.9 KiB -> 42.9 KiB (0 B)
         arch   kind   images  same code  kernels same  changed  new  gone  instr.  stored
         sm_80  cubin       4          4             5        0    0     0       0     0 B
         sm_80  ptx         4          4             –        –    –     –       –     0 B
        holds: same code in * (8 images compared)
        total: the inputs are the same, byte for byte
    "#]],
    );
}

#[test]
fn machine_output_has_raw_numbers() {
    check(
        &[
            "old.fatbin",
            "new.fatbin",
            "--format",
            "json",
            "--same-code",
            "s*",
        ],
        1,
        &expect![[r#"
        {
          "schema": "blockgate.diff/1",
          "compared": "code sections of kernels and text of PTX, byte for byte; not relocations, notes, debug data, constants",
          "identical": false,
          "old": {
            "path": "old.fatbin",
            "format": "fatbin",
            "size": 12120,
            "sha256": "2c4e08247226fc15e0e2456279c47f31edd64cdb497b7240d207b59ad1e29894"
          },
          "new": {
            "path": "new.fatbin",
            "format": "fatbin",
            "size": 15608,
            "sha256": "90e08605bb16020ee4235c0599e7143fb9edc31ce9e5c685f7a5c0f7260b87c4"
          },
          "members": [],
          "modules": [
            {
              "member": null,
              "change": "added",
              "old_region": null,
              "new_region": 0,
              "images": [
                {
                  "arch": "sm_80",
                  "kind": "cubin",
                  "change": "added",
                  "code": "different",
                  "old": null,
                  "new": {
                    "offset": 16,
                    "stored_size": 3112,
                    "size": 3112,
                    "instructions": 16,
                    "kernels": 1
                  },
                  "kernels": [
                    {
                      "name": "_Z5freshPi",
                      "change": "added",
                      "code": "different",
                      "old": null,
                      "new": {
                        "code_size": 256,
                        "instructions": 16,
                        "sha256": "f864d50e9c2ff17223bfbd5ac82ad2a6d9baebe18d12ee4fcabc21d92e3d8b8e"
                      },
                      "mnemonics": {
                        "BRA": [
                          0,
                          1
                        ],
                        "EXIT": [
                          0,
                          1
                        ],
                        "IMAD": [
                          0,
                          2
                        ],
                        "MOV": [
                          0,
                          2
                        ],
                        "NOP": [
                          0,
                          8
                        ],
                        "STG": [
                          0,
                          1
                        ],
                        "ULDC": [
                          0,
                          1
                        ]
                      }
                    }
                  ]
                },
                {
                  "arch": "sm_80",
                  "kind": "ptx",
                  "change": "added",
                  "code": "different",
                  "old": null,
                  "new": {
                    "offset": 3192,
                    "stored_size": 201,
                    "size": 279,
                    "instructions": null,
                    "kernels": 1
                  },
                  "kernels": []
                }
              ]
            },
            {
              "member": null,
              "change": "changed",
              "old_region": 1,
              "new_region": 2,
              "images": [
                {
                  "arch": "sm_80",
                  "kind": "cubin",
                  "change": "changed",
                  "code": "different",
                  "old": {
                    "offset": 3488,
                    "stored_size": 4712,
                    "size": 4712,
                    "instructions": 48,
                    "kernels": 2
                  },
                  "new": {
                    "offset": 6968,
                    "stored_size": 4712,
                    "size": 4712,
                    "instructions": 48,
                    "kernels": 2
                  },
                  "kernels": [
                    {
                      "name": "_Z5scalePff",
                      "change": "changed",
                      "code": "different",
                      "old": {
                        "code_size": 384,
                        "instructions": 24,
                        "sha256": "5a134abe30448cf8c50347a0f71c93d9cc83f437d10763397977252cee7ee0d1"
                      },
                      "new": {
                        "code_size": 384,
                        "instructions": 24,
                        "sha256": "025cd1687893517b5543bd8036457ee29b3e4354bebc04247a35d4f71de35b64"
                      },
                      "mnemonics": {
                        "FMUL": [
                          1,
                          2
                        ],
                        "MOV": [
                          1,
                          2
                        ],
                        "NOP": [
                          14,
                          12
                        ]
                      }
                    }
                  ]
                },
                {
                  "arch": "sm_80",
                  "kind": "ptx",
                  "change": "changed",
                  "code": "different",
                  "old": {
                    "offset": 8264,
                    "stored_size": 299,
                    "size": 907,
                    "instructions": null,
                    "kernels": 2
                  },
                  "new": {
                    "offset": 11744,
                    "stored_size": 311,
                    "size": 930,
                    "instructions": null,
                    "kernels": 2
                  },
                  "kernels": []
                }
              ]
            }
          ],
          "totals": [
            {
              "arch": "sm_80",
              "kind": "cubin",
              "images": {
                "old": 3,
                "new": 4
              },
              "identical_images": 2,
              "not_compared_images": 0,
              "same_kernels": 3,
              "changed_kernels": 1,
              "added_kernels": 1,
              "removed_kernels": 0,
              "instructions": {
                "old": 80,
                "new": 96
              },
              "stored_size": {
                "old": 10936,
                "new": 14048
              },
              "size": {
                "old": 10936,
                "new": 14048
              },
              "mnemonics": {
                "BRA": [
                  4,
                  5
                ],
                "EXIT": [
                  4,
                  5
                ],
                "FMUL": [
                  1,
                  2
                ],
                "IMAD": [
                  6,
                  8
                ],
                "MOV": [
                  6,
                  9
                ],
                "NOP": [
                  44,
                  50
                ],
                "STG": [
                  4,
                  5
                ],
                "ULDC": [
                  4,
                  5
                ]
              }
            },
            {
              "arch": "sm_80",
              "kind": "ptx",
              "images": {
                "old": 3,
                "new": 4
              },
              "identical_images": 2,
              "not_compared_images": 0,
              "same_kernels": 0,
              "changed_kernels": 0,
              "added_kernels": 0,
              "removed_kernels": 0,
              "instructions": null,
              "stored_size": {
                "old": 695,
                "new": 908
              },
              "size": {
                "old": 1459,
                "new": 1761
              },
              "mnemonics": {}
            }
          ],
          "gates": [
            {
              "same_code": "s*",
              "scope": null,
              "compared": null,
              "holds": false,
              "differences": [
                "changed: sm_80 cubin, scale(float*, float)"
              ],
              "reason": null
            }
          ],
          "findings": []
        }
    "#]],
    );
}

#[test]
fn what_cannot_be_read_or_checked_is_no_pass() {
    check(
        &["old.fatbin", "build.sh"],
        3,
        &expect![[r#"
            old.fatbin -> build.sh: 11.8 KiB -> 1.2 KiB (-10.6 KiB)
             arch   kind   images  same code  kernels same  changed  new  gone  instr.     stored
             sm_80  cubin  3 -> 0          0             0        0    0     4     -80  -10.6 KiB
             sm_80  ptx    3 -> 0          0             –        –    –     –       –     -695 B
            sm_80: NOP -44, IMAD -6, MOV -6, BRA -4, EXIT -4, STG -4, and 6 more
            images, largest change first:
             where     arch   kind   change  kernels  instr.    stored
             1: shift  sm_80  cubin  gone     2 of 2     -48  -4.6 KiB
             0: same   sm_80  cubin  gone     1 of 1     -16  -3.0 KiB
             2: gone   sm_80  cubin  gone     1 of 1     -16  -3.0 KiB
             1: shift  sm_80  ptx    gone          –       –    -299 B
             0: same   sm_80  ptx    gone          –       –    -198 B
             2: gone   sm_80  ptx    gone          –       –    -198 B
            total: 3 of 3 modules changed; kernels 0 same, 0 changed, 0 new, 4 gone; images -11.3 KiB
            compared: the code of kernels byte by byte, and the text of PTX; not relocations, notes, debug data
            build.sh at offset 0x0: error[unreadable]: expected an ELF, PE, COFF or Mach-O file, an archive, a fat binary (50 ed 55 ba), a cubin or PTX text, found bytes 23 21 2f 62 69 6e 2f 73
        "#]],
    );
    check(
        &["old.fatbin", "new.fatbin", "--same-code", "nothing"],
        3,
        &expect![[r#"
        old.fatbin -> new.fatbin: 11.8 KiB -> 15.2 KiB (+3.4 KiB)
         arch   kind   images  same code  kernels same  changed  new  gone  instr.    stored
         sm_80  cubin  3 -> 4          2             3        1    1     0     +16  +3.0 KiB
         sm_80  ptx    3 -> 4          2             –        –    –     –       –    +213 B
        sm_80: NOP +6, MOV +3, IMAD +2, BRA +1, EXIT +1, FMUL +1, and 2 more
        images, largest change first:
         where     arch   kind   change  kernels  instr.    stored
         0: fresh  sm_80  cubin  new      1 of 1     +16  +3.0 KiB
         0: fresh  sm_80  ptx    new           –       –    +201 B
         2: shift  sm_80  ptx    code          –       –     +12 B
         2: shift  sm_80  cubin  code     1 of 2       0       0 B
        kernels, largest change first (with its architecture, and in how many more):
         kernel  arch   change  instr.  mnemonics
         scale   sm_80  code         0  NOP -2, FMUL +1
        not checked: same code in nothing (it matches no member and no kernel)
        total: 2 of 4 modules changed; kernels 3 same, 1 changed, 1 new, 0 gone; images +3.2 KiB
        compared: the code of kernels byte by byte, and the text of PTX; not relocations, notes, debug data
    "#]],
    );
}
