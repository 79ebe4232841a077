//! `cargo xtask bench`: each measurement beside its peer or its limit, in the same run.
//!
//! Machines are noisy, so the candidate and its peer take turns, the first round is dropped, and medians are
//! shown with their spread. Nothing here is asserted.

mod inspect;
mod sample;
mod work;

use std::collections::BTreeMap;
use std::ffi::OsString;

use blockgate_findings::ExitStatus;
use serde::Serialize;

pub(crate) use self::sample::{Args as MeasureArgs, run as measure};
use self::sample::{Sample, sample};
use self::work::Work;
use crate::context::{Context, publish};
use crate::output;

/// Measure hot paths against a peer or a physical limit.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The benches to run; all if none is named.
    #[arg(value_name = "NAME", value_parser = clap::builder::PossibleValuesParser::new(["inspect"]))]
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
    name: "inspect",
    run: inspect::run,
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
    ours: Cost,
    peer: String,
    theirs: Cost,
    /// Median of the rounds' ratios of wall time, candidate over peer.
    ratio: f64,
    least_ratio: f64,
    most_ratio: f64,
}

/// What one side costs, over the counted rounds.
#[derive(Debug, Serialize)]
struct Cost {
    wall_median_s: f64,
    wall_least_s: f64,
    wall_most_s: f64,
    cpu_median_s: f64,
    /// The largest of all rounds, pages of mapped inputs included.
    peak_bytes: u64,
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
                "  {}: {}; {}: {}; ratio {:.4} ({:.4} to {:.4})",
                row.what, row.ours, row.peer, row.theirs, row.ratio, row.least_ratio, row.most_ratio
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

/// One side of a comparison.
struct Side {
    work: Work,
    operands: Vec<OsString>,
    /// What times are multiplied by, where the work is a known part of what is compared.
    times: f64,
}

impl Side {
    const fn of(work: Work, operands: Vec<OsString>) -> Self {
        Self {
            work,
            operands,
            times: 1.0,
        }
    }

    fn sample(&self) -> anyhow::Result<Sample> {
        let Sample {
            wall_s,
            cpu_s,
            peak_bytes,
        } = sample(self.work, &self.operands)?;
        Ok(Sample {
            wall_s: wall_s * self.times,
            cpu_s: cpu_s * self.times,
            peak_bytes,
        })
    }
}

/// Runs candidate and peer in turns; `rounds` are counted, one more is run first and dropped.
fn compare(what: &str, candidate: Side, peer: &str, other: Side, rounds: u16) -> anyhow::Result<Row> {
    let mut pairs = Vec::new();
    for round in 0..=rounds {
        let pair = (candidate.sample()?, other.sample()?);
        if round > 0 {
            pairs.push(pair);
        }
    }
    let (ours, theirs): (Vec<Sample>, Vec<Sample>) = pairs.iter().copied().unzip();
    let ratio = Spread::of(pairs.iter().map(|(ours, theirs)| ours.wall_s / theirs.wall_s));
    Ok(Row {
        what: what.to_owned(),
        ours: Cost::of(&ours),
        peer: peer.to_owned(),
        theirs: Cost::of(&theirs),
        ratio: ratio.median,
        least_ratio: ratio.least,
        most_ratio: ratio.most,
    })
}

impl Cost {
    fn of(samples: &[Sample]) -> Self {
        let wall = Spread::of(samples.iter().map(|sample| sample.wall_s));
        Self {
            wall_median_s: wall.median,
            wall_least_s: wall.least,
            wall_most_s: wall.most,
            cpu_median_s: Spread::of(samples.iter().map(|sample| sample.cpu_s)).median,
            peak_bytes: samples.iter().map(|sample| sample.peak_bytes).max().unwrap_or(0),
        }
    }
}

impl std::fmt::Display for Cost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{:.3} s ({:.3} to {:.3}), CPU {:.3} s, peak {}",
            self.wall_median_s,
            self.wall_least_s,
            self.wall_most_s,
            self.cpu_median_s,
            blockgate_audit::render::bytes(self.peak_bytes),
        )
    }
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
