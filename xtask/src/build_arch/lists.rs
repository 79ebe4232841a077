//! The list files of a folder, checked before anything is built.

use std::path::Path;

use anyhow::Context as _;
use blockgate_archlist::{ArchList, build_order, check_set, parse};
use blockgate_findings::{Finding, LineColumn, Location, Severity, TextPlace};

use super::project::Project;
use crate::context::StatusError;

/// Every list of a folder, or what is wrong with them.
pub(crate) struct Lists {
    pub(crate) lists: Vec<ArchList>,
    pub(crate) findings: Vec<Finding>,
}

/// The endings of list files.
const ENDINGS: [&str; 2] = ["yaml", "yml"];

/// Reads every file of `folder`. Findings name paths relative to `root`.
///
/// # Errors
/// The folder or a file cannot be read.
pub(crate) fn load(folder: &Path, root: &Path, project: &Project) -> anyhow::Result<Lists> {
    let unreadable = |path: &Path, error: std::io::Error| {
        StatusError::unreadable(format!("{} cannot be read: {error}", path.display()))
    };
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(|error| unreadable(folder, error))? {
        let path = entry.map_err(|error| unreadable(folder, error))?.path();
        paths.push(path);
    }
    paths.sort();
    let mut lists = Vec::new();
    let mut findings = Vec::new();
    let mut all_read = true;
    for path in paths {
        if !ENDINGS
            .iter()
            .any(|ending| path.extension().is_some_and(|found| found == *ending))
        {
            findings.push(no_list(&super::inspect::relative(&path, root)));
            continue;
        }
        let text = std::fs::read_to_string(&path).map_err(|error| unreadable(&path, error))?;
        match parse(&text, &super::inspect::relative(&path, root)) {
            Ok(list) => {
                if let Some(sources) = project.source_names(list.sources) {
                    findings.extend(list.check_sources(&sources));
                }
                findings.extend(list.warnings());
                lists.push(list);
            }
            Err(wrong) => {
                all_read = false;
                findings.extend(wrong);
            }
        }
    }
    // A baseline that could not be read is not one that does not exist.
    if all_read {
        findings.extend(check_set(&lists));
    }
    Ok(Lists { lists, findings })
}

/// A file that looks like a list to a person and is not read must not be left out in silence.
fn no_list(path: &str) -> Finding {
    Finding {
        rule: "list-file",
        severity: Severity::Error,
        message: format!(
            "this is no list file: expected a name that ends with .{}",
            ENDINGS.join(" or .")
        ),
        location: Location::Text(TextPlace {
            path: path.to_owned(),
            start_byte: 0,
            end_byte: 0,
            at: LineColumn { line: 1, column: 1 },
        }),
        notes: Vec::new(),
        fix: None,
    }
}

/// The lists of those names and their baselines, baselines first.
///
/// # Errors
/// A name that no list has.
pub(crate) fn selected<'a>(lists: &'a [ArchList], names: &[String]) -> anyhow::Result<Vec<&'a ArchList>> {
    let known = || {
        let names: Vec<&str> = lists.iter().map(|list| list.name.as_str()).collect();
        names.join(", ")
    };
    let order = build_order(lists, names).map_err(|unknown| {
        StatusError::usage(format!(
            "there is no list {}; the lists are {}",
            unknown.join(", "),
            known()
        ))
    })?;
    order.first().context("there are no lists")?;
    Ok(order)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use blockgate_findings::Severity;

    use super::load;
    use crate::build_arch::project::Project;

    /// The names of the lists and the rules of the findings, of a folder with these files.
    fn loaded(files: &[(&str, &str)]) -> (Vec<String>, Vec<(String, Severity)>) {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        let project = Project::Own {
            folder: PathBuf::from("kernels"),
        };
        let loaded = load(folder.path(), folder.path(), &project).unwrap();
        (
            loaded.lists.into_iter().map(|list| list.name).collect(),
            loaded
                .findings
                .into_iter()
                .map(|finding| {
                    (
                        format!("{} {}", finding.location.path(), finding.rule),
                        finding.severity,
                    )
                })
                .collect(),
        )
    }

    const PLAIN: &str = "why: x\nships: false\narchitectures: \"121\"\n";

    #[test]
    fn both_endings_are_read_and_nothing_is_left_out_in_silence() {
        let (names, findings) = loaded(&[("a.yaml", PLAIN), ("b.yml", PLAIN), ("c.yaml.bak", PLAIN)]);
        assert_eq!(names, ["a", "b"]);
        assert_eq!(findings, [("c.yaml.bak list-file".to_owned(), Severity::Error)]);
        let (_, findings) = loaded(&[("a.yaml", PLAIN), ("a.yml", PLAIN)]);
        assert_eq!(findings, [("a.yml list-value".to_owned(), Severity::Error)]);
    }

    #[test]
    fn a_warning_does_not_hide_what_is_wrong_between_lists() {
        let warned = format!("{PLAIN}expect:\n  - 'ptx_text(e2m1x2) >= 1'\n");
        let orphan = format!("{PLAIN}baseline: nowhere\n");
        let (_, findings) = loaded(&[("a.yaml", &warned), ("b.yaml", &orphan)]);
        let severities: Vec<Severity> = findings.iter().map(|(_, severity)| *severity).collect();
        assert_eq!(severities, [Severity::Warning, Severity::Error], "{findings:?}");
        assert_eq!(findings[1].0, "b.yaml list-baseline");
    }
}
