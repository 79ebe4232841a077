//! CMake, Ninja and the C++ compiler.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use blockgate_arch::diagnostics::CMAKE_WITH_FAMILY;

use crate::error::ToolkitError;
use crate::places::Places;
use crate::process::{Limits, run_bounded};
use crate::provision::{Package, PackageForm, Provisioner};

const PINNED: Package = Package {
    what: "CMake 4.4.5 and Ninja 1.13.2",
    requirements: "ci/toolkits/build-tools.txt",
    folder: "toolkits/build-tools",
    // `bin/cmake` is a script that wants its python; this is the program itself.
    files: &["cmake/data/bin/cmake", "bin/ninja"],
    download_megabytes: 31,
    form: PackageForm::Installed,
    wheel_platform: None,
    macos: false,
    elsewhere: "install CMake 4.0.2 or later and Ninja, and have them in PATH.",
};

/// The release of a CMake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CMakeVersion {
    /// 3 of 3.31.10.
    pub major: u16,
    /// 31 of 3.31.10.
    pub minor: u16,
    /// 10 of 3.31.10.
    pub patch: u16,
}

impl CMakeVersion {
    const fn new(major: u16, minor: u16, patch: u16) -> Self {
        Self { major, minor, patch }
    }

    /// Whether `CMAKE_CUDA_ARCHITECTURES` may hold family entries such as `121f`. Older ones stop with "is not
    /// one of the following", though the target property takes them.
    pub fn knows_family(self) -> bool {
        // Within its own series a release counts from that one on; beyond the last series, all do.
        CMAKE_WITH_FAMILY
            .iter()
            .rev()
            .map(|[major, minor, patch]| Self::new(*major, *minor, *patch))
            .enumerate()
            .any(|(age, since)| self >= since && (age == 0 || self.major == since.major))
    }

    /// The first version number in the first line of `cmake --version`.
    fn of_text(text: &str) -> Option<Self> {
        let version = text.lines().next()?.strip_prefix("cmake version ")?;
        // A build of a distribution may add a suffix to the last number.
        let mut numbers = version.split('.').map(|number| {
            let digits = number.find(|c: char| !c.is_ascii_digit()).unwrap_or(number.len());
            number[..digits].parse().ok()
        });
        Some(Self::new(numbers.next()??, numbers.next()??, numbers.next()??))
    }
}

impl fmt::Display for CMakeVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// What the lists to be built ask of CMake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListNeeds {
    /// Entries without family suffix.
    Ordinary,
    /// A family entry such as `121f`.
    Family,
}

impl ListNeeds {
    fn satisfied_by(self, version: CMakeVersion) -> bool {
        // What the kernels' project says in cmake_minimum_required, and what injected files need.
        version >= CMakeVersion::new(3, 24, 0) && (self == Self::Ordinary || version.knows_family())
    }

    fn words(self) -> String {
        match self {
            Self::Ordinary => "3.24 or later is required".to_owned(),
            Self::Family => {
                let since = CMAKE_WITH_FAMILY.map(|[major, minor, patch]| format!("{major}.{minor}.{patch}"));
                format!(
                    "{} or later is required for entries such as 121f",
                    since.join(" or ")
                )
            }
        }
    }
}

/// What a build needs beside the toolkit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildTools {
    /// The program `cmake`.
    pub cmake: PathBuf,
    /// Its version.
    pub cmake_version: CMakeVersion,
    /// The program `ninja`.
    pub ninja: PathBuf,
    /// The C++ compiler: [`Places::cxx_compiler`].
    pub cxx: PathBuf,
    /// The first line of what it says of its version.
    pub cxx_version: String,
    /// Why CMake and Ninja of `PATH` were not used, where they were not.
    pub installed_because: Option<String>,
}

impl BuildTools {
    /// CMake and Ninja of `PATH` if both will do, else the pinned ones, installed now where they are not there.
    ///
    /// # Errors
    /// No C++ compiler or one that does not say its version, or what stopped the installation.
    pub fn obtain(needs: ListNeeds, provisioner: &Provisioner) -> Result<Self, ToolkitError> {
        let places = provisioner.places();
        let cxx = places.cxx_compiler().map_err(ToolkitError::Missing)?;
        let cxx_version = cxx_version(&cxx, places.query_limits).map_err(ToolkitError::Unusable)?;
        let installed_because = match in_path(needs, places) {
            Ok((cmake, cmake_version, ninja)) => {
                return Ok(Self {
                    cmake,
                    cmake_version,
                    ninja,
                    cxx,
                    cxx_version,
                    installed_because: None,
                });
            }
            Err(reason) => reason,
        };
        let programs = |folder: &Path| {
            let cmake = folder.join("cmake/data/bin/cmake");
            let ninja = folder.join("bin/ninja");
            let version = cmake_version(&cmake, places.query_limits)?;
            check_ninja(&ninja, places.query_limits)?;
            Ok((cmake, version, ninja))
        };
        let folder = provisioner.install(&PINNED, |folder| programs(folder).map(|_| ()))?;
        let (cmake, cmake_version, ninja) = programs(&folder).map_err(|reason| ToolkitError::Install {
            what: PINNED.what,
            reason,
            last_lines: Vec::new(),
            advice: PINNED.elsewhere,
        })?;
        Ok(Self {
            cmake,
            cmake_version,
            ninja,
            cxx,
            cxx_version,
            installed_because: Some(installed_because),
        })
    }

    /// One sentence that says which tools these are.
    pub fn describe(&self) -> String {
        let why = self
            .installed_because
            .as_ref()
            .map_or_else(String::new, |reason| format!(", installed because {reason}"));
        format!(
            "CMake {} ({}), C++ compiler {} ({}){why}",
            self.cmake_version,
            self.cmake.display(),
            self.cxx_version,
            self.cxx.display()
        )
    }

    /// The versions alone, for records: where the tools lie does not change what they make.
    pub fn versions(&self) -> String {
        format!("CMake {}, C++ compiler {}", self.cmake_version, self.cxx_version)
    }
}

fn cxx_version(cxx: &Path, limits: Limits) -> Result<String, String> {
    let text = version_text(cxx, limits)?;
    let line = text.lines().next().unwrap_or_default().trim();
    if line.is_empty() {
        return Err(format!("{} does not say its version", cxx.display()));
    }
    Ok(line.to_owned())
}

fn in_path(needs: ListNeeds, places: &Places) -> Result<(PathBuf, CMakeVersion, PathBuf), String> {
    let program = |name: &str| {
        places
            .program(name.as_ref())
            .ok_or_else(|| format!("PATH has no {name}"))
    };
    let cmake = program("cmake")?;
    let version = cmake_version(&cmake, places.query_limits)?;
    if !needs.satisfied_by(version) {
        return Err(format!(
            "{} is CMake {version} and {}",
            cmake.display(),
            needs.words()
        ));
    }
    let ninja = program("ninja")?;
    check_ninja(&ninja, places.query_limits)?;
    Ok((cmake, version, ninja))
}

fn cmake_version(cmake: &Path, limits: Limits) -> Result<CMakeVersion, String> {
    let text = version_text(cmake, limits)?;
    CMakeVersion::of_text(&text).ok_or_else(|| format!("{} does not say its version", cmake.display()))
}

fn check_ninja(ninja: &Path, limits: Limits) -> Result<(), String> {
    let text = version_text(ninja, limits)?;
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        Ok(())
    } else {
        Err(format!("{} does not say its version", ninja.display()))
    }
}

fn version_text(program: &Path, limits: Limits) -> Result<String, String> {
    let finished = run_bounded(Command::new(program).arg("--version"), limits)
        .map_err(|error| format!("{} cannot be run: {error}", program.display()))?;
    if finished.succeeded() {
        Ok(String::from_utf8_lossy(&finished.stdout).into_owned())
    } else {
        Err(format!("`{} --version` fails", program.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn family_entries_need_a_new_cmake() {
        let cases = [
            ("cmake version 3.28.3\n\nCMake suite", Some(("3.28.3", false))),
            ("cmake version 3.31.6", Some(("3.31.6", false))),
            ("cmake version 3.31.10", Some(("3.31.10", true))),
            ("cmake version 4.0.0", Some(("4.0.0", false))),
            ("cmake version 4.0.2", Some(("4.0.2", true))),
            ("cmake version 4.0.3", Some(("4.0.3", true))),
            ("cmake version 4.4.5-rc1", Some(("4.4.5", true))),
            ("cmake version 5.0.0", Some(("5.0.0", true))),
            ("cmake version four", None),
            ("ninja 1.13", None),
            ("", None),
        ];
        for (text, expected) in cases {
            let version = CMakeVersion::of_text(text);
            let result = version.map(|version| (version.to_string(), version.knows_family()));
            let expected = expected.map(|(version, knows)| (version.to_owned(), knows));
            assert_eq!(result, expected, "{text:?}");
        }
    }
}
