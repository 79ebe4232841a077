//! `cargo xtask docs`: writes what is made from tables and records, or checks that it is up to date.

mod cli;
mod rules;
mod tables;

use std::path::Path;

use anyhow::Context as _;
use blockgate_findings::ExitStatus;

use crate::context::{Context, publish};
use crate::output;

/// Write the generated documentation.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Write nothing; fail where a file is stale.
    #[arg(long)]
    check: bool,
}

/// A generated file.
struct Generated {
    /// Path relative to the workspace.
    path: &'static str,
    /// Its content, from the workspace's tables and the file as it stands (for files that are generated in part).
    content: fn(&Context, current: &str) -> anyhow::Result<String>,
}

const GENERATED: &[Generated] = &[
    Generated {
        path: "docs/cli.md",
        content: |_, _| Ok(cli::reference()),
    },
    Generated {
        path: "docs/gates.md",
        content: |_, _| gate_tables(),
    },
    Generated {
        path: "docs/rules/README.md",
        content: |_, _| Ok(rules::index()),
    },
    Generated {
        path: "docs/schema/audit-1.json",
        content: |_, _| schema(&blockgate_audit::render::json_schema()),
    },
    Generated {
        path: "docs/devices.md",
        content: |_, _| device_table(),
    },
    Generated {
        path: "docs/schema/resolve-1.json",
        content: |_, _| schema(&blockgate_audit::render::resolve_json_schema()),
    },
    Generated {
        path: "docs/schema/diff-1.json",
        content: |_, _| schema(&blockgate_audit::render::diff_json_schema()),
    },
    Generated {
        path: "docs/schema/build-1.json",
        content: |_, _| schema(&crate::build_arch::json_schema()),
    },
    Generated {
        path: "README.md",
        content: |context, current| tables::rendered(context, "README.md", current),
    },
    Generated {
        path: "docs/performance.md",
        content: |context, current| tables::rendered(context, "docs/performance.md", current),
    },
    Generated {
        path: "docs/records/README.md",
        content: |context, current| tables::rendered(context, "docs/records/README.md", current),
    },
];

pub(crate) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitStatus> {
    let mut status = ExitStatus::Clean;
    for generated in GENERATED {
        let path = context.root().join(generated.path);
        let current = read_or_empty(&path)?;
        let wanted = (generated.content)(context, &current)
            .with_context(|| format!("{} cannot be generated", generated.path))?;
        if current == wanted {
            output::line(&format!("{}: up to date", generated.path))?;
        } else if args.check {
            output::line(&format!("{}: stale; run `cargo xtask docs`", generated.path))?;
            status = ExitStatus::Failed;
        } else {
            publish(&path, wanted.as_bytes())?;
            output::line(&format!("{}: written", generated.path))?;
        }
    }
    Ok(status)
}

fn read_or_empty(path: &Path) -> anyhow::Result<String> {
    match std::fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        other => other.with_context(|| format!("{} cannot be read", path.display())),
    }
}

fn gate_tables() -> anyhow::Result<String> {
    let mut page = String::new();
    blockgate_arch::gates::write_markdown(&mut page)?;
    Ok(page)
}

fn device_table() -> anyhow::Result<String> {
    let mut page = String::new();
    blockgate_arch::devices::write_devices_markdown(&mut page)?;
    Ok(page)
}

fn schema(schema: &impl serde::Serialize) -> anyhow::Result<String> {
    Ok(serde_json::to_string_pretty(schema)? + "\n")
}
