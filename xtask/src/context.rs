//! What every task shares: where the workspace is, and how an error becomes an exit status.

use std::fmt;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use blockgate_findings::ExitStatus;

/// The workspace that a task works on.
pub(crate) struct Context {
    root: PathBuf,
}

impl Context {
    /// The workspace that this program was built from.
    pub(crate) fn discover() -> anyhow::Result<Self> {
        let manifest = std::env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        let root = manifest
            .parent()
            .context("xtask has no parent folder")?
            .to_path_buf();
        Ok(Self { root })
    }

    /// The workspace root.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// `target/` of the workspace, where everything that a task makes lies.
    pub(crate) fn target(&self) -> PathBuf {
        self.root.join("target")
    }
}

/// An error with an exit status of its own: wrong usage, or an input that could not be checked.
#[derive(Debug)]
pub(crate) struct StatusError {
    status: ExitStatus,
    message: String,
}

impl StatusError {
    /// The input or a tool could not be read or had: exit 3.
    pub(crate) fn unreadable(message: impl Into<String>) -> anyhow::Error {
        Self {
            status: ExitStatus::Unreadable,
            message: message.into(),
        }
        .into()
    }

    /// The command line or a configuration file is wrong: exit 2.
    pub(crate) fn usage(message: impl Into<String>) -> anyhow::Error {
        Self {
            status: ExitStatus::Usage,
            message: message.into(),
        }
        .into()
    }
}

impl fmt::Display for StatusError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for StatusError {}

/// The exit status that an error carries, or that of a fault of our own.
pub(crate) fn status_of(error: &anyhow::Error) -> ExitStatus {
    error
        .chain()
        .find_map(|cause| cause.downcast_ref::<StatusError>())
        .map_or(ExitStatus::Internal, |error| error.status)
}

/// Writes a file whole or not at all: a temporary name in the same folder, fsync, rename.
pub(crate) fn publish(path: &Path, content: &[u8]) -> anyhow::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    let mut file = tempfile::NamedTempFile::new_in(folder)
        .with_context(|| format!("no file can be made in {}", folder.display()))?;
    file.write_all(content)?;
    file.as_file().sync_all()?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        file.as_file()
            .set_permissions(std::fs::Permissions::from_mode(0o644))?;
    }
    file.persist(path)
        .with_context(|| format!("{} cannot be put in place", path.display()))?;
    Ok(())
}
