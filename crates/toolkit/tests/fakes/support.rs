//! Programs that pretend: an nvcc of any version, a python whose pip installs from a script.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use blockgate_toolkit::process::Limits;
use blockgate_toolkit::{Places, Progress, Provisioner};
use tempfile::TempDir;

/// A temporary folder that stands for a system: `bin` is its PATH, `usr-local` its /usr/local.
pub(crate) struct Machine {
    folder: TempDir,
}

impl Machine {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("bin")).unwrap();
        fs::create_dir(folder.path().join("usr-local")).unwrap();
        Self { folder }
    }

    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.folder.path().join(relative)
    }

    /// Writes a file; the folders above it are made.
    pub(crate) fn write(&self, relative: &str, text: &str) -> PathBuf {
        let path = self.path(relative);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// Writes a shell script that can be run.
    pub(crate) fn script(&self, relative: &str, body: &str) -> PathBuf {
        let path = self.write(relative, &format!("#!/bin/sh\n{body}\n"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// An nvcc, ptxas or other CUDA program of that version.
    pub(crate) fn cuda_program(&self, relative: &str, version: &str) -> PathBuf {
        self.script(relative, &format!("echo '{}'", version_line(version)))
    }

    /// Puts a python3 in PATH whose `pip install` runs `install` with `$target` set, or `$dest` for `pip download`. Each run adds a line
    /// to the file `pip-runs`.
    pub(crate) fn python(&self, install: &str) {
        let runs = self.path("pip-runs");
        self.script(
            "bin/python3",
            &format!(
                r#"[ "$2" = pip ] || exit 9
[ "$3" = --version ] && exit 0
echo run >> '{}'
while [ $# -gt 0 ]; do
  [ "$1" = --target ] && target=$2
  [ "$1" = --dest ] && dest=$2
  shift
done
{install}"#,
                runs.display()
            ),
        );
    }

    pub(crate) fn pip_runs(&self) -> usize {
        fs::read_to_string(self.path("pip-runs")).map_or(0, |text| text.lines().count())
    }

    pub(crate) fn places(&self) -> Places {
        Places {
            cudacxx: None,
            cuda_home: None,
            cuda_path: None,
            path: Some(self.path("bin").into_os_string()),
            cxx: None,
            usr_local: self.path("usr-local"),
            query_limits: Limits {
                time: Duration::from_secs(10),
                output_bytes: 1 << 16,
            },
        }
    }

    /// Installs under `target` of this machine, from the project's own pins.
    pub(crate) fn provisioner(&self) -> Provisioner {
        self.provisioner_for(self.places())
    }

    pub(crate) fn provisioner_for(&self, places: Places) -> Provisioner {
        let pins = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ci/toolkits");
        for entry in pins.read_dir().unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            let text = fs::read_to_string(entry.path()).unwrap();
            if !self.path(&format!("ci/toolkits/{name}")).exists() {
                self.write(&format!("ci/toolkits/{name}"), &text);
            }
        }
        Provisioner::new(self.folder.path(), &self.path("target"), places, Progress::Hidden)
    }
}

pub(crate) fn version_line(version: &str) -> String {
    let release: Vec<&str> = version.splitn(3, '.').take(2).collect();
    format!(
        "Cuda compilation tools, release {}, V{version}",
        release.join(".")
    )
}
