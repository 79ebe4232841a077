//! From text to a configuration, with every mistake of the file reported at once.

use std::str::FromStr;

use blockgate_arch::devices::find_device;
use blockgate_arch::{Arch, Device, ToolkitVersion};
use blockgate_expect::{Expectation, ExpectationError, Glob, SizeBound};
use blockgate_findings::{Finding, Location, Severity, nearest};
use blockgate_yaml::{Key, Node, Reader, ReaderRules, Value};
use jiff::civil::Date;

use crate::model::{ArtifactPolicy, AuditPolicy, Config, KnownRules, Level, Placed, RuleLevel, Waiver};
use crate::rules;

const TOP_KEYS: [&str; 2] = ["audit", "lint"];
const AUDIT_KEYS: [&str; 7] = [
    "expect",
    "require_devices",
    "driver_floor",
    "size_budget",
    "rules",
    "artifacts",
    "waivers",
];
const ARTIFACT_KEYS: [&str; 3] = ["path", "expect", "size_budget"];
const WAIVER_KEYS: [&str; 6] = ["rule", "artifact", "member", "arch", "reason", "until"];

const LEVELS: [(&str, Level); 4] = [
    ("off", Level::Off),
    ("info", Level::At(Severity::Info)),
    ("warning", Level::At(Severity::Warning)),
    ("error", Level::At(Severity::Error)),
];

/// Reads a configuration file. `path` is what findings name. An empty file is an empty configuration.
///
/// # Errors
/// Every finding about the file, in the order of the text. Nothing may be checked by a file with findings.
pub fn parse(text: &str, path: &str, known: KnownRules<'_>) -> Result<Config, Vec<Finding>> {
    let mut reader = ConfigReader {
        yaml: Reader::new(
            path,
            text,
            ReaderRules {
                unknown_key: rules::UNKNOWN_KEY,
                duplicate_key: rules::DUPLICATE_KEY,
                value: rules::VALUE,
            },
        ),
        known,
    };
    let mut config = Config::default();
    match blockgate_yaml::parse(text) {
        Ok(root) if matches!(root.value, Value::Null) => {}
        Ok(root) => reader.config(&mut config, &root),
        Err(error) => reader
            .yaml
            .report(rules::YAML, &(error.at_byte..error.at_byte), error.message),
    }
    let mut findings = reader.yaml.findings;
    if findings.is_empty() {
        return Ok(config);
    }
    findings.sort_by_key(|finding| match &finding.location {
        Location::Text(place) => place.start_byte,
        Location::Artifact(_) => 0,
    });
    Err(findings)
}

struct ConfigReader<'a> {
    yaml: Reader<'a>,
    known: KnownRules<'a>,
}

impl ConfigReader<'_> {
    fn config(&mut self, config: &mut Config, root: &Node) {
        for (key, node) in self.yaml.mapping(root, "a mapping of keys") {
            match key.name.as_str() {
                "audit" => self.audit(&mut config.audit, node),
                "lint" => {}
                _ => self.yaml.unknown_key(key, "blockgate.yaml", TOP_KEYS),
            }
        }
    }

    fn audit(&mut self, audit: &mut AuditPolicy, node: &Node) {
        for (key, node) in self.yaml.mapping(node, "a mapping of keys") {
            match key.name.as_str() {
                "expect" => audit.expect = self.expectations(node),
                "require_devices" => audit.require_devices = self.devices(node),
                "driver_floor" => audit.driver_floor = self.placed::<ToolkitVersion>(node),
                "size_budget" => audit.size_budget = self.size_bound(node),
                "rules" => audit.levels = self.levels(node),
                "artifacts" => audit.artifacts = self.artifacts(node),
                "waivers" => audit.waivers = self.waivers(node),
                _ => self.yaml.unknown_key(key, "`audit`", AUDIT_KEYS),
            }
        }
    }

    fn expectations(&mut self, node: &Node) -> Vec<Placed<Expectation>> {
        let mut expectations: Vec<Placed<Expectation>> = Vec::new();
        for item in self.yaml.sequence(node, "a sequence of expectations") {
            let Some(text) = self.yaml.text_of(item) else {
                continue;
            };
            match text.parse::<Expectation>() {
                Ok(value) if expectations.iter().any(|earlier| earlier.value == value) => {
                    let message = format!("`{value}` is expected already");
                    self.yaml.report(rules::EXPECTATION, &item.span, message);
                }
                Ok(value) => expectations.push(Placed {
                    value,
                    place: self.yaml.place(&item.span),
                }),
                Err(error) => {
                    let span = self.yaml.within(item, text, &error.span());
                    self.yaml.report(rules::EXPECTATION, &span, error.to_string());
                }
            }
        }
        expectations
    }

    fn devices(&mut self, node: &Node) -> Vec<Placed<Device>> {
        self.yaml
            .sequence(node, "a sequence of devices")
            .iter()
            .filter_map(|item| {
                let text = self.yaml.text_of(item)?;
                match find_device(text) {
                    Ok(named) => Some(Placed {
                        value: named.device,
                        place: self.yaml.place(&item.span),
                    }),
                    Err(error) => {
                        self.yaml.report(rules::VALUE, &item.span, error.to_string());
                        None
                    }
                }
            })
            .collect()
    }

    fn placed<T>(&mut self, node: &Node) -> Option<Placed<T>>
    where
        T: FromStr<Err: std::fmt::Display>,
    {
        let value = self.yaml.parsed::<T>(node, rules::VALUE)?;
        let place = self.yaml.place(&node.span);
        Some(Placed { value, place })
    }

    fn size_bound(&mut self, node: &Node) -> Option<Placed<SizeBound>> {
        let text = self.yaml.text_of(node)?;
        match text.parse() {
            Ok(value) => Some(Placed {
                value,
                place: self.yaml.place(&node.span),
            }),
            Err(error) => {
                let error: ExpectationError = error;
                let span = self.yaml.within(node, text, &error.span());
                self.yaml.bad_value(&span, error.to_string());
                None
            }
        }
    }

    fn levels(&mut self, node: &Node) -> Vec<RuleLevel> {
        let mut levels = Vec::new();
        for (key, node) in self.yaml.mapping(node, "a mapping from rule to severity") {
            if self.known.fixed.contains(&key.name.as_str()) {
                let message = format!(
                    "the severity of `{}` is fixed: it says whether something could not be read",
                    key.name
                );
                self.yaml.report(rules::RULE, &key.span, message);
                continue;
            }
            self.known_rule(&key.name, &key.span, self.known.configurable);
            if let Some(level) = self.yaml.word(node, &LEVELS) {
                let place = self.yaml.place(&key.span);
                let value = key.name.clone();
                let rule = Placed { value, place };
                levels.push(RuleLevel { rule, level });
            }
        }
        levels
    }

    /// Reports a rule that is none of `rules`.
    fn known_rule(&mut self, name: &str, span: &blockgate_yaml::Span, rules: &[&str]) {
        if rules.contains(&name) {
            return;
        }
        let note = match nearest(name, rules.iter().copied()) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => "`blockgate explain` lists the rules".to_owned(),
        };
        let message = format!("there is no rule `{name}`");
        self.yaml.report_noted(rules::RULE, span, message, vec![note]);
    }

    fn artifacts(&mut self, node: &Node) -> Vec<ArtifactPolicy> {
        let mut artifacts = Vec::new();
        for item in self.yaml.sequence(node, "a sequence of artifacts") {
            let (mut path, mut expect, mut size_budget) = (None, Vec::new(), None);
            let entries = self.yaml.mapping(item, "an artifact's keys");
            for (key, node) in &entries {
                match key.name.as_str() {
                    "path" => path = self.placed::<Glob>(node),
                    "expect" => expect = self.expectations(node),
                    "size_budget" => size_budget = self.size_bound(node),
                    _ => self.yaml.unknown_key(key, "an artifact", ARTIFACT_KEYS),
                }
            }
            match path {
                Some(path) => artifacts.push(ArtifactPolicy {
                    path,
                    expect,
                    size_budget,
                }),
                None if !has(&entries, "path") && matches!(item.value, Value::Mapping(_)) => {
                    self.yaml.bad_value(
                        &item.span,
                        "the artifact has no `path`, a glob that says which files are meant",
                    )
                }
                None => {}
            }
        }
        artifacts
    }

    fn waivers(&mut self, node: &Node) -> Vec<Waiver> {
        let items = self.yaml.sequence(node, "a sequence of waivers");
        items.iter().filter_map(|item| self.waiver(item)).collect()
    }

    fn waiver(&mut self, item: &Node) -> Option<Waiver> {
        let (mut rule, mut reason) = (None, None);
        let mut waiver = Waiver {
            rule: String::new(),
            artifact: None,
            member: None,
            arch: None,
            reason: String::new(),
            until: None,
            place: self.yaml.place(&item.span),
        };
        let entries = self.yaml.mapping(item, "a waiver's keys");
        if entries.is_empty() {
            return None;
        }
        let reported = self.yaml.findings.len();
        for (key, node) in &entries {
            match key.name.as_str() {
                "rule" => {
                    rule = self.yaml.text_of(node);
                    if let Some(name) = rule {
                        let all = [self.known.configurable, self.known.fixed].concat();
                        self.known_rule(name, &node.span, &all);
                        waiver.place = self.yaml.place(&node.span);
                    }
                }
                "artifact" => waiver.artifact = self.yaml.parsed::<Glob>(node, rules::VALUE),
                "member" => waiver.member = self.yaml.parsed::<Glob>(node, rules::VALUE),
                "arch" => waiver.arch = self.yaml.parsed::<Arch>(node, rules::VALUE),
                "reason" => {
                    reason = self.yaml.text_of(node).map(str::trim);
                    if reason == Some("") {
                        let message = "the reason is empty; say why the finding is accepted";
                        self.yaml.report(rules::WAIVER, &node.span, message);
                    }
                }
                "until" => waiver.until = self.date(node),
                _ => self.yaml.unknown_key(key, "a waiver", WAIVER_KEYS),
            }
        }
        for (required, why) in [
            ("rule", "which rule's findings are accepted"),
            ("reason", "why they are accepted"),
        ] {
            if !has(&entries, required) {
                let message = format!("the waiver has no `{required}`; say {why}");
                self.yaml.report(rules::WAIVER, &item.span, message);
            }
        }
        waiver.rule = rule?.to_owned();
        waiver.reason = reason?.to_owned();
        (self.yaml.findings.len() == reported).then_some(waiver)
    }

    fn date(&mut self, node: &Node) -> Option<Date> {
        let text = self.yaml.text_of(node)?;
        // The library reads times as well; a waiver ends with a day.
        let date = text.parse::<Date>().ok().filter(|date| date.to_string() == text);
        if date.is_none() {
            let message = format!("expected a day such as `2027-03-01`, found `{text}`");
            self.yaml.bad_value(&node.span, message);
        }
        date
    }
}

fn has(entries: &[(&Key, &Node)], name: &str) -> bool {
    entries.iter().any(|(key, _)| key.name == name)
}
