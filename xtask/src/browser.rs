//! `cargo xtask browser`: opens the HTML report in headless Chromium and reads values off it.

mod checks;
mod chromium;
mod devtools;
mod pages;
mod probes;

use std::path::PathBuf;
use std::time::Instant;

use anyhow::Context as _;
use blockgate_findings::ExitStatus;
use serde_json::json;

use crate::browser::checks::CHECKS;
use crate::browser::chromium::Browser;
use crate::browser::pages::Pages;
use crate::context::{Context, StatusError, publish};
use crate::output;

/// Check the HTML report in a browser; the last line is `N passed, N failed, N skipped`.
///
/// Takes Chromium or Chrome from `BLOCKGATE_CHROMIUM` or PATH, and installs Debian's package where it can. Without one, all
/// checks are skipped. Exit 0 when none fails, 1 when one does, 3 when the browser cannot be driven.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Run the checks whose name contains one of these.
    names: Vec<String>,
    /// Take pictures of the report, wide and narrow, light and dark, into this folder, and check nothing.
    #[arg(long, value_name = "FOLDER", conflicts_with = "names")]
    screenshots: Option<PathBuf>,
    /// The page to take pictures of; the one that most checks use where none is named.
    #[arg(long, value_name = "FILE", requires = "screenshots")]
    page: Option<PathBuf>,
}

/// How the checks ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// They ran, and so many failed.
    Ran {
        /// How many failed.
        failed: usize,
    },
    /// There is no browser, for this reason.
    Skipped(String),
}

pub(crate) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitStatus> {
    if let Some(folder) = &args.screenshots {
        return take_screenshots(args, folder, context);
    }
    Ok(match check(&args.names, context)? {
        Outcome::Ran { failed: 0 } | Outcome::Skipped(_) => ExitStatus::Clean,
        Outcome::Ran { .. } => ExitStatus::Failed,
    })
}

/// Runs the checks whose name contains one of `names`, all where there are none, and prints a line for each.
pub(crate) fn check(names: &[String], context: &Context) -> anyhow::Result<Outcome> {
    let selected: Vec<_> = CHECKS
        .iter()
        .filter(|check| names.is_empty() || names.iter().any(|name| check.name.contains(name.as_str())))
        .collect();
    if selected.is_empty() {
        return Err(StatusError::usage("no check has such a name"));
    }
    let program = match chromium::find() {
        Ok(program) => program,
        Err(reason) => {
            for check in &selected {
                output::line(&format!("skip  {}: {reason}", check.name))?;
            }
            output::line(&format!("0 passed, 0 failed, {} skipped", selected.len()))?;
            return Ok(Outcome::Skipped(reason));
        }
    };
    let pages = Pages::make(context)?;
    let mut browser = start(&program)?;
    let mut failed = 0;
    for check in &selected {
        let started = Instant::now();
        let seconds = |started: Instant| started.elapsed().as_secs_f32();
        match (check.run)(&mut browser.tab, &pages) {
            Ok(()) => output::line(&format!("pass  {} ({:.2} s)", check.name, seconds(started)))?,
            Err(error) => {
                failed += 1;
                output::line(&format!("FAIL  {}: {error:#}", check.name))?;
            }
        }
    }
    if failed > 0 {
        output::note(&format!("the browser's last words: {}", browser.complaints()));
    }
    output::line(&format!(
        "{} passed, {failed} failed, 0 skipped",
        selected.len() - failed
    ))?;
    Ok(Outcome::Ran { failed })
}

fn start(program: &std::path::Path) -> anyhow::Result<Browser> {
    Browser::start(program).map_err(|error| StatusError::unreadable(format!("{error:#}")))
}

fn take_screenshots(args: &Args, folder: &std::path::Path, context: &Context) -> anyhow::Result<ExitStatus> {
    let program = chromium::find().map_err(StatusError::unreadable)?;
    let pages = Pages::make(context)?;
    let page = args.page.as_deref().unwrap_or(&pages.full.path);
    let url = pages::url_of(page)?;
    let mut browser = start(&program)?;
    let tab = &mut browser.tab;
    for scheme in ["light", "dark"] {
        for width in [1920, 1280, 360] {
            tab.prefer(scheme, "screen")?;
            tab.resize(width, 900)?;
            tab.open(&url)?;
            let options = json!({ "format": "png", "captureBeyondViewport": true });
            let picture = tab.call("Page.captureScreenshot", &options)?;
            let bytes = base64(picture["data"].as_str().context("the picture is missing")?)?;
            let path = folder.join(format!("{scheme}-{width}.png"));
            publish(&path, &bytes)?;
            output::line(&path.display().to_string())?;
        }
    }
    Ok(ExitStatus::Clean)
}

/// The bytes of a base64 text, RFC 4648 section 4.
fn base64(text: &str) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let mut bits: u32 = 0;
    let mut filled = 0;
    for character in text.bytes().filter(|byte| *byte != b'=') {
        let digit = match character {
            b'A'..=b'Z' => character - b'A',
            b'a'..=b'z' => character - b'a' + 26,
            b'0'..=b'9' => character - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            other => anyhow::bail!("{other:#x} is no digit of base64"),
        };
        bits = bits << 6 | u32::from(digit);
        filled += 6;
        if filled >= 8 {
            filled -= 8;
            bytes.push((bits >> filled).to_le_bytes()[0]);
            bits &= (1 << filled) - 1;
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    /// Source: RFC 4648, section 10.
    #[test]
    fn pictures_are_decoded() {
        for (text, bytes) in [
            ("", ""),
            ("Zg==", "f"),
            ("Zm8=", "fo"),
            ("Zm9v", "foo"),
            ("Zm9vYmFy", "foobar"),
        ] {
            assert_eq!(super::base64(text).unwrap(), bytes.as_bytes());
        }
        assert!(super::base64("Zm9-").is_err());
    }
}
