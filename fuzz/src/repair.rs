//! Checksums put right. A change in a package is found out by its checksum, so that what lies behind that check would never
//! be reached by changing packages at random.

use std::io::Read as _;

use flate2::bufread::DeflateDecoder;

/// `data` with the checksums of its tar headers or zip entries put right; `None` where they are right already, or where it
/// is neither.
pub(crate) fn repaired(data: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = data.to_vec();
    if data.starts_with(b"PK") {
        zip(&mut bytes)?;
    } else {
        tar(&mut bytes)?;
    }
    (bytes != data).then_some(bytes)
}

/// The checksum of a header is the sum of its bytes, its own ones taken for blanks. Source: POSIX, "ustar Interchange Format".
fn tar(bytes: &mut [u8]) -> Option<()> {
    const BLOCK_BYTES: usize = 512;
    let mut at = 0;
    while let Some(header) = bytes.get_mut(at..)?.first_chunk_mut::<BLOCK_BYTES>() {
        if header.iter().all(|&byte| byte == 0) {
            break;
        }
        header[148..156].fill(b' ');
        let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:07o}\0").as_bytes());
        let size = std::str::from_utf8(&header[124..136])
            .ok()
            .and_then(|size| usize::from_str_radix(size.trim_matches(['\0', ' ']), 8).ok())?;
        at = at
            .checked_add(BLOCK_BYTES)?
            .checked_add(size.checked_next_multiple_of(BLOCK_BYTES)?)?;
    }
    Some(())
}

/// Sizes and checksums in the central directory and before the entries. Source: PKWARE's APPNOTE.TXT.
fn zip(bytes: &mut [u8]) -> Option<()> {
    const RECORD_BYTES: usize = 46;
    const LOCAL_BYTES: usize = 30;
    /// Entries that share their bytes would be decompressed again and again.
    const MAX_ENTRIES: u32 = 64;
    let end = memchr::memmem::rfind(bytes, b"PK\x05\x06")?;
    let mut at = u32_at(bytes, end + 16)?;
    for _ in 0..MAX_ENTRIES {
        if !bytes.get(at..)?.starts_with(b"PK\x01\x02") {
            break;
        }
        let local = u32_at(bytes, at + 42)?;
        let start = local
            .checked_add(LOCAL_BYTES)?
            .checked_add(u16_at(bytes, local.checked_add(26)?)?)?
            .checked_add(u16_at(bytes, local + 28)?)?;
        let stored = bytes.get(start..start.checked_add(u32_at(bytes, at + 20)?)?)?;
        let content = match u16_at(bytes, at + 10)? {
            0 => Some(stored.to_vec()),
            8 => inflated(stored),
            _ => None,
        };
        if let Some(content) = content {
            let mut crc = flate2::Crc::new();
            crc.update(&content);
            let size = u32::try_from(content.len()).ok()?;
            for (field, value) in [
                (at + 16, crc.sum()),
                (at + 24, size),
                (local + 14, crc.sum()),
                (local + 22, size),
            ] {
                let field = bytes.get_mut(field..)?.first_chunk_mut::<4>()?;
                *field = value.to_le_bytes();
            }
        }
        let behind = [28, 30, 32].map(|field| u16_at(bytes, at + field));
        for bytes in behind {
            at += bytes?;
        }
        at += RECORD_BYTES;
    }
    Some(())
}

/// As much of it as is no bomb.
fn inflated(stored: &[u8]) -> Option<Vec<u8>> {
    const MAX_BYTES: u64 = 1 << 20;
    let mut content = Vec::new();
    let mut decoder = DeflateDecoder::new(stored).take(MAX_BYTES);
    decoder.read_to_end(&mut content).ok()?;
    Some(content)
}

fn u16_at(bytes: &[u8], at: usize) -> Option<usize> {
    Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?).into())
}

fn u32_at(bytes: &[u8], at: usize) -> Option<usize> {
    usize::try_from(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?)).ok()
}

#[cfg(test)]
mod tests {
    use crate::seeds::of_packages;

    use super::repaired;

    /// A change in each content, after which the repaired package must be another one that can be read.
    #[test]
    fn a_changed_package_can_be_read_again() {
        let ptx = b".version 9.0\n.target sm_121a\n.address_size 64\n";
        let seeds = of_packages([("k.ptx", &ptx[..])]).unwrap();
        for name in ["stored.zip", "plain.tar"] {
            let seed = seeds.iter().find(|seed| seed.name == name).unwrap();
            assert!(repaired(&seed.data).is_none(), "{name} is sound");
            let mut changed = seed.data.clone();
            let at = memchr::memmem::find(&changed, b"k.ptx").unwrap();
            changed[at] = b'l';
            let target = memchr::memmem::find(&changed, b"sm_121a").unwrap();
            changed[target + 5] = b'0';
            if let Some(at) = memchr::memmem::rfind(&changed, b"k.ptx") {
                changed[at] = b'l';
            }
            let repaired = repaired(&changed).expect("it was changed");
            let report = blockgate_audit::audit_bytes(
                "x",
                &repaired,
                &blockgate_audit::Options::default(),
                &blockgate_audit::NoProgress,
            );
            assert!(!report.unreadable, "{name}");
            let archs = report.files[0].images.iter().filter_map(|image| image.arch);
            assert_eq!(
                archs.map(|arch| arch.to_string()).collect::<Vec<_>>(),
                ["sm_120a"],
                "{name}"
            );
        }
    }
}
