//! What several kinds of trials need.

use std::path::{Path, PathBuf};

use libtest_mimic::Failed;

/// The inputs of this crate's tests.
pub(crate) fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/fatbin")
}

/// Whether expected files are written instead of compared.
fn blessing() -> bool {
    std::env::var_os("BLOCKGATE_BLESS").is_some()
}

/// Fails where the file does not hold `actual`; with `BLOCKGATE_BLESS` set, writes it.
pub(crate) fn compare_or_bless(path: &Path, actual: &str) -> Result<(), Failed> {
    let expected = std::fs::read_to_string(path).unwrap_or_default();
    if expected == actual {
        return Ok(());
    }
    if blessing() {
        std::fs::write(path, actual)?;
        return Ok(());
    }
    let line = expected
        .lines()
        .zip(actual.lines())
        .position(|(expected, actual)| expected != actual)
        .unwrap_or_else(|| expected.lines().count().min(actual.lines().count()));
    let at = |text: &str| text.lines().nth(line).unwrap_or("(end)").to_owned();
    Err(format!(
        "{} differs from line {} on:\n- {}\n+ {}\nBLOCKGATE_BLESS=1 cargo test -p blockgate-fatbin rewrites it",
        path.display(),
        line + 1,
        at(&expected),
        at(actual)
    )
    .into())
}

/// Every file below `root` for which `wanted` holds, sorted.
pub(crate) fn files(root: &Path, wanted: impl Fn(&Path) -> bool + Copy) -> Result<Vec<PathBuf>, Failed> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(root)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files(&path, wanted)?);
        } else if wanted(&path) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}
