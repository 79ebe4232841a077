//! Packages that ask for too much, contradict themselves or are damaged: refused with a sentence and exit status 3.

use blockgate_audit::{NoProgress, Options, PackageLimits, Report, audit_bytes};
use blockgate_findings::ExitStatus;
use expect_test::{Expect, expect};
use zip::CompressionMethod;

use crate::support::*;

/// Limits that small packages exceed.
fn small() -> PackageLimits {
    PackageLimits {
        budget_bytes: 1 << 20,
        max_member_bytes: 20 << 20,
        max_package_bytes: 48 << 20,
        max_entries: 40,
        max_depth: 3,
        max_decoder_bytes: 4 << 20,
        ..PackageLimits::default()
    }
}

fn audited(bytes: &[u8]) -> Report {
    let options = Options {
        packages: small(),
        ..Options::default()
    };
    audit_bytes("x", bytes, &options, &NoProgress)
}

#[track_caller]
fn refused(bytes: &[u8], because: &Expect) {
    let report = audited(bytes);
    because.assert_eq(&findings(&report));
    assert_eq!(report.status(false), ExitStatus::Unreadable);
    assert!(!report.files[0].read_in_full);
}

/// Text of this many bytes, which compresses to next to nothing.
fn blanks(bytes: usize) -> Vec<u8> {
    vec![b' '; bytes]
}

/// `bytes` with the first `from` replaced by `to`, wherever it stands.
fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let mut bytes = bytes.to_vec();
    let mut found = 0;
    for at in 0..=bytes.len() - from.len() {
        if bytes[at..].starts_with(from) {
            bytes[at..at + to.len()].copy_from_slice(to);
            found += 1;
        }
    }
    assert!(found > 0, "nothing to replace");
    bytes
}

fn cubin() -> Vec<u8> {
    fixture("cubins/e_130_121a.cubin")
}

#[test]
fn bombs() {
    refused(
        &zip(&[("bomb", blanks(17 << 20))]),
        &expect![[r#"
        x(bomb) at offset 0x0: error[package-limit]: expected at most 0x1000000 bytes from 0x43bd, found 0x1100000
    "#]],
    );
    refused(
        &zip_by(
            &[("stored", blanks(1)), ("bomb", blanks(21 << 20))],
            CompressionMethod::Zstd,
        ),
        &expect![[r#"
            x(bomb) at offset 0x2e: error[package-limit]: expected at most 0x1000000 bytes from 0x2b2, found 0x1500000
        "#]],
    );
    refused(
        &gzip(&blanks(17 << 20)),
        &expect![[r#"
        x at offset 0x3fc0: error[package-limit]: expected at most 0x1000000 bytes behind this many compressed ones, found more
    "#]],
    );
    refused(
        &zstd(&tar(&[("bomb", blanks(30 << 20))])),
        &expect![[r#"
        x(bomb) at offset 0x0: error[package-limit]: expected a file of at most 0x1400000 bytes, found 0x1e00000
        x at offset 0x242: error[package-limit]: expected at most 0x1000000 bytes behind this many compressed ones, found more
    "#]],
    );
    refused(
        &xz(&blanks(17 << 20)),
        &expect![[r#"
        x at offset 0x9ec: error[package-limit]: expected at most 0x1000000 bytes behind this many compressed ones, found more
    "#]],
    );
    refused(
        &bzip2(&blanks(17 << 20)),
        &expect![[r#"
        x at offset 0x84: error[package-limit]: expected at most 0x1000000 bytes behind this many compressed ones, found more
    "#]],
    );
    // Each is small enough, and together they are not.
    let many: Vec<(String, Vec<u8>)> = (0..4).map(|i| (format!("{i}"), blanks(15 << 20))).collect();
    let many: Vec<File<'_>> = many
        .iter()
        .map(|(name, data)| (&name[..], data.clone()))
        .collect();
    refused(
        &zip(&many),
        &expect![[r#"
        x: error[package-limit]: expected at most 0x3000000 decompressed bytes in one input, found 0x3c00000
    "#]],
    );
}

#[test]
fn nesting_and_numbers() {
    let mut nested = zip(&[("x.cubin", cubin())]);
    for _ in 0..3 {
        nested = zip(&[("in.zip", nested)]);
    }
    refused(
        &nested,
        &expect![[r#"
        x(in.zip/in.zip/in.zip): error[package-limit]: expected at most 3 packages inside each other, found another one (zip)
    "#]],
    );
    let many: Vec<(String, Vec<u8>)> = (0..41).map(|i| (format!("{i}.txt"), Vec::new())).collect();
    let many: Vec<File<'_>> = many
        .iter()
        .map(|(name, data)| (&name[..], data.clone()))
        .collect();
    refused(
        &zip(&many),
        &expect![[r#"
        x: error[package-limit]: expected at most 40 entries in one input, found more
    "#]],
    );
    refused(
        &tar(&many),
        &expect![[r#"
        x: error[package-limit]: expected at most 40 entries in one input, found more
    "#]],
    );
    refused(
        &zip(&[(&"n".repeat(5000), cubin())]),
        &expect![[r#"
        x at offset 0x0: error[package-limit]: expected a name of at most 4096 bytes, found one of 5000
    "#]],
    );
}

#[test]
fn zips_that_lie() {
    let stored = zip_by(
        &[("a.cubin", cubin()), ("b.cubin", cubin())],
        CompressionMethod::Stored,
    );
    let deflated = zip(&[("a.cubin", cubin())]);
    let size = u32::try_from(cubin().len()).unwrap();
    // Declared sizes: too small, and 4 GiB less a byte.
    refused(
        &replaced(&deflated, &size.to_le_bytes(), &(size - 8).to_le_bytes()),
        &expect![[r#"
            x(a.cubin) at offset 0x0: error[unreadable]: expected 0x1390 bytes, found more
        "#]],
    );
    refused(
        &replaced(&deflated, &size.to_le_bytes(), &0xffff_fffe_u32.to_le_bytes()),
        &expect![[r#"
            x(a.cubin) at offset 0x0: error[package-limit]: expected at most 0x1000000 bytes from 0x4e3, found 0xfffffffe
        "#]],
    );
    refused(
        &replaced(&deflated, &size.to_le_bytes(), &(size + 8).to_le_bytes()),
        &expect![[r#"
            x(a.cubin) at offset 0x0: error[unreadable]: expected 0x13a0 bytes, found 0x1398
        "#]],
    );
    // The second entry of the central directory points at the first one's bytes.
    let central = deflated.windows(4).position(|at| at == b"PK\x01\x02").unwrap();
    let mut overlapping = deflated.clone();
    let record = deflated[central..deflated.len() - 22].to_vec();
    overlapping.splice(central..central, record.iter().copied());
    let end = overlapping.len() - 22;
    overlapping[end + 8] = 2;
    overlapping[end + 10] = 2;
    let length = u32::try_from(2 * record.len()).unwrap();
    overlapping[end + 12..end + 16].copy_from_slice(&length.to_le_bytes());
    refused(
        &overlapping,
        &expect![[r#"
            x at offset 0x0: error[package-limit]: expected entries that share no bytes, found `a.cubin` and `a.cubin`, which do
            x: warning[duplicate-member]: names that stand again; all are read, where an extractor keeps one: 1
              note: a.cubin
        "#]],
    );
    // Content that does not have the checksum.
    let mut damaged = stored.clone();
    damaged[200] ^= 1;
    refused(
        &damaged,
        &expect![[r#"
        x(a.cubin) at offset 0x0: error[unreadable]: expected content with the checksum 324535b5, found 897f3e8a
    "#]],
    );
    // Local name against central name.
    let mut renamed = stored.clone();
    renamed[30] = b'c';
    refused(
        &renamed,
        &expect![[r#"
        x(a.cubin) at offset 0x0: error[unreadable]: expected the name that the central directory has, found `c.cubin`
    "#]],
    );
    // Encrypted, and a method that is not read.
    let mut encrypted = stored.clone();
    let central = stored.windows(4).position(|at| at == b"PK\x01\x02").unwrap();
    encrypted[central + 8] |= 1;
    refused(
        &encrypted,
        &expect![[r#"
        x(a.cubin) at offset 0x0: error[unreadable]: expected an entry without encryption, found an encrypted one
    "#]],
    );
    let mut method = stored.clone();
    method[central + 10] = 9;
    refused(
        &method,
        &expect![[r#"
        x(a.cubin) at offset 0x0: error[unreadable]: expected an entry that is stored, or compressed by deflate, bzip2, zstd or xz, found method 9 (DEFLATE64)
    "#]],
    );
    refused(
        &stored[..stored.len() - 30],
        &expect![[r#"
        x: error[unreadable]: expected the central directory of a zip file, found Missing end of central directory
    "#]],
    );
    refused(
        b"PK\x03\x04",
        &expect![[r#"
        x: error[unreadable]: expected the central directory of a zip file, found Missing end of central directory
    "#]],
    );
}

#[test]
fn tars_that_lie() {
    let whole = tar(&[("a.cubin", cubin()), ("b.cubin", cubin())]);
    refused(
        &whole[..3000],
        &expect![[r#"
        x(a.cubin) at offset 0x200: error[unreadable]: expected an entry within 0xbb8 bytes, found 0x1398 bytes from 0x200
    "#]],
    );
    refused(
        &gzip(&whole[..3000]),
        &expect![[r#"
        x(a.cubin): error[unreadable]: expected 0x1398 bytes, found 0x9b8
    "#]],
    );
    let packed = gzip(&whole);
    refused(
        &packed[..packed.len() - 4],
        &expect![[r#"
        x at offset 0x3000: error[unreadable]: expected a tar entry, found unexpected end of file
    "#]],
    );
    let mut checksum = packed.clone();
    let end = checksum.len() - 6;
    checksum[end] ^= 1;
    refused(
        &checksum,
        &expect![[r#"
        x at offset 0x3000: error[unreadable]: expected a tar entry, found corrupt gzip stream does not have a matching checksum
    "#]],
    );
    // A size of 4 EiB, in the header's base-256 form.
    let mut header = tar::Header::new_gnu();
    header.set_path("huge").unwrap();
    header.set_size(1 << 62);
    header.set_cksum();
    let mut huge = header.as_bytes().to_vec();
    huge.extend(cubin());
    refused(
        &huge,
        &expect![[r#"
        x(huge) at offset 0x200: error[unreadable]: expected an entry within 0x1598 bytes, found 0x4000000000000000 bytes from 0x200
    "#]],
    );
    refused(
        &gzip(&huge),
        &expect![[r#"
        x(huge) at offset 0x0: error[package-limit]: expected a file of at most 0x1400000 bytes, found 0x4000000000000000
        x at offset 0x1598: error[unreadable]: expected a tar entry, found unexpected EOF during skip
    "#]],
    );
    // A long name that would be held in memory.
    let mut header = tar::Header::new_gnu();
    header.set_path("././@LongLink").unwrap();
    header.set_entry_type(tar::EntryType::GNULongName);
    header.set_size(2 << 20);
    header.set_cksum();
    let mut long = header.as_bytes().to_vec();
    long.extend(vec![b'n'; 2 << 20]);
    long.extend(tar(&[("a.cubin", cubin())]));
    refused(
        &long,
        &expect![[r#"
        x: error[package-limit]: expected at most 0x100000 bytes of headers for one entry, found more
    "#]],
    );
    // A sparse file of 32 MiB in one block.
    let mut header = tar::Header::new_gnu();
    header.set_path("sparse").unwrap();
    header.set_entry_type(tar::EntryType::GNUSparse);
    header.set_size(512);
    let gnu = header.as_gnu_mut().unwrap();
    gnu.realsize.copy_from_slice(b"00200000000\0");
    gnu.sparse[0].offset.copy_from_slice(b"00000000000\0");
    gnu.sparse[0].numbytes.copy_from_slice(b"00000001000\0");
    gnu.sparse[1].offset.copy_from_slice(b"00200000000\0");
    gnu.sparse[1].numbytes.copy_from_slice(b"00000000000\0");
    header.set_cksum();
    let mut sparse = header.as_bytes().to_vec();
    sparse.extend(&cubin()[..512]);
    sparse.extend(tar(&[("after.cubin", cubin())]));
    refused(
        &sparse,
        &expect![[r#"
        x(sparse) at offset 0x0: error[package-limit]: expected a file of at most 0x1000000 bytes, found 0x2000000
    "#]],
    );
}

/// What was cut off behind an entry would be missing without a trace but for the zeros that end a tar file.
#[test]
fn tars_that_are_cut_between_entries() {
    let whole = tar(&[("a.cubin", cubin()), ("b.cubin", cubin())]);
    let (content_end, entry_end) = (0x200 + 0x1398, 0x1600);
    for (cut, members) in [
        (content_end, 1),
        (content_end + 1, 1),
        (entry_end, 1),
        (2 * entry_end, 2),
    ] {
        for bytes in [whole[..cut].to_vec(), zstd(&whole[..cut])] {
            let report = audited(&bytes);
            assert_eq!(report.status(false), ExitStatus::Unreadable, "{cut:#x}");
            assert!(!report.files[0].read_in_full, "{cut:#x}");
            assert_eq!(report.files[0].members.len(), members, "{cut:#x}");
        }
    }
    refused(
        &whole[..entry_end],
        &expect![[r#"
        x: error[unreadable]: expected the block of zeros that ends a tar file, found the end of the file
    "#]],
    );
    // One block of the two does.
    let report = audited(&whole[..2 * entry_end + 0x200]);
    assert_eq!(report.status(false), ExitStatus::Clean);
}

#[test]
fn streams_that_end_early_or_ask_for_memory() {
    for packed in [gzip(&cubin()), bzip2(&cubin()), xz(&cubin()), zstd(&cubin())] {
        for cut in [1, 9, packed.len() / 2] {
            let report = audited(&packed[..packed.len() - cut]);
            assert_eq!(
                report.status(false),
                ExitStatus::Unreadable,
                "{}",
                findings(&report)
            );
        }
    }
    // A window of 1 GiB.
    refused(
        b"\x28\xb5\x2f\xfd\x00\xa0\x01\x00\x00",
        &expect![[r#"
        x at offset 0x0: error[unreadable]: expected zstd data, found Frame requires too much memory for decoding
    "#]],
    );
    let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 9);
    std::io::Write::write_all(&mut encoder, &cubin()).unwrap();
    refused(
        &encoder.finish().unwrap(),
        &expect![[r#"
        x at offset 0x18: error[unreadable]: expected xz data, found memory limit reached
    "#]],
    );
}

/// Nothing is written anywhere, so that such names are only shown.
#[test]
fn names_that_lead_elsewhere_are_only_names() {
    let mut names = tar::Builder::new(Vec::new());
    let content = cubin();
    for name in [
        "../../etc/x.cubin",
        "/abs/x.cubin",
        "a\\b.cubin",
        "a\x1b[2J.cubin",
    ] {
        let mut header = tar::Header::new_gnu();
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_size(content.len() as u64);
        header.set_cksum();
        names.append(&header, &content[..]).unwrap();
    }
    for (name, kind, to) in [
        ("libx.so", tar::EntryType::Symlink, "/etc/passwd"),
        ("hard", tar::EntryType::Link, "../../x"),
        ("pipe", tar::EntryType::Fifo, "nowhere"),
    ] {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(kind);
        header.set_size(0);
        names.append_link(&mut header, name, to).unwrap();
    }
    let report = audited(&names.into_inner().unwrap());
    assert_eq!(report.status(false), ExitStatus::Clean);
    expect![[r#"
        x: tar, 24.5 KiB, device code: present, 4 images
        device code in 4 of 4 files (binaries: 4, others: 0):
         file                  size  device code  cubins   PTX
         ../../etc/x.cubin  4.8 KiB  present      sm_121a  –
         /abs/x.cubin       4.8 KiB  present      sm_121a  –
         a\u{1b}[2J.cubin   4.8 KiB  present      sm_121a  –
         a\b.cubin          4.8 KiB  present      sm_121a  –
         arch     kind   images  kernels  instructions  E2M1    stored      size
         sm_121a  cubin       4        4            64     0  19.5 KiB  19.5 KiB

        x: info[link-skipped]: links in the package, not followed: 2
          note: libx.so -> /etc/passwd
          note: hard -> ../../x
        x: info[special-file]: pipes, sockets or devices, not opened: 1
          note: pipe
        exit status 0
    "#]]
    .assert_eq(&human(&report));
}

#[test]
fn a_name_that_stands_twice_is_read_twice_and_said() {
    let twice = zip_by(
        &[("a.cubin", cubin()), ("b.cubin", cubin())],
        CompressionMethod::Stored,
    );
    let report = audited(&replaced(&twice, b"b.cubin", b"a.cubin"));
    assert_eq!(report.files[0].images.len(), 2);
    expect![[r#"
        x: warning[duplicate-member]: names that stand again; all are read, where an extractor keeps one: 1
          note: a.cubin
    "#]]
    .assert_eq(&findings(&report));
    let report = audited(&tar(&[("a.cubin", cubin()), ("a.cubin", cubin())]));
    assert_eq!(report.files[0].images.len(), 2);
}

/// Whatever byte of a package is wrong, an answer comes, and it is never a clean one with less in it.
#[test]
fn no_flipped_byte_hides_an_image_silently() {
    let files = [("a.cubin", cubin()), ("b.cubin", cubin())];
    for whole in [zip(&files), gzip(&tar(&files)), zstd(&tar(&files))] {
        for at in (0..whole.len()).step_by(7) {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x41;
            let report = audited(&bytes);
            let silent = report.status(false) == ExitStatus::Clean && report.files[0].images.len() < 2;
            assert!(!silent, "byte {at:#x}: {}", human(&report));
        }
    }
}
