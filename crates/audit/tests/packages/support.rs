//! Builds packages from fixtures and audits them.

use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};

use blockgate_audit::render::{self, HumanOptions, Mnemonics};
use blockgate_audit::{NoProgress, Options, Report, audit, audit_bytes};
use zip::CompressionMethod;
use zip::write::{SimpleFileOptions, ZipWriter};

/// A file of a package: name and content.
pub(crate) type File<'a> = (&'a str, Vec<u8>);

pub(crate) fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(fixtures().join(name)).unwrap()
}

pub(crate) fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/fatbin")
}

/// The content of a small wheel: two libraries, one of them without device code, an archive, and what else lies there.
pub(crate) fn wheel_files() -> Vec<File<'static>> {
    vec![
        ("pkg/__init__.py", b"import ctypes\n".to_vec()),
        ("pkg/lib/libx.so", fixture("toolkits/x_so.so")),
        ("pkg/lib/libk.a", fixture("cases/a07.a")),
        ("pkg/lib/libhost.so", fixture("hosts/without-device-code.o")),
        ("pkg/logo.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec()),
        ("pkg-1.0.dist-info/WHEEL", b"Wheel-Version: 1.0\n".to_vec()),
    ]
}

pub(crate) fn zip(files: &[File<'_>]) -> Vec<u8> {
    zip_by(files, CompressionMethod::Deflated)
}

pub(crate) fn zip_by(files: &[File<'_>], method: CompressionMethod) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(method);
    for (name, content) in files {
        writer.start_file(*name, options).unwrap();
        writer.write_all(content).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

pub(crate) fn tar(files: &[File<'_>]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        builder.append_data(&mut header, name, &content[..]).unwrap();
    }
    builder.into_inner().unwrap()
}

pub(crate) fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn bzip2(content: &[u8]) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn xz(content: &[u8]) -> Vec<u8> {
    let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 1);
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn zstd(content: &[u8]) -> Vec<u8> {
    let mut encoder = ::zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder.include_checksum(true).unwrap();
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

/// An archive of `ar`, as Debian packages are.
pub(crate) fn ar(members: &[File<'_>]) -> Vec<u8> {
    let mut archive = b"!<arch>\n".to_vec();
    for (name, content) in members {
        writeln!(
            archive,
            "{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`",
            0,
            0,
            0,
            100_644,
            content.len()
        )
        .unwrap();
        archive.extend(content);
        if content.len() % 2 == 1 {
            archive.push(b'\n');
        }
    }
    archive
}

pub(crate) fn of_bytes(label: &str, bytes: &[u8]) -> Report {
    audit_bytes(label, bytes, &Options::default(), &NoProgress)
}

pub(crate) fn of_paths(paths: &[PathBuf]) -> Report {
    audit(paths, &Options::default(), &NoProgress)
}

/// The table that a person sees, and the exit status.
pub(crate) fn human(report: &Report) -> String {
    let mut out = Vec::new();
    render::human(&mut out, report, &HumanOptions::default()).unwrap();
    let text = String::from_utf8(out).unwrap();
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    format!(
        "{}\nexit status {}\n",
        lines.join("\n"),
        report.status(false).code()
    )
}

pub(crate) fn json(report: &Report) -> String {
    let mut out = Vec::new();
    render::json(&mut out, report, &Mnemonics::default()).unwrap();
    String::from_utf8(out).unwrap()
}

/// The names of the members, in order.
pub(crate) fn names(report: &Report) -> Vec<&str> {
    report
        .files
        .iter()
        .flat_map(|file| &file.members)
        .map(|member| &*member.name)
        .collect()
}

/// The findings, one a line: member, rule and message.
pub(crate) fn findings(report: &Report) -> String {
    let mut out = Vec::new();
    blockgate_findings::render::human(
        &mut out,
        &report.findings,
        blockgate_findings::render::Palette::Plain,
    )
    .unwrap();
    String::from_utf8(out).unwrap()
}
