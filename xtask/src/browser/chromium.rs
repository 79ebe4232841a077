//! Finds Chromium, or installs it where that is a matter of one command, and starts it.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use blockgate_toolkit::Places;
use blockgate_toolkit::process::{Limits, run_bounded, spawn};
use tempfile::TempDir;

use super::devtools::Tab;
use crate::output::note;

/// Names the program to use; an empty value means that none is to be used.
const VARIABLE: &str = "BLOCKGATE_CHROMIUM";
const NAMES: [&str; 5] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
];

/// Quiet, without a window, a profile or a word to anybody. Run by root, as in a container, it has no sandbox of its own;
/// it opens nothing but pages that we made.
const FLAGS: [&str; 14] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-extensions",
    "--disable-sync",
    "--metrics-recording-only",
    "--hide-scrollbars",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--remote-debugging-pipe",
];

/// Installing takes the packages' lists and about 100 MB of packages.
const INSTALL: Limits = Limits {
    time: Duration::from_mins(5),
    output_bytes: 16 << 20,
};

/// The program, or the reason why there is none.
pub(super) fn find() -> Result<PathBuf, String> {
    if !cfg!(unix) {
        return Err("the browser is driven through a pipe that only Unix systems pass on".to_owned());
    }
    if let Some(program) = std::env::var_os(VARIABLE) {
        return if program.is_empty() {
            Err(format!("{VARIABLE} says that no browser is to be used"))
        } else if Path::new(&program).is_file() {
            Ok(program.into())
        } else {
            Err(format!(
                "{VARIABLE} names {}, which is no file",
                program.display()
            ))
        };
    }
    in_path().map_or_else(install, Ok)
}

fn in_path() -> Option<PathBuf> {
    let places = Places::of_this_process();
    NAMES.iter().find_map(|name| places.program(name.as_ref()))
}

/// Installs the system's package where nobody needs to be asked for a password.
fn install() -> Result<PathBuf, String> {
    let missing = format!("no Chromium or Chrome in PATH, and {VARIABLE} names none");
    let root = run_bounded(Command::new("id").arg("-u"), Limits::QUERY)
        .is_ok_and(|finished| finished.succeeded() && finished.stdout == b"0\n");
    let apt = Places::of_this_process()
        .program("apt-get".as_ref())
        .filter(|_| root && Path::new("/etc/debian_version").is_file());
    let Some(apt) = apt else {
        return Err(format!(
            "{missing}; it is installed by itself only for root on Debian"
        ));
    };
    note("browser: no Chromium in PATH; installing the package `chromium`, about 100 MB");
    for arguments in [
        &["update", "-qq"][..],
        &["install", "-y", "-qq", "--no-install-recommends", "chromium"],
    ] {
        let mut command = Command::new(&apt);
        command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
        let finished = run_bounded(&mut command, INSTALL)
            .map_err(|error| format!("{missing}, and apt-get cannot be run: {error}"))?;
        if !finished.succeeded() {
            return Err(format!(
                "{missing}, and `apt-get {}` ended with {}: {}",
                arguments.join(" "),
                finished.outcome,
                finished.last_lines(1).concat()
            ));
        }
    }
    in_path().ok_or_else(|| format!("{missing}, not even after the package `chromium` was installed"))
}

/// A browser that runs, and ends when this is dropped.
pub(super) struct Browser {
    child: Child,
    complaints: File,
    profile: TempDir,
    /// Its one tab.
    pub(super) tab: Tab,
}

impl Browser {
    /// Starts `program` with a new, empty profile.
    pub(super) fn start(program: &Path) -> anyhow::Result<Self> {
        let profile = tempfile::tempdir()?;
        let mut complaints = tempfile::tempfile()?;
        // The protocol is spoken on descriptors 3 and 4, where the shell puts our ends of the pipes.
        let mut command = Command::new("/bin/sh");
        command
            .args(["-c", r#"exec "$0" "$@" 3<&0 4>&1 </dev/null >&2"#])
            .arg(program)
            .args(FLAGS)
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .env("HOME", profile.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(complaints.try_clone()?);
        let mut child = spawn(&mut command).context("/bin/sh cannot be run")?;
        let writer = child.stdin.take().context("standard input is not piped")?;
        let reader = child.stdout.take().context("standard output is not piped")?;
        match Tab::connect(writer, reader) {
            Ok(tab) => Ok(Self {
                child,
                complaints,
                profile,
                tab,
            }),
            Err(error) => {
                end(&mut child);
                let said = last_lines(&mut complaints);
                Err(error.context(format!("{} cannot be driven; it said: {said}", program.display())))
            }
        }
    }

    /// The end of what the browser wrote to standard error.
    pub(super) fn complaints(&mut self) -> String {
        last_lines(&mut self.complaints)
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Whether or not it still answers, it is made to end below.
        let _answer = self.tab.call("Browser.close", &serde_json::json!({}));
        let until = Instant::now() + Duration::from_secs(5);
        while Instant::now() < until && matches!(self.child.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(20));
        }
        end(&mut self.child);
        // What the browser's children still write there is nobody's.
        let _left = std::fs::remove_dir_all(self.profile.path());
    }
}

fn end(child: &mut Child) {
    // A child that has ended cannot be killed, and then there is no need to.
    let _ended = child.kill();
    let _waited = child.wait();
}

fn last_lines(file: &mut File) -> String {
    let mut bytes = Vec::new();
    let read = file
        .seek(SeekFrom::Start(0))
        .and_then(|_| file.take(1 << 20).read_to_end(&mut bytes));
    if let Err(error) = read {
        return format!("(cannot be read: {error})");
    }
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(5)..].join(" / ")
}
