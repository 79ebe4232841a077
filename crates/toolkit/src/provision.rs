//! Packages of pinned tools, each installed as a whole or not at all.

use std::fs::{self, File, TryLockError};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::error::ToolkitError;
use crate::pip;
use crate::places::Places;
use crate::progress::Progress;

/// Says what is installed in a folder. It is written last: a folder without it is half an installation.
const STAMP: &str = "blockgate-stamp.txt";

/// A set of tools that is installed together.
#[derive(Clone, Copy, Debug)]
pub struct Package {
    /// The words for messages.
    pub what: &'static str,
    /// The requirements file, relative to the workspace.
    pub requirements: &'static str,
    /// The folder that it is installed into, relative to the target folder.
    pub folder: &'static str,
    /// Files that must be there afterwards, relative to that folder.
    pub files: &'static [&'static str],
    /// How much is fetched, in megabytes, for the message.
    pub download_megabytes: u32,
    /// Whether the content of its wheels is wanted, or the wheels as they are.
    pub form: PackageForm,
    /// The wheel's platform tag where it is wanted whatever the host is: a file to look at, not a program to run.
    pub wheel_platform: Option<&'static str>,
    /// Whether there are packages for macOS too.
    pub macos: bool,
    /// What to do on a platform without packages.
    pub elsewhere: &'static str,
}

/// What a package's folder holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PackageForm {
    /// What is in the wheels.
    Installed,
    /// The wheels themselves: files to look at.
    Wheels,
}

/// Installs packages into a workspace's target folder.
#[derive(Clone, Debug)]
pub struct Provisioner {
    root: PathBuf,
    target: PathBuf,
    places: Places,
    progress: Progress,
}

impl Provisioner {
    /// For the workspace at `root`, whose build output lies in `target`.
    pub fn new(root: &Path, target: &Path, places: Places, progress: Progress) -> Self {
        Self {
            root: root.to_owned(),
            target: target.to_owned(),
            places,
            progress,
        }
    }

    /// Where programs of the system are looked for.
    pub const fn places(&self) -> &Places {
        &self.places
    }

    /// The folder that holds `package`, installed now where it is not there or only half there.
    ///
    /// `check` looks at a folder and says what is wrong with it. It runs on every call: a program that was
    /// deleted or no longer runs is noticed, and installed again.
    ///
    /// # Errors
    /// No packages for this platform, python or pip missing, no connection, a wrong hash, a full disk; or a
    /// fresh installation that does not pass `check`.
    pub fn install(
        &self,
        package: &Package,
        check: impl Fn(&Path) -> Result<(), String>,
    ) -> Result<PathBuf, ToolkitError> {
        platform_has(package)?;
        let folder = self.target.join(package.folder);
        let requirements = self.root.join(package.requirements);
        let pins = fs::read(&requirements).map_err(io_error("cannot read", &requirements))?;
        // Only plain programs and files are installed, nothing that depends on the version of python.
        let stamp = format!(
            "{} {} {}\n",
            hex(&Sha256::digest(pins)),
            std::env::consts::OS,
            std::env::consts::ARCH
        );
        let parent = folder.parent().unwrap_or(&self.target);
        fs::create_dir_all(parent).map_err(io_error("cannot make", parent))?;
        let _lock = self.lock(&folder, package)?;

        let state = |folder: &Path| -> Result<(), String> {
            let found = fs::read_to_string(folder.join(STAMP)).unwrap_or_default();
            if found != stamp {
                return Err("the pins have changed, or it was never finished".to_owned());
            }
            inspect(folder, package, &check)
        };
        if !folder.exists() {
            self.install_anew(package, &requirements, &folder, &stamp, &check, None)?;
        } else if let Err(reason) = state(&folder) {
            self.install_anew(package, &requirements, &folder, &stamp, &check, Some(&reason))?;
        }
        Ok(folder)
    }

    fn install_anew(
        &self,
        package: &Package,
        requirements: &Path,
        folder: &Path,
        stamp: &str,
        check: &impl Fn(&Path) -> Result<(), String>,
        again_because: Option<&str>,
    ) -> Result<(), ToolkitError> {
        let again = again_because.map_or_else(String::new, |reason| format!(" again ({reason})"));
        let _step = self.progress.step(format!(
            "installing {} from PyPI into {}{again}: about {} MB to fetch",
            package.what,
            folder.display(),
            package.download_megabytes
        ));
        let parent = folder.parent().unwrap_or(&self.target);
        let prefix = partial_prefix(folder);
        remove_leftovers(parent, &prefix)?;
        let partial = tempfile::Builder::new()
            .prefix(&prefix)
            .tempdir_in(parent)
            .map_err(io_error("cannot make a folder in", parent))?;
        let fresh = partial.path().join("fresh");
        pip::install(
            package,
            requirements,
            &fresh,
            &partial.path().join("bootstrap"),
            &self.places,
        )?;
        inspect(&fresh, package, check).map_err(|reason| ToolkitError::Install {
            what: package.what,
            reason,
            last_lines: Vec::new(),
            advice: package.elsewhere,
        })?;
        write_stamp(&fresh.join(STAMP), stamp)?;
        // The old installation goes away together with the temporary folder.
        if folder.exists() {
            fs::rename(folder, partial.path().join("old")).map_err(io_error("cannot move away", folder))?;
        }
        fs::rename(&fresh, folder).map_err(io_error("cannot put in place", folder))
    }

    /// Keeps other processes from installing the same package; waits for the one that does.
    fn lock(&self, folder: &Path, package: &Package) -> Result<File, ToolkitError> {
        let path = folder.with_added_extension("lock");
        let say = || {
            self.progress.step(format!(
                "another process is installing {}; waiting for it",
                package.what
            ))
        };
        lock_or_wait(&path, say).map_err(io_error("cannot lock", &path))
    }
}

/// Locks the file at `path`, which is made where it is not there, until the file that comes back is dropped. Where
/// another process has it, calls `waiting`, keeps what that gives, and waits.
///
/// # Errors
/// The file cannot be made or locked.
pub fn lock_or_wait<Shown>(path: &Path, waiting: impl FnOnce() -> Shown) -> std::io::Result<File> {
    let file = File::create(path)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let _shown = waiting();
            file.lock()?;
        }
        Err(TryLockError::Error(error)) => return Err(error),
    }
    Ok(file)
}

fn platform_has(package: &Package) -> Result<(), ToolkitError> {
    let (os, cpu) = (std::env::consts::OS, std::env::consts::ARCH);
    let known_cpu = matches!(cpu, "x86_64" | "aarch64");
    if package.wheel_platform.is_some() {
        return Ok(());
    }
    if known_cpu && (os == "linux" || (os == "macos" && package.macos)) {
        return Ok(());
    }
    Err(ToolkitError::Platform {
        what: package.what,
        platform: format!("{os} {cpu}"),
        advice: package.elsewhere,
    })
}

fn inspect(
    folder: &Path,
    package: &Package,
    check: &impl Fn(&Path) -> Result<(), String>,
) -> Result<(), String> {
    if let Some(missing) = package.files.iter().find(|file| !folder.join(file).is_file()) {
        return Err(format!("{missing} is missing"));
    }
    check(folder)
}

fn partial_prefix(folder: &Path) -> String {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    format!("{name}.partial-")
}

/// Removes what killed runs have left. The lock is held, so nobody installs there; but a pip that outlived a
/// killed run may still be writing. Then some of it stays, under a name that nothing uses, for the next time.
fn remove_leftovers(parent: &Path, prefix: &str) -> Result<(), ToolkitError> {
    for entry in parent.read_dir().map_err(io_error("cannot read", parent))? {
        let entry = entry.map_err(io_error("cannot read", parent))?;
        if entry.file_name().to_string_lossy().starts_with(prefix) {
            let _still_written_to = fs::remove_dir_all(entry.path());
        }
    }
    Ok(())
}

fn write_stamp(path: &Path, stamp: &str) -> Result<(), ToolkitError> {
    let mut file = File::create(path).map_err(io_error("cannot write", path))?;
    file.write_all(stamp.as_bytes())
        .and_then(|()| file.sync_all())
        .map_err(io_error("cannot write", path))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn io_error(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> ToolkitError + use<> {
    let path = path.to_owned();
    move |error| ToolkitError::Io { action, path, error }
}
