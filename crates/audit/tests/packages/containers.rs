//! Every container gives the same files with the same images as the folder it was made from.

use crate::support::*;
use zip::CompressionMethod;

/// Name, size and images of each member of the wheel, whatever it is packed into.
fn check(label: &str, bytes: &[u8], format: &str, prefix: &str) {
    let report = of_bytes(label, bytes);
    let file = &report.files[0];
    assert_eq!(file.format, format, "{label}");
    assert_eq!(findings(&report), "", "{label}");
    let members: Vec<String> = file
        .members
        .iter()
        .map(|member| {
            let images = file
                .images
                .iter()
                .filter(|image| image.member.as_ref() == Some(&member.name));
            let name = member
                .name
                .strip_prefix(prefix)
                .unwrap_or_else(|| panic!("{label}: {}", member.name));
            let file = member.file.as_deref().unwrap().strip_prefix(prefix).unwrap();
            format!(
                "{name} of {file}: {} bytes, {} images",
                member.size_bytes,
                images.count()
            )
        })
        .collect();
    let expected = [
        "pkg/lib/libx.so of pkg/lib/libx.so: 1136496 bytes, 7 images",
        "pkg/lib/libk.a/k0.o of pkg/lib/libk.a: 12032 bytes, 2 images",
        "pkg/lib/libk.a/k0b.o of pkg/lib/libk.a: 12040 bytes, 2 images",
        "pkg/lib/libk.a/kg.o of pkg/lib/libk.a: 17808 bytes, 3 images",
        "pkg/lib/libhost.so of pkg/lib/libhost.so: 704 bytes, 0 images",
    ];
    assert_eq!(members, expected, "{label}");
    assert_eq!(file.other_files, 3 + extra_files(label), "{label}");
    assert!(file.read_in_full, "{label}");
}

/// Files beside those of the wheel: what a package format adds itself.
fn extra_files(label: &str) -> u64 {
    match label {
        "x.deb" => 2,
        "x.conda" => 2,
        _ => 0,
    }
}

#[test]
fn every_container_holds_the_same() {
    let files = wheel_files();
    let packed = tar(&files);
    check("x.whl", &zip(&files), "wheel", "");
    check(
        "stored.whl",
        &zip_by(&files, CompressionMethod::Stored),
        "wheel",
        "",
    );
    check(
        "bzip2.zip",
        &zip_by(&files, CompressionMethod::Bzip2),
        "wheel",
        "",
    );
    check("zstd.zip", &zip_by(&files, CompressionMethod::Zstd), "wheel", "");
    check("x.tar", &packed, "tar", "");
    check("x.tgz", &gzip(&packed), "tar.gz", "");
    check("x.tar.bz2", &bzip2(&packed), "tar.bz2", "");
    check("x.tar.xz", &xz(&packed), "tar.xz", "");
    check("x.tar.zst", &zstd(&packed), "tar.zst", "");
    let control = || tar(&[("./control", b"Package: x\n".to_vec())]);
    for data in [
        gzip(&packed),
        bzip2(&packed),
        xz(&packed),
        zstd(&packed),
        packed.clone(),
    ] {
        let members = [
            ("debian-binary", b"2.0\n".to_vec()),
            ("control.tar.gz", gzip(&control())),
            ("data.tar.xz", data),
        ];
        check("x.deb", &ar(&members), "deb", "");
    }
    let conda = [
        ("metadata.json", b"{}".to_vec()),
        ("pkg-x-1.0-0.tar.zst", zstd(&packed)),
        ("info-x-1.0-0.tar.zst", zstd(&control())),
    ];
    check("x.conda", &zip_by(&conda, CompressionMethod::Stored), "conda", "");
    check(
        "nested.zip",
        &zip(&[("dist/x.whl", zip(&files))]),
        "zip",
        "dist/x.whl/",
    );
    check(
        "nested.tgz",
        &gzip(&tar(&[("x.zip", zip(&files))])),
        "tar.gz",
        "x.zip/",
    );
    check(
        "nested.whl",
        &zip(&[("src/x.tar.gz", gzip(&packed))]),
        "zip",
        "src/x.tar.gz/",
    );
}

#[test]
fn one_compressed_file_keeps_its_name() {
    let library = fixture("toolkits/x_so.so");
    for (label, bytes, format) in [
        ("lib/libx.so.gz", gzip(&library), "gzip"),
        ("lib/libx.so.bz2", bzip2(&library), "bzip2"),
        ("lib/libx.so.xz", xz(&library), "xz"),
        ("lib/libx.so.zst", zstd(&library), "zstd"),
    ] {
        let report = of_bytes(label, &bytes);
        assert_eq!(report.files[0].format, format);
        assert_eq!(names(&report), ["libx.so"], "{label}");
        assert_eq!(report.files[0].images.len(), 7, "{label}");
        let nested = of_bytes("x.zip", &zip(&[(label, bytes)]));
        assert_eq!(names(&nested), [label]);
    }
    let members = of_bytes("libk.a.gz", &gzip(&fixture("cases/a07.a")));
    assert_eq!(names(&members)[0], "libk.a/k0.o");
}

#[test]
fn content_decides_and_not_the_name() {
    let report = of_bytes("x.txt", &zip(&[("notes.txt", fixture("toolkits/x.fatbin"))]));
    assert_eq!(names(&report), ["notes.txt"]);
    let report = of_bytes("x.whl", &tar(&[("x.so", b"only text".to_vec())]));
    assert_eq!((report.files[0].format, report.files[0].other_files), ("tar", 1));
    let mut program = b"#!/usr/bin/env python3\n".to_vec();
    program.extend(zip(&wheel_files()));
    assert_eq!(of_bytes("x.pyz", &program).files[0].images.len(), 14);
}
