//! Caps on everything that a package may ask for.

/// How much a package or folder may cost. Sizes that it declares are held against these and never believed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackageLimits {
    /// Bytes of decompressed files that are held at one time. A file that alone is larger than its share is read with
    /// nothing beside it. Default: 1 GiB.
    pub budget_bytes: u64,
    /// The largest file of a package, decompressed, in bytes. Default: 4 GiB.
    pub max_member_bytes: u64,
    /// Everything that is decompressed of one input together, in bytes, packages in packages included. Default: 64 GiB.
    pub max_package_bytes: u64,
    /// The largest decompressed size, as a multiple of the compressed size. Default: 500; deflate reaches 1032 with
    /// zeros, and libraries stay below 10. The first 16 MiB of a file are allowed whatever the ratio.
    pub max_expansion_ratio: u64,
    /// The largest number of entries of one input, folders and packages in packages included. Default: 2^19.
    pub max_entries: u64,
    /// How many packages may lie inside each other. Default: 5.
    pub max_depth: u32,
    /// The window and tables that a decompressor may ask for, in bytes. Default: 256 MiB; `xz -9` asks for 65 MiB and
    /// `zstd --ultra -22` for 128 MiB.
    pub max_decoder_bytes: u64,
}

impl Default for PackageLimits {
    fn default() -> Self {
        Self {
            budget_bytes: 1 << 30,
            max_member_bytes: 4 << 30,
            max_package_bytes: 64 << 30,
            max_expansion_ratio: 500,
            max_entries: 1 << 19,
            max_depth: 5,
            max_decoder_bytes: 256 << 20,
        }
    }
}

/// A decompressed size that is allowed whatever the ratio: text of blanks does compress that well.
const ALWAYS_ALLOWED_BYTES: u64 = 16 << 20;

impl PackageLimits {
    /// The largest decompressed size of one file that takes `stored_bytes` in its package.
    pub(super) fn max_decoded_bytes(&self, stored_bytes: u64) -> u64 {
        self.by_ratio(stored_bytes).min(self.max_member_bytes)
    }

    /// The largest decompressed size of a stream of `stored_bytes` that holds many files.
    pub(super) fn max_stream_bytes(&self, stored_bytes: u64) -> u64 {
        self.by_ratio(stored_bytes).min(self.max_package_bytes)
    }

    fn by_ratio(&self, stored_bytes: u64) -> u64 {
        stored_bytes
            .saturating_mul(self.max_expansion_ratio)
            .max(ALWAYS_ALLOWED_BYTES)
    }
}
