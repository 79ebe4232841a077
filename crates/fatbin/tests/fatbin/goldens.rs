//! Every input has its listing beside it; every listing has its input.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use blockgate_fatbin::Limits;
use libtest_mimic::{Failed, Trial};

use crate::listing;
use crate::support::{compare_or_bless, files, fixtures};

/// Folders with inputs.
const FOLDERS: [&str; 10] = [
    "toolkits",
    "cubins",
    "edge",
    "archives",
    "cases",
    "hosts",
    "windows",
    "macos",
    "odd",
    "resources",
];

/// Every input, by its path below the fixtures.
pub(crate) fn inputs() -> Result<BTreeMap<String, PathBuf>, Failed> {
    let root = fixtures();
    let mut inputs = BTreeMap::new();
    for folder in FOLDERS {
        for path in files(&root.join(folder), is_input)? {
            let name = path.strip_prefix(&root)?.display().to_string();
            inputs.insert(name, path);
        }
    }
    Ok(inputs)
}

fn is_golden(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "golden")
}

/// Recipes and sources lie beside the binaries.
fn is_input(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    !matches!(extension, Some("golden" | "md" | "sh" | "cu" | "txt"))
}

pub(crate) fn trials() -> Result<Vec<Trial>, Failed> {
    let mut trials: Vec<Trial> = inputs()?
        .into_iter()
        .map(|(name, path)| Trial::test(format!("golden/{name}"), move || check(&path)))
        .collect();
    trials.push(Trial::test("golden/no-orphans", || {
        for golden in files(&fixtures(), is_golden)? {
            if !golden.with_extension("").is_file() {
                return Err(format!("{} has no input", golden.display()).into());
            }
        }
        Ok(())
    }));
    Ok(trials)
}

fn check(path: &Path) -> Result<(), Failed> {
    let mut listing = Vec::new();
    listing::print(&mut listing, &std::fs::read(path)?, &Limits::default())?;
    let mut golden = path.as_os_str().to_owned();
    golden.push(".golden");
    compare_or_bless(Path::new(&golden), &String::from_utf8(listing)?)
}
