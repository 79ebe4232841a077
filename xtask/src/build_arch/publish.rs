//! Files appear whole or not at all.

use std::io::Write as _;
use std::path::Path;

use anyhow::Context as _;

/// What temporary names begin with, so that those of a killed run can be told and removed.
const PREFIX: &str = ".unfinished-";

/// Puts `bytes` at `path`: written under a temporary name, synced, renamed.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let folder = path.parent().context("a file has a folder")?;
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let mut file = tempfile::Builder::new()
        .prefix(PREFIX)
        .tempfile_in(folder)
        .with_context(|| format!("cannot write in {}", folder.display()))?;
    file.write_all(bytes)
        .and_then(|()| file.as_file().sync_all())
        .with_context(|| format!("cannot write {}", path.display()))?;
    make_readable(&file)?;
    file.persist(path)
        .with_context(|| format!("cannot put {} in place", path.display()))?;
    Ok(())
}

/// Temporary files are private to their owner; what is published is as readable as any other build output.
#[cfg(unix)]
fn make_readable(file: &tempfile::NamedTempFile) -> anyhow::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    file.as_file()
        .set_permissions(std::fs::Permissions::from_mode(0o644))
        .context("cannot set permissions")
}

#[cfg(not(unix))]
fn make_readable(_file: &tempfile::NamedTempFile) -> anyhow::Result<()> {
    Ok(())
}

/// Removes a file that may not be there.
pub(crate) fn remove(path: &Path) -> anyhow::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", path.display()))
        }
        _ => Ok(()),
    }
}

/// Removes what killed runs have left in `folder`.
pub(crate) fn remove_unfinished(folder: &Path) -> anyhow::Result<()> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Ok(());
    };
    for entry in entries {
        let entry = entry.with_context(|| format!("cannot read {}", folder.display()))?;
        if entry.file_name().to_string_lossy().starts_with(PREFIX) {
            remove(&entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_file_is_replaced_whole_and_leftovers_go() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/summary.json");
        super::write(&path, b"one").unwrap();
        super::write(&path, b"two").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
        let parent = path.parent().unwrap();
        std::fs::write(parent.join(".unfinished-x"), b"half").unwrap();
        super::remove_unfinished(parent).unwrap();
        assert_eq!(std::fs::read_dir(parent).unwrap().count(), 1);
        super::remove(&path).unwrap();
        super::remove(&path).unwrap();
    }
}
