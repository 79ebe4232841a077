//! Packages of every format, around the smallest inputs of each kind that the fixtures have.

use std::collections::BTreeMap;
use std::io::{self, Cursor, Write};

use blockgate_fatbin::{Limits, read};
use zip::CompressionMethod;
use zip::write::{SimpleFileOptions, ZipWriter};

use super::Seed;

/// A file of a package: name and content.
type File = (String, Vec<u8>);

/// The seeds for the target that reads packages, out of these files, given by name and content.
///
/// # Errors
/// When a writer of one of the formats fails.
pub fn of_packages<'a>(files: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> io::Result<Vec<Seed>> {
    let files = smallest_of_each_format(files);
    let deflated = zip(&files, CompressionMethod::Deflated)?;
    let plain = tar(&files)?;
    let first = files
        .first()
        .map(|(_, content)| content.as_slice())
        .unwrap_or_default();
    let data = zstd(&plain)?;
    let packages = [
        ("stored.zip", zip(&files, CompressionMethod::Stored)?),
        ("bzip2.zip", zip(&files, CompressionMethod::Bzip2)?),
        ("zstd.zip", zip(&files, CompressionMethod::Zstd)?),
        ("tar.gz", gzip(&plain)?),
        ("tar.bz2", bzip2(&plain)?),
        ("tar.xz", xz(&plain)?),
        ("tar.zst", data.clone()),
        ("one-file.gz", gzip(first)?),
        ("wheel", wheel(&files)?),
        ("conda", conda(&files)?),
        ("deb", deb(&plain)?),
        ("links.tar", links(first)?),
        ("sparse.tar", sparse(first)?),
        (
            "long-names.tar",
            tar(&[("d/".repeat(80) + "k.o", first.to_vec())])?,
        ),
        ("nested.zip", nested(&deflated, &data)?),
        ("too-deep.gz", too_deep(first)?),
        ("deflated.zip", deflated),
        ("plain.tar", plain),
    ];
    Ok(packages
        .into_iter()
        .map(|(name, data)| Seed {
            target: "wheel",
            name: name.to_owned(),
            data,
        })
        .collect())
}

/// What a random change hits in a package should be what holds it together, so that its files are small.
fn smallest_of_each_format<'a>(files: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Vec<File> {
    let mut smallest: BTreeMap<&str, (&str, &[u8])> = BTreeMap::new();
    for (name, bytes) in files {
        let Ok(artifact) = read(bytes, &Limits::default()) else {
            continue;
        };
        // One without device code shows less.
        if artifact.images.is_empty() {
            continue;
        }
        let kept = smallest.entry(artifact.format.as_str()).or_insert((name, bytes));
        if bytes.len() < kept.1.len() {
            *kept = (name, bytes);
        }
    }
    let mut files: Vec<File> = smallest
        .into_values()
        .map(|(name, bytes)| {
            let own = name.rsplit('/').next().unwrap_or(name);
            (format!("k/{own}"), bytes.to_vec())
        })
        .collect();
    files.sort_by_key(|(_, bytes)| bytes.len());
    /// The larger ones come to more than all others together.
    const FILES: usize = 6;
    files.truncate(FILES);
    files
}

fn zip(files: &[File], method: CompressionMethod) -> io::Result<Vec<u8>> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(method);
    for (name, content) in files {
        writer.start_file(name.as_str(), options)?;
        writer.write_all(content)?;
    }
    Ok(writer.finish()?.into_inner())
}

fn wheel(files: &[File]) -> io::Result<Vec<u8>> {
    let mut files = files.to_vec();
    files.push(("k/__init__.py".to_owned(), b"import ctypes\n".to_vec()));
    files.push(("k/logo.png".to_owned(), b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec()));
    let about = b"Wheel-Version: 1.0\n".to_vec();
    files.push(("k-1.0.dist-info/WHEEL".to_owned(), about));
    zip(&files, CompressionMethod::Deflated)
}

fn conda(files: &[File]) -> io::Result<Vec<u8>> {
    let about = tar(&[("info/index.json".to_owned(), b"{}\n".to_vec())])?;
    let files = [
        ("metadata.json".to_owned(), b"{}\n".to_vec()),
        ("pkg-k-1.0-0.tar.zst".to_owned(), zstd(&tar(files)?)?),
        ("info-k-1.0-0.tar.zst".to_owned(), zstd(&about)?),
    ];
    zip(&files, CompressionMethod::Stored)
}

fn deb(data: &[u8]) -> io::Result<Vec<u8>> {
    let control = tar(&[("./control".to_owned(), b"Package: k\n".to_vec())])?;
    let members = [
        ("debian-binary", b"2.0\n".to_vec()),
        ("control.tar.gz", gzip(&control)?),
        ("data.tar.xz", xz(data)?),
    ];
    let mut archive = b"!<arch>\n".to_vec();
    for (name, content) in members {
        let size = content.len();
        writeln!(
            archive,
            "{name:<16}{0:<12}{0:<6}{0:<6}{1:<8}{size:<10}`",
            0, 100_644
        )?;
        archive.extend(content);
        if size % 2 == 1 {
            archive.push(b'\n');
        }
    }
    Ok(archive)
}

/// A zip file with a zip file and a compressed tar file in it.
fn nested(inner: &[u8], data: &[u8]) -> io::Result<Vec<u8>> {
    let files = [
        ("inner.zip".to_owned(), inner.to_vec()),
        ("inner.tar.zst".to_owned(), data.to_vec()),
    ];
    zip(&files, CompressionMethod::Stored)
}

/// Compressed more often than packages may lie inside each other here.
fn too_deep(content: &[u8]) -> io::Result<Vec<u8>> {
    (0..5).try_fold(content.to_vec(), |content, _| gzip(&content))
}

fn header(size_bytes: usize) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_size(size_bytes as u64);
    header.set_mode(0o644);
    header
}

fn tar(files: &[File]) -> io::Result<Vec<u8>> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, content) in files {
        builder.append_data(&mut header(content.len()), name, content.as_slice())?;
    }
    builder.into_inner()
}

/// A file, and links to it and out of the package.
fn links(content: &[u8]) -> io::Result<Vec<u8>> {
    let mut builder = tar::Builder::new(Vec::new());
    builder.append_data(&mut header(content.len()), "k.o", content)?;
    for (kind, name, target) in [
        (tar::EntryType::Symlink, "soft.o", "../../etc/passwd"),
        (tar::EntryType::Link, "hard.o", "k.o"),
    ] {
        let mut header = header(0);
        header.set_entry_type(kind);
        builder.append_link(&mut header, name, target)?;
    }
    let mut pipe = header(0);
    pipe.set_entry_type(tar::EntryType::Fifo);
    builder.append_data(&mut pipe, "pipe", io::empty())?;
    builder.into_inner()
}

/// A file that ends with a hole, in GNU's old form.
fn sparse(content: &[u8]) -> io::Result<Vec<u8>> {
    const HOLE_BYTES: u64 = 4096;
    /// Only the last block of a file may be a part of one.
    const BLOCK_BYTES: usize = 512;
    let mut content = content.to_vec();
    content.resize(content.len().next_multiple_of(BLOCK_BYTES), 0);
    let size = content.len() as u64;
    let mut header = header(content.len());
    header.set_entry_type(tar::EntryType::GNUSparse);
    header.set_path("sparse.o")?;
    if let Some(gnu) = header.as_gnu_mut() {
        let [first, last, ..] = &mut gnu.sparse;
        octal(&mut first.offset, 0);
        octal(&mut first.numbytes, size);
        octal(&mut last.offset, size + HOLE_BYTES);
        octal(&mut last.numbytes, 0);
        octal(&mut gnu.realsize, size + HOLE_BYTES);
    }
    header.set_cksum();
    let mut builder = tar::Builder::new(Vec::new());
    builder.append(&header, content.as_slice())?;
    builder.into_inner()
}

fn octal(field: &mut [u8; 12], value: u64) {
    let digits = format!("{value:011o}\0");
    for (byte, digit) in field.iter_mut().zip(digits.bytes()) {
        *byte = digit;
    }
}

fn gzip(content: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(content)?;
    encoder.finish()
}

fn bzip2(content: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    encoder.write_all(content)?;
    encoder.finish()
}

fn xz(content: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 0);
    encoder.write_all(content)?;
    encoder.finish()
}

fn zstd(content: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = ::zstd::Encoder::new(Vec::new(), 1)?;
    encoder.include_checksum(true)?;
    encoder.write_all(content)?;
    encoder.finish()
}
