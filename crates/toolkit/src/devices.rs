//! Which GPUs this machine has, as far as the driver's own tool knows.

use std::process::Command;

use blockgate_arch::{Arch, Scope};

use crate::places::{Places, Rejection};
use crate::process::{Outcome, run_bounded};

/// The compute capabilities of this machine's GPUs, each once, in display order, as plain architectures.
///
/// # Errors
/// `nvidia-smi` is not in `PATH`, fails, hangs, or prints something that is no compute capability.
pub fn attached_devices(places: &Places) -> Result<Vec<Arch>, Rejection> {
    let program = places.program("nvidia-smi".as_ref()).ok_or(Rejection::Absent)?;
    let mut command = Command::new(program);
    command.args(["--query-gpu=compute_cap", "--format=csv,noheader"]);
    let finished = run_bounded(&mut command, places.query_limits).map_err(|error| Rejection::CannotRun {
        reason: error.to_string(),
    })?;
    match finished.outcome {
        Outcome::Ended(status) if status.success() => {}
        Outcome::Ended(status) => {
            return Err(Rejection::Fails {
                status: status.to_string(),
                last_line: finished.last_lines(1).concat(),
            });
        }
        Outcome::TimedOut | Outcome::PrintedTooMuch => {
            return Err(Rejection::Hangs {
                limit: places.query_limits.time,
            });
        }
    }
    devices_of_text(&String::from_utf8_lossy(&finished.stdout))
}

/// The architectures of compute capabilities such as `12.1`, separated by blanks or lines. Each is read as a
/// whole: `12.1` never matches as the `2.1` that it ends with.
///
/// # Errors
/// A word that is no compute capability, or no word at all.
pub fn devices_of_text(text: &str) -> Result<Vec<Arch>, Rejection> {
    let rubbish = |word: &str| Rejection::NoVersion {
        first_line: word.chars().take(80).collect(),
    };
    let mut devices: Vec<Arch> = Vec::new();
    for word in text.split_whitespace() {
        let arch = word.split_once('.').and_then(|(major, minor)| {
            let number = |text: &str| -> Option<u16> {
                let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
                digits.then(|| text.parse().ok()).flatten()
            };
            let minor = u8::try_from(number(minor)?).ok().filter(|minor| *minor <= 9)?;
            Some(Arch::new(number(major)?, minor, Scope::Plain))
        });
        let arch = arch.ok_or_else(|| rubbish(word))?;
        if !devices.contains(&arch) {
            devices.push(arch);
        }
    }
    if devices.is_empty() {
        return Err(rubbish(""));
    }
    devices.sort_by_key(|arch| arch.display_key());
    Ok(devices)
}
