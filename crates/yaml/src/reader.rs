//! Takes values out of a tree and collects a finding for every mistake.

use std::ops::Range;
use std::str::FromStr;

use blockgate_findings::{Edit, Finding, Fix, Location, Severity, TextPlace, line_column, nearest};

use crate::tree::{Key, Node, Value, inner_span};

/// A byte span of the file.
pub type Span = Range<usize>;

/// The ids of the rules that a document can break, whatever its keys mean.
#[derive(Clone, Copy, Debug)]
pub struct ReaderRules {
    /// A key that means nothing.
    pub unknown_key: &'static str,
    /// A key that is there already.
    pub duplicate_key: &'static str,
    /// A value of another kind than its key wants.
    pub value: &'static str,
}

/// Reads one document. Every method that meets a mistake reports it and goes on.
#[derive(Debug)]
pub struct Reader<'a> {
    path: &'a str,
    text: &'a str,
    rules: ReaderRules,
    /// What was wrong so far, in the order in which it was met.
    pub findings: Vec<Finding>,
}

impl<'a> Reader<'a> {
    /// A reader of `text`; `path` is what findings name.
    pub fn new(path: &'a str, text: &'a str, rules: ReaderRules) -> Self {
        Self {
            path,
            text,
            rules,
            findings: Vec::new(),
        }
    }

    /// The place of `span`.
    pub fn place(&self, span: &Span) -> TextPlace {
        TextPlace {
            path: self.path.to_owned(),
            start_byte: span.start,
            end_byte: span.end,
            at: line_column(self.text, span.start),
        }
    }

    /// An error about `span`, with notes.
    pub fn report_noted(
        &mut self,
        rule: &'static str,
        span: &Span,
        message: impl Into<String>,
        notes: Vec<String>,
    ) {
        let location = Location::Text(self.place(span));
        self.findings.push(Finding {
            rule,
            severity: Severity::Error,
            message: message.into(),
            location,
            notes,
            fix: None,
        });
    }

    /// An error about `span`.
    pub fn report(&mut self, rule: &'static str, span: &Span, message: impl Into<String>) {
        self.report_noted(rule, span, message, Vec::new());
    }

    /// A value that its key does not want.
    pub fn bad_value(&mut self, span: &Span, message: impl Into<String>) {
        self.report(self.rules.value, span, message);
    }

    /// The entries of a mapping, without those whose key is there already.
    pub fn mapping<'n>(&mut self, node: &'n Node, expected: &str) -> Vec<(&'n Key, &'n Node)> {
        let Value::Mapping(entries) = &node.value else {
            let message = format!("expected {expected}, found {}", node.value.kind());
            self.bad_value(&node.span, message);
            return Vec::new();
        };
        let mut seen: Vec<(&Key, &Node)> = Vec::new();
        for (key, value) in entries {
            if let Some((first, _)) = seen.iter().find(|(first, _)| first.name == key.name) {
                let line = line_column(self.text, first.span.start).line;
                let message = format!("`{}` is there already, in line {line}", key.name);
                self.report(self.rules.duplicate_key, &key.span, message);
                continue;
            }
            seen.push((key, value));
        }
        seen
    }

    /// The items of a sequence.
    pub fn sequence<'n>(&mut self, node: &'n Node, expected: &str) -> &'n [Node] {
        match &node.value {
            Value::Sequence(items) => items,
            other => {
                let message = format!("expected {expected}, found {}", other.kind());
                self.bad_value(&node.span, message);
                &[]
            }
        }
    }

    /// A key that is none of `keys`; `owner` is what has no such key (`a list`).
    pub fn unknown_key<'k>(
        &mut self,
        key: &Key,
        owner: &str,
        keys: impl IntoIterator<Item = &'k str> + Clone,
    ) {
        let unknown = &key.name;
        let meant = nearest(unknown, keys.clone());
        let note = match meant {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("the keys are {}", keys.into_iter().collect::<Vec<_>>().join(", ")),
        };
        let message = format!("{owner} has no key `{unknown}`");
        self.report_noted(self.rules.unknown_key, &key.span, message, vec![note]);
        if let (Some(meant), Some(finding)) = (meant, self.findings.last_mut()) {
            finding.fix = Some(Fix {
                title: format!("rename it to `{meant}`"),
                edits: vec![Edit {
                    start_byte: key.span.start,
                    end_byte: key.span.end,
                    replacement: meant.to_owned(),
                }],
            });
        }
    }

    /// Text.
    pub fn text_of<'n>(&mut self, node: &'n Node) -> Option<&'n str> {
        match &node.value {
            Value::Text(text) => Some(text),
            other => {
                let hint = match other {
                    Value::Number | Value::Bool(_) => "; put it in quotes",
                    _ => "",
                };
                let message = format!("expected text, found {}{hint}", other.kind());
                self.bad_value(&node.span, message);
                None
            }
        }
    }

    /// `true` or `false`.
    pub fn bool_of(&mut self, node: &Node) -> Option<bool> {
        match &node.value {
            Value::Bool(value) => Some(*value),
            other => {
                let message = format!("expected `true` or `false`, found {}", other.kind());
                self.bad_value(&node.span, message);
                None
            }
        }
    }

    /// Text that reads as a `T`; what does not breaks `rule`.
    pub fn parsed<T>(&mut self, node: &Node, rule: &'static str) -> Option<T>
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

    /// One of `words`.
    pub fn word<T: Copy>(&mut self, node: &Node, words: &[(&str, T)]) -> Option<T> {
        let text = self.text_of(node)?;
        let found = words
            .iter()
            .find(|(word, _)| *word == text)
            .map(|(_, value)| *value);
        if found.is_none() {
            let known: Vec<String> = words.iter().map(|(word, _)| format!("`{word}`")).collect();
            let message = format!("`{text}` means nothing here; expected {}", known.join(" or "));
            self.bad_value(&node.span, message);
        }
        found
    }

    /// The place of a part of a value, or of the whole value where the part has no place of its own.
    pub fn within(&self, node: &Node, value: &str, part: &Span) -> Span {
        inner_span(self.text, &node.span, value, part).unwrap_or_else(|| node.span.clone())
    }
}
