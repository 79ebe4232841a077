//! NVIDIA's own readers, which tests compare ours with.

use std::path::{Path, PathBuf};

use crate::error::ToolkitError;
use crate::provision::{Package, PackageForm, Provisioner};
use crate::version::read_version;

const PINNED: Package = Package {
    what: "cuobjdump and nvdisasm 13.5.37",
    requirements: "ci/toolkits/oracles.txt",
    folder: "toolkits/oracles",
    files: &["nvidia/cu13/bin/cuobjdump", "nvidia/cu13/bin/nvdisasm"],
    download_megabytes: 6,
    form: PackageForm::Installed,
    wheel_platform: None,
    macos: false,
    elsewhere: "leave the oracles out (`cargo xtask test --no-oracles`).",
};

/// `cuobjdump` and `nvdisasm`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Oracles {
    /// The folder that holds both, which tests get in [`Oracles::VARIABLE`].
    pub folder: PathBuf,
    /// The program `cuobjdump`.
    pub cuobjdump: PathBuf,
    /// The program `nvdisasm`.
    pub nvdisasm: PathBuf,
}

impl Oracles {
    /// The environment variable that names their folder to tests.
    pub const VARIABLE: &str = "BLOCKGATE_ORACLES";

    /// The pinned oracles, installed now where they are not there. Never those of the system: what tests
    /// compare with must be the same everywhere.
    ///
    /// # Errors
    /// What stopped the installation.
    pub fn obtain(provisioner: &Provisioner) -> Result<Self, ToolkitError> {
        let in_folder = |folder: &Path| {
            let folder = folder.join("nvidia/cu13/bin");
            Self {
                cuobjdump: folder.join("cuobjdump"),
                nvdisasm: folder.join("nvdisasm"),
                folder,
            }
        };
        let limits = provisioner.places().query_limits;
        let folder = provisioner.install(&PINNED, |folder| {
            let oracles = in_folder(folder);
            for program in [&oracles.cuobjdump, &oracles.nvdisasm] {
                read_version(program, limits).map_err(|reason| format!("{}: {reason}", program.display()))?;
            }
            Ok(())
        })?;
        Ok(in_folder(&folder))
    }
}
