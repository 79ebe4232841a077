//! `blockgate audit` of Windows and macOS files, and of device code where nobody looks for it.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "the tests run a program on files"
)]

mod support;

use expect_test::{Expect, expect};

use support::{blockgate, fixtures};

/// Runs the program in the folder of the fat binary fixtures; what it prints on both streams.
#[track_caller]
fn check(arguments: &[&str], status: i32, printed: &Expect) {
    let output = blockgate(&fixtures("fatbin"), &[&["audit"], arguments].concat());
    let all = [output.stdout, output.stderr].concat();
    printed.assert_eq(&String::from_utf8(all).unwrap());
    assert_eq!(output.status.code(), Some(status));
}

#[test]
fn a_windows_library() {
    check(
        &["windows/kernels.dll"],
        0,
        &expect![[r#"
            windows/kernels.dll: pe-dll, 13.5 KiB, device code: present, 3 images
             arch     kind   images  kernels  instructions  E2M1   stored     size
             sm_121a  cubin       2        2            32     0  9.7 KiB  9.7 KiB
            left out: 1 relocatable image that linked ones were made from

            windows/kernels.dll at offset 0x1e10: warning[duplicate-image]: 1 image for sm_121a, byte for byte the same as earlier ones (4.8 KiB)
              note: here: region 1 at 0x1e10 as at 0xa10
            windows/kernels.dll at offset 0xa10: info[label-without-code]: no instruction that the plain target lacks in 2 of 2 images for sm_121a
              note: here: region 0, region 1
            windows/kernels.dll: info[no-forward-ptx]: no PTX for a plain target, so a GPU that is later than all of these finds nothing to run
              note: there are images for sm_121a
        "#]],
    );
}

#[test]
fn a_windows_archive_with_an_import_library_in_it() {
    check(
        &["windows/kernels.lib"],
        0,
        &expect![[r#"
            windows/kernels.lib: archive, 12.6 KiB, device code: present, 3 images
             arch     kind   images  kernels  instructions  E2M1   stored     size
             sm_121a  cubin       2        2            32     0  9.7 KiB  9.7 KiB
            left out: 1 relocatable image that linked ones were made from

            windows/kernels.lib(an-object-with-a-long-name.obj) at offset 0x2db1: info[compiled-at-run-time]: expected device code, which this file has none of, found CUDA source text with `__global__`, to be compiled at run time
            windows/kernels.lib(kernels.obj) at offset 0x16bd: warning[duplicate-image]: 1 image for sm_121a, byte for byte the same as earlier ones (4.8 KiB)
              note: here: kernels.obj at 0x16bd as at 0x2bd
            windows/kernels.lib(kernels.obj) at offset 0x2bd: info[label-without-code]: no instruction that the plain target lacks in 2 of 2 images for sm_121a
              note: here: kernels.obj, kernels.obj
            windows/kernels.lib: info[no-forward-ptx]: no PTX for a plain target, so a GPU that is later than all of these finds nothing to run
              note: there are images for sm_121a
        "#]],
    );
}

#[test]
fn a_large_windows_object() {
    check(
        &["windows/big.obj", "--list-only"],
        0,
        &expect![[r#"
            windows/big.obj: coff-object, 10.8 KiB, device code: present, 3 images
             arch     kind   images   stored     size
             sm_121a  cubin       2  9.7 KiB  9.7 KiB
            left out: 1 relocatable image that linked ones were made from

            windows/big.obj at offset 0x1539: warning[duplicate-image]: 1 image for sm_121a, byte for byte the same as earlier ones (4.8 KiB)
              note: here: region 1 at 0x1539 as at 0x139
            windows/big.obj: info[no-forward-ptx]: no PTX for a plain target, so a GPU that is later than all of these finds nothing to run
              note: there are images for sm_121a
            not checked: 3 rules (label-without-code, partial-coverage, suffix-disagreement), because headers only were read
        "#]],
    );
}

#[test]
fn a_macos_library_and_a_universal_archive() {
    check(
        &["macos/kernels.dylib", "macos/universal.a", "--list-only"],
        0,
        &expect![[r#"
            macos/kernels.dylib: mach-o-shared, 8.0 KiB, device code: present, 2 images
             arch   kind   images   stored     size
             sm_75  cubin       1  2.4 KiB  2.4 KiB
            left out: 1 relocatable image that linked ones were made from

            macos/universal.a: mach-o-universal, 4.0 KiB, device code: present, 2 images
             arch   kind   images   stored     size
             sm_75  cubin       1  2.4 KiB  2.4 KiB
            left out: 1 relocatable image that linked ones were made from

            macos/universal.a(x86_64/run-time.o) at offset 0x1020: info[compiled-at-run-time]: expected device code, which this file has none of, found the function `_nvrtcCompileProgram` of the run-time compiler
            macos/kernels.dylib: info[no-forward-ptx]: no PTX for a plain target, so a GPU that is later than all of these finds nothing to run
              note: there are images for sm_75
            macos/universal.a: info[no-forward-ptx]: no PTX for a plain target, so a GPU that is later than all of these finds nothing to run
              note: there are images for sm_75
            not checked: 3 rules (label-without-code, partial-coverage, suffix-disagreement), because headers only were read
        "#]],
    );
}

#[test]
fn device_code_among_other_data() {
    check(
        &["odd/data.so"],
        0,
        &expect![[r#"
            odd/data.so: elf-shared, 14.3 KiB, device code: present, 6 images
             arch     kind    images  kernels  instructions  E2M1   stored     size
             sm_75    cubin        1        1             8     0  2.4 KiB  2.4 KiB
             sm_121a  cubin        1        1            16     0  4.8 KiB  4.8 KiB
             sm_90    ptx          1        2             –     –    248 B    235 B
             sm_121   ptx          1        1             –     –     80 B     74 B
             sm_80    lto-ir       1        –             –     –  1.9 KiB  2.5 KiB
             sm_120a  lto-ir       1        –             –     –  2.3 KiB  3.0 KiB
            zstd: 2 images, for a driver of CUDA 12.4 (550) or later

            odd/data.so at offset 0x371: warning[ptx-repeated-directive]: expected one `.version`, found another `.version`
            odd/data.so at offset 0x37e: warning[ptx-repeated-directive]: expected one `.target`, found another `.target`
            odd/data.so: info[compression-driver-floor]: 2 images compressed with zstd, which needs a driver of CUDA 12.4 (550) or later
            odd/data.so at offset 0x2038: info[label-without-code]: no instruction that the plain target lacks in 1 of 1 image for sm_121a
              note: here: region 0
        "#]],
    );
}

#[test]
fn what_starts_like_device_code_and_is_none_is_said() {
    check(
        &["odd/near-miss.o"],
        0,
        &expect![[r#"
            odd/near-miss.o: elf-relocatable, 6.8 KiB, device code: present, 1 image
             arch     kind   images  kernels  instructions  E2M1   stored     size
             sm_121a  cubin       1        1            16     0  4.8 KiB  4.8 KiB

            odd/near-miss.o at offset 0xe10: warning[near-miss]: expected a section of a cubin within 0x1398 bytes, where it starts like device code, found 0xa0003 bytes from 0xfd00000000 (and 3 more in this section): not taken for device code
            odd/near-miss.o at offset 0x15c0: warning[near-miss]: expected the section table of a cubin within 0x3e8 bytes, where it starts like device code, found 0x300 bytes from 0x600: not taken for device code
            odd/near-miss.o at offset 0x15c: info[label-without-code]: no instruction that the plain target lacks in 1 of 1 image for sm_121a
              note: here: region 0
        "#]],
    );
}

#[test]
fn code_compiled_at_run_time_is_not_taken_for_none() {
    check(
        &[
            "windows/run-time.dll",
            "macos/run-time.dylib",
            "odd/run-time.so",
            "odd/source.o",
            "odd/libnvrtc.so",
        ],
        0,
        &expect![[r#"
            windows/run-time.dll: pe-dll, 2.0 KiB, device code: nvrtc-only, 0 images

            macos/run-time.dylib: mach-o-shared, 8.2 KiB, device code: nvrtc-only, 0 images

            odd/run-time.so: elf-shared, 2.1 KiB, device code: nvrtc-only, 0 images

            odd/source.o: elf-relocatable, 552 B, device code: nvrtc-only, 0 images

            odd/libnvrtc.so: elf-shared, 1.6 KiB, device code: none, 0 images

            windows/run-time.dll at offset 0x6ac: info[compiled-at-run-time]: expected device code, which this file has none of, found the shared library `nvrtc64_130_0.dll` of the run-time compiler
            macos/run-time.dylib at offset 0x3f8: info[compiled-at-run-time]: expected device code, which this file has none of, found the shared library `@rpath/libnvrtc.10.2.dylib` of the run-time compiler
            odd/run-time.so at offset 0x2e0: info[compiled-at-run-time]: expected device code, which this file has none of, found the shared library `libnvrtc.so.13` of the run-time compiler
            odd/source.o at offset 0x4c: info[compiled-at-run-time]: expected device code, which this file has none of, found CUDA source text with `__global__`, to be compiled at run time
        "#]],
    );
}

#[test]
fn what_cannot_be_checked_is_a_failure() {
    check(
        &[
            "odd/offloading.o",
            "odd/missing-region.o",
            "odd/headless-none.o",
            "odd/core.elf",
        ],
        3,
        &expect![[r#"
            odd/offloading.o: elf-relocatable, 464 B, device code: unreadable, 0 images

            odd/missing-region.o: elf-relocatable, 888 B, device code: ptx-only, 1 image
             arch    kind  images  kernels  instructions  E2M1  stored  size
             sm_121  ptx        1        1             –     –    80 B  74 B

            odd/headless-none.o: unknown, 552 B, device code: unreadable, 0 images

            odd/core.elf: unknown, 552 B, device code: unreadable, 0 images

            odd/offloading.o at offset 0x40: error[unread-packaging]: expected device code in regions (50 ed 55 ba), found 0x10 bytes of LLVM's offload packaging, which is not read here
            odd/missing-region.o at offset 0x40: error[missing-regions]: expected 2 regions, which the program registers, found 1
            odd/headless-none.o at offset 0x28: error[unreadable]: expected the offset of a section table, found 0: it has none
            odd/core.elf at offset 0x10: error[unreadable]: expected an ELF object (1), executable (2) or shared object (3), found ELF type 4, the core of a process
        "#]],
    );
}

#[test]
fn expectations_hold_for_a_windows_library() {
    check(
        &["windows/kernels.dll", "--expect", "cubins(sm_121a) == 2"],
        0,
        &expect![[r#"
            windows/kernels.dll: pe-dll, 13.5 KiB, device code: present, 3 images
             arch     kind   images  kernels  instructions  E2M1   stored     size
             sm_121a  cubin       2        2            32     0  9.7 KiB  9.7 KiB
            left out: 1 relocatable image that linked ones were made from

            holds: cubins(sm_121a) == 2 (found 2)
            windows/kernels.dll at offset 0x1e10: warning[duplicate-image]: 1 image for sm_121a, byte for byte the same as earlier ones (4.8 KiB)
              note: here: region 1 at 0x1e10 as at 0xa10
            windows/kernels.dll at offset 0xa10: info[label-without-code]: no instruction that the plain target lacks in 2 of 2 images for sm_121a
              note: here: region 0, region 1
            windows/kernels.dll: info[no-forward-ptx]: no PTX for a plain target, so a GPU that is later than all of these finds nothing to run
              note: there are images for sm_121a
        "#]],
    );
}
