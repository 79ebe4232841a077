//! Everything that a person or CI runs in this workspace.
//!
//! A task is a file with `Args` and `run`, and one variant of [`Task`]. Tasks return an
//! [`ExitStatus`]; an `Err` is a message for the person and ends with the internal-error code unless it
//! carries a status of its own.
#![allow(
    clippy::disallowed_methods,
    reason = "xtask is a rim crate: it reads files, runs programs and prints"
)]

mod api;
mod audit_fatbin;
mod bench;
mod browser;
mod build_arch;
mod cargo_tool;
mod ci;
#[cfg(test)]
mod codec;
mod compile;
mod context;
mod disassemble;
mod docs;
mod fuzz;
mod gates;
mod hash;
mod jobs;
mod measured;
mod output;
mod probe;
mod real_artifacts;
mod test;
#[cfg(test)]
mod tidy;
mod toolkit;

use std::process::ExitCode;

use blockgate_findings::ExitStatus;
use clap::Parser;

use crate::context::Context;

/// Build, check and test Blockgate.
#[derive(Parser)]
#[command(name = "cargo xtask", version, about)]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(clap::Subcommand)]
enum Task {
    Api(api::Args),
    AuditFatbin(audit_fatbin::Args),
    Bench(bench::Args),
    Browser(browser::Args),
    BuildArch(build_arch::Args),
    Docs(docs::Args),
    Fuzz(fuzz::Args),
    Gates(gates::Args),
    #[command(hide = true)]
    Measure(bench::MeasureArgs),
    Probe(probe::Args),
    RealArtifacts(real_artifacts::Args),
    Ci(ci::Args),
    Test(test::Args),
    Toolkit(toolkit::Args),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    match Context::discover().and_then(|context| dispatch(&cli.task, &context)) {
        Ok(status) => status.into(),
        Err(error) => {
            output::note(&format!("error: {error:#}"));
            context::status_of(&error).into()
        }
    }
}

fn dispatch(task: &Task, context: &Context) -> anyhow::Result<ExitStatus> {
    match task {
        Task::Api(args) => api::run(args, context),
        Task::AuditFatbin(args) => audit_fatbin::run(args, context),
        Task::Bench(args) => bench::run(args, context),
        Task::Browser(args) => browser::run(args, context),
        Task::BuildArch(args) => build_arch::run(args, context),
        Task::Docs(args) => docs::run(args, context),
        Task::Fuzz(args) => fuzz::run(args, context),
        Task::Gates(args) => gates::run(args, context),
        Task::Measure(args) => bench::measure(args),
        Task::Probe(args) => probe::run(args, context),
        Task::RealArtifacts(args) => real_artifacts::run(args, context),
        Task::Ci(args) => ci::run(args, context),
        Task::Test(args) => test::run(args, context),
        Task::Toolkit(args) => toolkit::run(args, context),
    }
}
