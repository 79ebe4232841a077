//! `blockgate audit --kernels` and `--ptx-text`: what kernels take, and what PTX says.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "the tests run a program on files"
)]

mod support;

use std::process::Output;

use expect_test::{Expect, expect};

use support::{blockgate, fixtures};

fn audit(arguments: &[&str]) -> Output {
    blockgate(&fixtures("fatbin"), &[&["audit"], arguments].concat())
}

fn check(arguments: &[&str], status: i32, stdout: &Expect) {
    let output = audit(arguments);
    let text = String::from_utf8(output.stdout).unwrap();
    stdout.assert_eq(&text);
    assert_eq!(output.status.code(), Some(status), "{arguments:?}");
    // Sentences wrap by themselves; tables do not.
    let is_sentence = |line: &&str| line.contains("]: ") || line.starts_with("  note: ");
    let tables = text.lines().filter(|line| !is_sentence(line));
    let widest = tables.map(|line| line.chars().count()).max();
    assert!(
        arguments.contains(&"--wide") || widest <= Some(100),
        "{arguments:?} is {widest:?} columns wide"
    );
}

#[test]
fn kernels_are_listed_by_size_with_what_they_take() {
    check(
        &["resources/k_130_121a.cubin", "--kernels", "--sass", "^(STL|LDL)$"],
        0,
        &expect![[r#"
            resources/k_130_121a.cubin: cubin, 42.9 KiB, device code: present, 1 image
             arch     kind   images  kernels  instructions  E2M1    stored      size
             sm_121a  cubin       1        8           664     0  42.9 KiB  42.9 KiB
             mnemonic  sm_121a
             LDL            70
             STL            70
            sm_121a cubin, offset 0x0:
              ptxas 13.0.88 (cuda_13.0.r13.0/compiler.36424714_0) -v  -arch sm_121a
                  instr     size  regs  shared   local  spilled  const  kernel
                    304  4.7 KiB    24       0     128      148    916  calls
                         37 LDL  37 STL
                    184  2.8 KiB    24       0     136      136    912  spilled
                         32 LDL  32 STL
                     40    640 B     9       0      48        0    908  stack_array
                         1 LDL  1 STL
                     32    512 B    14       0       0        0    916  constant_banks
                     32    512 B    10    1024       0        0    904  static_shared
                     24    384 B    10       0       0        0    912  void outer::nested<outer::Tag<float>*, …
                     24    384 B     8       0       0        0    904  barriers
                     24    384 B     8       0       0        0    904  bounded

            resources/k_130_121a.cubin at offset 0x0: info[label-without-code]: no instruction that the plain target lacks in 1 of 1 image for sm_121a
              note: here: region 0
        "#]],
    );
}

#[test]
fn spills_are_unknown_where_the_assembler_left_no_list() {
    check(
        &["resources/k_124_90.cubin", "--kernels"],
        0,
        &expect![[r#"
            resources/k_124_90.cubin: cubin, 23.1 KiB, device code: present, 1 image
             arch   kind   images  kernels  instructions  E2M1    stored      size
             sm_90  cubin       1        8           664     0  23.1 KiB  23.1 KiB
            sm_90 cubin, offset 0x0:
              CUDA 12.4, without a note
                  instr     size  regs  shared   local  spilled  const  kernel
                    304  4.7 KiB    24       0     144        –    548  calls
                    184  2.8 KiB    24       0     136        –    544  spilled
                     40    640 B     8       0      48        –    540  stack_array
                     32    512 B    14       0       0        –    548  constant_banks
                     32    512 B    10    1024       0        –    536  static_shared
                     24    384 B    10       0       0        –    544  void outer::nested<outer::Tag<float>*, …
                     24    384 B     8       0       0        –    536  barriers
                     24    384 B     8       0       0        –    536  bounded

        "#]],
    );
}

#[test]
fn linked_functions_stand_beside_the_kernels_that_call_them() {
    check(
        &["resources/l_130_90.cubin", "--kernels", "--wide"],
        0,
        &expect![[r#"
            resources/l_130_90.cubin: cubin, 10.8 KiB, device code: present, 1 image
             arch   kind   images  kernels  instructions  E2M1    stored      size
             sm_90  cubin       1        1           304     0  10.8 KiB  10.8 KiB
            sm_90 cubin, offset 0x0:
              nvlink 13.0.88 (cuda_13.0.r13.0/compiler.36424714_0) -arch sm_90
              ptxas 13.0.88 (cuda_13.0.r13.0/compiler.36424714_0) -v  -arch sm_90 -c
              ptxas 13.0.88 (cuda_13.0.r13.0/compiler.36424714_0) -v  -arch sm_90 -c
                  instr     size  regs  shared   local  spilled  const  kernel
                    136  2.1 KiB    76       0       8        –      0  (device) helper(int*, int)
                     88  1.3 KiB    37       0      40        –      0  (device) leaf(int*, int)
                     80  1.2 KiB    76     128     112        0    540  caller

        "#]],
    );
}

#[test]
fn ptx_is_listed_and_searched() {
    check(
        &[
            "toolkits/p_def.o",
            "toolkits/x_121a.fatbin",
            "--kernels",
            "--ptx-text",
            r"st\.global",
            "--ptx-text",
            "nowhere",
        ],
        0,
        &expect![[r#"
            toolkits/p_def.o: elf-relocatable, 23.0 KiB, device code: present, 3 images
             arch     kind   images  kernels  instructions  E2M1   stored     size
             sm_80    cubin       1        2            56     0  4.8 KiB  4.8 KiB
             sm_120a  cubin       1        2            56     0  8.5 KiB  8.5 KiB
             sm_120a  ptx         1        2             –     –    463 B  1.2 KiB
            zstd: 1 image, for a driver of CUDA 12.4 (550) or later
             PTX text    sm_120a
             st\.global        2
             nowhere           0
            sm_80 cubin, offset 0x6b0:
              ptxas 13.0.88 (cuda_13.0.r13.0/compiler.36424714_0) -arch sm_80 -m 64
                  instr     size  regs  shared   local  spilled  const  kernel
                     32    512 B     8       0       0        0    368  kern
                     24    384 B     8       0       0        0    360  void tk<float>(float*)
            sm_120a ptx, offset 0x1a58:
              .version 9.0, .target sm_120a, 64-bit addresses, 2 entries
                kern
                void tk<float>(float*)
            sm_120a cubin, offset 0x1c78:
              ptxas 13.0.88 (cuda_13.0.r13.0/compiler.36424714_0) -arch sm_120a -m 64
                  instr     size  regs  shared   local  spilled  const  kernel
                     32    512 B    10       0       0        0    912  kern
                     24    384 B     8       0       0        0    904  void tk<float>(float*)

            toolkits/x_121a.fatbin: fatbin, 9.7 KiB, device code: present, 3 images
             arch     kind   images  kernels  instructions  E2M1   stored     size
             sm_121a  cubin       1        2            56     0  8.5 KiB  8.5 KiB
             sm_121   ptx         1        2             –     –    462 B  1.2 KiB
             sm_121a  ptx         1        2             –     –    463 B  1.2 KiB
            zstd: 2 images, for a driver of CUDA 12.4 (550) or later
             PTX text    sm_121  sm_121a
             st\.global       2        2
             nowhere          0        0
            sm_121 ptx, offset 0x10:
              .version 9.0, .target sm_121, 64-bit addresses, 2 entries
                kern
                void tk<float>(float*)
            sm_121a cubin, offset 0x230:
              ptxas 13.0.88 (cuda_13.0.r13.0/compiler.36424714_0) -arch sm_121a -m 64
                  instr     size  regs  shared   local  spilled  const  kernel
                     32    512 B    10       0       0        0    912  kern
                     24    384 B     8       0       0        0    904  void tk<float>(float*)
            sm_121a ptx, offset 0x2500:
              .version 9.0, .target sm_121a, 64-bit addresses, 2 entries
                kern
                void tk<float>(float*)

            toolkits/p_def.o: info[compression-driver-floor]: 1 image compressed with zstd, which needs a driver of CUDA 12.4 (550) or later
            toolkits/x_121a.fatbin: info[compression-driver-floor]: 2 images compressed with zstd, which needs a driver of CUDA 12.4 (550) or later
            toolkits/p_def.o at offset 0x1c78: info[label-without-code]: no instruction that the plain target lacks in 1 of 1 image for sm_120a
              note: here: region 0
            toolkits/x_121a.fatbin at offset 0x230: info[label-without-code]: no instruction that the plain target lacks in 1 of 1 image for sm_121a
              note: here: region 0
            toolkits/p_def.o: info[no-forward-ptx]: no PTX for a plain target, so a GPU that is later than all of these finds nothing to run
              note: there are images for sm_80, sm_120a, compute_120a
              note: PTX for a specific or family target is compiled for that capability or family alone
        "#]],
    );
}

#[test]
fn machine_output_has_raw_numbers_of_each_kernel() {
    let output = audit(&[
        "toolkits/x_121a.fatbin",
        "resources/s_135_90.cubin",
        "--kernels",
        "--ptx-text",
        r"\.entry",
        "--format",
        "json",
    ]);
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let shown = |at: &str| serde_json::to_string_pretty(document.pointer(at).unwrap()).unwrap();
    expect![[r#"
        {
          "address_size": 64,
          "entries": [
            {
              "demangled": null,
              "name": "kern"
            },
            {
              "demangled": "void tk<float>(float*)",
              "name": "_Z2tkIfEvPT_"
            }
          ],
          "target": "sm_121",
          "target_options": [],
          "version": "9.0"
        }"#]]
    .assert_eq(&shown("/inputs/0/images/0/ptx"));
    expect![[r#"
        {
          "barriers": 0,
          "code_size": 512,
          "constants": {
            "0": 912
          },
          "demangled": null,
          "entry": true,
          "exact_threads": null,
          "frame": 0,
          "instructions": 32,
          "local": 0,
          "local_loads": 0,
          "local_stores": 0,
          "max_threads": null,
          "name": "kern",
          "parameters": 16,
          "register_limit": 255,
          "registers": 10,
          "sass": {},
          "shared": 0,
          "spills": {
            "instructions": 0,
            "load_bytes": 0,
            "shared_load_bytes": 0,
            "shared_store_bytes": 0,
            "store_bytes": 0
          },
          "stack": 0,
          "static_shared": 0
        }"#]]
    .assert_eq(&shown("/inputs/0/images/1/functions/1"));
    expect![[r#"
        {
          "barriers": 0,
          "code_size": 5888,
          "constants": {
            "0": 544
          },
          "demangled": null,
          "entry": true,
          "exact_threads": null,
          "frame": 176,
          "instructions": 368,
          "local": 0,
          "local_loads": 41,
          "local_stores": 41,
          "max_threads": [
            64,
            1,
            1
          ],
          "name": "to_shared",
          "parameters": 16,
          "register_limit": 40,
          "registers": 40,
          "sass": {},
          "shared": 5120,
          "spills": {
            "instructions": 130,
            "load_bytes": 172,
            "shared_load_bytes": 96,
            "shared_store_bytes": 96,
            "store_bytes": 172
          },
          "stack": 176,
          "static_shared": 4096
        }"#]]
    .assert_eq(&shown("/inputs/1/images/0/functions/0"));
    expect![[r#"
        [
          {
            "build": "Build cuda_13.5.r13.5/compiler.39125733_0",
            "command": "-v  -arch sm_90",
            "name": "ptxas",
            "version": "Cuda compilation tools, release 13.5, V13.5.37"
          }
        ]"#]]
    .assert_eq(&shown("/inputs/1/images/0/tools"));
    expect![[r#"
        {
          "toolkit": "13.5",
          "virtual_arch": "compute_90"
        }"#]]
    .assert_eq(&shown("/inputs/1/images/0/cuda_note"));
    expect![[r#"
        {
          "constants": {},
          "global": 0
        }"#]]
    .assert_eq(&shown("/inputs/1/images/0/module"));
    assert_eq!(document["inputs"][0]["images"][0]["ptx_text"][r"\.entry"], 2);
    assert_eq!(document["inputs"][0]["ptx_text"][r"\.entry"]["sm_121"], 2);
    assert_eq!(document["inputs"][0]["ptx_text"][r"\.entry"]["sm_121a"], 2);
}

#[test]
fn the_flag_counts_what_the_expectation_counts() {
    for pattern in [r"st\.global", "(?m)^//", r"\.version"] {
        let output = audit(&[
            "toolkits/x_121a.fatbin",
            "--ptx-text",
            pattern,
            "--expect",
            &format!("ptx_text({pattern}) >= 0"),
            "--format",
            "json",
        ]);
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let counts = document["inputs"][0]["ptx_text"][pattern].as_object().unwrap();
        let sum: u64 = counts.values().filter_map(serde_json::Value::as_u64).sum();
        assert_eq!(document["expectations"][0]["found"], sum, "{pattern}");
    }
}

#[test]
fn a_bad_pattern_and_a_listing_alone_are_wrong_usage() {
    for arguments in [
        &["toolkits/x_121a.fatbin", "--ptx-text", "("][..],
        &["toolkits/x_121a.fatbin", "--ptx-text", "a", "--list-only"],
        &["toolkits/x_121a.fatbin", "--wide"],
    ] {
        assert_eq!(audit(arguments).status.code(), Some(2), "{arguments:?}");
    }
}
