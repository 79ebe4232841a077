//! From text to a list, with every mistake of the file reported at once.

use blockgate_arch::dialect::{self, Entry};
use blockgate_arch::{Device, ToolkitRequirement};
use blockgate_expect::{Expectation, SizeBound};
use blockgate_findings::Finding;
use blockgate_yaml::{Key, Node, Value};

use crate::check;
use crate::keys::{KEYS, REQUIRED};
use crate::model::{ArchList, ExpectedFailure, PerSource, Places, SameCode, SourceSet};
use crate::rules::{self, finding};
use crate::ships;

/// Reads a list file. `path` is what findings name; the list's own name is the file's, without its ending.
///
/// # Errors
/// Every finding about the file by itself, in the order of the text.
pub fn parse(text: &str, path: &str) -> Result<ArchList, Vec<Finding>> {
    let root = blockgate_yaml::parse(text).map_err(|error| {
        let at = error.at_byte;
        vec![finding(rules::YAML, path, text, &(at..at), error.message)]
    })?;
    let mut reader = Reader {
        path,
        text,
        yaml: blockgate_yaml::Reader::new(path, text, rules::READER),
    };
    let list = reader.list(&root);
    let mut findings = reader.yaml.findings;
    if findings.is_empty() {
        findings.extend(check::list(&list));
        findings.extend(ships::check(&list));
    }
    if findings.is_empty() {
        return Ok(list);
    }
    findings.sort_by_key(|finding| match &finding.location {
        blockgate_findings::Location::Text(place) => place.start_byte,
        blockgate_findings::Location::Artifact(_) => 0,
    });
    Err(findings)
}

struct Reader<'a> {
    path: &'a str,
    text: &'a str,
    yaml: blockgate_yaml::Reader<'a>,
}

impl<'a> Reader<'a> {
    fn list(&mut self, root: &Node) -> ArchList {
        let mut list = ArchList {
            name: name_of(self.path).to_owned(),
            why: String::new(),
            ships: false,
            toolkit: None,
            device: None,
            architectures: String::new(),
            entries: Vec::new(),
            per_source: Vec::new(),
            baseline: None,
            same_code: None,
            code_changed_in: Vec::new(),
            size_over_baseline: None,
            expect: Vec::new(),
            sources: SourceSet::default(),
            expect_failure: None,
            optional: false,
            places: Places {
                path: self.path.to_owned(),
                text: self.text.to_owned(),
                ..Places::default()
            },
        };
        if !matches!(root.value, Value::Mapping(_)) {
            let message = format!("expected a mapping of keys, found {}", root.value.kind());
            self.yaml.report(rules::YAML, &root.span, message);
            return list;
        }
        let entries = self.yaml.mapping(root, "a mapping of keys");
        for (key, node) in &entries {
            self.entry(&mut list, key, node);
        }
        for required in REQUIRED {
            if !entries.iter().any(|(key, _)| key.name == required) {
                self.yaml.report(
                    rules::MISSING_KEY,
                    &(0..0),
                    format!("the list has no `{required}`"),
                );
            }
        }
        list
    }

    fn entry(&mut self, list: &mut ArchList, key: &Key, node: &Node) {
        match key.name.as_str() {
            "why" => {
                let why = self.yaml.text_of(node).unwrap_or_default().trim().to_owned();
                if why.is_empty() && matches!(node.value, Value::Text(_)) {
                    self.yaml.report(
                        rules::VALUE,
                        &node.span,
                        "`why` is empty; say why the list exists",
                    );
                }
                list.why = why;
            }
            "ships" => {
                list.ships = self.yaml.bool_of(node).unwrap_or_default();
                list.places.ships = node.span.clone();
            }
            "toolkit" => {
                list.toolkit = self.yaml.parsed::<ToolkitRequirement>(node, rules::TOOLKIT);
                list.places.toolkit = Some(node.span.clone());
            }
            "device" => list.device = self.yaml.parsed::<Device>(node, rules::VALUE),
            "architectures" => {
                list.places.architectures = node.span.clone();
                if let Some((text, entries)) = self.architectures(node) {
                    list.architectures = text;
                    list.entries = entries;
                }
            }
            "per_source" => list.per_source = self.per_source(node),
            "baseline" => {
                list.baseline = self.yaml.text_of(node).map(str::to_owned);
                list.places.baseline = Some(node.span.clone());
            }
            "same_code" => {
                list.places.same_code = Some(node.span.clone());
                list.same_code = self
                    .yaml
                    .word(node, &[("all-but-per-source", SameCode::AllButPerSource)]);
            }
            "code_changed_in" => self.code_changed_in(list, node),
            "size_over_baseline" => {
                list.places.size_over_baseline = Some(node.span.clone());
                list.size_over_baseline = self.size_bound(node);
            }
            "expect" => self.expectations(list, node),
            "sources" => {
                let words = [SourceSet::Kernels, SourceSet::Markers].map(|set| (set.name(), set));
                list.sources = self.yaml.word(node, &words).unwrap_or_default();
            }
            "expect_failure" => {
                let words = [ExpectedFailure::GateMismatch].map(|cause| (cause.name(), cause));
                list.expect_failure = self.yaml.word(node, &words);
            }
            "optional" => list.optional = self.yaml.bool_of(node).unwrap_or_default(),
            _ => self.yaml.unknown_key(key, "a list", KEYS),
        }
    }

    fn architectures(&mut self, node: &Node) -> Option<(String, Vec<Entry>)> {
        let text = self.yaml.text_of(node)?;
        match dialect::cmake::parse(text).into_entries() {
            Ok(entries) => Some((text.to_owned(), entries)),
            Err(errors) => {
                for error in errors {
                    let part = error.span.start_byte..error.span.end_byte;
                    let span = self.yaml.within(node, text, &part);
                    self.yaml.report(rules::TARGET, &span, error.to_string());
                }
                None
            }
        }
    }

    fn per_source(&mut self, node: &Node) -> Vec<PerSource> {
        let mut sources: Vec<PerSource> = Vec::new();
        for (key, node) in self.yaml.mapping(node, "a mapping from source to architectures") {
            let valid = |char: char| char.is_ascii_alphanumeric() || "_.+-".contains(char);
            if key.name.is_empty() || !key.name.chars().all(valid) {
                let message = format!("expected the file name of a source, found `{}`", key.name);
                self.yaml.report(rules::SOURCE, &key.span, message);
            }
            let (architectures, entries) = self.architectures(node).unwrap_or_default();
            sources.push(PerSource {
                source: key.name.clone(),
                architectures,
                entries,
                place: key.span.clone(),
                architectures_place: node.span.clone(),
            });
        }
        sources
    }

    fn size_bound(&mut self, node: &Node) -> Option<SizeBound> {
        let text = self.yaml.text_of(node)?;
        match text.parse() {
            Ok(bound) => Some(bound),
            Err(error) => {
                let error: blockgate_expect::ExpectationError = error;
                let span = self.yaml.within(node, text, &error.span());
                self.yaml.report(rules::VALUE, &span, error.to_string());
                None
            }
        }
    }

    fn code_changed_in(&mut self, list: &mut ArchList, node: &Node) {
        for item in self.yaml.sequence(node, "a sequence of sources") {
            let Some(source) = self.yaml.text_of(item) else {
                continue;
            };
            list.code_changed_in.push(source.to_owned());
            list.places.code_changed_in.push(item.span.clone());
        }
    }

    fn expectations(&mut self, list: &mut ArchList, node: &Node) {
        for item in self.yaml.sequence(node, "a sequence of expectations") {
            let Some(text) = self.yaml.text_of(item) else {
                continue;
            };
            match text.parse::<Expectation>() {
                Ok(expectation) if list.expect.contains(&expectation) => {
                    let message = format!("`{expectation}` is expected already");
                    self.yaml.report(rules::EXPECTATION, &item.span, message);
                }
                Ok(expectation) => {
                    list.expect.push(expectation);
                    list.places.expect.push(item.span.clone());
                }
                Err(error) => {
                    let span = self.yaml.within(item, text, &error.span());
                    self.yaml.report(rules::EXPECTATION, &span, error.to_string());
                }
            }
        }
    }
}

/// `gb10-plain` of `arch-lists/gb10-plain.yaml`.
fn name_of(path: &str) -> &str {
    let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
    file.strip_suffix(".yaml")
        .or_else(|| file.strip_suffix(".yml"))
        .unwrap_or(file)
}
