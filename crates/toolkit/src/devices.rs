//! Which GPUs this machine has, as far as the driver's own tool knows.

use std::process::Command;

use blockgate_arch::{Arch, Scope};

use crate::places::Places;
use crate::process::run_bounded;

/// Why the GPUs of this machine are not known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeviceError {
    /// There is no `nvidia-smi`, so there is no driver.
    #[error("nvidia-smi is not in PATH: is an NVIDIA driver installed?")]
    Absent,
    /// `nvidia-smi` was run and gave no answer.
    #[error("nvidia-smi gives no answer: {reason}")]
    NoAnswer {
        /// What happened.
        reason: String,
    },
    /// The answer is no list of compute capabilities.
    #[error("expected compute capabilities such as `12.1`, found `{found}`")]
    NotACapability {
        /// The word that is none; empty where there is no word at all.
        found: String,
    },
}

/// The compute capabilities of this machine's GPUs, each once, in display order, as plain architectures.
///
/// # Errors
/// `nvidia-smi` is not in `PATH`, fails, hangs, or prints something that is no compute capability.
pub fn attached_devices(places: &Places) -> Result<Vec<Arch>, DeviceError> {
    let program = places.program("nvidia-smi".as_ref()).ok_or(DeviceError::Absent)?;
    let mut command = Command::new(program);
    command.args(["--query-gpu=compute_cap", "--format=csv,noheader"]);
    let no_answer = |reason: String| DeviceError::NoAnswer { reason };
    let finished =
        run_bounded(&mut command, places.query_limits).map_err(|error| no_answer(error.to_string()))?;
    if finished.succeeded() {
        return devices_of_text(&String::from_utf8_lossy(&finished.stdout));
    }
    let last_line = finished.last_lines(1).concat();
    Err(no_answer(format!(
        "it ended with {}: {last_line}",
        finished.outcome
    )))
}

/// The architectures of compute capabilities such as `12.1`, separated by blanks or lines. Each is read as a
/// whole: `12.1` never matches as the `2.1` that it ends with.
///
/// # Errors
/// A word that is no compute capability, or no word at all.
pub fn devices_of_text(text: &str) -> Result<Vec<Arch>, DeviceError> {
    let rubbish = |word: &str| DeviceError::NotACapability {
        found: word.chars().take(80).collect(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_are_read_as_a_whole() {
        let cases = [
            ("12.1\n", Some("sm_121")),
            ("12.1 2.1", Some("sm_21 sm_121")),
            ("12.1\n12.0\n12.1\n", Some("sm_120 sm_121")),
            ("9.0\n10.3\n", Some("sm_90 sm_103")),
            ("", None),
            ("[N/A]\n", None),
            ("12.10", None),
            ("12.", None),
            ("+12.1", None),
            ("99999.0", None),
        ];
        for (text, expected) in cases {
            let names = devices_of_text(text).ok().map(|devices| {
                let names: Vec<String> = devices.iter().map(ToString::to_string).collect();
                names.join(" ")
            });
            assert_eq!(names.as_deref(), expected, "{text:?}");
        }
    }
}
