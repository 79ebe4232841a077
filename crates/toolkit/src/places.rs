//! Where people keep a toolkit, in the order in which it is looked for.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use blockgate_arch::{ToolkitRequirement, ToolkitVersion};

use crate::error::Missing;
use crate::process::Limits;
use crate::version::{Tool, read_version};

/// Where a toolkit came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolkitSource {
    /// The compiler that `CUDACXX` names.
    CudaCxx,
    /// `bin/nvcc` of the folder that this variable names, `CUDA_HOME` or `CUDA_PATH`.
    CudaHome(&'static str),
    /// A folder of `PATH`.
    Path,
    /// This folder, `/usr/local/cuda` or `/usr/local/cuda-*`.
    UsrLocal(PathBuf),
    /// Installed from PyPI, hashes pinned.
    Provisioned,
}

impl ToolkitSource {
    /// The word for machine output.
    pub const fn id(&self) -> &'static str {
        match self {
            Self::CudaCxx => "cudacxx",
            Self::CudaHome(_) => "cuda-home",
            Self::Path => "path",
            Self::UsrLocal(_) => "usr-local",
            Self::Provisioned => "provisioned",
        }
    }
}

impl fmt::Display for ToolkitSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CudaCxx => f.write_str("from CUDACXX"),
            Self::CudaHome(variable) => write!(f, "from {variable}"),
            Self::Path => f.write_str("from PATH"),
            Self::UsrLocal(folder) => write!(f, "from {}", folder.display()),
            Self::Provisioned => f.write_str("installed from PyPI"),
        }
    }
}

/// An nvcc that may exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Where the path came from.
    pub source: ToolkitSource,
    /// The path; nothing says yet that there is a file.
    pub nvcc: PathBuf,
}

/// A candidate that would not do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassedOver {
    /// The candidate.
    pub candidate: Candidate,
    /// Why not.
    pub reason: Rejection,
}

impl fmt::Display for PassedOver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Candidate { source, nvcc } = &self.candidate;
        write!(
            f,
            "{} ({source}) was passed over: {}",
            nvcc.display(),
            self.reason
        )
    }
}

/// Why a program will not do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// There is no such file.
    #[error("there is no such program")]
    Absent,
    /// The system would not run it: no permission, wrong format.
    #[error("it cannot be run ({reason})")]
    CannotRun {
        /// The system's words.
        reason: String,
    },
    /// `--version` ended with an error.
    #[error("`--version` fails ({status}): {last_line}")]
    Fails {
        /// The exit status in words.
        status: String,
        /// The last line of its output.
        last_line: String,
    },
    /// `--version` did not end.
    #[error("`--version` does not answer within {} s", limit.as_secs_f32())]
    Hangs {
        /// How long it was given.
        limit: Duration,
    },
    /// `--version` prints something else.
    #[error("`--version` names no CUDA release; it starts with `{first_line}`")]
    NoVersion {
        /// The first line that it printed.
        first_line: String,
    },
    /// The version does not satisfy the requirement.
    #[error("it is CUDA {version}, and {requirement} is required")]
    Version {
        /// What it is.
        version: ToolkitVersion,
        /// What it should be.
        requirement: ToolkitRequirement,
    },
}

/// The places to look in, as values, so that tests have their own.
#[derive(Clone, Debug)]
pub struct Places {
    /// `CUDACXX`.
    pub cudacxx: Option<OsString>,
    /// `CUDA_HOME`.
    pub cuda_home: Option<OsString>,
    /// `CUDA_PATH`.
    pub cuda_path: Option<OsString>,
    /// `PATH`.
    pub path: Option<OsString>,
    /// `CXX`.
    pub cxx: Option<OsString>,
    /// The folder whose `cuda*` are tried.
    pub usr_local: PathBuf,
    /// How long a program may take to say its version.
    pub query_limits: Limits,
}

impl Places {
    /// Those of this process and system.
    pub fn of_this_process() -> Self {
        // An empty variable is what people set to switch one off.
        let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        Self {
            cudacxx: variable("CUDACXX"),
            cuda_home: variable("CUDA_HOME"),
            cuda_path: variable("CUDA_PATH"),
            path: variable("PATH"),
            cxx: variable("CXX"),
            usr_local: PathBuf::from("/usr/local"),
            query_limits: Limits::QUERY,
        }
    }

    /// Every nvcc to try, in order.
    pub fn candidates(&self) -> Vec<Candidate> {
        let mut candidates = Vec::new();
        let mut add = |source, nvcc: PathBuf| {
            // CMake runs elsewhere, where a relative path would name something else.
            let nvcc = std::path::absolute(&nvcc).unwrap_or(nvcc);
            candidates.push(Candidate { source, nvcc });
        };
        if let Some(named) = &self.cudacxx {
            // A bare name is looked up in PATH, as CMake does.
            let nvcc = self.program(named).unwrap_or_else(|| PathBuf::from(named));
            add(ToolkitSource::CudaCxx, nvcc);
        }
        for (variable, value) in [("CUDA_HOME", &self.cuda_home), ("CUDA_PATH", &self.cuda_path)] {
            if let Some(folder) = value {
                let nvcc = Path::new(folder).join("bin/nvcc");
                add(ToolkitSource::CudaHome(variable), nvcc);
            }
        }
        for nvcc in self.programs("nvcc".as_ref()) {
            add(ToolkitSource::Path, nvcc);
        }
        for folder in self.local_folders() {
            let nvcc = folder.join("bin/nvcc");
            if nvcc.exists() {
                add(ToolkitSource::UsrLocal(folder), nvcc);
            }
        }
        candidates
    }

    /// The first candidate that satisfies `requirement`, and those before it that do not.
    pub fn find(&self, requirement: &ToolkitRequirement) -> (Option<(ToolkitSource, Tool)>, Vec<PassedOver>) {
        let mut passed_over = Vec::new();
        let mut seen = BTreeSet::new();
        for candidate in self.candidates() {
            // The same compiler is often in several places; one answer is enough.
            if let Ok(file) = candidate.nvcc.canonicalize()
                && !seen.insert(file)
            {
                continue;
            }
            match self.examine(&candidate.nvcc, requirement) {
                Ok(tool) => return (Some((candidate.source, tool)), passed_over),
                Err(reason) => passed_over.push(PassedOver { candidate, reason }),
            }
        }
        (None, passed_over)
    }

    /// The program `name` of `PATH`, or the file itself where `name` is a path.
    pub fn program(&self, name: &OsStr) -> Option<PathBuf> {
        self.programs(name).into_iter().next()
    }

    /// The C++ compiler: that of `CXX`, else the first of g++, c++ and clang++ in `PATH`.
    ///
    /// # Errors
    /// There is none; the message names the package that brings one.
    pub fn cxx_compiler(&self) -> Result<PathBuf, Missing> {
        if let Some(named) = &self.cxx {
            return self.program(named).ok_or(Missing::NamedCxxCompiler);
        }
        // g++ first: it is what nvcc itself would take.
        ["g++", "c++", "clang++"]
            .iter()
            .find_map(|name| self.program(name.as_ref()))
            .ok_or(Missing::CxxCompiler)
    }

    fn programs(&self, name: &OsStr) -> Vec<PathBuf> {
        let Ok(here) = std::env::current_dir() else {
            return Vec::new();
        };
        which::which_in_all(name, self.path.as_ref(), here).map_or_else(|_| Vec::new(), Iterator::collect)
    }

    fn examine(&self, nvcc: &Path, requirement: &ToolkitRequirement) -> Result<Tool, Rejection> {
        if !nvcc.exists() {
            return Err(Rejection::Absent);
        }
        let tool = read_version(nvcc, self.query_limits)?;
        if requirement.allows(tool.version) {
            Ok(tool)
        } else {
            Err(Rejection::Version {
                version: tool.version,
                requirement: requirement.clone(),
            })
        }
    }

    /// `cuda` first, which is what the system's owner chose; then `cuda-*`, newest first.
    fn local_folders(&self) -> Vec<PathBuf> {
        let Ok(entries) = self.usr_local.read_dir() else {
            return Vec::new();
        };
        let mut folders: Vec<(Option<Option<ToolkitVersion>>, PathBuf)> = entries
            .filter_map(Result::ok)
            .filter_map(|entry| {
                let name = entry.file_name();
                let rest = name.to_str()?.strip_prefix("cuda")?;
                let version = match rest.strip_prefix('-') {
                    Some(version) => Some(version.parse().ok()),
                    None if rest.is_empty() => None,
                    None => return None,
                };
                Some((version, entry.path()))
            })
            .collect();
        folders.sort_by(|(one, one_path), (other, other_path)| {
            one.is_some()
                .cmp(&other.is_some())
                .then(other.cmp(one))
                .then(one_path.cmp(other_path))
        });
        folders.into_iter().map(|(_, path)| path).collect()
    }
}
