//! The CUDA toolkit that a build uses.

use std::path::{Path, PathBuf};

use blockgate_arch::{ToolkitRequirement, ToolkitVersion};

use crate::build_tools::BuildTools;
use crate::environment::{ChildEnvironment, prepended};
use crate::error::ToolkitError;
use crate::places::{PassedOver, Places, Rejection, ToolkitSource};
use crate::provision::{Package, PackageForm, Provisioner};
use crate::version::{Tool, read_version};

/// The version that is installed where none is found.
pub const PINNED_VERSION: ToolkitVersion = ToolkitVersion::new(13, 0).with_patch(88);

const PINNED: Package = Package {
    what: "CUDA 13.0.88",
    requirements: "ci/toolkits/cuda-13.0.txt",
    folder: "toolkits/cuda-13.0",
    files: &[
        "nvidia/cu13/bin/nvcc",
        "nvidia/cu13/bin/ptxas",
        "nvidia/cu13/bin/fatbinary",
        "nvidia/cu13/bin/cudafe++",
        "nvidia/cu13/nvvm/bin/cicc",
        "nvidia/cu13/nvvm/libdevice/libdevice.10.bc",
        "nvidia/cu13/include/cuda_runtime.h",
        "nvidia/cu13/include/crt/host_config.h",
        "nvidia/cu13/include/cccl/cuda/std/version",
        "nvidia/cu13/lib/libcudart_static.a",
        "nvidia/cu13/lib/libcudadevrt.a",
    ],
    download_megabytes: 103,
    form: PackageForm::Installed,
    wheel_platform: None,
    macos: false,
    elsewhere: "install a CUDA toolkit yourself and name its compiler in CUDACXX.",
};

/// nvcc introduced `--compress-mode` in this release.
///
/// Source: CUDA 12.8 release notes, nvcc; an nvcc 12.6 refuses the option.
const COMPRESS_MODE_SINCE: ToolkitVersion = ToolkitVersion::new(12, 8);

/// A CUDA toolkit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toolkit {
    /// The compiler.
    pub nvcc: PathBuf,
    /// What the compiler says it is.
    pub version: ToolkitVersion,
    /// Where it came from.
    pub source: ToolkitSource,
    /// The folder of the static runtime, where it is not one that the linker looks in anyway.
    pub library_folder: Option<PathBuf>,
}

/// A toolkit, and what would not do before it.
#[derive(Clone, Debug)]
pub struct Obtained {
    /// The toolkit to use.
    pub toolkit: Toolkit,
    /// The compilers that were tried before it. Each has a sentence to show a person.
    pub passed_over: Vec<PassedOver>,
}

impl Toolkit {
    /// The first toolkit in `provisioner`'s places that satisfies `requirement`; else the pinned one, installed
    /// now where it is not there.
    ///
    /// # Errors
    /// [`ToolkitError::Unsatisfied`] where the pinned toolkit does not satisfy the requirement either: nothing
    /// is installed then. Otherwise what stopped the installation.
    pub fn obtain(
        requirement: &ToolkitRequirement,
        provisioner: &Provisioner,
    ) -> Result<Obtained, ToolkitError> {
        let places = provisioner.places();
        let (found, passed_over) = places.find(requirement);
        let toolkit = match found {
            Some((source, tool)) => Self::at(source, tool),
            None if requirement.allows(PINNED_VERSION) => Self::provisioned(provisioner)?,
            None => {
                return Err(ToolkitError::Unsatisfied {
                    requirement: requirement.clone(),
                    pinned: PINNED_VERSION,
                    passed_over,
                });
            }
        };
        Ok(Obtained { toolkit, passed_over })
    }

    /// The pinned toolkit, whatever else there is.
    ///
    /// # Errors
    /// What stopped the installation.
    pub fn provisioned(provisioner: &Provisioner) -> Result<Self, ToolkitError> {
        let nvcc_in = |folder: &Path| folder.join("nvidia/cu13/bin/nvcc");
        let limits = provisioner.places().query_limits;
        let folder = provisioner.install(&PINNED, |folder| {
            let tool = read_version(&nvcc_in(folder), limits).map_err(|reason| format!("nvcc: {reason}"))?;
            if tool.version == PINNED_VERSION {
                Ok(())
            } else {
                Err(format!("nvcc is {}, not {PINNED_VERSION}", tool.version))
            }
        })?;
        let tool = Tool {
            path: nvcc_in(&folder),
            version: PINNED_VERSION,
        };
        Ok(Self::at(ToolkitSource::Provisioned, tool))
    }

    fn at(source: ToolkitSource, nvcc: Tool) -> Self {
        Self {
            library_folder: library_folder(&nvcc.path),
            nvcc: nvcc.path,
            version: nvcc.version,
            source,
        }
    }

    /// One sentence that says which toolkit this is.
    pub fn describe(&self) -> String {
        format!("CUDA {} {} ({})", self.version, self.source, self.nvcc.display())
    }

    /// Whether nvcc knows `--compress-mode`. What it makes needs a driver of CUDA 12.4 or later to load.
    pub fn supports_compress_mode(&self) -> bool {
        self.version.release() >= COMPRESS_MODE_SINCE
    }

    /// The assembler that belongs to this nvcc: the one beside it, else the one in `PATH`.
    ///
    /// Its version can differ from nvcc's where somebody has put another one there, and then it is the
    /// assembler that decides which targets exist.
    ///
    /// # Errors
    /// No assembler, or one that does not say its version.
    pub fn ptxas(&self, places: &Places) -> Result<Tool, Rejection> {
        let beside = bin_folder(&self.nvcc).join("ptxas");
        let ptxas = if beside.is_file() {
            beside
        } else {
            places.program("ptxas".as_ref()).ok_or(Rejection::Absent)?
        };
        read_version(&ptxas, places.query_limits)
    }

    /// The environment for CMake, Ninja and nvcc.
    ///
    /// CMake's compiler check links a program, so the linker must find the static runtime: packages from PyPI
    /// have it in a `lib` that nvcc itself does not name.
    pub fn environment(&self, tools: &BuildTools) -> ChildEnvironment {
        let folders = [&self.nvcc, &tools.cmake, &tools.ninja]
            .into_iter()
            .filter_map(|program| Some(program.parent()?.to_owned()));
        let mut set = vec![
            ("CUDACXX", self.nvcc.clone().into_os_string()),
            ("CUDAHOSTCXX", tools.cxx.clone().into_os_string()),
            ("CXX", tools.cxx.clone().into_os_string()),
            ("PATH", prepended("PATH", folders)),
        ];
        if let Some(folder) = &self.library_folder {
            set.push(("LIBRARY_PATH", prepended("LIBRARY_PATH", [folder.clone()])));
        }
        ChildEnvironment {
            set,
            removed: Vec::new(),
        }
        .without_flags()
    }
}

/// The folder of the real compiler: `/usr/local/bin/nvcc` may be a link.
fn bin_folder(nvcc: &Path) -> PathBuf {
    let real: PathBuf = nvcc.canonicalize().unwrap_or_else(|_| nvcc.to_owned());
    real.parent().map(Path::to_owned).unwrap_or_default()
}

fn library_folder(nvcc: &Path) -> Option<PathBuf> {
    let bin = bin_folder(nvcc);
    let root = bin.parent()?;
    [
        "lib64",
        "lib",
        "targets/x86_64-linux/lib",
        "targets/sbsa-linux/lib",
    ]
    .iter()
    .map(|folder| root.join(folder))
    .find(|folder| folder.join("libcudart_static.a").is_file())
}
