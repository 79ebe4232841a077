//! Compressed streams: one decoder per coding, with everything counted and capped.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::PackageLimits;
use super::refusal::Refusal;

/// How a stream is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    /// RFC 1951, as zip has it.
    Deflate,
    /// RFC 1952.
    Gzip,
    /// bzip2.
    Bzip2,
    /// The xz container with LZMA2.
    Xz,
    /// RFC 8878.
    Zstd,
}

impl Coding {
    /// The name in machine output.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Deflate => "deflate",
            Self::Gzip => "gzip",
            Self::Bzip2 => "bzip2",
            Self::Xz => "xz",
            Self::Zstd => "zstd",
        }
    }

    /// The name of a tar file that is compressed like this.
    pub(super) const fn of_tar(self) -> &'static str {
        match self {
            Self::Deflate => "tar",
            Self::Gzip => "tar.gz",
            Self::Bzip2 => "tar.bz2",
            Self::Xz => "tar.xz",
            Self::Zstd => "tar.zst",
        }
    }
}

/// Counts what goes in and comes out of a decoder; shared with the decoder, which lies below others.
#[derive(Debug, Default)]
pub(super) struct Meter {
    taken_bytes: AtomicU64,
    given_bytes: AtomicU64,
    exceeded: AtomicBool,
}

impl Meter {
    /// Compressed bytes that the decoder has taken, read ahead included.
    pub(super) fn taken_bytes(&self) -> u64 {
        self.taken_bytes.load(Ordering::Relaxed)
    }

    /// Decompressed bytes that came out.
    pub(super) fn given_bytes(&self) -> u64 {
        self.given_bytes.load(Ordering::Relaxed)
    }
}

/// A decoder over bytes in memory that ends with an error where more than `max_bytes` come out.
pub(super) struct Decoder<'a> {
    coding: Coding,
    inner: Box<dyn Read + Send + 'a>,
    meter: Arc<Meter>,
    max_bytes: u64,
}

impl<'a> Decoder<'a> {
    /// Starts decoding `bytes`.
    pub(super) fn new(
        coding: Coding,
        bytes: &'a [u8],
        max_bytes: u64,
        limits: &PackageLimits,
    ) -> io::Result<Self> {
        let meter = Arc::new(Meter::default());
        let input = Input {
            rest: bytes,
            meter: Arc::clone(&meter),
        };
        let inner: Box<dyn Read + Send + 'a> = match coding {
            Coding::Deflate => Box::new(flate2::bufread::DeflateDecoder::new(input)),
            Coding::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(input)),
            Coding::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(input)),
            Coding::Xz => {
                let flags = liblzma::stream::CONCATENATED;
                let stream = liblzma::stream::Stream::new_stream_decoder(limits.max_decoder_bytes, flags)
                    .map_err(io::Error::from)?;
                Box::new(liblzma::bufread::XzDecoder::new_stream(input, stream))
            }
            Coding::Zstd => {
                let mut decoder = zstd::stream::read::Decoder::with_buffer(input)?;
                // The window alone, which is nearly everything that the decoder takes.
                decoder.window_log_max(limits.max_decoder_bytes.max(1 << 10).ilog2())?;
                Box::new(decoder)
            }
        };
        Ok(Self {
            coding,
            inner,
            meter,
            max_bytes,
        })
    }

    pub(super) fn meter(&self) -> Arc<Meter> {
        Arc::clone(&self.meter)
    }

    /// What `error`, which reading from here gave, means for the file that is being read.
    pub(super) fn refusal(coding: Coding, meter: &Meter, max_bytes: u64, error: &io::Error) -> Refusal {
        let refusal = if meter.exceeded.load(Ordering::Relaxed) {
            Refusal::limit(
                format!("at most {max_bytes:#x} bytes behind this many compressed ones"),
                "more",
            )
        } else {
            Refusal::unreadable(format!("{} data", coding.as_str()), error.to_string())
        };
        refusal.at(meter.taken_bytes())
    }

    /// Reads to the end, where about `expected_bytes` come out.
    pub(super) fn read_all(mut self, expected_bytes: u64) -> Result<Vec<u8>, Refusal> {
        let mut content = Vec::new();
        // A declared size buys no memory on its own: the rest is taken as content arrives.
        let first = expected_bytes.min(self.max_bytes).min(FIRST_RESERVED_BYTES);
        content.reserve_exact(usize::try_from(first).unwrap_or(0) + 1);
        match self.read_to_end(&mut content) {
            Ok(_) => Ok(content),
            Err(error) => Err(Self::refusal(self.coding, &self.meter, self.max_bytes, &error)),
        }
    }
}

/// What is reserved at most before the first byte has arrived. Memory that is never written to costs none.
const FIRST_RESERVED_BYTES: u64 = 64 << 20;

impl Read for Decoder<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let got = self.inner.read(buffer)?;
        let given = self.meter.given_bytes.fetch_add(got as u64, Ordering::Relaxed) + got as u64;
        if given > self.max_bytes {
            self.meter.exceeded.store(true, Ordering::Relaxed);
            return Err(io::Error::other("the stream is larger than allowed"));
        }
        Ok(got)
    }
}

/// The compressed bytes.
struct Input<'a> {
    rest: &'a [u8],
    meter: Arc<Meter>,
}

impl Read for Input<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let got = self.rest.read(buffer)?;
        self.meter.taken_bytes.fetch_add(got as u64, Ordering::Relaxed);
        Ok(got)
    }
}

impl io::BufRead for Input<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        // In pieces, so that the count says about where an error is.
        Ok(self.rest.get(..PIECE_BYTES).unwrap_or(self.rest))
    }

    fn consume(&mut self, amount: usize) {
        self.rest = self.rest.get(amount..).unwrap_or_default();
        self.meter.taken_bytes.fetch_add(amount as u64, Ordering::Relaxed);
    }
}

/// How much a decoder sees at a time, in bytes.
const PIECE_BYTES: usize = 256 << 10;

/// The first bytes of `reader`, up to `count`; fewer where it ends.
pub(super) fn read_prefix(reader: &mut impl Read, count: usize) -> io::Result<Vec<u8>> {
    let mut prefix = Vec::with_capacity(count);
    reader.take(count as u64).read_to_end(&mut prefix)?;
    Ok(prefix)
}
