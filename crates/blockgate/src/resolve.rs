//! `blockgate resolve`: which image a device takes, for every kernel.

use std::path::PathBuf;

use blockgate_arch::ToolkitVersion;
use blockgate_arch::devices::{NamedDevice, find_device};
use blockgate_audit::Options;
use blockgate_audit::render::{self, ResolveOptions};
use blockgate_findings::ExitStatus;

use crate::Format;
use crate::progress::Bar;
use crate::terminal;

/// Say which image the driver takes on a device, for every kernel of every library.
///
/// The driver chooses per module (one fat binary: a translation unit, or a region of a linked file), by what the headers
/// say: machine code before PTX; architecture-specific code on its own device alone, family code within its family, plain
/// code within its major version, plain PTX on every later device. Where NVIDIA does not document which of two images is
/// taken, both are named.
///
/// Exit status: 0 every kernel has an image on every device, 1 a kernel has none, 2 usage, 3 something could not be read,
/// or there is no kernel to answer for.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Files to look into.
    #[arg(required_unless_present = "list_devices", value_name = "FILE")]
    files: Vec<PathBuf>,

    /// A compute capability (`12.1`) or a product (`"RTX 5090"`, `gb10`); may be given several times.
    #[arg(long = "device", short = 'd', required_unless_present = "list_devices", value_name = "CC|NAME", value_parser = parse_device)]
    devices: Vec<NamedDevice>,

    /// The CUDA release of the driver, as `nvidia-smi` shows it (`13.0`); without it, new enough for everything.
    ///
    /// Images that an older driver cannot take are left out, each with the reason: a device that it does not know, a later
    /// version of PTX, a compression that it lacks.
    #[arg(long, value_name = "CUDA", value_parser = parse_driver)]
    driver: Option<ToolkitVersion>,

    /// List every kernel with the image that it gets.
    #[arg(long)]
    kernels: bool,

    /// Print the devices that are known by name, and nothing else.
    #[arg(long, conflicts_with_all = ["files", "devices", "driver", "kernels"])]
    list_devices: bool,

    /// How to print the answer; JSON is schema `blockgate.resolve/1`.
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,

    /// Treat warnings as errors.
    #[arg(long)]
    strict: bool,

    /// No progress bar.
    #[arg(long, short)]
    quiet: bool,
}

/// Resolves the kernels of the files and prints the answer to standard output.
///
/// # Errors
/// When standard output cannot be written.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    if args.list_devices {
        terminal::print(render::devices)?;
        return Ok(ExitStatus::Clean);
    }
    let options = Options {
        entries: true,
        ..Options::default()
    };
    let bar = Bar::new(args.quiet);
    let report = blockgate_audit::audit(&args.files, &options, &bar);
    bar.finish();
    let resolution = blockgate_audit::resolve::resolve(&report, &args.devices, args.driver, args.strict);
    let shown = ResolveOptions {
        kernels: args.kernels,
        palette: terminal::palette(),
    };
    terminal::print(|out| match args.format {
        Format::Json => render::resolve_json(out, &resolution, args.kernels),
        Format::Human => render::resolve_human(out, &resolution, shown),
    })?;
    Ok(resolution.status())
}

fn parse_device(text: &str) -> Result<NamedDevice, String> {
    find_device(text).map_err(|error| error.to_string())
}

fn parse_driver(text: &str) -> Result<ToolkitVersion, String> {
    text.parse()
        .map_err(|error: blockgate_arch::VersionError| error.to_string())
}
