//! The list files of a folder, checked before anything is built.

use std::path::Path;

use anyhow::Context as _;
use blockgate_archlist::{ArchList, build_order, check_set, parse};
use blockgate_findings::Finding;

use super::project::Project;
use crate::context::StatusError;

/// Every list of a folder, or what is wrong with them.
pub(crate) struct Lists {
    pub(crate) lists: Vec<ArchList>,
    pub(crate) findings: Vec<Finding>,
}

/// Reads every `.yaml` file of `folder`. Findings name paths relative to `root`.
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
        if path.extension().is_some_and(|ending| ending == "yaml") {
            paths.push(path);
        }
    }
    paths.sort();
    let mut lists = Vec::new();
    let mut findings = Vec::new();
    for path in paths {
        let text = std::fs::read_to_string(&path).map_err(|error| unreadable(&path, error))?;
        match parse(&text, &super::inspect::relative(&path, root)) {
            Ok(list) => {
                if let Some(sources) = project.source_names(list.sources) {
                    findings.extend(list.check_sources(&sources));
                }
                findings.extend(list.warnings());
                lists.push(list);
            }
            Err(wrong) => findings.extend(wrong),
        }
    }
    // A baseline that could not be read is not one that does not exist.
    if findings.is_empty() {
        findings.extend(check_set(&lists));
    }
    Ok(Lists { lists, findings })
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
