//! `cargo xtask toolkit`: which toolkit a build would use, installed now where there is none.

use blockgate_arch::ToolkitRequirement;
use blockgate_findings::ExitStatus;
use blockgate_toolkit::{
    BuildTools, ListNeeds, Oracles, Places, Progress, Provisioner, Toolkit, ToolkitError,
};
use serde::Serialize;

use crate::context::{Context, StatusError};
use crate::output;

/// Find the CUDA toolkit, CMake and the oracles, or install them, and say which they are.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Which toolkits will do, such as `13.0` or `>=12.9`.
    #[arg(long, default_value = ">=12.9")]
    require: ToolkitRequirement,
    /// Leave the oracles for tests out.
    #[arg(long)]
    no_oracles: bool,
}

/// Installs into the workspace's target folder, with progress on standard error.
pub(crate) fn provisioner(context: &Context) -> Provisioner {
    Provisioner::new(
        context.root(),
        &context.target(),
        Places::of_this_process(),
        Progress::stderr(),
    )
}

/// A missing tool means that the work could not be done, which is never a fault of ours.
pub(crate) fn unreadable(error: ToolkitError) -> anyhow::Error {
    StatusError::unreadable(error.to_string())
}

/// The toolkit in machine output.
#[derive(Serialize)]
pub(crate) struct JsonToolkit {
    version: String,
    source: &'static str,
}

impl From<&Toolkit> for JsonToolkit {
    fn from(toolkit: &Toolkit) -> Self {
        Self {
            version: toolkit.version.to_string(),
            source: toolkit.source.id(),
        }
    }
}

pub(crate) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitStatus> {
    let provisioner = provisioner(context);
    let obtained = Toolkit::obtain(&args.require, &provisioner).map_err(unreadable)?;
    let tools = BuildTools::obtain(ListNeeds::Family, &provisioner).map_err(unreadable)?;
    let mut lines: Vec<String> = obtained.passed_over.iter().map(ToString::to_string).collect();
    lines.push(obtained.toolkit.describe());
    lines.push(tools.describe());
    if !args.no_oracles {
        let oracles = Oracles::obtain(&provisioner).map_err(unreadable)?;
        lines.push(format!("oracles: {}", oracles.folder.display()));
    }
    output::line(&lines.join("\n"))?;
    Ok(ExitStatus::Clean)
}
