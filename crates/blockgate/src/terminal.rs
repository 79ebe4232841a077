//! What the terminal can show, and where a report goes.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use blockgate_findings::ExitStatus;
use blockgate_findings::render::Palette;

/// Colours on a terminal, unless the user asks for none through `NO_COLOR`.
pub(crate) fn palette() -> Palette {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    if std::io::stdout().is_terminal() && !refused {
        Palette::Ansi
    } else {
        Palette::Plain
    }
}

/// Prints to standard output. A reader that went away, such as `head`, is no fault and changes no verdict.
///
/// # Errors
/// Standard output cannot be written for any other reason.
pub fn print(printer: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    match printer(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Why a report went nowhere.
#[derive(Debug)]
pub(crate) enum NotPrinted {
    /// The file that the user named cannot be written, which is for the user to put right.
    File {
        /// Its path.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// Standard output cannot be written.
    StandardOutput(io::Error),
}

impl NotPrinted {
    /// Says on stderr that a named file cannot be written, which is a usage error; a fault of standard output is passed on.
    pub(crate) fn complain(self) -> io::Result<ExitStatus> {
        match self {
            Self::File { path, error } => {
                writeln!(
                    io::stderr(),
                    "error: {} cannot be written: {error}",
                    path.display()
                )?;
                Ok(ExitStatus::Usage)
            }
            Self::StandardOutput(error) => Err(error),
        }
    }
}

/// Prints to a file, or to standard output where there is none. The file is whole or not there: it gets its name when
/// everything is on disk.
///
/// # Errors
/// The file or standard output cannot be written.
pub(crate) fn print_to(
    file: Option<&Path>,
    printer: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), NotPrinted> {
    match file {
        None => print(printer).map_err(NotPrinted::StandardOutput),
        Some(path) => publish(path, printer).map_err(|error| NotPrinted::File {
            path: path.to_owned(),
            error,
        }),
    }
}

fn publish(path: &Path, printer: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    // What is there decides: a link keeps leading to the file, and a device or pipe is written to. A new file in its place
    // would be the end of `/dev/null`.
    let path = &path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if path
        .metadata()
        .is_ok_and(|found| !found.is_file() && !found.is_dir())
    {
        let mut out = BufWriter::new(File::options().write(true).open(path)?);
        printer(&mut out)?;
        return out.flush();
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut builder = tempfile::Builder::new();
    // What a plain redirection would make, which the umask narrows.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let file = builder.tempfile_in(folder.unwrap_or(Path::new(".")))?;
    let mut out = BufWriter::new(file);
    printer(&mut out)?;
    let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}
