//! The files of a folder, in one order everywhere. Links are never followed, so that the walk stays inside and ends.

use std::collections::BTreeSet;
use std::fs::{FileType, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::open::{Note, NoteKind};

/// What a folder holds.
#[derive(Debug, Default)]
pub(crate) struct Folder {
    /// Its files, by the name from the folder on.
    pub(crate) files: Vec<(Arc<str>, PathBuf)>,
    /// Their sizes together, in bytes.
    pub(crate) size_bytes: u64,
    /// What is not read, and need not be.
    pub(crate) notes: Vec<Note>,
    /// What could not be listed: name and reason.
    pub(crate) unreadable: Vec<(Arc<str>, String)>,
    /// There are more entries than allowed, and the rest is not here.
    pub(crate) cut: bool,
}

/// Lists the folder `root` with everything below it, at most `max_entries`.
///
/// # Errors
/// When the folder itself cannot be listed.
pub(crate) fn walk(root: &Path, max_entries: u64) -> io::Result<Folder> {
    let mut folder = Folder::default();
    let mut seen = BTreeSet::new();
    let mut entries: u64 = 0;
    // What is still to be looked at, the next one last, so that a folder's content comes where its name does.
    let mut pending = listed(root, "")?;
    let canonical_root = root.canonicalize()?;
    while let Some((name, path)) = pending.pop() {
        entries += 1;
        if entries > max_entries {
            folder.cut = true;
            break;
        }
        let metadata = match path.symlink_metadata() {
            Ok(metadata) => metadata,
            Err(error) => {
                folder.unreadable.push((name, error.to_string()));
                continue;
            }
        };
        let kind = metadata.file_type();
        if kind.is_dir() {
            match listed(&path, &format!("{name}/")) {
                Ok(below) => pending.extend(below),
                Err(error) => folder.unreadable.push((name, error.to_string())),
            }
        } else if kind.is_file() {
            if identity(&metadata).is_some_and(|file| !seen.insert(file)) {
                folder.note(&name, NoteKind::SameFile);
                continue;
            }
            folder.size_bytes += metadata.len();
            folder.files.push((name, path));
        } else {
            let (what, kind) = not_a_file(&name, &path, kind, &canonical_root);
            folder.notes.push(Note { what, kind });
        }
    }
    Ok(folder)
}

impl Folder {
    fn note(&mut self, name: &str, kind: NoteKind) {
        let what = name.to_owned();
        self.notes.push(Note { what, kind });
    }
}

/// The entries of one folder, the last name first.
fn listed(path: &Path, prefix: &str) -> io::Result<Vec<(Arc<str>, PathBuf)>> {
    let mut names = std::fs::read_dir(path)?
        .map(|entry| entry.map(|entry| entry.file_name()))
        .collect::<io::Result<Vec<_>>>()?;
    names.sort_unstable_by(|a, b| b.cmp(a));
    Ok(names
        .into_iter()
        .map(|name| {
            (
                Arc::from(format!("{prefix}{}", name.to_string_lossy())),
                path.join(name),
            )
        })
        .collect())
}

fn not_a_file(name: &str, path: &Path, kind: FileType, root: &Path) -> (String, NoteKind) {
    if !kind.is_symlink() {
        return (name.to_owned(), NoteKind::SpecialFile);
    }
    let leads_to = std::fs::read_link(path).map_or_else(|_| "?".to_owned(), |to| to.display().to_string());
    let kind = match path.canonicalize() {
        Ok(target) if target.starts_with(root) => NoteKind::LinkInside,
        Ok(_) => NoteKind::LinkOutside,
        Err(_) => NoteKind::LinkToNothing,
    };
    (format!("{name} -> {leads_to}"), kind)
}

/// What tells a file with several names from others; `None` where it has one name.
#[cfg(unix)]
fn identity(metadata: &Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;

    (metadata.nlink() > 1).then(|| (metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn identity(_metadata: &Metadata) -> Option<(u64, u64)> {
    None
}
