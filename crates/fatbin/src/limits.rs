//! Caps on everything that an input may ask for.

/// How much an input may cost. Every size that a file states is held against these before memory is taken.
///
/// ```
/// use blockgate_fatbin::Limits;
///
/// // Everything that is not named keeps its default.
/// let limits = Limits { max_image_bytes: 64 << 20, ..Limits::default() };
/// assert_eq!(limits.max_members, 1 << 18);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The largest decoded image, in bytes. Default: 1 GiB; the largest of MLX 0.32 has 39 MiB.
    pub max_image_bytes: u64,
    /// The names of all code sections of one cubin together, in bytes; those of all kernels and target options of one PTX
    /// text, with what it takes to list each. They are copied, and many sections may share one long name. Default: 32 MiB;
    /// an image of MLX 0.32 has up to 454 KiB.
    pub max_name_bytes: u64,
    /// The largest decoded size, as a multiple of the stored size. Default: 1000; images of real libraries
    /// stay below 60. Payloads of less than 64 KiB decoded are allowed whatever the ratio.
    pub max_expansion_ratio: u64,
    /// The largest number of regions, over all members. Default: 2^20.
    pub max_regions: usize,
    /// The largest number of images, over all members. Default: 2^18.
    pub max_images: usize,
    /// The largest number of archive members. Default: 2^18.
    pub max_members: usize,
    /// The largest number of defects that are kept; one more says that there were others. Default: 4096.
    pub max_defects: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_image_bytes: 1 << 30,
            max_name_bytes: 32 << 20,
            max_expansion_ratio: 1000,
            max_regions: 1 << 20,
            max_images: 1 << 18,
            max_members: 1 << 18,
            max_defects: 4096,
        }
    }
}

/// A decoded size that is allowed whatever the ratio: small, and text of blanks does compress that well.
const ALWAYS_ALLOWED_BYTES: u64 = 64 << 10;

impl Limits {
    /// The largest decoded size allowed for `stored_bytes` of payload.
    pub(crate) fn max_decoded_bytes(&self, stored_bytes: u64) -> u64 {
        stored_bytes
            .saturating_mul(self.max_expansion_ratio)
            .max(ALWAYS_ALLOWED_BYTES)
            .min(self.max_image_bytes)
    }
}
