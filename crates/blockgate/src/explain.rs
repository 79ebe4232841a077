//! `blockgate explain`: what a rule means, why it exists, and how to waive it.

use std::io::{self, Write};

use blockgate_findings::{ExitStatus, RuleInfo, nearest};

use crate::terminal;

/// Print the page of a rule, or list all rules.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The rule's id, as findings show it in brackets. Without one, all rules are listed with their severities.
    #[arg(value_name = "RULE")]
    rule: Option<String>,
}

/// Prints the page or the list to standard output.
///
/// # Errors
/// When standard output or standard error cannot be written.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    let rules = blockgate_audit::rules::all();
    let Some(wanted) = &args.rule else {
        terminal::print(|out| list(out, rules))?;
        return Ok(ExitStatus::Clean);
    };
    if let Some(rule) = rules.iter().find(|rule| rule.id == wanted) {
        terminal::print(|out| page(out, rule))?;
        return Ok(ExitStatus::Clean);
    }
    let mut out = io::stderr().lock();
    let shown = blockgate_findings::render::printable(wanted);
    writeln!(out, "error: there is no rule `{shown}`")?;
    match nearest(wanted, rules.iter().map(|rule| rule.id)) {
        Some(meant) => writeln!(out, "  did you mean `{meant}`?")?,
        None => writeln!(out, "  `blockgate explain` lists the rules")?,
    }
    Ok(ExitStatus::Usage)
}

fn list(out: &mut dyn Write, rules: &[RuleInfo]) -> io::Result<()> {
    let width = rules.iter().map(|rule| rule.id.len()).max().unwrap_or(0);
    for rule in rules {
        writeln!(out, "{:width$}  {:7}  {}", rule.id, severity(rule), rule.summary)?;
    }
    Ok(())
}

fn page(out: &mut dyn Write, rule: &RuleInfo) -> io::Result<()> {
    writeln!(out, "{}", rule.page.trim_end())?;
    writeln!(out)?;
    writeln!(out, "Default severity: {}. Since {}.", severity(rule), rule.since)
}

/// The default severity, or that it depends on what was found.
pub fn severity(rule: &RuleInfo) -> String {
    rule.severity
        .map_or_else(|| "varies".to_owned(), |severity| severity.to_string())
}
