//! The environment of CMake, Ninja and nvcc.

use std::ffi::OsString;
use std::process::Command;

/// Variables that a build would take compiler flags, targets, headers or another host compiler from. A build that is
/// compared with another must not depend on who runs it.
///
/// `CMAKE_CUDA_COMPILER_LAUNCHER` and its like for other languages stay: a launcher such as ccache gives what the
/// compiler would give, and whoever set it wants its speed here too.
const CLEARED: &[&str] = &[
    "NVCC_PREPEND_FLAGS",
    "NVCC_APPEND_FLAGS",
    "NVCC_CCBIN",
    "CUDAFLAGS",
    "CUDAARCHS",
    "CFLAGS",
    "CXXFLAGS",
    "LDFLAGS",
    "CPATH",
    "C_INCLUDE_PATH",
    "CPLUS_INCLUDE_PATH",
    "CMAKE_GENERATOR",
    "CMAKE_TOOLCHAIN_FILE",
];

/// Changes to a child's environment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChildEnvironment {
    /// Variables to set.
    pub set: Vec<(&'static str, OsString)>,
    /// Variables to remove.
    pub removed: Vec<&'static str>,
}

impl ChildEnvironment {
    /// Removes the variables that would change what is compiled.
    #[must_use]
    pub fn without_flags(mut self) -> Self {
        self.removed.extend(CLEARED);
        self
    }

    /// Applies the changes to `command`.
    pub fn apply<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        for name in &self.removed {
            command.env_remove(name);
        }
        command.envs(self.set.iter().map(|(name, value)| (name, value)))
    }
}

/// `folders` put before the entries of the path variable `name`.
pub(crate) fn prepended(name: &str, folders: impl IntoIterator<Item = std::path::PathBuf>) -> OsString {
    let existing = std::env::var_os(name).filter(|value| !value.is_empty());
    let mut all: Vec<std::path::PathBuf> = folders.into_iter().collect();
    if let Some(existing) = &existing {
        all.extend(std::env::split_paths(existing));
    }
    // A folder with a colon in its name cannot be in such a list; the old value is then the best there is.
    std::env::join_paths(all).unwrap_or_else(|_| existing.unwrap_or_default())
}
