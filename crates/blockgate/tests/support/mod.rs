//! Running the program as a user does.

use std::path::{Path, PathBuf};
use std::process::Output;

use assert_cmd::cargo::cargo_bin_cmd;

/// The folder of `name` among the fixtures: paths in what the program prints are relative to where it runs, and so the
/// same everywhere.
pub(crate) fn fixtures(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fixtures")
        .join(name)
}

/// What `blockgate` says in `folder`.
pub(crate) fn blockgate(folder: &Path, arguments: &[&str]) -> Output {
    cargo_bin_cmd!("blockgate")
        .current_dir(folder)
        .env_remove("NO_COLOR")
        .args(arguments)
        .output()
        .unwrap()
}
