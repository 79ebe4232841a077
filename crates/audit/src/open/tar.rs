//! Tar files and compressed streams. A stream has one order, so it is decompressed by a thread of its own, one wave ahead
//! of the threads that read its files. Sources: POSIX pax, GNU tar's manual.

use std::borrow::Cow;
use std::cell::Cell;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::rc::Rc;
use std::sync::mpsc::{SyncSender, sync_channel};

use ::tar::{Archive, Entries, Entry, EntryType};

use super::formats::{PREFIX_BYTES, is_tar, recognise};
use super::refusal::Refusal;
use super::stream::{Coding, Decoder, read_prefix};
use super::{Arrived, Level, Note, NoteKind, PackageLimits, Walker, is_worth_reading, name_of};

/// What a tar file may spend on the headers of one entry, long names and attributes included, in bytes.
const MAX_HEADER_BYTES: u64 = 1 << 20;

/// Headers, and zeros in place of one behind the last entry, take a block each, in bytes. What an entry has in its last block
/// is padded.
const BLOCK_BYTES: u64 = 512;

/// Entries of one wave. They are handed on in any case after so many.
const WAVE_ENTRIES: usize = 256;

/// Files that have arrived, and what it took to get there.
#[derive(Default)]
struct Wave<'a> {
    arrived: Vec<Arrived<'a>>,
    entries: u64,
    held_bytes: u64,
    passed_bytes: u64,
}

/// Walks the tar file `bytes`, whose files are read where they lie.
pub(super) fn walk_plain<T: Send>(
    walker: &mut Walker<'_, T>,
    bytes: &[u8],
    level: &Level,
) -> Result<&'static str, Refusal> {
    let limits = walker.limits;
    pump(walker, level, |sender| {
        let allowance = Rc::new(Cell::new(u64::MAX));
        let reader = Guarded {
            inner: Cursor::new(bytes),
            allowance: Rc::clone(&allowance),
        };
        let mut archive = Archive::new(reader);
        let entries = archive.entries_with_seek();
        let tar = Tar {
            whole: Some(bytes),
            allowance,
            limits,
            level,
        };
        tar.produce(entries, &|error| unreadable_tar(error), sender);
    })?;
    Ok("tar")
}

/// Walks the stream `bytes`: a compressed tar file, or one compressed file.
pub(super) fn walk_stream<T: Send>(
    walker: &mut Walker<'_, T>,
    bytes: &[u8],
    coding: Coding,
    level: &Level,
) -> Result<&'static str, Refusal> {
    let limits = walker.limits;
    let most = limits.max_stream_bytes(bytes.len() as u64);
    let start = |max_bytes| {
        Decoder::new(coding, bytes, max_bytes, limits)
            .map_err(|error| Refusal::unreadable(format!("{} data", coding.as_str()), error.to_string()))
    };
    let mut decoder = start(most)?;
    let meter = decoder.meter();
    let prefix = read_prefix(&mut decoder, PREFIX_BYTES)
        .map_err(|error| Decoder::refusal(coding, &meter, most, &error))?;
    if !is_tar(&prefix) {
        walker.count_entries(1)?;
        if !is_worth_reading(recognise(&prefix))? {
            // A damaged library may look like this. Its checksum stands at the end of the stream.
            let passed = io::copy(&mut decoder, &mut io::sink())
                .map_err(|error| Decoder::refusal(coding, &meter, most, &error))?;
            walker.count_bytes(passed)?;
            walker.wave(vec![Arrived::Other], level, |file| file);
            return Ok(coding.as_str());
        }
        let most = limits.max_decoded_bytes(bytes.len() as u64);
        let content = start(most)?.read_all(most)?;
        walker.count_bytes(content.len() as u64)?;
        let file = Arrived::File {
            name: level.only_name.clone(),
            content: Cow::Owned(content),
        };
        walker.wave(vec![file], level, |file| file);
        return Ok(coding.as_str());
    }
    pump(walker, level, |sender| {
        let allowance = Rc::new(Cell::new(u64::MAX));
        let reader = Guarded {
            inner: Cursor::new(prefix).chain(decoder),
            allowance: Rc::clone(&allowance),
        };
        let mut archive = Archive::new(reader);
        let entries = archive.entries();
        let tar = Tar {
            whole: None,
            allowance,
            limits,
            level,
        };
        let explain = |error: &io::Error| {
            let by_stream = Decoder::refusal(coding, &meter, most, error);
            if by_stream.rule == super::refusal::LIMIT {
                by_stream
            } else {
                unreadable_tar(error).at(meter.given_bytes())
            }
        };
        tar.produce(entries, &explain, sender);
        // Checksums stand at the end of a stream, behind the last entry.
        if let Err(error) = io::copy(&mut archive.into_inner(), &mut io::sink()) {
            // Nobody receives any more where a refusal was the last word.
            let _ = sender.send(Err(explain(&error)));
        }
    })?;
    Ok(coding.of_tar())
}

fn unreadable_tar(error: &io::Error) -> Refusal {
    if error.get_ref().is_some_and(|inner| inner.is::<HeadersTooLarge>()) {
        return Refusal::limit(
            format!("at most {MAX_HEADER_BYTES:#x} bytes of headers for one entry"),
            "more",
        );
    }
    Refusal::unreadable("a tar entry", error.to_string())
}

/// Runs `produce` on a thread of its own and reads the waves that it sends.
fn pump<'a, T: Send>(
    walker: &mut Walker<'_, T>,
    level: &Level,
    produce: impl FnOnce(&SyncSender<Result<Wave<'a>, Refusal>>) + Send,
) -> Result<(), Refusal> {
    std::thread::scope(|scope| {
        // Without a buffer: one wave is read while the next one arrives, and none lies in between.
        let (sender, receiver) = sync_channel(0);
        // The producer takes no part in the thread pool, so that waiting for it never waits for the pool.
        let producer = scope.spawn(move || produce(&sender));
        let read = move || {
            // Moved here, so that the producer finds nobody to send to where reading ends early.
            for wave in receiver {
                let wave = wave?;
                walker.count_entries(wave.entries)?;
                walker.count_bytes(wave.passed_bytes)?;
                walker.wave(wave.arrived, level, |file| file);
            }
            Ok(())
        };
        let result = read();
        // The scope waits for the closure alone; joining waits for what the thread frees behind it, too.
        match producer.join() {
            Ok(()) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// What the entries of one tar file are read with.
struct Tar<'t, 'a> {
    /// The tar file, where it lies in memory as a whole.
    whole: Option<&'a [u8]>,
    allowance: Rc<Cell<u64>>,
    limits: &'t PackageLimits,
    level: &'t Level,
}

impl<'a> Tar<'_, 'a> {
    /// Sends the entries in waves. A refusal of the tar file itself is the last thing that is sent.
    fn produce<R: Read>(
        &self,
        entries: io::Result<Entries<'_, R>>,
        explain: &dyn Fn(&io::Error) -> Refusal,
        sender: &SyncSender<Result<Wave<'a>, Refusal>>,
    ) {
        let mut wave = Wave::default();
        let mut entries = match entries {
            Ok(entries) => entries,
            Err(error) => {
                let _ = sender.send(Err(explain(&error)));
                return;
            }
        };
        let mut last = None;
        loop {
            self.allowance.set(MAX_HEADER_BYTES);
            let entry = entries.next();
            let read_bytes = MAX_HEADER_BYTES.saturating_sub(self.allowance.replace(u64::MAX));
            let result = match entry {
                // A file that was cut behind an entry, or in the padding there, ends like this too.
                None if read_bytes < BLOCK_BYTES => Err(Refusal::unreadable(
                    "the block of zeros that ends a tar file",
                    "the end of the file",
                )),
                None => break,
                Some(Err(error)) => Err(explain(&error)),
                Some(Ok(entry)) => self.entry(entry, explain, &mut wave),
            };
            if let Err(refusal) = result {
                last = Some(refusal);
                break;
            }
            let is_full = wave.held_bytes >= self.level.wave_bytes() || wave.arrived.len() >= WAVE_ENTRIES;
            // Nobody receives any more where a cap was exceeded.
            if is_full && sender.send(Ok(std::mem::take(&mut wave))).is_err() {
                return;
            }
        }
        if sender.send(Ok(wave)).is_ok()
            && let Some(refusal) = last
        {
            let _ = sender.send(Err(refusal));
        }
    }

    /// Adds one entry to the wave. An error means that the next one cannot be found.
    fn entry<R: Read>(
        &self,
        mut entry: Entry<'_, R>,
        explain: &dyn Fn(&io::Error) -> Refusal,
        wave: &mut Wave<'a>,
    ) -> Result<(), Refusal> {
        let at = entry.raw_header_position();
        wave.entries += 1;
        let (name, link) = match self.names(&entry) {
            Ok(names) => names,
            Err(refusal) => {
                wave.arrived.push(Arrived::Refused(refusal.at(at)));
                return self.pass_over(&mut entry, explain, wave);
            }
        };
        let kind = entry.header().entry_type();
        let note = match kind {
            EntryType::Symlink | EntryType::Link => Some(Note {
                what: format!("{name} -> {link}"),
                kind: NoteKind::LinkInPackage,
            }),
            EntryType::Char | EntryType::Block | EntryType::Fifo => Some(Note {
                what: name.clone(),
                kind: NoteKind::SpecialFile,
            }),
            _ => None,
        };
        if let Some(note) = note {
            wave.arrived.push(Arrived::Noted(note));
            return self.pass_over(&mut entry, explain, wave);
        }
        if matches!(kind, EntryType::Directory | EntryType::XGlobalHeader) {
            return self.pass_over(&mut entry, explain, wave);
        }
        let name = self.level.full_name(&name);
        match self.content(&mut entry, explain) {
            Ok(Some(content)) => {
                wave.passed_bytes += content.len() as u64;
                // What is borrowed costs nothing, and still is enough work for a wave.
                wave.held_bytes += content.len() as u64;
                wave.arrived.push(Arrived::File { name, content });
            }
            Ok(None) => wave.arrived.push(Arrived::Other),
            Err(Trouble::WithEntry(refusal)) => {
                wave.arrived.push(Arrived::Refused(refusal.of(&name).at(at)));
            }
            Err(Trouble::WithTar(refusal)) => return Err(refusal.of(&name)),
        }
        self.pass_over(&mut entry, explain, wave)
    }

    /// The entry's own name, and where it leads if it is a link.
    fn names<R: Read>(&self, entry: &Entry<'_, R>) -> Result<(String, String), Refusal> {
        let link = entry.link_name_bytes().unwrap_or_default();
        let link = String::from_utf8_lossy(
            link.get(..link.len().min(super::MAX_NAME_BYTES))
                .unwrap_or_default(),
        )
        .into_owned();
        Ok((name_of(&entry.path_bytes())?, link))
    }

    /// The content, or `None` where it is no binary.
    fn content<R: Read>(
        &self,
        entry: &mut Entry<'_, R>,
        explain: &dyn Fn(&io::Error) -> Refusal,
    ) -> Result<Option<Cow<'a, [u8]>>, Trouble> {
        let kind = entry.header().entry_type();
        if is_pax_sparse(entry) {
            let expected = "a file that is stored whole, or sparse in GNU's old form";
            return Err(Trouble::WithEntry(Refusal::unreadable(
                expected,
                "a sparse file (pax)",
            )));
        }
        let size = entry.size();
        if let (Some(whole), false) = (self.whole, kind.is_gnu_sparse()) {
            let start = entry.raw_file_position();
            let content = usize::try_from(start)
                .ok()
                .zip(start.checked_add(size).and_then(|end| usize::try_from(end).ok()))
                .and_then(|(start, end)| whole.get(start..end));
            let Some(content) = content else {
                let expected = format!("an entry within {:#x} bytes", whole.len());
                let refusal = Refusal::unreadable(expected, format!("{size:#x} bytes from {start:#x}"));
                return Err(Trouble::WithTar(refusal.at(start)));
            };
            let worth = is_worth_reading(recognise(content)).map_err(Trouble::WithEntry)?;
            return Ok(worth.then_some(Cow::Borrowed(content)));
        }
        let prefix = read_prefix(entry, PREFIX_BYTES).map_err(|error| Trouble::WithTar(explain(&error)))?;
        if !is_worth_reading(recognise(&prefix)).map_err(Trouble::WithEntry)? {
            return Ok(None);
        }
        let stored = entry.header().entry_size().unwrap_or(0);
        let most = if kind.is_gnu_sparse() {
            self.limits.max_decoded_bytes(stored)
        } else {
            self.limits.max_member_bytes
        };
        if size > most {
            let refusal = Refusal::limit(format!("a file of at most {most:#x} bytes"), format!("{size:#x}"));
            return Err(Trouble::WithEntry(refusal));
        }
        let mut content = prefix;
        entry
            .read_to_end(&mut content)
            .map_err(|error| Trouble::WithTar(explain(&error)))?;
        if content.len() as u64 != size {
            let refusal = Refusal::unreadable(format!("{size:#x} bytes"), format!("{:#x}", content.len()));
            return Err(Trouble::WithTar(refusal));
        }
        Ok(Some(Cow::Owned(content)))
    }

    /// Reads what is left of an entry, so that the next header comes without more than its own bytes.
    fn pass_over<R: Read>(
        &self,
        entry: &mut Entry<'_, R>,
        explain: &dyn Fn(&io::Error) -> Refusal,
        wave: &mut Wave<'a>,
    ) -> Result<(), Refusal> {
        if let Some(whole) = self.whole {
            // The next header is sought, and behind the end there would simply be none.
            let stored = if entry.header().entry_type().is_gnu_sparse() {
                entry.header().entry_size().unwrap_or(u64::MAX)
            } else {
                entry.size()
            };
            let end = entry.raw_file_position().checked_add(stored);
            if end.is_none_or(|end| end > whole.len() as u64) {
                let expected = format!("an entry within {:#x} bytes", whole.len());
                return Err(Refusal::unreadable(expected, "a longer one").at(entry.raw_header_position()));
            }
            return Ok(());
        }
        let passed = io::copy(entry, &mut io::sink()).map_err(|error| explain(&error))?;
        wave.passed_bytes += passed;
        Ok(())
    }
}

/// What is wrong while an entry is read.
enum Trouble {
    /// The next entry can still be found.
    WithEntry(Refusal),
    /// It cannot.
    WithTar(Refusal),
}

/// Whether the entry is sparse in one of the forms that have their map in pax attributes or before the content.
fn is_pax_sparse<R: Read>(entry: &mut Entry<'_, R>) -> bool {
    let Ok(Some(extensions)) = entry.pax_extensions() else {
        return false;
    };
    extensions
        .flatten()
        .any(|extension| extension.key_bytes().starts_with(b"GNU.sparse."))
}

/// A reader that gives no more than an allowance, so that headers cannot ask for memory without end.
struct Guarded<R> {
    inner: R,
    allowance: Rc<Cell<u64>>,
}

#[derive(Debug, thiserror::Error)]
#[error("the headers of one entry are too large")]
struct HeadersTooLarge;

impl<R: Read> Read for Guarded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let got = self.inner.read(buffer)?;
        let left = self.allowance.get();
        if left != u64::MAX {
            match left.checked_sub(got as u64) {
                Some(left) => self.allowance.set(left),
                None => return Err(io::Error::other(HeadersTooLarge)),
            }
        }
        Ok(got)
    }
}

impl<R: Seek> Seek for Guarded<R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.inner.seek(to)
    }
}
