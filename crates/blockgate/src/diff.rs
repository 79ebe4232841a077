//! `blockgate diff`: what changed between two builds, by member, module, architecture and kernel.

use std::path::PathBuf;

use anyhow::Context as _;
use blockgate_audit::diff;
use blockgate_audit::render::{self, DiffOptions};
use blockgate_expect::Glob;
use blockgate_findings::ExitStatus;

use crate::Format;
use crate::progress::Bar;
use crate::terminal;

/// Say what changed between two builds: by member, translation unit, architecture and kernel.
///
/// The code of kernels is compared byte by byte, and the text of PTX; relocations, notes, debug information and constants
/// are not. Members are paired by name, regions of a linked file by their kernels, kernels by mangled name.
///
/// Exit status: 0 whether or not they differ, 1 a --same-code that does not hold, 2 usage, 3 something could not be read
/// or a --same-code could not be checked.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The build before.
    old: PathBuf,

    /// The build after.
    new: PathBuf,

    /// Fail unless the code is the same in the members whose name this matches, or else in the kernels.
    ///
    /// `*` and `?` match any character, `/` too. A glob that matches a member's name is about all images in it, PTX too;
    /// one that matches none is about kernels, by their mangled or demangled name, in machine code. One that matches
    /// nothing could not be checked.
    #[arg(long, value_name = "GLOB", value_parser = parse_glob)]
    same_code: Vec<Glob>,

    /// List every change; in JSON what is the same too.
    #[arg(long)]
    all: bool,

    /// How to print the comparison; JSON is schema `blockgate.diff/1`.
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,

    /// No progress bar.
    #[arg(long, short)]
    quiet: bool,
}

/// Compares the files and prints the result to standard output.
///
/// # Errors
/// When standard output cannot be written.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    let options = diff::options();
    let bar = Bar::new(args.quiet);
    let [old, new] =
        [&args.old, &args.new].map(|path| blockgate_audit::audit(std::slice::from_ref(path), &options, &bar));
    bar.finish();
    let diff = diff::diff(&old, &new, &args.same_code).context("an audit of one path has one row")?;
    let shown = DiffOptions {
        all: args.all,
        palette: terminal::palette(),
    };
    terminal::print(|out| match args.format {
        Format::Json => render::diff_json(out, &diff, args.all),
        Format::Human => render::diff_human(out, &diff, shown),
    })?;
    Ok(diff.status())
}

fn parse_glob(text: &str) -> Result<Glob, String> {
    text.parse()
        .map_err(|error: <Glob as std::str::FromStr>::Err| error.to_string())
}
