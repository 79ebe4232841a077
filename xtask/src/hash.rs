//! The identity of inputs in records.

use sha2::{Digest as _, Sha256};

/// The SHA-256 of `bytes`, in hexadecimal.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
