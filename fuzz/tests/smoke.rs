//! Every target over all its seeds and over mutations of them, the same ones each time. libFuzzer goes on from there.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::use_debug,
    reason = "tests read their inputs and show what fails"
)]

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use blockgate_fuzz::seeds::{self, Seed};
use blockgate_fuzz::{TARGETS, Target};
use libtest_mimic::{Failed, Trial};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/fatbin")
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            files(&path, found)?;
        } else {
            found.push(path);
        }
    }
    Ok(())
}

/// Packages around some of these files.
fn packages(paths: &[PathBuf]) -> Result<Vec<Seed>, Failed> {
    let inputs = contents(paths)?;
    Ok(seeds::of_packages(inputs.iter().map(named))?)
}

fn contents(paths: &[PathBuf]) -> std::io::Result<Vec<(String, Vec<u8>)>> {
    let content = |path: &PathBuf| Ok((path.display().to_string(), std::fs::read(path)?));
    paths.iter().map(content).collect()
}

fn named((name, bytes): &(String, Vec<u8>)) -> (&str, &[u8]) {
    (name, bytes)
}

/// A trial for each file, with all that the targets take out of it, for each package and for each description.
fn trials() -> Result<Vec<Trial>, Failed> {
    let mut paths = Vec::new();
    files(&fixtures(), &mut paths)?;
    paths.retain(|path| seeds::is_input(&path.display().to_string()));
    paths.sort();
    let mut trials = Vec::new();
    for path in &paths {
        let name = path.strip_prefix(fixtures())?.display().to_string();
        let path = path.clone();
        trials.push(Trial::test(format!("file/{name}"), move || {
            let bytes = std::fs::read(&path)?;
            check(seeds::of_files([(name.as_str(), bytes.as_slice())]))
        }));
    }
    for seed in packages(&paths)? {
        trials.push(Trial::test(format!("package/{}", seed.name), move || {
            check([seed])
        }));
    }
    for seed in seeds::descriptions() {
        trials.push(Trial::test(seed.name.clone(), move || check([seed])));
    }
    trials.push(Trial::test("every-target-has-seeds", move || {
        every_target_has_seeds(&paths)
    }));
    Ok(trials)
}

fn check(seeds: impl IntoIterator<Item = Seed>) -> Result<(), Failed> {
    for seed in seeds {
        let target = TARGETS.iter().find(|target| target.name == seed.target);
        let target = target.ok_or_else(|| format!("a seed for `{}`, which is no target", seed.target))?;
        (target.run)(&seed.data);
        mutate(*target, &seed.data)?;
    }
    Ok(())
}

/// A target without seeds would pass for one that was run.
fn every_target_has_seeds(paths: &[PathBuf]) -> Result<(), Failed> {
    let inputs = contents(paths)?;
    let mut all = seeds::of_files(inputs.iter().map(named));
    all.extend(packages(paths)?);
    all.extend(seeds::descriptions());
    for target in TARGETS {
        let count = all.iter().filter(|seed| seed.target == target.name).count();
        if count < 8 {
            return Err(format!("{}: {count} seeds", target.name).into());
        }
    }
    Ok(())
}

/// One change.
#[derive(Clone, Debug)]
enum Change {
    /// Write `value`, `width` bytes wide, at a place given as a fraction of the file.
    Write {
        at: prop::sample::Index,
        width: usize,
        value: u64,
    },
    /// The same within the first bytes, where the headers are that all else depends on.
    WriteNearStart { at: usize, value: u64 },
    /// Cut the file there.
    Cut { at: prop::sample::Index },
    /// Repeat the bytes from `from` on at the end.
    Repeat { from: prop::sample::Index },
}

/// Sizes and offsets at the edges of what a field can hold are likelier to break something than random ones.
fn value() -> impl Strategy<Value = u64> {
    prop_oneof![
        any::<u64>(),
        0..0x100_u64,
        (0..64_u32).prop_map(|shift| 1 << shift),
        (0..0x40_u64).prop_map(|below| u64::MAX - below),
    ]
}

fn change() -> impl Strategy<Value = Change> {
    let index = any::<prop::sample::Index>;
    let width = prop_oneof![Just(1_usize), Just(2), Just(4), Just(8)];
    prop_oneof![
        8 => (index(), width, value()).prop_map(|(at, width, value)| Change::Write { at, width, value }),
        4 => (0..0x200_usize, value()).prop_map(|(at, value)| Change::WriteNearStart { at, value }),
        1 => index().prop_map(|at| Change::Cut { at }),
        1 => index().prop_map(|from| Change::Repeat { from }),
    ]
}

fn apply(change: &Change, bytes: &mut Vec<u8>) {
    if bytes.is_empty() {
        return;
    }
    let (at, width, value) = match change {
        // Fields are aligned, so aligned places are hit more often by rounding down.
        Change::Write { at, width, value } => (at.index(bytes.len()) / width * width, *width, *value),
        Change::WriteNearStart { at, value } => (at / 4 * 4, 4, *value),
        Change::Cut { at } => return bytes.truncate(at.index(bytes.len())),
        Change::Repeat { from } => return bytes.extend_from_within(from.index(bytes.len())..),
    };
    for (byte, new) in bytes.iter_mut().skip(at).zip(value.to_le_bytes()).take(width) {
        *byte = new;
    }
}

fn mutate(target: Target, seed: &[u8]) -> Result<(), Failed> {
    const MUTATIONS: u32 = 128;
    let config = Config {
        cases: MUTATIONS,
        failure_persistence: None,
        ..Config::default()
    };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    runner
        .run(&prop::collection::vec(change(), 1..5), |changes| {
            let mut bytes = seed.to_vec();
            for change in &changes {
                apply(change, &mut bytes);
            }
            (target.run)(&bytes);
            Ok(())
        })
        .map_err(|error| error.to_string().into())
}

fn main() -> ExitCode {
    let arguments = libtest_mimic::Arguments::from_args();
    match trials() {
        Ok(trials) => libtest_mimic::run(&arguments, trials).exit_code(),
        Err(error) => {
            eprintln!("the fixtures cannot be listed: {error:?}");
            ExitCode::FAILURE
        }
    }
}
