//! `cargo xtask bench`: each measurement beside its peer or its limit, in the same run.
//!
//! Machines are noisy, so the candidate and its peer take turns, the first round is dropped, and medians are
//! shown with their spread. Nothing here is asserted.

mod audit;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use blockgate_findings::ExitStatus;
use serde::Serialize;

use crate::context::{Context, publish};
use crate::output;

/// Measure hot paths against a peer or a physical limit.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The benches to run; all if none is named.
    #[arg(value_name = "NAME", value_parser = clap::builder::PossibleValuesParser::new(["audit"]))]
    names: Vec<String>,

    /// Counted rounds; one more is run first and dropped.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(3..))]
    rounds: u16,

    /// Write the records that the tables in the docs are rendered from.
    #[arg(long)]
    record: bool,
}

struct Bench {
    name: &'static str,
    run: fn(&Context, rounds: u16) -> anyhow::Result<Record>,
}

const BENCHES: &[Bench] = &[Bench {
    name: "audit",
    run: audit::run,
}];

/// What a bench writes.
#[derive(Debug, Serialize)]
struct Record {
    schema: &'static str,
    measured_at_utc: String,
    machine: String,
    rounds: u16,
    /// The peers' versions.
    tools: BTreeMap<&'static str, String>,
    inputs: Vec<Input>,
    rows: Vec<Row>,
}

/// An input by its identity.
#[derive(Debug, Serialize)]
struct Input {
    name: String,
    size: u64,
    sha256: String,
}

/// A candidate and its peer.
#[derive(Debug, Serialize)]
struct Row {
    what: String,
    median_s: f64,
    least_s: f64,
    most_s: f64,
    peer: String,
    peer_median_s: f64,
    peer_least_s: f64,
    peer_most_s: f64,
    /// Median of the rounds' ratios, candidate over peer.
    ratio: f64,
}

pub(crate) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitStatus> {
    for bench in BENCHES {
        if !args.names.is_empty() && !args.names.iter().any(|name| name == bench.name) {
            continue;
        }
        let record = (bench.run)(context, args.rounds)?;
        output::line(&format!(
            "{} ({}, {})",
            bench.name, record.machine, record.measured_at_utc
        ))?;
        for row in &record.rows {
            output::line(&format!(
                "  {}: {:.3} s ({:.3} to {:.3}); {}: {:.3} s ({:.3} to {:.3}); ratio {:.4}",
                row.what,
                row.median_s,
                row.least_s,
                row.most_s,
                row.peer,
                row.peer_median_s,
                row.peer_least_s,
                row.peer_most_s,
                row.ratio,
            ))?;
        }
        if args.record {
            let path = context
                .root()
                .join(format!("docs/records/bench-{}.json", bench.name));
            publish(&path, (serde_json::to_string_pretty(&record)? + "\n").as_bytes())?;
        }
    }
    Ok(ExitStatus::Clean)
}

/// Runs candidate and peer in turns; `rounds` are counted, one more is run first and dropped.
fn compare(
    what: &str,
    peer: &str,
    rounds: u16,
    mut candidate: impl FnMut() -> anyhow::Result<()>,
    mut other: impl FnMut() -> anyhow::Result<()>,
) -> anyhow::Result<Row> {
    let mut times = Vec::new();
    for round in 0..=rounds {
        let pair = (timed(&mut candidate)?, timed(&mut other)?);
        if round > 0 {
            times.push(pair);
        }
    }
    let ours = Spread::of(times.iter().map(|(ours, _)| ours.as_secs_f64()));
    let peers = Spread::of(times.iter().map(|(_, peers)| peers.as_secs_f64()));
    let ratio = Spread::of(
        times
            .iter()
            .map(|(ours, peers)| ours.as_secs_f64() / peers.as_secs_f64()),
    );
    Ok(Row {
        what: what.to_owned(),
        median_s: ours.median,
        least_s: ours.least,
        most_s: ours.most,
        peer: peer.to_owned(),
        peer_median_s: peers.median,
        peer_least_s: peers.least,
        peer_most_s: peers.most,
        ratio: ratio.median,
    })
}

fn timed(work: &mut impl FnMut() -> anyhow::Result<()>) -> anyhow::Result<Duration> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed())
}

/// Median, least and most of some numbers.
struct Spread {
    median: f64,
    least: f64,
    most: f64,
}

impl Spread {
    fn of(numbers: impl Iterator<Item = f64>) -> Self {
        let mut sorted: Vec<f64> = numbers.collect();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        let median = if sorted.len().is_multiple_of(2) {
            f64::midpoint(sorted[middle - 1], sorted[middle])
        } else {
            sorted[middle]
        };
        Self {
            median,
            least: sorted[0],
            most: sorted[sorted.len() - 1],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Spread;

    #[test]
    fn medians_of_odd_and_even_counts() {
        assert!((Spread::of([3.0, 1.0, 2.0].into_iter()).median - 2.0).abs() < 1e-12);
        assert!((Spread::of([4.0, 1.0, 2.0, 3.0].into_iter()).median - 2.5).abs() < 1e-12);
        assert!((Spread::of([4.0, 1.0].into_iter()).least - 1.0).abs() < 1e-12);
    }
}
