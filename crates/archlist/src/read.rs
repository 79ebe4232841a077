//! From text to a list, with every mistake of the file reported at once.

use std::ops::Range;
use std::str::FromStr;

use blockgate_arch::dialect::{self, Entry};
use blockgate_arch::{Device, ToolkitRequirement};
use blockgate_expect::{Expectation, SizeBound};
use blockgate_findings::{Edit, Finding, Fix};

use crate::check;
use crate::keys::{KEYS, REQUIRED};
use crate::model::{ArchList, ExpectedFailure, PerSource, Places, SameCode, SourceSet};
use crate::nearest::nearest;
use crate::rules::{self, finding, noted};
use crate::ships;
use crate::yaml::{self, Key, Node, Value, inner_span};

/// Reads a list file. `path` is what findings name; the list's own name is the file's, without its ending.
///
/// # Errors
/// Every finding about the file by itself, in the order of the text.
pub fn parse(text: &str, path: &str) -> Result<ArchList, Vec<Finding>> {
    let root = yaml::parse(text).map_err(|error| {
        let at = error.at_byte;
        vec![finding(rules::YAML, path, text, &(at..at), error.message)]
    })?;
    let mut reader = Reader {
        path,
        text,
        findings: Vec::new(),
    };
    let list = reader.list(&root);
    let mut findings = reader.findings;
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
    findings: Vec<Finding>,
}

impl<'a> Reader<'a> {
    fn report(&mut self, rule: &'static str, span: &Range<usize>, message: impl Into<String>) {
        let finding = finding(rule, self.path, self.text, span, message);
        self.findings.push(finding);
    }

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
        let Value::Mapping(entries) = &root.value else {
            let message = format!("expected a mapping of keys, found {}", root.value.kind());
            self.report(rules::YAML, &root.span, message);
            return list;
        };
        let mut seen: Vec<&Key> = Vec::new();
        for (key, node) in entries {
            if let Some(first) = seen.iter().find(|first| first.name == key.name) {
                let line = blockgate_findings::line_column(self.text, first.span.start).line;
                let message = format!("`{}` is there already, in line {line}", key.name);
                self.report(rules::DUPLICATE_KEY, &key.span, message);
                continue;
            }
            seen.push(key);
            self.entry(&mut list, key, node);
        }
        for required in REQUIRED {
            if !seen.iter().any(|key| key.name == required) {
                self.report(
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
                let why = self.text_of(node).unwrap_or_default().trim().to_owned();
                if why.is_empty() && matches!(node.value, Value::Text(_)) {
                    self.report(
                        rules::VALUE,
                        &node.span,
                        "`why` is empty; say why the list exists",
                    );
                }
                list.why = why;
            }
            "ships" => {
                list.ships = self.bool_of(node).unwrap_or_default();
                list.places.ships = node.span.clone();
            }
            "toolkit" => {
                list.toolkit = self.parsed::<ToolkitRequirement>(node, rules::TOOLKIT);
                list.places.toolkit = Some(node.span.clone());
            }
            "device" => list.device = self.parsed::<Device>(node, rules::VALUE),
            "architectures" => {
                list.places.architectures = node.span.clone();
                if let Some((text, entries)) = self.architectures(node) {
                    list.architectures = text;
                    list.entries = entries;
                }
            }
            "per_source" => list.per_source = self.per_source(node),
            "baseline" => {
                list.baseline = self.text_of(node).map(str::to_owned);
                list.places.baseline = Some(node.span.clone());
            }
            "same_code" => {
                list.places.same_code = Some(node.span.clone());
                list.same_code = self.word(node, &[("all-but-per-source", SameCode::AllButPerSource)]);
            }
            "code_changed_in" => self.code_changed_in(list, node),
            "size_over_baseline" => {
                list.places.size_over_baseline = Some(node.span.clone());
                list.size_over_baseline = self.size_bound(node);
            }
            "expect" => self.expectations(list, node),
            "sources" => {
                let words = [SourceSet::Kernels, SourceSet::Markers].map(|set| (set.name(), set));
                list.sources = self.word(node, &words).unwrap_or_default();
            }
            "expect_failure" => {
                let words = [ExpectedFailure::GateMismatch].map(|cause| (cause.name(), cause));
                list.expect_failure = self.word(node, &words);
            }
            "optional" => list.optional = self.bool_of(node).unwrap_or_default(),
            unknown => self.unknown_key(unknown, key),
        }
    }

    fn unknown_key(&mut self, unknown: &str, key: &Key) {
        let found = finding(
            rules::UNKNOWN_KEY,
            self.path,
            self.text,
            &key.span,
            format!("a list has no key `{unknown}`"),
        );
        let found = match nearest(unknown, KEYS) {
            Some(meant) => Finding {
                fix: Some(Fix {
                    title: format!("rename it to `{meant}`"),
                    edits: vec![Edit {
                        start_byte: key.span.start,
                        end_byte: key.span.end,
                        replacement: meant.to_owned(),
                    }],
                }),
                ..noted(found, format!("did you mean `{meant}`?"))
            },
            None => noted(found, format!("the keys are {}", KEYS.join(", "))),
        };
        self.findings.push(found);
    }

    fn text_of<'n>(&mut self, node: &'n Node) -> Option<&'n str> {
        match &node.value {
            Value::Text(text) => Some(text),
            other => {
                let hint = match other {
                    Value::Number | Value::Bool(_) => "; put it in quotes",
                    _ => "",
                };
                let message = format!("expected text, found {}{hint}", other.kind());
                self.report(rules::VALUE, &node.span, message);
                None
            }
        }
    }

    fn bool_of(&mut self, node: &Node) -> Option<bool> {
        match &node.value {
            Value::Bool(value) => Some(*value),
            other => {
                let message = format!("expected `true` or `false`, found {}", other.kind());
                self.report(rules::VALUE, &node.span, message);
                None
            }
        }
    }

    fn parsed<T>(&mut self, node: &Node, rule: &'static str) -> Option<T>
    where
        T: FromStr<Err: std::fmt::Display>,
    {
        let text = self.text_of(node)?;
        match text.parse() {
            Ok(value) => Some(value),
            Err(error) => {
                self.report(rule, &node.span, error.to_string());
                None
            }
        }
    }

    fn word<T: Copy>(&mut self, node: &Node, words: &[(&str, T)]) -> Option<T> {
        let text = self.text_of(node)?;
        let found = words
            .iter()
            .find(|(word, _)| *word == text)
            .map(|(_, value)| *value);
        if found.is_none() {
            let known: Vec<String> = words.iter().map(|(word, _)| format!("`{word}`")).collect();
            let message = format!("`{text}` means nothing here; expected {}", known.join(" or "));
            self.report(rules::VALUE, &node.span, message);
        }
        found
    }

    /// The place of a part of a value, or of the whole value where the part has no place of its own.
    fn within(&self, node: &Node, value: &str, part: &Range<usize>) -> Range<usize> {
        inner_span(self.text, &node.span, value, part).unwrap_or_else(|| node.span.clone())
    }

    fn architectures(&mut self, node: &Node) -> Option<(String, Vec<Entry>)> {
        let text = self.text_of(node)?;
        match dialect::cmake::parse(text).into_entries() {
            Ok(entries) => Some((text.to_owned(), entries)),
            Err(errors) => {
                for error in errors {
                    let part = error.span.start_byte..error.span.end_byte;
                    let span = self.within(node, text, &part);
                    self.report(rules::TARGET, &span, error.to_string());
                }
                None
            }
        }
    }

    fn per_source(&mut self, node: &Node) -> Vec<PerSource> {
        let Value::Mapping(entries) = &node.value else {
            let message = format!(
                "expected a mapping from source to architectures, found {}",
                node.value.kind()
            );
            self.report(rules::VALUE, &node.span, message);
            return Vec::new();
        };
        let mut sources: Vec<PerSource> = Vec::new();
        for (key, node) in entries {
            if sources.iter().any(|extra| extra.source == key.name) {
                let message = format!("`{}` is there already", key.name);
                self.report(rules::DUPLICATE_KEY, &key.span, message);
                continue;
            }
            let valid = |char: char| char.is_ascii_alphanumeric() || "_.+-".contains(char);
            if key.name.is_empty() || !key.name.chars().all(valid) {
                let message = format!("expected the file name of a source, found `{}`", key.name);
                self.report(rules::SOURCE, &key.span, message);
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
        let text = self.text_of(node)?;
        match text.parse() {
            Ok(bound) => Some(bound),
            Err(error) => {
                let error: blockgate_expect::ExpectationError = error;
                let span = self.within(node, text, &error.span());
                self.report(rules::VALUE, &span, error.to_string());
                None
            }
        }
    }

    fn code_changed_in(&mut self, list: &mut ArchList, node: &Node) {
        let Value::Sequence(items) = &node.value else {
            let message = format!("expected a sequence of sources, found {}", node.value.kind());
            self.report(rules::VALUE, &node.span, message);
            return;
        };
        for item in items {
            let Some(source) = self.text_of(item) else {
                continue;
            };
            list.code_changed_in.push(source.to_owned());
            list.places.code_changed_in.push(item.span.clone());
        }
    }

    fn expectations(&mut self, list: &mut ArchList, node: &Node) {
        let Value::Sequence(items) = &node.value else {
            let message = format!("expected a sequence of expectations, found {}", node.value.kind());
            self.report(rules::VALUE, &node.span, message);
            return;
        };
        for item in items {
            let Some(text) = self.text_of(item) else { continue };
            match text.parse::<Expectation>() {
                Ok(expectation) if list.expect.contains(&expectation) => {
                    let message = format!("`{expectation}` is expected already");
                    self.report(rules::EXPECTATION, &item.span, message);
                }
                Ok(expectation) => {
                    list.expect.push(expectation);
                    list.places.expect.push(item.span.clone());
                }
                Err(error) => {
                    let span = self.within(item, text, &error.span());
                    self.report(rules::EXPECTATION, &span, error.to_string());
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
