//! `cargo xtask api`: the public API of the crates that others would depend on, recorded as text, so that every change
//! to it shows in review and none that breaks users goes in under a version that promises not to.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use blockgate_findings::ExitStatus;

use crate::context::{Context, StatusError, publish};
use crate::output;
use crate::test::cargo;

/// Record the public API of the library crates in docs/api.
///
/// With `--check`, exit 1 where it has changed since. A change that could break users is only recorded where the version
/// allows it: any in 0.0, else with the next 0.x or the next major version.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Write nothing; fail where the API is not the recorded one.
    #[arg(long)]
    check: bool,
}

/// A crate whose API is recorded.
struct Recorded {
    package: &'static str,
    /// The library's name, which rustdoc's file has.
    library: &'static str,
    /// Relative to the workspace.
    record: &'static str,
}

const RECORDED: [Recorded; 1] = [Recorded {
    package: "blockgate-fatbin",
    library: "blockgate_fatbin",
    record: "docs/api/blockgate-fatbin.txt",
}];

/// All crates of the workspace have one version.
const VERSION: &str = env!("CARGO_PKG_VERSION");

pub(crate) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitStatus> {
    let mut status = ExitStatus::Clean;
    for recorded in &RECORDED {
        let path = context.root().join(recorded.record);
        let before = match std::fs::read_to_string(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            other => other.with_context(|| format!("{} cannot be read", path.display()))?,
        };
        let after = format!(
            "# {} {VERSION}\n{}",
            recorded.package,
            listing(context, recorded)?
        );
        if before == after {
            output::line(&format!("{}: up to date", recorded.record))?;
            continue;
        }
        let changes = Changes::between(&before, &after);
        output::print(|out| changes.lines().try_for_each(|line| writeln!(out, "{line}")))?;
        let allowed = changes.removed.is_empty() || may_break(version_of(&before), VERSION);
        if args.check || !allowed {
            let advice = if allowed {
                "`cargo xtask api` records it"
            } else {
                "what was there is gone or different, which this version does not allow"
            };
            output::line(&format!("{}: the API has changed; {advice}", recorded.record))?;
            status = ExitStatus::Failed;
        } else {
            publish(&path, after.as_bytes())?;
            output::line(&format!("{}: written", recorded.record))?;
        }
    }
    Ok(status)
}

/// One line for each public item, sorted as rustdoc's paths are.
fn listing(context: &Context, recorded: &Recorded) -> anyhow::Result<String> {
    let json = rustdoc_json(context, recorded)?;
    let api = public_api::Builder::from_rustdoc_json(&json)
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .build()
        .with_context(|| {
            format!(
                "{} cannot be read: the release of public-api in Cargo.toml must fit the compiler",
                json.display()
            )
        })?;
    Ok(api.items().map(|item| format!("{item}\n")).collect())
}

fn rustdoc_json(context: &Context, recorded: &Recorded) -> anyhow::Result<PathBuf> {
    // A folder of its own: the variable would make cargo build everything anew each time it comes and goes.
    let folder = context.target().join("api");
    let status = cargo()
        .current_dir(context.root())
        .args(["rustdoc", "--quiet", "--locked", "--lib", "--all-features"])
        .args(["--package", recorded.package, "--target-dir"])
        .arg(&folder)
        .args([
            "--",
            "-Zunstable-options",
            "--output-format=json",
            "--cap-lints=allow",
        ])
        // The format is unstable; the compiler is the stable one all the same.
        .env("RUSTC_BOOTSTRAP", "1")
        .status()
        .context("cargo cannot be run")?;
    if !status.success() {
        return Err(StatusError::unreadable(format!(
            "rustdoc's JSON of {} cannot be made: {status}",
            recorded.package
        )));
    }
    Ok(folder
        .join("doc")
        .join(Path::new(recorded.library))
        .with_extension("json"))
}

/// Lines that are in one listing and not in the other.
struct Changes<'a> {
    removed: Vec<&'a str>,
    added: Vec<&'a str>,
}

impl<'a> Changes<'a> {
    fn between(before: &'a str, after: &'a str) -> Self {
        // Some items have the same line, such as two implementations that are told apart by what is left out of it.
        let mut counts: BTreeMap<&str, i32> = BTreeMap::new();
        for line in items(before) {
            *counts.entry(line).or_default() -= 1;
        }
        for line in items(after) {
            *counts.entry(line).or_default() += 1;
        }
        let with = |wanted: fn(i32) -> bool| {
            let found = counts.iter().filter(move |(_, count)| wanted(**count));
            found.map(|(line, _)| *line).collect()
        };
        Self {
            removed: with(|count| count < 0),
            added: with(|count| count > 0),
        }
    }

    fn lines(&self) -> impl Iterator<Item = String> {
        let removed = self.removed.iter().map(|line| format!("- {line}"));
        removed.chain(self.added.iter().map(|line| format!("+ {line}")))
    }
}

fn items(listing: &str) -> impl Iterator<Item = &str> {
    listing.lines().filter(|line| !line.starts_with('#'))
}

/// The version in the first line, `# blockgate-fatbin 0.1.0`. Nothing was promised where nothing is recorded.
fn version_of(listing: &str) -> &str {
    let first = listing.lines().next().unwrap_or_default();
    first
        .rsplit(' ')
        .next()
        .filter(|word| !word.is_empty())
        .unwrap_or("0.0.0")
}

/// Whether users of version `before` expect `after` to break them: the first number that is not 0 is another one.
///
/// Source: the Cargo book, "SemVer Compatibility". Of 0.0 nobody may expect anything.
fn may_break(before: &str, after: &str) -> bool {
    let promise = |version: &str| {
        let mut numbers = version.split('.').map(str::to_owned);
        let (major, minor) = (numbers.next(), numbers.next());
        if major.as_deref() == Some("0") {
            (major, minor)
        } else {
            (major, None)
        }
    };
    before.starts_with("0.0.") || promise(before) != promise(after)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_allows_what_cargo_s_rules_allow() {
        for (before, after, allowed) in [
            ("0.0.0", "0.0.0", true),
            ("0.1.0", "0.1.1", false),
            ("0.1.0", "0.2.0", true),
            ("0.9.0", "1.0.0", true),
            ("1.2.0", "1.3.0", false),
            ("1.2.0", "2.0.0", true),
        ] {
            assert_eq!(may_break(before, after), allowed, "{before} to {after}");
        }
        assert_eq!(version_of("# blockgate-fatbin 1.2.3\npub mod x\n"), "1.2.3");
        assert_eq!(version_of(""), "0.0.0");
    }

    #[test]
    fn a_changed_signature_is_a_removal_and_an_addition() {
        let changes = Changes::between(
            "# x 1.0.0\npub fn a()\npub fn b()\n",
            "# x 1.0.0\npub fn b(u8)\npub fn a()\n",
        );
        let lines: Vec<String> = changes.lines().collect();
        assert_eq!(lines, ["- pub fn b()", "+ pub fn b(u8)"]);
        // The same line twice is two items.
        assert_eq!(
            Changes::between("impl X\nimpl X\n", "impl X\n").removed,
            ["impl X"]
        );
    }
}
