//! The bytes of an input, mapped where that is possible.
#![allow(
    unsafe_code,
    reason = "mapping a file is unsafe in itself; this module is the only place that does it"
)]

use std::fs::File;
use std::io::{self, Read};
use std::ops::Deref;
use std::path::Path;

use memmap2::Mmap;

/// The contents of one input file.
#[derive(Debug)]
pub enum Bytes {
    /// Mapped from a regular file.
    Mapped(Mmap),
    /// Read into memory: pipes, devices and empty files cannot be mapped.
    Owned(Vec<u8>),
}

/// What is read at most from something that is no regular file, in bytes.
const MAX_STREAM_BYTES: u64 = 4 << 30;

impl Bytes {
    /// Maps the file at `path`, or reads it where it cannot be mapped.
    ///
    /// # Errors
    /// When the file cannot be opened or read, is a folder, or is a stream of more than 4 GiB.
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::of(File::open(path)?, true)
    }

    /// Maps standard input where it is a file, and reads it where it is a pipe.
    ///
    /// # Errors
    /// When it cannot be read, or is a stream of more than 4 GiB.
    pub fn stdin() -> io::Result<Self> {
        #[cfg(unix)]
        {
            use std::io::Seek;
            use std::os::fd::AsFd;

            let mut file = File::from(io::stdin().as_fd().try_clone_to_owned()?);
            // Where somebody else has read a part of the file, the rest is read and not the file mapped.
            if !file.metadata()?.is_file() || file.stream_position()? == 0 {
                return Self::of(file, true);
            }
        }
        Self::read_capped(&mut io::stdin().lock())
    }

    /// Maps the regular file at `path`. A name that comes out of an input may lead anywhere, and a pipe or a device
    /// would be read without end.
    ///
    /// # Errors
    /// When the file cannot be opened or read, or is no regular file.
    pub fn open_regular(path: &Path) -> io::Result<Self> {
        // Opening a pipe waits for its writer, so the kind is asked first.
        if !std::fs::metadata(path)?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "is no regular file"));
        }
        Self::of(File::open(path)?, false)
    }

    fn of(mut file: File, stream: bool) -> io::Result<Self> {
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return Err(io::Error::new(io::ErrorKind::IsADirectory, "is a folder"));
        }
        if metadata.is_file() && metadata.len() > 0 {
            // SAFETY: the mapping is private and read-only, and is only ever seen as bytes: no value of it
            // is trusted twice. A file that another process cuts short while it is mapped ends this process
            // with SIGBUS, which is the ordinary contract of tools that map their inputs.
            return unsafe { Mmap::map(&file) }.map(Self::Mapped);
        }
        if !metadata.is_file() && !stream {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "is no regular file"));
        }
        Self::read_capped(&mut file)
    }

    fn read_capped(stream: &mut dyn Read) -> io::Result<Self> {
        let mut bytes = Vec::new();
        stream.take(MAX_STREAM_BYTES + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > MAX_STREAM_BYTES {
            return Err(io::Error::new(
                io::ErrorKind::FileTooLarge,
                "a stream of more than 4 GiB",
            ));
        }
        Ok(Self::Owned(bytes))
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Owned(bytes) => bytes,
        }
    }
}
