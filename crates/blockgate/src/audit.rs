//! `blockgate audit`: what files hold for GPUs, and whether that is what they should hold.

use std::io::Write as _;
use std::path::PathBuf;

use blockgate_audit::render::{self, HumanOptions, Mnemonics};
use blockgate_audit::{Options, Policy, PolicyError};
use blockgate_expect::Expectation;
use blockgate_findings::ExitStatus;
use regex::Regex;

use crate::ReportFormat;
use crate::progress::Bar;
use crate::terminal;

/// Say what files hold for GPUs: cubins, PTX targets, instruction counts.
///
/// Reads ELF objects, executables and shared objects, archives (GNU, BSD, thin), fat binaries, cubins and PTX,
/// without any NVIDIA tool, and checks rules, which `blockgate explain` lists, and what the project's `blockgate.yaml`
/// demands. Exit status: 0 clean, 1 a finding of severity error or a failed expectation, 2 usage,
/// 3 something could not be read or checked.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Files to audit.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Something that must hold of the files together, for example `sass(F2FP\.SATFINITE\.E2M1)@sm_121a > 0`.
    ///
    /// Subjects: cubins(ARCH), ptx(ARCH), images(ARCH), sass(REGEX)[@ARCH], ptx_text(REGEX), size; then one of
    /// == != < <= > >= and a number; optionally `in MEMBER-GLOB`. ARCH may hold a `*`.
    #[arg(long = "expect", value_name = "EXPR", value_parser = parse_expectation)]
    expect: Vec<Expectation>,

    /// Count instructions whose mnemonic this finds a match in.
    ///
    /// Mnemonics are base names (`LDG`, `HMMA`); conversions (`F2FP`) have all their modifiers.
    #[arg(long, value_name = "REGEX", value_parser = parse_mnemonic)]
    sass: Vec<Regex>,

    /// Count instructions of every mnemonic.
    #[arg(long)]
    sass_histogram: bool,

    /// List the code of every kernel.
    #[arg(long)]
    kernels: bool,

    /// Read headers only: no decompression, no instruction counts.
    #[arg(long, conflicts_with_all = ["expect", "sass", "sass_histogram", "kernels"])]
    list_only: bool,

    /// The configuration file to follow, instead of the `blockgate.yaml` in the folder of an input or above it.
    #[arg(long, value_name = "FILE", conflicts_with = "no_policy")]
    policy: Option<PathBuf>,

    /// Follow no configuration file.
    #[arg(long)]
    no_policy: bool,

    /// How to print the report; JSON is schema `blockgate.audit/1`.
    #[arg(long, value_enum, default_value_t = ReportFormat::Human)]
    format: ReportFormat,

    /// Treat warnings as errors.
    #[arg(long)]
    strict: bool,

    /// No progress bar.
    #[arg(long, short)]
    quiet: bool,
}

/// Audits the files and prints the report to standard output.
///
/// # Errors
/// When standard output cannot be written.
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
        palette: terminal::palette(),
    };
    terminal::print(|out| match args.format {
        ReportFormat::Human => render::human(out, &report, &human),
        ReportFormat::Json => render::json(out, &report, &mnemonics),
        ReportFormat::Sarif => render::sarif(out, &report, args.strict),
        ReportFormat::Github => render::github(out, &report, args.strict),
        ReportFormat::Markdown => render::markdown(out, &report, args.strict),
    })?;
    Ok(report.status(args.strict))
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
        Err("no mnemonic is spelled like that here: modifiers are told of F2FP alone".to_owned())
    }
}

fn parse_expectation(text: &str) -> Result<Expectation, String> {
    text.parse()
        .map_err(|error: blockgate_expect::ExpectationError| error.to_string())
}
