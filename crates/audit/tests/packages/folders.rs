//! Folders: order, links, special files, packages and thin archives in them.

use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;

use expect_test::expect;

use crate::support::*;

fn folder(files: &[File<'_>]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
    folder
}

/// The report of a folder, with its path replaced, since that differs from run to run.
fn shown(path: &Path) -> String {
    human(&of_paths(&[path.to_owned()])).replace(path.to_str().unwrap(), "FOLDER")
}

#[test]
fn a_folder_is_one_input() {
    let mut files = wheel_files();
    files.push((
        "dist/x.whl",
        zip(&[("x.cubin", fixture("cubins/e_130_121a.cubin"))]),
    ));
    let folder = folder(&files);
    expect![[r#"
        FOLDER: directory, 1.1 MiB, device code: present, 15 images
        device code in 3 of 7 files (binaries: 4, others: 3):
         file                    size  device code  cubins                            PTX
         pkg/lib/libx.so      1.0 MiB  present      sm_80 ×2, sm_100f ×2, sm_120a ×2  sm_120a
         pkg/lib/libk.a      40.8 KiB  present      sm_121 ×3, sm_121a                sm_121 ×3
         dist/x.whl/x.cubin   4.8 KiB  present      sm_121a                           –
         arch     kind   images  kernels  instructions  E2M1    stored      size
         sm_80    cubin       2        2            56     0   6.3 KiB   6.3 KiB
         sm_100f  cubin       2        2            56     0  10.2 KiB  10.2 KiB
         sm_120a  cubin       2        2            56     0  10.2 KiB  10.2 KiB
         sm_121   cubin       3        3            56     0  15.1 KiB  15.1 KiB
         sm_121a  cubin       2        2            40     1  10.0 KiB  10.0 KiB
         sm_120a  ptx         1        2             –     –     463 B   1.2 KiB
         sm_121   ptx         3        3             –     –     682 B   1.0 KiB
        zstd: 4 images, for a driver of CUDA 12.4 (550) or later

        exit status 0
    "#]]
    .assert_eq(&shown(folder.path()));
}

#[test]
fn a_folder_with_nothing_says_so() {
    let with_text = folder(&[("a.txt", b"a".to_vec()), ("empty", Vec::new())]);
    expect![[r#"
        FOLDER: directory, 1 B, device code: none, 0 images
        no device code found in 2 files (binaries: 0, others: 2)

        exit status 0
    "#]]
    .assert_eq(&shown(with_text.path()));
    let empty = folder(&[]);
    expect![[r#"
        FOLDER: directory, 0 B, device code: none, 0 images
        no device code found in 0 files (binaries: 0, others: 0)

        exit status 0
    "#]]
    .assert_eq(&shown(empty.path()));
}

#[test]
fn links_are_named_and_not_followed() {
    let folder = folder(&[
        ("in/lib/libx.so.1", fixture("cubins/e_130_121a.cubin")),
        ("out/secret.cubin", fixture("cubins/e_130_90a.cubin")),
    ]);
    let root = folder.path().join("in");
    symlink("libx.so.1", root.join("lib/libx.so")).unwrap();
    symlink("..", root.join("lib/loop")).unwrap();
    symlink("../out", root.join("elsewhere")).unwrap();
    symlink("gone", root.join("dangling")).unwrap();
    std::fs::hard_link(root.join("lib/libx.so.1"), root.join("lib/libx.so.2")).unwrap();
    let _socket = UnixListener::bind(root.join("socket")).unwrap();
    expect![[r#"
        FOLDER: directory, 4.8 KiB, device code: present, 1 image
        device code in 1 of 1 file (binaries: 1, others: 0):
         file              size  device code  cubins   PTX
         lib/libx.so.1  4.8 KiB  present      sm_121a  –
         arch     kind   images  kernels  instructions  E2M1   stored     size
         sm_121a  cubin       1        1            16     0  4.8 KiB  4.8 KiB

        FOLDER: info[link-skipped]: links to what is read under its own name: 2
          note: lib/libx.so -> libx.so.1
          note: lib/loop -> ..
        FOLDER: info[link-skipped]: links out of the folder, not followed: 1
          note: elsewhere -> ../out
        FOLDER: info[link-skipped]: links that lead nowhere: 1
          note: dangling -> gone
        FOLDER: info[link-skipped]: further names of a file that is read once: 1
          note: lib/libx.so.2
        FOLDER: info[special-file]: pipes, sockets or devices, not opened: 1
          note: socket
        exit status 0
    "#]]
    .assert_eq(&shown(&root));
}

#[test]
fn a_thin_archive_stays_in_the_folder() {
    let folder = folder(&[
        ("in/thin.a", fixture("archives/thin.a")),
        (
            "in/a_member_with_a_long_name.cu.o",
            fixture("cases/a05_combined.o"),
        ),
        ("k.cubin", fixture("cubins/e_130_90a.cubin")),
    ]);
    let root = folder.path().join("in");
    symlink("../k.cubin", root.join("k.cubin")).unwrap();
    let report = of_paths(std::slice::from_ref(&root));
    assert!(
        findings(&report).contains("(thin.a/k.cubin) at offset 0x232: error[unreadable]: the thin archive's member lies outside the folder"),
        "{}",
        findings(&report)
    );
    assert_eq!(
        names(&report),
        [
            "a_member_with_a_long_name.cu.o",
            "thin.a/a_member_with_a_long_name.cu.o"
        ]
    );
    let packed = of_bytes("x.zip", &zip(&[("thin.a", fixture("archives/thin.a"))]));
    assert_eq!(findings(&packed).matches("is not in the package").count(), 2);
}

#[test]
fn a_folder_reads_the_same_each_time() {
    let mut files = wheel_files();
    files.push(("dist/x.whl", zip(&wheel_files())));
    files.push(("dist/x.tar.gz", gzip(&tar(&wheel_files()))));
    let folder = folder(&files);
    let paths = [folder.path().to_owned()];
    let first = json(&of_paths(&paths));
    for _ in 0..8 {
        assert_eq!(json(&of_paths(&paths)), first);
    }
}

/// The run-time compiler gives PTX with a zero byte at its end, and it is written to files like that.
#[test]
fn ptx_that_ends_with_a_zero_byte_is_ptx_in_packages_too() {
    let mut short = fixture("edge/c1.ptx");
    short.push(0);
    let mut long = short.clone();
    long.extend(b"// a comment\n".repeat(1000));
    long.push(0);
    let files = [("long.ptx", long), ("short.ptx", short)];
    for report in [
        of_bytes("x.zip", &zip(&files)),
        of_bytes("x.tar", &tar(&files)),
        of_paths(&[folder(&files).path().to_owned()]),
    ] {
        assert_eq!(names(&report), ["long.ptx", "short.ptx"]);
        assert_eq!(report.files[0].images.len(), 2);
    }
}
