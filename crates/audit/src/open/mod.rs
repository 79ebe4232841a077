//! Packages: the files in wheels, zips, tars, conda and Debian packages and compressed files, in order, without ever
//! writing one to disk.
//!
//! A package is bytes in memory, mapped as a rule. Its files come in waves that fit into a share of the budget: those of
//! one wave are decompressed and read in parallel, and what they came to is handed on in the order of the package.
//! Packages in packages are walked one after the other once their wave is read. Nothing waits for memory, so nothing
//! can wait for ever.

mod deb;
mod formats;
mod limits;
mod refusal;
mod stream;
mod tar;
mod zip;

use std::borrow::Cow;
use std::sync::Arc;

use rayon::prelude::*;

pub(crate) use formats::{Format, Kind, recognise};
pub use limits::PackageLimits;
pub(crate) use refusal::{Note, NoteKind, Refusal};

/// What became of one entry of a package.
#[derive(Debug)]
pub(crate) enum Item<T> {
    /// A file that was read.
    Read(T),
    /// Files that are no binaries, by their number.
    Other(u64),
    /// A file, or the rest of a package, that was not read and should have been.
    Refused(Refusal),
    /// Something that is worth saying of an entry.
    Noted(Note),
}

/// Walks packages. `read` is called for each file that may hold device code, from several threads; `take` for each
/// entry, in order.
pub(crate) struct Walker<'w, T> {
    limits: &'w PackageLimits,
    read: &'w (dyn Fn(&Arc<str>, &[u8]) -> T + Sync),
    take: &'w mut dyn FnMut(Item<T>),
    /// Decompressed so far, in bytes.
    decompressed_bytes: u64,
    /// Entries so far.
    entries: u64,
}

/// Where a package is: what stands before the names of its files, how deep it lies, what may be held for it.
#[derive(Clone, Debug)]
struct Level {
    /// Empty, or ends with `/`.
    prefix: String,
    /// The name of the only file of a compressed stream.
    only_name: Arc<str>,
    depth: u32,
    budget_bytes: u64,
}

impl Level {
    /// What the files of one wave may take together.
    fn wave_bytes(&self) -> u64 {
        // Half for packages in packages, half of the rest for the wave that arrives while one is read.
        self.budget_bytes / 4
    }

    fn full_name(&self, name: &str) -> Arc<str> {
        if self.prefix.is_empty() {
            Arc::from(name)
        } else {
            Arc::from(format!("{}{name}", self.prefix))
        }
    }
}

/// A file of a package that has arrived.
#[derive(Debug)]
enum Arrived<'a> {
    /// In memory, and worth reading.
    File {
        name: Arc<str>,
        content: Cow<'a, [u8]>,
    },
    Other,
    Refused(Refusal),
    Noted(Note),
}

/// What a file of a wave came to.
enum Done<'a, T> {
    Item(Item<T>),
    Package {
        name: Arc<str>,
        content: Cow<'a, [u8]>,
        format: Format,
    },
}

impl<'w, T: Send> Walker<'w, T> {
    pub(crate) fn new(
        limits: &'w PackageLimits,
        read: &'w (dyn Fn(&Arc<str>, &[u8]) -> T + Sync),
        take: &'w mut dyn FnMut(Item<T>),
    ) -> Self {
        Self {
            limits,
            read,
            take,
            decompressed_bytes: 0,
            entries: 0,
        }
    }

    /// Walks the package `bytes`, and says what it turns out to be. `name` is that of the package among the files of the
    /// input, `None` for the input itself; `only_name` is what the file in it is called where it is one compressed file.
    pub(crate) fn walk(
        &mut self,
        bytes: &[u8],
        format: Format,
        name: Option<&Arc<str>>,
        only_name: &str,
    ) -> &'static str {
        let level = Level {
            prefix: name.map_or_else(String::new, |name| format!("{name}/")),
            only_name: name.map_or_else(|| Arc::from(only_name), Arc::clone),
            depth: 1,
            budget_bytes: self.limits.budget_bytes,
        };
        self.package(bytes, format, &level)
    }

    fn package(&mut self, bytes: &[u8], format: Format, level: &Level) -> &'static str {
        let result = match format {
            Format::Zip => zip::walk(self, bytes, level),
            Format::Tar => tar::walk_plain(self, bytes, level),
            Format::Deb => deb::walk(self, bytes, level),
            Format::Stream(coding) => tar::walk_stream(self, bytes, coding, level),
        };
        match result {
            Ok(name) => name,
            Err(mut refusal) => {
                if refusal.member.is_none() && !level.prefix.is_empty() {
                    refusal.member = Some(Arc::from(level.prefix.trim_end_matches('/')));
                }
                (self.take)(Item::Refused(refusal));
                format.as_str()
            }
        }
    }

    /// Counts entries.
    fn count_entries(&mut self, count: u64) -> Result<(), Refusal> {
        self.entries += count;
        if self.entries > self.limits.max_entries {
            let expected = format!("at most {} entries in one input", self.limits.max_entries);
            return Err(Refusal::limit(expected, "more"));
        }
        Ok(())
    }

    /// Counts bytes that are decompressed.
    fn count_bytes(&mut self, bytes: u64) -> Result<(), Refusal> {
        self.decompressed_bytes = self.decompressed_bytes.saturating_add(bytes);
        if self.decompressed_bytes > self.limits.max_package_bytes {
            let most = self.limits.max_package_bytes;
            return Err(Refusal::limit(
                format!("at most {most:#x} decompressed bytes in one input"),
                format!("{:#x}", self.decompressed_bytes),
            ));
        }
        Ok(())
    }

    /// Reads the files of one wave, which `arrive` brings in, in parallel.
    fn wave<'a, E: Send>(
        &mut self,
        entries: Vec<E>,
        level: &Level,
        arrive: impl Fn(E) -> Arrived<'a> + Sync,
    ) {
        let read = self.read;
        let done: Vec<Done<'a, T>> = entries
            .into_par_iter()
            .map(|entry| match arrive(entry) {
                Arrived::File { name, content } => match recognise(&content) {
                    Kind::Package(format) => Done::Package {
                        name,
                        content,
                        format,
                    },
                    _ => Done::Item(Item::Read(read(&name, &content))),
                },
                Arrived::Other => Done::Item(Item::Other(1)),
                Arrived::Refused(refusal) => Done::Item(Item::Refused(refusal)),
                Arrived::Noted(note) => Done::Item(Item::Noted(note)),
            })
            .collect();
        for one in done {
            match one {
                Done::Item(item) => (self.take)(item),
                Done::Package {
                    name,
                    content,
                    format,
                } => self.nested(&name, &content, format, level),
            }
        }
    }

    fn nested(&mut self, name: &Arc<str>, content: &[u8], format: Format, level: &Level) {
        if level.depth >= self.limits.max_depth {
            let expected = format!("at most {} packages inside each other", self.limits.max_depth);
            let refusal = Refusal::limit(expected, format!("another one ({})", format.as_str()));
            return (self.take)(Item::Refused(refusal.of(name)));
        }
        // What a conda or Debian package has inside is how it is made, and no folder that anybody knows.
        let prefix = if is_transparent(name) && level.prefix.is_empty() {
            String::new()
        } else {
            format!("{name}/")
        };
        let level = Level {
            prefix,
            only_name: Arc::clone(name),
            depth: level.depth + 1,
            budget_bytes: level.budget_bytes / 2,
        };
        self.package(content, format, &level);
    }
}

/// Whether `name` is that of the tar file with the content of a conda package or of a Debian package.
fn is_transparent(name: &str) -> bool {
    let conda = (name.starts_with("pkg-") || name.starts_with("info-")) && name.ends_with(".tar.zst");
    conda || name.starts_with("data.tar") || name.starts_with("control.tar")
}

/// The longest name of a file, in bytes. Longer ones name no file on any system.
const MAX_NAME_BYTES: usize = 4096;

/// A name as text, without the `./` that many tars put in front.
fn name_of(raw: &[u8]) -> Result<String, Refusal> {
    if raw.len() > MAX_NAME_BYTES {
        let expected = format!("a name of at most {MAX_NAME_BYTES} bytes");
        return Err(Refusal::limit(expected, format!("one of {}", raw.len())));
    }
    let name = String::from_utf8_lossy(raw);
    Ok(name.strip_prefix("./").unwrap_or(&name).to_owned())
}

/// What becomes of a file of this kind: only what may hold device code is read.
fn is_worth_reading(kind: Kind) -> Result<bool, Refusal> {
    match kind {
        Kind::Package(_) | Kind::Object | Kind::Text => Ok(true),
        Kind::Opaque(what) => Err(Refusal::unreadable("a file of a format that is read here", what)),
        Kind::Other => Ok(false),
    }
}
