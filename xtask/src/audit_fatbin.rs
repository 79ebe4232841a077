//! `cargo xtask audit-fatbin`: `blockgate audit` without installing anything.

use blockgate_findings::ExitStatus;

use crate::context::Context;

pub(crate) use blockgate::audit::Args;

pub(crate) fn run(args: &Args, _context: &Context) -> anyhow::Result<ExitStatus> {
    blockgate::audit::run(args)
}
