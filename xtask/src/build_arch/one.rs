//! One list, from its tools to its row.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use blockgate_arch::ToolkitVersion;
use blockgate_archlist::{ArchList, SourceSet};
use blockgate_toolkit::{BuildTools, Toolkit};

use super::cmake::{Build, Stopped, wipe};
use super::facts::{Facts, ObjectFacts, SameBySource, ToolkitFacts};
use super::outcome::{Attempt, Checked, Compared, Row, judge};
use super::progress::Progress;
use super::project::Project;
use super::record::{Record, list_digest};
use super::tools::Tools;
use super::{converters, failure, inspect, leftovers, objects, requested, same};
use crate::context::publish;
use crate::hash::sha256;

/// What all lists of a run share.
pub(crate) struct Run<'a> {
    pub(crate) project: &'a Project,
    /// The workspace.
    pub(crate) root: &'a Path,
    /// Where every list has its folder.
    pub(crate) output: &'a Path,
    pub(crate) sources_sha256: String,
    pub(crate) jobs: usize,
    /// Compile everything again.
    pub(crate) fresh: bool,
    pub(crate) require_all: bool,
    pub(crate) progress: &'a Progress,
}

/// Builds `list`, publishes what it gives, and judges it. `earlier` are the lists before it, its baseline among
/// them.
///
/// # Errors
/// Somebody stopped the build. Whatever else goes wrong is the list's row, so that the other lists are still built.
pub(crate) fn build_one(
    run: &Run<'_>,
    list: &ArchList,
    tools: Tools,
    earlier: &[Row],
) -> anyhow::Result<Row> {
    let folder = run.output.join(&list.name);
    let (toolkit_facts, attempt) = match tools {
        Tools::Ready { toolkit, build_tools } => {
            let facts = ToolkitFacts {
                version: toolkit.version,
                source: toolkit.source.id().to_owned(),
            };
            let attempt = attempt(run, list, &folder, &toolkit, &build_tools, earlier);
            (Some(facts), attempt)
        }
        Tools::Missing { reason, short } => {
            let attempt = withdraw(&folder).map(|()| Attempt::NoTools { reason, short });
            (None, attempt)
        }
    };
    let attempt = match attempt {
        Ok(attempt) => attempt,
        Err(error) if error.is::<Stopped>() => return Err(error),
        Err(error) => {
            let mut reason = format!("{error:#}");
            if let Err(further) = withdraw(&folder) {
                reason.push_str(&format!("; {further:#}"));
            }
            Attempt::Broken(reason)
        }
    };
    Ok(judge(list, toolkit_facts, attempt, run.require_all))
}

fn attempt(
    run: &Run<'_>,
    list: &ArchList,
    folder: &Path,
    toolkit: &Toolkit,
    build_tools: &BuildTools,
    earlier: &[Row],
) -> anyhow::Result<Attempt> {
    leftovers::remove_unfinished(folder)?;
    let build_folder = folder.join("build");
    if run.fresh {
        wipe(&build_folder)?;
    }
    let injected = folder.join("extra-architectures.cmake");
    if let Some(code) = run.project.injection(list) {
        publish(&injected, code.as_bytes())?;
    }
    let build = Build {
        source: run.project.folder(),
        folder: &build_folder,
        definitions: run.project.definitions(list, &injected),
        toolkit,
        tools: build_tools,
        jobs: run.jobs,
    };
    let ended = build.run(run.progress)?;
    publish(&folder.join("build.log"), ended.log.as_bytes())?;
    if ended.succeeded {
        run.progress.detail("reading the archives");
        let artifacts = artifacts_of(run.project, list.sources, &build_folder)?;
        let checked = check(run, list, &build, folder, &artifacts, ended.all_compiled, earlier)?;
        Ok(Attempt::Built(Box::new(checked)))
    } else {
        withdraw(folder)?;
        Ok(Attempt::Failed(failure::read(&ended.log, list, toolkit.version)))
    }
}

/// Takes back what an earlier run has published, which is not what the list gives now.
fn withdraw(folder: &Path) -> anyhow::Result<()> {
    let audit = folder.join("audit.json");
    for archive in Record::of_audit(&audit).iter().flat_map(Record::published) {
        leftovers::remove(&folder.join(archive))?;
    }
    leftovers::remove(&folder.join("compile_commands.json"))?;
    // A run that was killed while it published has left archives without a record.
    for set in [SourceSet::Kernels, SourceSet::Markers] {
        for archive in Project::own_archives(set) {
            leftovers::remove(&folder.join(archive))?;
        }
    }
    // Last, because it says what there is to remove.
    leftovers::remove(&audit)
}

/// The files that a build made, relative to its folder; what ships first.
fn artifacts_of(project: &Project, set: SourceSet, build_folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    match project {
        Project::Own { .. } => Ok(Project::own_archives(set).iter().map(PathBuf::from).collect()),
        Project::Foreign { artifacts, .. } => {
            let mut found = Vec::new();
            collect(build_folder, build_folder, artifacts, &mut found)?;
            found.sort();
            anyhow::ensure!(
                !found.is_empty(),
                crate::context::StatusError::unreadable(format!(
                    "no file of {} matches {artifacts}",
                    build_folder.display()
                ))
            );
            Ok(found)
        }
    }
}

fn collect(
    folder: &Path,
    base: &Path,
    glob: &blockgate_expect::Glob,
    found: &mut Vec<PathBuf>,
) -> anyhow::Result<()> {
    let reading = || format!("cannot read {}", folder.display());
    for entry in std::fs::read_dir(folder).with_context(reading)? {
        let entry = entry.with_context(reading)?;
        let kind = entry.file_type().with_context(reading)?;
        let path = entry.path();
        // CMake's own folder holds the compiler check's artifacts.
        if kind.is_dir() && entry.file_name() != "CMakeFiles" {
            collect(&path, base, glob, found)?;
        } else if kind.is_file() {
            let relative = path.strip_prefix(base).unwrap_or(&path);
            if glob.is_match(&relative.to_string_lossy()) {
                found.push(relative.to_path_buf());
            }
        }
    }
    Ok(())
}

fn check(
    run: &Run<'_>,
    list: &ArchList,
    build: &Build<'_>,
    folder: &Path,
    artifacts: &[PathBuf],
    all_compiled: bool,
    earlier: &[Row],
) -> anyhow::Result<Checked> {
    let toolkit = build.toolkit.version;
    let contents: Vec<Vec<u8>> = artifacts
        .iter()
        .map(|artifact| objects::read(&build.folder.join(artifact)))
        .collect::<anyhow::Result<_>>()?;
    let objects = if run.project.is_own() {
        objects::in_archives(Project::own_sources(list.sources), &contents)?
    } else {
        objects::in_folder(&build.compilations()?, run.project.folder(), build.folder)?
    };
    let published: Vec<PathBuf> = artifacts.iter().map(|artifact| folder.join(artifact)).collect();

    let audit_path = folder.join("audit.json");
    let previous = Record::of_audit(&audit_path);
    let record = Record {
        list_sha256: list_digest(list),
        sources_sha256: run.sources_sha256.clone(),
        toolkit: toolkit.to_string(),
        build_tools: build.tools.versions(),
        artifacts: artifacts
            .iter()
            .zip(&contents)
            .map(|(artifact, bytes)| (artifact.display().to_string(), sha256(bytes)))
            .collect(),
    };
    // Objects that were not compiled again are those of the earlier run, and equal to themselves.
    let comparable = previous.as_ref().filter(|_| all_compiled);
    let repeat = record.repeat(comparable, |name| {
        let new = artifacts
            .iter()
            .position(|artifact| artifact.display().to_string() == name);
        match (new, std::fs::read(folder.join(name))) {
            (Some(index), Ok(before)) => objects::differing_members(&before, &contents[index]),
            _ => vec![name.to_owned()],
        }
    });

    // The audit goes first and comes back last, so that one that is there belongs to the archives beside it.
    leftovers::remove(&audit_path)?;
    let gone = |path: &&Path| !artifacts.iter().any(|artifact| artifact == path);
    for path in previous.iter().flat_map(Record::published).filter(gone) {
        leftovers::remove(&folder.join(path))?;
    }
    for (path, bytes) in published.iter().zip(&contents) {
        publish(path, bytes)?;
    }
    publish(
        &folder.join("compile_commands.json"),
        &objects::read(&build.compile_commands())?,
    )?;
    // The control is built beside what ships and is no part of it.
    let shipped = if run.project.is_own() {
        &published[..1]
    } else {
        &published[..]
    };
    let audited = inspect::inspect(list, shipped)?;
    publish(&audit_path, &audited.document(&record, run.root)?)?;

    let baseline = earlier
        .iter()
        .find(|row| list.baseline.as_deref() == Some(row.name.as_str()))
        .and_then(|row| row.checked.as_ref());
    let compared = baseline.map(|baseline| Compared {
        size_over_baseline_bytes: difference(audited.size_bytes, baseline.facts.size_bytes),
        same: same::compare(&objects, &baseline.facts.objects, list.device),
    });
    let mut wrong = wrong_images(run.project, list, &objects, toolkit);
    if let (true, Some(compared)) = (run.project.is_own(), &compared) {
        wrong.extend(unchanged(list, &compared.same));
    }
    Ok(Checked {
        wrong,
        baseline: compared,
        facts: Facts {
            archive: inspect::relative(&published[0], run.root),
            size_bytes: audited.size_bytes,
            sha256: record.artifacts[0].1.clone(),
            census: audited.census,
            totals: audited.totals,
            expectations: audited.expectations,
            audit_errors: audited.errors,
            objects,
            repeat,
        },
    })
}

/// Sources whose loaded code must differ from the baseline's and does not.
fn unchanged(list: &ArchList, same: &SameBySource) -> Vec<String> {
    list.code_changed_in
        .iter()
        .filter(|source| same.get(*source).and_then(|same| same.code) != Some(false))
        .map(|source| format!("{source}: the code that the device loads is the baseline's, and must differ"))
        .collect()
}

/// Images that the list asks for and that are not there, and kernels that convert or not against expectation.
fn wrong_images(
    project: &Project,
    list: &ArchList,
    objects: &[ObjectFacts],
    toolkit: ToolkitVersion,
) -> Vec<String> {
    if !project.is_own() {
        let missing = requested::check_union(list, objects);
        return if missing.is_empty() {
            Vec::new()
        } else {
            vec![format!(
                "asked for and in no source: {}",
                requested::names(&missing)
            )]
        };
    }
    let mut wrong: Vec<String> = requested::check(list, objects)
        .iter()
        .map(ToString::to_string)
        .collect();
    if list.sources == SourceSet::Kernels {
        wrong.extend(converters::check(objects, toolkit));
    }
    wrong
}

fn difference(now: u64, before: u64) -> i64 {
    let difference = i128::from(now) - i128::from(before);
    i64::try_from(difference).unwrap_or(if difference < 0 { i64::MIN } else { i64::MAX })
}
