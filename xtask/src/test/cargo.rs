//! What cargo builds for `cargo test`: the programs, and the environment that it gives them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context as _;
use serde::Deserialize;

use crate::context::StatusError;
use crate::test::program::TestProgram;

/// A line of `--message-format=json`. Only artifacts matter here; the rest has no `executable`.
#[derive(Deserialize)]
struct Message {
    reason: String,
    package_id: Option<String>,
    manifest_path: Option<PathBuf>,
    target: Option<Target>,
    profile: Option<Profile>,
    executable: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
}

/// The cargo that runs this program, or the one in `PATH`.
pub(crate) fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// `--package NAME` for each, or `--workspace`.
pub(crate) fn selection(packages: &[String]) -> Vec<String> {
    if packages.is_empty() {
        return vec!["--workspace".to_owned()];
    }
    packages
        .iter()
        .flat_map(|name| ["--package".to_owned(), name.clone()])
        .collect()
}

/// Builds the test programs. Cargo's own messages go to standard error.
pub(crate) fn test_programs(root: &Path, packages: &[String]) -> anyhow::Result<Vec<TestProgram>> {
    let output = cargo()
        .current_dir(root)
        .args(["test", "--no-run", "--message-format=json-render-diagnostics"])
        .args(selection(packages))
        .stderr(Stdio::inherit())
        .output()
        .context("cargo cannot be run")?;
    if !output.status.success() {
        return Err(StatusError::unreadable(format!(
            "the tests could not be built: cargo ends with {}",
            output.status
        )));
    }
    programs_of_messages(&String::from_utf8_lossy(&output.stdout))
}

fn programs_of_messages(text: &str) -> anyhow::Result<Vec<TestProgram>> {
    let mut artifacts = Vec::new();
    for line in text.lines().filter(|line| line.starts_with('{')) {
        let message: Message =
            serde_json::from_str(line).with_context(|| format!("cargo's message cannot be read: {line}"))?;
        if message.reason == "compiler-artifact"
            && let (Some(id), Some(manifest), Some(target), Some(profile), Some(program)) = (
                message.package_id,
                message.manifest_path,
                message.target,
                message.profile,
                message.executable,
            )
        {
            artifacts.push((package_name(&id), manifest, target, profile.test, program));
        }
    }
    let mut programs = Vec::new();
    for (package, manifest, target, is_test, program) in &artifacts {
        if !is_test {
            continue;
        }
        let folder = manifest.parent().unwrap_or(manifest).to_owned();
        let mut environment: Vec<(OsString, OsString)> = vec![
            ("CARGO_MANIFEST_DIR".into(), folder.clone().into()),
            ("CARGO_PKG_NAME".into(), package.into()),
        ];
        // Tests that run a program of their package find it by this variable.
        for (owner, _, bin, bin_is_test, path) in &artifacts {
            if owner == package && !bin_is_test && bin.kind.iter().any(|kind| kind == "bin") {
                let name = format!("CARGO_BIN_EXE_{}", bin.name);
                environment.push((name.into(), path.clone().into()));
            }
        }
        programs.push(TestProgram {
            label: format!("{package} {}", target_label(target)),
            program: program.clone(),
            folder,
            environment,
        });
    }
    programs.sort_by(|one, other| one.label.cmp(&other.label));
    Ok(programs)
}

/// `lib`, or the kind and name where a package can have several.
fn target_label(target: &Target) -> String {
    match target.kind.first().map(String::as_str) {
        Some("test") => target.name.clone(),
        Some(kind @ ("bin" | "example" | "bench")) => format!("{kind} {}", target.name),
        _ => "lib".to_owned(),
    }
}

/// The name in a package id: `path+file:///w/crates/arch#blockgate-arch@0.0.0`, or
/// `path+file:///w/xtask#0.0.0` where the folder has the package's name.
///
/// Source: the Cargo book, "Package ID specifications".
fn package_name(id: &str) -> String {
    let (location, fragment) = id.rsplit_once('#').unwrap_or((id, ""));
    let name = fragment.split_once('@').map_or_else(
        || location.rsplit('/').next().unwrap_or(location),
        |(name, _)| name,
    );
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn artifacts_become_programs() {
        let line = |id: &str, kind: &str, name: &str, test: bool, program: &str| {
            format!(
                r#"{{"reason":"compiler-artifact","package_id":"{id}","manifest_path":"/w/x/Cargo.toml","target":{{"kind":["{kind}"],"name":"{name}"}},"profile":{{"test":{test}}},"executable":{program}}}"#
            )
        };
        let id = "path+file:///w/x#blockgate-x@0.0.0";
        let text = [
            "warning: a line that is no message".to_owned(),
            line(id, "lib", "blockgate_x", false, "null"),
            line(id, "bin", "blockgate", false, r#""/w/target/debug/blockgate""#),
            line(id, "lib", "blockgate_x", true, r#""/w/target/debug/deps/x-1""#),
            line(id, "test", "goldens", true, r#""/w/target/debug/deps/goldens-2""#),
            line(
                "path+file:///w/xtask#0.0.0",
                "bin",
                "xtask",
                true,
                r#""/w/target/debug/deps/xtask-3""#,
            ),
            r#"{"reason":"build-finished","success":true}"#.to_owned(),
        ]
        .join("\n");
        let programs = programs_of_messages(&text).unwrap();
        let labels: Vec<&str> = programs.iter().map(|program| program.label.as_str()).collect();
        assert_eq!(
            labels,
            ["blockgate-x goldens", "blockgate-x lib", "xtask bin xtask"]
        );
        let has_bin = |program: &TestProgram| {
            let wanted = (
                "CARGO_BIN_EXE_blockgate".into(),
                "/w/target/debug/blockgate".into(),
            );
            program.environment.contains(&wanted)
        };
        assert!(has_bin(&programs[0]) && !has_bin(&programs[2]));
        assert_eq!(programs[0].folder, Path::new("/w/x"));
    }

    #[test]
    fn a_message_that_cannot_be_read_is_an_error() {
        assert!(programs_of_messages("{\"reason\":1}").is_err());
    }
}
