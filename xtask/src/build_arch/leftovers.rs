//! What earlier or killed runs have left in an output folder.

use std::path::Path;

use anyhow::Context as _;

/// What the names of files that are being written begin with; the temporary-file library's own prefix.
const UNFINISHED: &str = ".tmp";

/// What the names of build folders begin with whose run was stopped from outside.
pub(crate) const STOPPED_PREFIX: &str = "stopped-build-";

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
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with(UNFINISHED) {
            remove(&entry.path())?;
        } else if name.starts_with(STOPPED_PREFIX) {
            // A compiler that is still at work there can keep it from going; a later run tries again.
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn only_leftovers_go() {
        let folder = tempfile::tempdir().unwrap();
        for name in [".tmpHalf", "audit.json"] {
            std::fs::write(folder.path().join(name), "x").unwrap();
        }
        std::fs::create_dir_all(folder.path().join("stopped-build-1/objects")).unwrap();
        super::remove_unfinished(folder.path()).unwrap();
        let left: Vec<_> = std::fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(left, ["audit.json"]);
        let path = folder.path().join("audit.json");
        super::remove(&path).unwrap();
        super::remove(&path).unwrap();
        super::remove_unfinished(&folder.path().join("not there")).unwrap();
    }
}
