//! Which GPUs this machine has, as far as the driver's own tool knows.

use std::process::Command;

use blockgate_arch::Device;

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

/// This machine's GPUs by compute capability, each capability once, ascending.
///
/// # Errors
/// `nvidia-smi` is not in `PATH`, fails, hangs, or prints something that is no compute capability.
pub fn attached_devices(places: &Places) -> Result<Vec<Device>, DeviceError> {
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

/// The devices of compute capabilities such as `12.1`, separated by blanks or lines. Each is read as a whole: `12.1`
/// never matches as the `2.1` that it ends with.
///
/// # Errors
/// A word that is no compute capability, or no word at all.
pub fn devices_of_text(text: &str) -> Result<Vec<Device>, DeviceError> {
    let rubbish = |word: &str| DeviceError::NotACapability {
        found: word.chars().take(80).collect(),
    };
    let mut devices: Vec<Device> = Vec::new();
    for word in text.split_whitespace() {
        // The driver's tool always prints a dot; `121` would be something else.
        let device = Some(word)
            .filter(|word| word.contains('.'))
            .and_then(|word| word.parse().ok())
            .ok_or_else(|| rubbish(word))?;
        if !devices.contains(&device) {
            devices.push(device);
        }
    }
    if devices.is_empty() {
        return Err(rubbish(""));
    }
    devices.sort_by_key(|device| (device.major(), device.minor()));
    Ok(devices)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_are_read_as_a_whole() {
        let cases = [
            ("12.1\n", Some("12.1")),
            ("12.1 2.1", Some("2.1 12.1")),
            ("12.1\n12.0\n12.1\n", Some("12.0 12.1")),
            ("9.0\n10.3\n", Some("9.0 10.3")),
            ("", None),
            ("[N/A]\n", None),
            ("12.10", None),
            ("121", None),
            ("12.1a", None),
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
