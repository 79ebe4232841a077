//! Running a program that may hang or never stop printing.

use std::fmt;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How long a program may run and how much it may print.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Wall-clock time.
    pub time: Duration,
    /// Bytes on each of standard output and standard error.
    pub output_bytes: u64,
}

impl Limits {
    /// For a program that is only asked who it is.
    pub const QUERY: Self = Self {
        time: Duration::from_secs(20),
        output_bytes: 1 << 20,
    };
}

/// How a bounded program came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// By itself, or by a signal that somebody else sent.
    Ended(ExitStatus),
    /// Killed here, because its time was over.
    TimedOut,
    /// Killed here, because it printed more than the limit.
    PrintedTooMuch,
}

/// Completes "it ended with …".
impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ended(status) => status.fmt(f),
            Self::TimedOut => f.write_str("its time over"),
            Self::PrintedTooMuch => f.write_str("too much output"),
        }
    }
}

/// A bounded program that has ended.
#[derive(Clone, Debug)]
pub struct Finished {
    /// How it ended.
    pub outcome: Outcome,
    /// Standard output, at most the limit.
    pub stdout: Vec<u8>,
    /// Standard error, at most the limit.
    pub stderr: Vec<u8>,
    /// Wall-clock time.
    pub elapsed: Duration,
}

impl Finished {
    /// Whether it ended by itself with success.
    pub fn succeeded(&self) -> bool {
        matches!(self.outcome, Outcome::Ended(status) if status.success())
    }

    /// Standard output and standard error, one after the other, as text.
    pub fn text(&self) -> String {
        let mut text = String::from_utf8_lossy(&self.stdout).into_owned();
        text.push_str(&String::from_utf8_lossy(&self.stderr));
        text
    }

    /// The last `lines` lines of [`Finished::text`] that are not blank.
    pub fn last_lines(&self, lines: usize) -> Vec<String> {
        let text = self.text();
        let all: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        all[all.len().saturating_sub(lines)..]
            .iter()
            .map(ToString::to_string)
            .collect()
    }
}

/// Runs `command` without standard input and waits for it, no longer than `limits` allow.
///
/// The output goes to unnamed files and not to pipes: a grandchild that outlives a killed program would keep
/// a pipe open, and whoever reads it waiting.
///
/// # Errors
/// When the program cannot be started or its output cannot be kept.
pub fn run_bounded(command: &mut Command, limits: Limits) -> io::Result<Finished> {
    let mut stdout = tempfile::tempfile()?;
    let mut stderr = tempfile::tempfile()?;
    let started = Instant::now();
    command
        .stdin(Stdio::null())
        .stdout(stdout.try_clone()?)
        .stderr(stderr.try_clone()?);
    let mut child = spawn(command)?;
    let outcome = wait(&mut child, started, limits, [&stdout, &stderr]);
    let outcome = match outcome {
        Ok(Outcome::Ended(status)) => Ok(Outcome::Ended(status)),
        other => {
            // The child may have ended since: then there is nothing to kill, and waiting is still right.
            let _already_ended = child.kill();
            child.wait()?;
            other
        }
    }?;
    Ok(Finished {
        outcome,
        elapsed: started.elapsed(),
        stdout: read_from_start(&mut stdout, limits.output_bytes)?,
        stderr: read_from_start(&mut stderr, limits.output_bytes)?,
    })
}

/// Starts the program. A file that was written a moment ago can be "busy" while another thread is forking.
///
/// # Errors
/// The program cannot be started.
pub fn spawn(command: &mut Command) -> io::Result<Child> {
    for _ in 0..50 {
        match command.spawn() {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => {
                std::thread::sleep(Duration::from_millis(10));
            }
            result => return result,
        }
    }
    command.spawn()
}

fn wait(child: &mut Child, started: Instant, limits: Limits, outputs: [&File; 2]) -> io::Result<Outcome> {
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Outcome::Ended(status));
        }
        if started.elapsed() >= limits.time {
            return Ok(Outcome::TimedOut);
        }
        for output in outputs {
            if output.metadata()?.len() > limits.output_bytes {
                return Ok(Outcome::PrintedTooMuch);
            }
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

fn read_from_start(file: &mut File, limit_bytes: u64) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(0))?;
    let mut bytes = Vec::new();
    file.take(limit_bytes).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, limits: Limits) -> Finished {
        run_bounded(Command::new("/bin/sh").args(["-c", script]), limits).unwrap()
    }

    #[test]
    fn both_outputs_and_the_status_come_back() {
        let finished = shell("echo out; echo err >&2; exit 7", Limits::QUERY);
        assert_eq!(finished.stdout, b"out\n");
        assert_eq!(finished.stderr, b"err\n");
        assert!(!finished.succeeded());
        assert!(matches!(finished.outcome, Outcome::Ended(status) if status.code() == Some(7)));
        assert_eq!(finished.last_lines(1), ["err"]);
    }

    #[test]
    fn a_program_that_hangs_is_ended() {
        let limits = Limits {
            time: Duration::from_millis(100),
            ..Limits::QUERY
        };
        // The grandchild holds the output open, which must not keep us waiting.
        let finished = shell("sleep 3 & echo started; wait", limits);
        assert_eq!(finished.outcome, Outcome::TimedOut);
        assert!(
            finished.elapsed < Duration::from_secs(2),
            "{:?}",
            finished.elapsed
        );
        assert_eq!(finished.stdout, b"started\n");
    }

    #[test]
    fn a_program_that_never_stops_printing_is_ended() {
        let limits = Limits {
            output_bytes: 4096,
            ..Limits::QUERY
        };
        let finished = shell("exec yes", limits);
        assert_eq!(finished.outcome, Outcome::PrintedTooMuch);
        assert_eq!(finished.stdout.len(), 4096);
    }
}
