//! Cargo subcommands that tasks need: prebuilt and pinned, or from `PATH`.

use std::path::{Path, PathBuf};
use std::process::Command;

use blockgate_toolkit::process::{Limits, run_bounded};
use blockgate_toolkit::{Package, Places};

use crate::context::Context;
use crate::toolkit::{provisioner, unreadable};

/// A subcommand, and the package that brings it.
pub(crate) struct CargoTool {
    /// The name of the program.
    pub(crate) program: &'static str,
    pub(crate) package: Package,
}

impl CargoTool {
    /// The pinned one, or where it cannot be installed, one from `PATH`.
    pub(crate) fn obtain(&self, context: &Context) -> anyhow::Result<PathBuf> {
        let program = Path::new("bin").join(self.program);
        let installed =
            provisioner(context).install(&self.package, |folder| self.runs(&folder.join(&program)));
        match installed {
            Ok(folder) => Ok(folder.join(program)),
            Err(error) => Places::of_this_process()
                .program(self.program.as_ref())
                .filter(|program| self.runs(program).is_ok())
                .ok_or_else(|| unreadable(error)),
        }
    }

    fn runs(&self, program: &Path) -> Result<(), String> {
        let name = self.program;
        let finished = run_bounded(Command::new(program).arg("--version"), Limits::QUERY)
            .map_err(|error| format!("{name} cannot be run: {error}"))?;
        if finished.succeeded() {
            Ok(())
        } else {
            Err(format!("`{name} --version` fails"))
        }
    }
}
