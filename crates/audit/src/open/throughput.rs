//! Mere decompression, which an audit of a package is measured against.

use super::{Format, Kind, PackageLimits, recognise, tar, zip};

/// What came out of a package.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Throughput {
    /// Files, folders included.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// Decompresses every file of the package `bytes` and keeps none, with as many threads as an audit; packages in it are
/// not looked into.
///
/// # Errors
/// When it is no package or cannot be decompressed, as one sentence.
pub fn decompress_all(bytes: &[u8], limits: &PackageLimits) -> Result<Throughput, String> {
    let result = match recognise(bytes) {
        Kind::Package(Format::Zip) => zip::decompress(bytes, limits),
        Kind::Package(Format::Stream(coding)) => tar::decompress(bytes, coding, limits),
        _ => return Err("expected a zip file or a compressed stream".to_owned()),
    };
    result
        .map(|(files, bytes)| Throughput { files, bytes })
        .map_err(|refusal| format!("expected {}, found {}", refusal.expected, refusal.found))
}
