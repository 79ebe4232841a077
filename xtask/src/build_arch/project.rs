//! The CMake project that the lists are built with: our own kernels, or someone else's.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use blockgate_archlist::{ArchList, SourceSet};
use blockgate_expect::Glob;
use blockgate_kernels::{
    ARCHITECTURES_VARIABLE, Archive, MARKERS, SOURCES, SOURCES_VARIABLE, Source, source,
};

use super::inject;
use crate::hash::sha256;

/// A CMake project and how it is told about architectures.
pub(crate) enum Project {
    /// `crates/kernels` of this workspace.
    Own {
        /// Its folder.
        folder: PathBuf,
    },
    /// A project that knows nothing of lists.
    Foreign {
        /// Its folder.
        folder: PathBuf,
        /// The variable that holds the architectures, such as `CMAKE_CUDA_ARCHITECTURES`.
        arch_var: String,
        /// Which files of the build folder are audited.
        artifacts: Glob,
    },
}

impl Project {
    /// The folder with the top CMakeLists.txt.
    pub(crate) fn folder(&self) -> &Path {
        match self {
            Self::Own { folder } | Self::Foreign { folder, .. } => folder,
        }
    }

    /// Where the results of all lists go, below the target folder.
    pub(crate) fn output_folder(&self, target: &Path) -> PathBuf {
        match self {
            Self::Own { .. } => target.join("arch"),
            Self::Foreign { folder, .. } => {
                // Two projects may have one name; the digest of the path tells their folders apart.
                let name = folder.file_name().unwrap_or(folder.as_os_str());
                let digest = sha256(folder.as_os_str().as_encoded_bytes());
                let name = format!("{}-{}", name.to_string_lossy(), &digest[..8]);
                target.join("foreign").join(name)
            }
        }
    }

    /// Whether this is our own project, whose sources and kernels are known by name.
    pub(crate) fn is_own(&self) -> bool {
        matches!(self, Self::Own { .. })
    }

    /// The names of the sources that a list can name in `per_source`, where they are known before the build.
    pub(crate) fn source_names(&self, set: SourceSet) -> Option<Vec<&'static str>> {
        if !self.is_own() {
            return None;
        }
        // Host code has no targets.
        let named = Self::own_sources(set)
            .iter()
            .filter(|source| source.is_device_code());
        Some(named.map(|source| source.file).collect())
    }

    /// The sources of our own project.
    pub(crate) const fn own_sources(set: SourceSet) -> &'static [Source] {
        match set {
            SourceSet::Kernels => SOURCES,
            SourceSet::Markers => MARKERS,
        }
    }

    /// The definitions that configure the project for `list`. `injected` is where [`Project::injection`] was written.
    pub(crate) fn definitions(&self, list: &ArchList, injected: &Path) -> Vec<OsString> {
        let define = |name: &str, value: &str| OsString::from(format!("-D{name}={value}"));
        match self {
            Self::Own { .. } => {
                let mut definitions = vec![
                    define(ARCHITECTURES_VARIABLE, &list.architectures),
                    define(SOURCES_VARIABLE, list.sources.name()),
                ];
                // Lists that name a source without such a variable are refused before anything is built.
                definitions.extend(list.per_source.iter().filter_map(|extra| {
                    let variable = source(&extra.source)?.extra_architectures_variable()?;
                    Some(define(&variable, &extra.architectures))
                }));
                definitions
            }
            Self::Foreign { arch_var, .. } => {
                let mut definitions = vec![
                    define(arch_var, &list.architectures),
                    // Keeps the process number out of objects, so that they can be compared.
                    define("CMAKE_CUDA_FLAGS", "-objtemp"),
                ];
                if !list.per_source.is_empty() {
                    let mut include = OsString::from("-DCMAKE_PROJECT_TOP_LEVEL_INCLUDES=");
                    include.push(injected);
                    definitions.push(include);
                }
                definitions
            }
        }
    }

    /// CMake code that the project must run to give single sources extra architectures, where it cannot be told by
    /// a variable.
    pub(crate) fn injection(&self, list: &ArchList) -> Option<String> {
        match self {
            Self::Own { .. } => None,
            Self::Foreign { .. } => (!list.per_source.is_empty()).then(|| inject::cmake_code(list)),
        }
    }

    /// Names of the archives that our own project makes: what is shipped first, then the control.
    pub(crate) fn own_archives(set: SourceSet) -> Vec<&'static str> {
        let archives: &[Archive] = match set {
            SourceSet::Kernels => &[Archive::Kernels, Archive::Control],
            SourceSet::Markers => &[Archive::Markers],
        };
        archives.iter().map(|archive| archive.file_name()).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::Project;

    #[test]
    fn projects_of_one_name_have_folders_of_their_own() {
        let output = |folder: &str| {
            Project::Foreign {
                folder: folder.into(),
                arch_var: "X".to_owned(),
                artifacts: "*.a".parse().unwrap(),
            }
            .output_folder(Path::new("target"))
        };
        let [one, other] = ["/one/llama", "/other/llama"].map(output);
        assert_ne!(one, other);
        assert!(
            one.to_str().unwrap().starts_with("target/foreign/llama-"),
            "{one:?}"
        );
    }
}
