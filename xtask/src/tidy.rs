//! Rules about the repository that no compiler checks, as tests.

use std::fs;
use std::path::{Path, PathBuf};

use crate::test::cargo;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("xtask lies in the workspace root")
}

fn text(relative: &str) -> String {
    let path = root().join(relative);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The folders of the workspace's crates, `crates/arch` and so on.
fn crate_folders() -> Vec<String> {
    let mut folders: Vec<String> = fs::read_dir(root().join("crates"))
        .unwrap()
        .map(|entry| format!("crates/{}", entry.unwrap().file_name().into_string().unwrap()))
        .collect();
    folders.push("xtask".to_owned());
    folders.sort();
    folders
}

fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("target") {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The lines of one table of a manifest, without blank ones.
fn table<'a>(manifest: &'a str, heading: &str) -> Vec<&'a str> {
    manifest
        .lines()
        .skip_while(|line| *line != heading)
        .skip(1)
        .take_while(|line| !line.starts_with('['))
        .collect()
}

#[test]
fn every_module_says_what_it_is() {
    let mut files = Vec::new();
    for folder in crate_folders().into_iter().chain(["fuzz".to_owned()]) {
        rust_files(&root().join(folder), &mut files);
    }
    assert!(files.len() > 10, "only {} files were found", files.len());
    let silent: Vec<&PathBuf> = files
        .iter()
        .filter(|path| !fs::read_to_string(path).unwrap().starts_with("//! "))
        .collect();
    assert!(silent.is_empty(), "these do not begin with `//! `: {silent:#?}");
}

/// A page that no rule includes would go stale unseen.
#[test]
fn every_rule_page_belongs_to_a_rule() {
    let rules = blockgate_audit::rules::all();
    let mut pages = 0;
    for entry in fs::read_dir(root().join("docs/rules")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let id = name.trim_end_matches(".md");
        if id == "README" {
            continue;
        }
        pages += 1;
        let rule = rules.iter().find(|rule| rule.id == id);
        let page = rule.map(|rule| rule.page.as_ref());
        assert_eq!(page, Some(text(&format!("docs/rules/{name}")).as_str()), "{name}");
    }
    assert!(pages > 10, "only {pages} pages were found");
}

#[test]
fn every_crate_is_on_the_map() {
    let map = text("ARCHITECTURE.md");
    let headings: Vec<&str> = map.lines().filter(|line| line.starts_with('#')).collect();
    for folder in crate_folders() {
        let name = folder.trim_start_matches("crates/");
        let is_named = headings.iter().any(|heading| {
            heading
                .split(|c: char| !(c.is_alphanumeric() || c == '-' || c == '_'))
                .any(|word| word == name)
        });
        assert!(is_named, "ARCHITECTURE.md has no heading that names `{name}`");
    }
}

#[test]
fn every_dependency_has_a_reason_and_is_declared_once() {
    let manifest = text("Cargo.toml");
    let mut has_reason = false;
    for line in table(&manifest, "[workspace.dependencies]") {
        match line {
            "" => has_reason = false,
            _ if line.starts_with('#') => has_reason = true,
            _ => assert!(has_reason, "no comment says why this is needed: {line}"),
        }
    }
    for folder in crate_folders() {
        let manifest = text(&format!("{folder}/Cargo.toml"));
        for heading in ["[dependencies]", "[dev-dependencies]", "[build-dependencies]"] {
            for line in table(&manifest, heading) {
                let shared = line.is_empty() || line.starts_with('#') || line.contains("workspace = true");
                assert!(
                    shared,
                    "{folder}: `{line}` belongs into the workspace's Cargo.toml"
                );
            }
        }
    }
}

/// The root manifest lists our crates so that each uses only those above it.
#[test]
fn arrows_between_our_crates_point_up() {
    let manifest = text("Cargo.toml");
    let order: Vec<&str> = table(&manifest, "[workspace.dependencies]")
        .into_iter()
        .filter(|line| line.contains("path = "))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    for (position, name) in order.iter().enumerate() {
        for used in closure(name) {
            let at = order.iter().position(|other| *other == used);
            assert!(at.is_none_or(|at| at < position), "{name} must not use {used}");
        }
    }
    assert!(order.contains(&"blockgate-arch"), "{order:?}");
}

/// A core must not reach these, not even through another crate.
#[test]
fn cores_stay_cores() {
    const RIM: &[&str] = &[
        "anyhow",
        "clap",
        "indicatif",
        "memmap2",
        "rayon",
        "tempfile",
        "which",
    ];
    const MACHINE_OUTPUT: &[&str] = &["serde", "serde_json"];
    // Those that read YAML files need serde for that.
    let rules: [(&str, &[&[&str]]); 7] = [
        ("blockgate-arch", &[RIM, MACHINE_OUTPUT]),
        ("blockgate-findings", &[RIM, MACHINE_OUTPUT]),
        ("blockgate-expect", &[RIM, MACHINE_OUTPUT]),
        ("blockgate-fatbin", &[RIM, MACHINE_OUTPUT]),
        ("blockgate-yaml", &[RIM]),
        ("blockgate-archlist", &[RIM]),
        ("blockgate-config", &[RIM]),
    ];
    for (core, forbidden) in rules {
        let reached = closure(core);
        for name in forbidden.iter().copied().flatten() {
            assert!(!reached.iter().any(|used| used == name), "{core} reaches {name}");
        }
    }
    // The rim does reach them, so the names above are those that cargo prints.
    let rim = closure("xtask");
    for name in RIM.iter().chain(MACHINE_OUTPUT) {
        assert!(rim.iter().any(|used| used == name), "nothing is called {name}");
    }
}

/// Every package that `package` is built from, itself left out; dependencies of tests do not count.
fn closure(package: &str) -> Vec<String> {
    let output = cargo()
        .current_dir(root())
        .args(["tree", "--locked", "--edges=normal,build", "--prefix=none"])
        .args(["--package", package])
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let mut names: Vec<String> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .skip(1)
        .filter_map(|line| Some(line.split_whitespace().next()?.to_owned()))
        .collect();
    names.sort();
    names.dedup();
    names
}
