//! An input and what it is: a file, a package, a folder or standard input.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use blockgate_fatbin::Artifact;
use rayon::prelude::*;

use crate::digest::Digest;
use crate::mapped::Bytes;
use crate::open::{Format, Item, Kind, Refusal, Walker, recognise};
use crate::run::{FileOutcome, Naming, Options, Progress};
use crate::walk;

/// How standard input is named on a command line, and how it is shown.
const STDIN: &str = "-";
const STDIN_LABEL: &str = "<stdin>";

/// An input after the first look at it.
enum Look {
    Done(FileOutcome),
    Package(FileOutcome, Bytes, Format),
    Folder(FileOutcome),
}

/// Audits inputs, each of which may be a package or folder. What is one file is read in parallel with the others. What
/// holds files is read one after the other, each with all threads, so that the budget bounds them together.
pub(crate) fn audit_paths(paths: &[PathBuf], options: &Options, progress: &dyn Progress) -> Vec<FileOutcome> {
    let first_stdin = paths.iter().position(|path| path == Path::new(STDIN));
    let looks: Vec<Look> = paths
        .par_iter()
        .enumerate()
        .map(|(index, path)| look(path, Some(index) == first_stdin, options, progress))
        .collect();
    looks
        .into_iter()
        .zip(paths)
        .map(|(look, path)| match look {
            Look::Done(outcome) => outcome,
            Look::Package(mut outcome, bytes, format) => {
                let only_name = only_name(path);
                outcome.file.format = outcome.package(&bytes, format, None, &only_name, options, progress);
                outcome.finish()
            }
            Look::Folder(outcome) => folder(outcome, path, options, progress),
        })
        .collect()
}

/// Audits content that is in memory.
pub(crate) fn audit_content(
    label: &str,
    bytes: &[u8],
    options: &Options,
    progress: &dyn Progress,
) -> FileOutcome {
    let mut outcome = FileOutcome::new(label);
    outcome.file.size_bytes = bytes.len() as u64;
    outcome.file.read_in_full = true;
    if let Kind::Package(format) = recognise(bytes) {
        let only_name = only_name(Path::new(label));
        outcome.file.format = outcome.package(bytes, format, None, &only_name, options, progress);
    } else {
        outcome.single(bytes, Naming::default(), &NoExternals, options, progress);
    }
    outcome.finish()
}

fn look(path: &Path, is_first_stdin: bool, options: &Options, progress: &dyn Progress) -> Look {
    let is_stdin = path == Path::new(STDIN);
    let label = if is_stdin {
        STDIN_LABEL.to_owned()
    } else {
        path.display().to_string()
    };
    let mut outcome = FileOutcome::new(&label);
    if is_stdin && !is_first_stdin {
        let message = "standard input can be read once".to_owned();
        outcome.refuse("unreadable", None, None, message);
        return Look::Done(outcome.finish());
    }
    if !is_stdin && path.is_dir() {
        return Look::Folder(outcome);
    }
    let opened = if is_stdin {
        Bytes::stdin()
    } else {
        Bytes::open(path)
    };
    let bytes = match opened {
        Ok(bytes) => bytes,
        Err(error) => {
            outcome.refuse("unreadable", None, None, format!("cannot be opened: {error}"));
            return Look::Done(outcome.finish());
        }
    };
    outcome.file.size_bytes = bytes.len() as u64;
    outcome.file.digest = options.digests.then(|| Digest::of(&bytes));
    outcome.file.read_in_full = true;
    if let Kind::Package(format) = recognise(&bytes) {
        return Look::Package(outcome, bytes, format);
    }
    let beside = Beside {
        folder: path.parent().unwrap_or(Path::new("")),
        root: None,
    };
    outcome.single(&bytes, Naming::default(), &beside, options, progress);
    Look::Done(outcome.finish())
}

/// What the file in a compressed file is called, which does not say: `libx.so` in `libx.so.gz`.
fn only_name(path: &Path) -> String {
    if path == Path::new(STDIN) {
        return "content".to_owned();
    }
    path.file_stem().map_or_else(
        || "content".to_owned(),
        |stem| stem.to_string_lossy().into_owned(),
    )
}

fn folder(mut outcome: FileOutcome, path: &Path, options: &Options, progress: &dyn Progress) -> FileOutcome {
    /// A file of the folder after the first look at it.
    enum FileLook {
        Done(Box<FileOutcome>),
        Package,
    }
    outcome.file.format = "directory";
    let listed = walk::walk(path, options.packages.max_entries)
        .and_then(|listed| path.canonicalize().map(|root| (listed, root)));
    let (listed, root) = match listed {
        Ok(listed) => listed,
        Err(error) => {
            outcome.refuse("unreadable", None, None, format!("cannot be listed: {error}"));
            return outcome.finish();
        }
    };
    outcome.file.size_bytes = listed.size_bytes;
    outcome.file.read_in_full = true;
    for (name, reason) in listed.unreadable {
        outcome.refuse("unreadable", Some(name.to_string()), None, reason);
    }
    if listed.cut {
        let message = format!(
            "expected at most {} entries, found more",
            options.packages.max_entries
        );
        outcome.refuse("package-limit", None, None, message);
    }
    let label = outcome.file.path.clone();
    let look = |name: &Arc<str>, path: &Path| {
        let mut part = FileOutcome::part(&label);
        let bytes = match Bytes::open_regular(path) {
            Ok(bytes) => bytes,
            Err(error) => {
                let message = format!("cannot be opened: {error}");
                part.refuse("unreadable", Some(name.to_string()), None, message);
                return FileLook::Done(Box::new(part));
            }
        };
        if matches!(recognise(&bytes), Kind::Package(_)) {
            return FileLook::Package;
        }
        let beside = Beside {
            folder: path.parent().unwrap_or(Path::new("")),
            root: Some(&root),
        };
        part.file_of_package(&bytes, name, &beside, options, progress);
        FileLook::Done(Box::new(part))
    };
    let looks: Vec<FileLook> = listed
        .files
        .par_iter()
        .map(|(name, path)| look(name, path))
        .collect();
    for (look, (name, path)) in looks.into_iter().zip(&listed.files) {
        match look {
            FileLook::Done(part) => outcome.absorb(*part),
            FileLook::Package => match Bytes::open_regular(path) {
                Ok(bytes) => {
                    if let Kind::Package(format) = recognise(&bytes) {
                        outcome.package(&bytes, format, Some(name), "", options, progress);
                    }
                }
                Err(error) => {
                    let message = format!("cannot be opened: {error}");
                    outcome.refuse("unreadable", Some(name.to_string()), None, message);
                }
            },
        }
    }
    for note in listed.notes {
        outcome.note(note);
    }
    outcome.finish()
}

/// Finds the files that a thin archive names.
trait Externals: Sync {
    /// Opens the file at `path`, which is relative to the folder of the archive; the reason where that is not done.
    fn open(&self, path: &str) -> Result<Bytes, String>;
}

/// Nothing lies beside content that is not a file of its own.
struct NoExternals;

impl Externals for NoExternals {
    fn open(&self, _path: &str) -> Result<Bytes, String> {
        Err("the thin archive's member is not in the package".to_owned())
    }
}

/// Members lie beside the archive, and inside the folder that was given if one was.
struct Beside<'p> {
    folder: &'p Path,
    root: Option<&'p Path>,
}

impl Externals for Beside<'_> {
    fn open(&self, path: &str) -> Result<Bytes, String> {
        let path = self.folder.join(path);
        if let Some(root) = self.root
            && path.canonicalize().is_ok_and(|path| !path.starts_with(root))
        {
            return Err("the thin archive's member lies outside the folder".to_owned());
        }
        Bytes::open_regular(&path)
            .map_err(|error| format!("the thin archive's member cannot be opened: {error}"))
    }
}

impl FileOutcome {
    /// A part of the input `label`, to be absorbed by it.
    fn part(label: &str) -> Self {
        let mut part = Self::new(label);
        part.file.read_in_full = true;
        part
    }

    /// Reads a file that was asked for, and that must be readable.
    fn single(
        &mut self,
        bytes: &[u8],
        naming: Naming<'_>,
        externals: &dyn Externals,
        options: &Options,
        progress: &dyn Progress,
    ) {
        match blockgate_fatbin::read(bytes, &options.limits) {
            Ok(artifact) => {
                self.file.format = artifact.format.as_str();
                self.artifact(&artifact, naming, externals, options, progress);
            }
            Err(error) => self.not_read(error, naming),
        }
    }

    /// Reads a file of a package or folder. Most of them hold nothing that a loader or linker would look at.
    fn file_of_package(
        &mut self,
        bytes: &[u8],
        name: &Arc<str>,
        externals: &dyn Externals,
        options: &Options,
        progress: &dyn Progress,
    ) {
        let naming = Naming {
            file: Some(name),
            external: None,
        };
        match recognise(bytes) {
            Kind::Other => self.file.other_files += 1,
            Kind::Opaque(what) => {
                let refusal = Refusal::unreadable("a file of a format that is read here", what);
                self.refusal(refusal.of(name).at(0));
            }
            kind => match blockgate_fatbin::read(bytes, &options.limits) {
                Ok(artifact) => self.artifact(&artifact, naming, externals, options, progress),
                Err(_) if kind == Kind::Text => self.file.other_files += 1,
                Err(error) => self.not_read(error, naming),
            },
        }
    }

    /// Adds what `artifact` holds, in files of their own too.
    fn artifact(
        &mut self,
        artifact: &Artifact<'_>,
        naming: Naming<'_>,
        externals: &dyn Externals,
        options: &Options,
        progress: &dyn Progress,
    ) {
        self.take(artifact, naming, options, progress);
        let mut opened = BTreeSet::new();
        for external in &artifact.external {
            let name: Arc<str> = external.path.as_str().into();
            let naming = Naming {
                external: Some(&name),
                ..naming
            };
            // A header of a few bytes must not cost the reading of a large file again.
            let bytes = if opened.insert(external.path.as_str()) {
                externals.open(&external.path)
            } else {
                Err("the thin archive names this file twice".to_owned())
            };
            let refused = match &bytes {
                Err(message) => Some(message.clone()),
                Ok(bytes) => match blockgate_fatbin::read(bytes, &options.limits) {
                    Ok(artifact) if artifact.external.is_empty() => {
                        self.take(&artifact, naming, options, progress);
                        None
                    }
                    Ok(_) => Some("a thin archive in a thin archive is not followed".to_owned()),
                    Err(error) => {
                        self.not_read(error, naming);
                        None
                    }
                },
            };
            if let Some(message) = refused {
                let member = naming.full(None).map(|name| name.to_string());
                self.refuse("unreadable", member, Some(external.offset), message);
            }
        }
    }

    /// Walks a package, and says what it turned out to be.
    fn package(
        &mut self,
        bytes: &[u8],
        format: Format,
        name: Option<&Arc<str>>,
        only_name: &str,
        options: &Options,
        progress: &dyn Progress,
    ) -> &'static str {
        let label = self.file.path.clone();
        let read = |name: &Arc<str>, content: &[u8]| {
            let mut part = Self::part(&label);
            part.file_of_package(content, name, &NoExternals, options, progress);
            part
        };
        let mut take = |item: Item<Self>| match item {
            Item::Read(part) => self.absorb(part),
            Item::Other(count) => self.file.other_files += count,
            Item::Refused(refusal) => self.refusal(refusal),
            Item::Noted(note) => self.note(note),
        };
        Walker::new(&options.packages, &read, &mut take).walk(bytes, format, name, only_name)
    }

    fn refusal(&mut self, refusal: Refusal) {
        let message = format!("expected {}, found {}", refusal.expected, refusal.found);
        let member = refusal.member.map(|name| name.to_string());
        self.refuse(refusal.rule, member, refusal.offset_bytes, message);
    }
}
