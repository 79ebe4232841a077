//! A toolkit and build tools for each list, before anything is built.

use blockgate_arch::{Scope, ToolkitRequirement};
use blockgate_archlist::ArchList;
use blockgate_findings::{ExitStatus, Finding};
use blockgate_toolkit::{BuildTools, ListNeeds, Toolkit, ToolkitError};

use super::progress::Progress;
use super::project::Project;
use crate::context::Context;
use crate::toolkit::{provisioner, unreadable};

/// What one list is built with, or why there is nothing.
pub(crate) enum Tools {
    /// Both are there.
    Ready {
        toolkit: Toolkit,
        build_tools: BuildTools,
    },
    /// No toolkit satisfies the list.
    Missing {
        /// The whole story.
        reason: String,
        /// What is missing, in a few words.
        short: String,
    },
}

/// What all lists are built with.
pub(crate) struct Prepared {
    /// One entry a list, in the same order.
    pub(crate) tools: Vec<Tools>,
    /// Lists that this run cannot build and must, and lists that the toolkit in use does not allow.
    pub(crate) findings: Vec<Finding>,
    /// The exit status that the findings amount to.
    pub(crate) status: ExitStatus,
}

/// Obtains a toolkit for each of `lists`; `only` narrows every list's requirement.
///
/// # Errors
/// A tool is missing and cannot be installed, whatever the list.
pub(crate) fn prepare(
    lists: &[&ArchList],
    only: Option<&ToolkitRequirement>,
    project: &Project,
    context: &Context,
    progress: &Progress,
) -> anyhow::Result<Prepared> {
    let provisioner = provisioner(context);
    let mut prepared = Prepared {
        tools: Vec::new(),
        findings: Vec::new(),
        status: ExitStatus::Clean,
    };
    // Our own project sets the targets on its libraries, where every CMake takes them; another one may use the variable.
    let needs = if !project.is_own() && lists.iter().any(|list| has_family(list)) {
        ListNeeds::Family
    } else {
        ListNeeds::Ordinary
    };
    let mut build_tools: Option<BuildTools> = None;
    let mut said: Vec<String> = Vec::new();
    let mut say_once = |text: String| {
        if !said.contains(&text) {
            progress.note(&text);
            said.push(text);
        }
    };
    for list in lists {
        let requirement = narrowed(list.toolkit.as_ref(), only)?;
        let toolkit = match Toolkit::obtain(&requirement, &provisioner) {
            Ok(obtained) => {
                for passed in obtained.passed_over {
                    say_once(passed.to_string());
                }
                obtained.toolkit
            }
            Err(error @ ToolkitError::Unsatisfied { .. }) => {
                if !list.optional {
                    prepared
                        .findings
                        .push(list.unsatisfied_toolkit(error.to_string()));
                    prepared.status = prepared.status.and(ExitStatus::Unreadable);
                }
                prepared.tools.push(Tools::Missing {
                    reason: error.to_string(),
                    short: format!("no CUDA {requirement}"),
                });
                continue;
            }
            Err(error) => return Err(unreadable(error)),
        };
        let wrong = list.check_toolkit(toolkit.version);
        if !wrong.is_empty() {
            prepared.findings.extend(wrong);
            prepared.status = prepared.status.and(ExitStatus::Usage);
        }
        let build_tools = match &build_tools {
            Some(tools) => tools.clone(),
            None => {
                let tools = BuildTools::obtain(needs, &provisioner).map_err(unreadable)?;
                progress.note(&tools.describe());
                build_tools.insert(tools).clone()
            }
        };
        say_once(toolkit.describe());
        prepared.tools.push(Tools::Ready { toolkit, build_tools });
    }
    Ok(prepared)
}

fn has_family(list: &ArchList) -> bool {
    let extras = list.per_source.iter().flat_map(|extra| &extra.entries);
    list.entries
        .iter()
        .chain(extras)
        .any(|entry| entry.targets().any(|target| target.arch.scope() == Scope::Family))
}

/// Both requirements in one. Without any, every toolkit will do that knows the targets, which is checked apart.
fn narrowed(
    list: Option<&ToolkitRequirement>,
    only: Option<&ToolkitRequirement>,
) -> anyhow::Result<ToolkitRequirement> {
    let parts: Vec<String> = [list, only]
        .into_iter()
        .flatten()
        .map(ToString::to_string)
        .collect();
    let text = if parts.is_empty() {
        ">=11.8".to_owned()
    } else {
        parts.join(", ")
    };
    Ok(text.parse()?)
}

#[cfg(test)]
mod tests {
    use super::narrowed;

    #[test]
    fn the_command_line_narrows_what_a_list_allows() {
        let parse = |text: &str| text.parse().unwrap();
        let both = narrowed(Some(&parse(">=12.9")), Some(&parse("13.0"))).unwrap();
        assert!(both.allows("13.0.88".parse().unwrap()));
        assert!(!both.allows("12.9.86".parse().unwrap()));
        assert!(
            !narrowed(Some(&parse("<13.0")), Some(&parse("13.0")))
                .unwrap()
                .is_satisfiable()
        );
        assert!(narrowed(None, None).unwrap().allows("12.4.131".parse().unwrap()));
    }
}
