//! What a configuration says.

use std::ops::Deref;

use blockgate_arch::{Arch, Device, ToolkitVersion};
use blockgate_expect::{Expectation, Glob, SizeBound};
use blockgate_findings::{Severity, TextPlace};
use jiff::civil::Date;

/// The names under which a configuration file is found.
pub const FILE_NAMES: [&str; 2] = ["blockgate.yaml", "blockgate.yml"];

/// A configuration file.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// What is demanded of artifacts.
    pub audit: AuditPolicy,
}

/// A value and its place in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed<T> {
    /// The value.
    pub value: T,
    /// Where it stands.
    pub place: TextPlace,
}

impl<T> Deref for Placed<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

/// The `audit` part.
#[derive(Clone, Debug, Default)]
pub struct AuditPolicy {
    /// What must hold of every input by itself.
    pub expect: Vec<Placed<Expectation>>,
    /// Devices that every library must have an image for.
    pub require_devices: Vec<Placed<Device>>,
    /// The oldest driver, by its CUDA release, that must be able to load every image.
    pub driver_floor: Option<Placed<ToolkitVersion>>,
    /// How large every input may be, in bytes.
    pub size_budget: Option<Placed<SizeBound>>,
    /// How much rules matter, where that differs from their default.
    pub levels: Vec<RuleLevel>,
    /// What is demanded of single artifacts.
    pub artifacts: Vec<ArtifactPolicy>,
    /// Findings that are accepted.
    pub waivers: Vec<Waiver>,
}

impl AuditPolicy {
    /// Every expectation: those of every input, then those of each artifact.
    pub fn expectations(&self) -> impl Iterator<Item = &Placed<Expectation>> {
        let of_artifacts = self.artifacts.iter().flat_map(|artifact| &artifact.expect);
        self.expect.iter().chain(of_artifacts)
    }

    /// How much `rule` matters here; `None` where the configuration does not say.
    pub fn level(&self, rule: &str) -> Option<Level> {
        let row = self.levels.iter().find(|row| row.rule.value == rule);
        row.map(|row| row.level)
    }
}

/// What a rule's findings are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Not reported.
    Off,
    /// Reported with this severity.
    At(Severity),
}

/// A rule and its level.
#[derive(Clone, Debug)]
pub struct RuleLevel {
    /// The rule's id.
    pub rule: Placed<String>,
    /// Its level.
    pub level: Level,
}

/// What is demanded of the artifacts that a glob selects: inputs by path, and files in packages by name.
#[derive(Clone, Debug)]
pub struct ArtifactPolicy {
    /// Which artifacts.
    pub path: Placed<Glob>,
    /// What must hold of each of them by itself.
    pub expect: Vec<Placed<Expectation>>,
    /// How large each of them may be, in bytes.
    pub size_budget: Option<Placed<SizeBound>>,
}

/// A finding that is accepted, and why.
#[derive(Clone, Debug)]
pub struct Waiver {
    /// The rule's id.
    pub rule: String,
    /// Which inputs or files of packages; all if absent.
    pub artifact: Option<Glob>,
    /// Which members; all, and what has no member, if absent.
    pub member: Option<Glob>,
    /// Which architecture; all, and what has none, if absent.
    pub arch: Option<Arch>,
    /// Why it is accepted. Never empty.
    pub reason: String,
    /// The last day on which it is accepted; for ever if absent.
    pub until: Option<Date>,
    /// Where the waiver stands.
    pub place: TextPlace,
}

impl Waiver {
    /// Whether its last day has passed.
    pub fn is_expired(&self, today: Date) -> bool {
        self.until.is_some_and(|until| until < today)
    }
}

/// The rules that a configuration may name.
#[derive(Clone, Copy, Debug)]
pub struct KnownRules<'a> {
    /// Rules whose severity may be chosen, and which may be waived.
    pub configurable: &'a [&'a str],
    /// Rules with a fixed severity, which say that something could not be read or understood; what is no error of
    /// theirs may be waived.
    pub fixed: &'a [&'a str],
}
