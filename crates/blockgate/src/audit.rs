//! `blockgate audit`: what files hold for GPUs, and whether that is what they should hold.

use std::io::Write as _;
use std::path::PathBuf;

use blockgate_audit::render::{self, HtmlOptions, HumanOptions, Mnemonics};
use blockgate_audit::{Options, Policy, PolicyError};
use blockgate_expect::{Expectation, Pattern};
use blockgate_findings::ExitStatus;
use blockgate_findings::render::Palette;
use regex::Regex;

use crate::ReportFormat;
use crate::progress::Bar;
use crate::terminal;

/// Say what files hold for GPUs: cubins, PTX targets, instruction counts.
///
/// Reads objects, executables and shared libraries (ELF, PE/COFF, Mach-O), archives (GNU, BSD, thin, Windows), universal
/// files, fat binaries, cubins and PTX; all of those in wheels, zips, tars, conda and Debian packages and folders, in gzip,
/// xz, zstd and bzip2, and in each other, without any NVIDIA tool and without unpacking anything to disk. What a file is, its
/// content says and not its name. Checks rules, which `blockgate explain` lists, and what the project's `blockgate.yaml`
/// demands. Exit status: 0 clean, 1 a finding of severity error or a failed expectation, 2 usage, 3 something could not be
/// read or checked.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Files, packages or folders to audit; `-` is standard input.
    #[arg(required = true, value_name = "PATH")]
    files: Vec<PathBuf>,

    /// Something that must hold of the files together, for example `sass(F2FP\.SATFINITE\.E2M1)@sm_121a > 0`.
    ///
    /// Subjects: cubins(ARCH), ptx(ARCH), images(ARCH), sass(REGEX)[@ARCH], ptx_text(REGEX), size; then one of
    /// == != < <= > >= and a number; optionally `in MEMBER-GLOB`. ARCH may hold a `*`.
    #[arg(long = "expect", value_name = "EXPR", value_parser = parse_expectation)]
    expect: Vec<Expectation>,

    /// Count instructions whose mnemonic this finds a match in.
    ///
    /// Mnemonics are base names (`LDG`, `HMMA`). Conversions (`F2FP`) and the matrix instructions for block scales
    /// (`QMMA`, `OMMA`), warp groups (`HGMMA`, `QGMMA`, `IGMMA`, `BGMMA`) and tensor cores (`UTCHMMA`, `UTCIMMA`,
    /// `UTCQMMA`, `UTCOMMA`) have all their modifiers.
    #[arg(long, value_name = "REGEX", value_parser = parse_mnemonic)]
    sass: Vec<Regex>,

    /// Count instructions of every mnemonic.
    #[arg(long)]
    sass_histogram: bool,

    /// Count places in the text of PTX that this finds a match in, comments included.
    #[arg(long, value_name = "REGEX", value_parser = parse_ptx_text)]
    ptx_text: Vec<Pattern>,

    /// List every kernel: instructions, code size, registers, memory, spilled registers.
    ///
    /// Bytes per block of static shared memory, per thread of local memory (stack), of stores that spill registers, and of
    /// the kernel's constants. `–` is what the image does not say: assemblers before CUDA 12.8 left no list of spills.
    #[arg(long)]
    kernels: bool,

    /// Show names of kernels in full, however wide the lines become.
    #[arg(long, requires = "kernels")]
    wide: bool,

    /// Read headers only: no decompression, no instruction counts.
    #[arg(long, conflicts_with_all = ["expect", "sass", "sass_histogram", "ptx_text", "kernels"])]
    list_only: bool,

    /// The configuration file to follow, instead of the `blockgate.yaml` in the folder of an input or above it.
    #[arg(long, value_name = "FILE", conflicts_with = "no_policy")]
    policy: Option<PathBuf>,

    /// Follow no configuration file.
    #[arg(long)]
    no_policy: bool,

    /// How to print the report; JSON is schema `blockgate.audit/1`, HTML one page that loads nothing.
    #[arg(long, value_enum, default_value_t = ReportFormat::Human)]
    format: ReportFormat,

    /// Write the report to this file, whole or not at all, and not to standard output. Exit status 2 if it cannot be
    /// written.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Treat warnings as errors.
    #[arg(long)]
    strict: bool,

    /// No progress bar.
    #[arg(long, short)]
    quiet: bool,
}

/// Audits the files and prints the report.
///
/// # Errors
/// When standard output or standard error cannot be written.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    let policy = match policy(args) {
        Ok(policy) => policy,
        Err(error) => {
            complain(&error)?;
            return Ok(ExitStatus::Usage);
        }
    };
    let options = Options {
        policy: Some(policy),
        list_only: args.list_only,
        kernels: args.kernels,
        ptx_text: args.ptx_text.clone(),
        expectations: args.expect.clone(),
        ..Options::default()
    };
    let bar = Bar::new(args.quiet);
    let report = blockgate_audit::audit(&args.files, &options, &bar);
    bar.finish();
    let mnemonics = Mnemonics {
        all: args.sass_histogram,
        patterns: args.sass.clone(),
    };
    let human = HumanOptions {
        mnemonics: mnemonics.clone(),
        list_only: args.list_only,
        kernels: args.kernels,
        wide: args.wide,
        palette: match args.output {
            Some(_) => Palette::Plain,
            None => terminal::palette(),
        },
    };
    let html = HtmlOptions {
        mnemonics: mnemonics.clone(),
        strict: args.strict,
    };
    let printed = terminal::print_to(args.output.as_deref(), |out| match args.format {
        ReportFormat::Human => render::human(out, &report, &human),
        ReportFormat::Json => render::json(out, &report, &mnemonics),
        ReportFormat::Sarif => render::sarif(out, &report, args.strict),
        ReportFormat::Github => render::github(out, &report, args.strict),
        ReportFormat::Markdown => render::markdown(out, &report, args.strict),
        ReportFormat::Html => render::html(out, &report, &html),
    });
    match printed {
        Ok(()) => Ok(report.status(args.strict)),
        Err(error) => Ok(error.complain()?),
    }
}

/// The configuration to follow: the named one, the nearest one, or none.
fn policy(args: &Args) -> Result<Policy, PolicyError> {
    let today = Policy::today();
    let file = match &args.policy {
        Some(file) => Some(file.clone()),
        None if args.no_policy => None,
        None => Policy::find(&args.files)?,
    };
    match file {
        Some(file) => Policy::read(&file, today),
        None => Ok(Policy::none(today)),
    }
}

/// Says on stderr why the configuration cannot be followed.
fn complain(error: &PolicyError) -> std::io::Result<()> {
    let mut out = std::io::stderr().lock();
    match error {
        PolicyError::Invalid(findings) => {
            blockgate_findings::render::human(&mut out, findings, blockgate_findings::render::Palette::Plain)
        }
        PolicyError::Unreadable { path, error } => {
            writeln!(out, "error: {} cannot be read: {error}", path.display())
        }
        PolicyError::Several([one, other]) => writeln!(
            out,
            "error: {} and {} are both above an input, and a run follows one; name it with --policy, or use --no-policy",
            one.display(),
            other.display()
        ),
    }
}

/// A pattern that finds no name at all would be answered with 0 for any file.
fn parse_mnemonic(text: &str) -> Result<Regex, String> {
    let pattern = Regex::new(text).map_err(|error| error.to_string())?;
    if blockgate_fatbin::can_name(|name| pattern.is_match(name)) {
        Ok(pattern)
    } else {
        Err(blockgate_fatbin::NOT_A_MNEMONIC.to_owned())
    }
}

fn parse_ptx_text(text: &str) -> Result<Pattern, String> {
    text.parse().map_err(|error: regex::Error| error.to_string())
}

fn parse_expectation(text: &str) -> Result<Expectation, String> {
    text.parse()
        .map_err(|error: blockgate_expect::ExpectationError| error.to_string())
}
