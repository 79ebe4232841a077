//! Seeds from the fixtures, as files where libFuzzer looks for them.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use blockgate_fuzz::{Target, seeds};

use crate::context::Context;
use crate::hash;

/// Where the inputs of the readers' tests are, relative to the workspace.
const FIXTURES: &str = "fixtures/fatbin";

/// Writes the seeds of `targets` into `fuzz/corpus`. What fuzzers have found there stays.
pub(super) fn fill(context: &Context, targets: &[Target]) -> anyhow::Result<()> {
    let root = context.root().join(FIXTURES);
    let mut paths = Vec::new();
    files(&root, &mut paths)?;
    paths.retain(|path| seeds::is_input(&path.display().to_string()));
    paths.sort();
    let mut inputs = Vec::new();
    for path in paths {
        let name = path.strip_prefix(&root).unwrap_or(&path).display().to_string();
        let bytes = std::fs::read(&path).with_context(|| format!("{} cannot be read", path.display()))?;
        inputs.push((name, bytes));
    }
    let inputs = || {
        inputs
            .iter()
            .map(|(name, bytes)| (name.as_str(), bytes.as_slice()))
    };
    let packages = seeds::of_packages(inputs()).context("the packages to start from cannot be made")?;
    let all = seeds::of_files(inputs()).into_iter().chain(packages);
    for seed in all.chain(seeds::descriptions()) {
        if !targets.iter().any(|target| target.name == seed.target) {
            continue;
        }
        let folder = context.root().join("fuzz/corpus").join(seed.target);
        std::fs::create_dir_all(&folder).with_context(|| format!("{} cannot be made", folder.display()))?;
        let path = folder.join(hash::sha256(&seed.data));
        std::fs::write(&path, &seed.data).with_context(|| format!("{} cannot be written", path.display()))?;
    }
    Ok(())
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    let cannot = || format!("{} cannot be listed", folder.display());
    for entry in std::fs::read_dir(folder).with_context(cannot)? {
        let path = entry.with_context(cannot)?.path();
        if path.is_dir() {
            files(&path, found)?;
        } else {
            found.push(path);
        }
    }
    Ok(())
}
