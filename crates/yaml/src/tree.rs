//! A YAML document as a tree in which every key and value knows its place.
//!
//! Models are filled from this tree, not by deriving, so that one run reports every mistake of a file and a repeated
//! key can name both places.

use std::fmt;
use std::ops::Range;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{Location, Spanned};

/// A value and the bytes of the file that it takes.
#[derive(Debug)]
pub struct Node {
    /// What it is.
    pub value: Value,
    /// The bytes of the file that it takes.
    pub span: Range<usize>,
}

/// What a node is.
#[derive(Debug)]
pub enum Value {
    /// Quoted text, or plain text that is no other scalar.
    Text(String),
    /// `true` or `false`.
    Bool(bool),
    /// A plain number. Its value is of no use here: `13.0` and `12.10` are names.
    Number,
    /// Nothing.
    Null,
    /// `- …` or `[…]`.
    Sequence(Vec<Node>),
    /// `key: value`, repeated keys included.
    Mapping(Vec<(Key, Node)>),
}

/// A key and the bytes of the file that it takes.
#[derive(Debug)]
pub struct Key {
    /// The key itself.
    pub name: String,
    /// The bytes of the file that it takes.
    pub span: Range<usize>,
}

impl Value {
    /// What the value is, for messages.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "text",
            Self::Bool(_) => "true or false",
            Self::Number => "a number",
            Self::Null => "nothing",
            Self::Sequence(_) => "a sequence",
            Self::Mapping(_) => "a mapping",
        }
    }
}

/// Why a text is not YAML, and where.
#[derive(Debug)]
pub struct YamlError {
    /// What is wrong, without the place.
    pub message: String,
    /// The byte at which it is.
    pub at_byte: usize,
}

/// Reads one document.
///
/// # Errors
/// When `text` is no YAML document.
pub fn parse(text: &str) -> Result<Node, YamlError> {
    let options = serde_saphyr::options! {
        duplicate_keys: serde_saphyr::options::DuplicateKeyPolicy::PassThrough,
        strict_booleans: true,
    };
    let tree: Spanned<Tree> = serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let message = error.without_snippet().to_string();
        // The place is carried apart from the message, and what follows a semicolon is advice to programmers.
        let end = message
            .find(';')
            .or_else(|| message.rfind(" at line "))
            .unwrap_or(message.len());
        YamlError {
            message: message[..end].to_owned(),
            at_byte: error.location().map_or(0, |location| byte_of(text, location)),
        }
    })?;
    Ok(tree.into_node(text))
}

/// The byte at which a location starts; where the library knows only line and column, they are counted off.
fn byte_of(text: &str, location: Location) -> usize {
    let known = location.span().byte_offset();
    if let Some(offset) = known.and_then(|offset| usize::try_from(offset).ok()) {
        return offset.min(text.len());
    }
    let line_index = usize::try_from(location.line().saturating_sub(1)).unwrap_or(usize::MAX);
    let column_index = usize::try_from(location.column().saturating_sub(1)).unwrap_or(usize::MAX);
    let Some(line) = text.split_inclusive('\n').nth(line_index) else {
        return text.len();
    };
    let line_start: usize = text.split_inclusive('\n').take(line_index).map(str::len).sum();
    let within = line
        .char_indices()
        .nth(column_index)
        .map_or(line.len(), |(at, _)| at);
    line_start + within
}

fn span_of(text: &str, location: Location) -> Range<usize> {
    let start = byte_of(text, location);
    let length = location
        .span()
        .byte_len()
        .and_then(|length| usize::try_from(length).ok());
    start..start.saturating_add(length.unwrap_or(0)).min(text.len())
}

enum Tree {
    Text(String),
    Bool(bool),
    Number,
    Null,
    Sequence(Vec<Spanned<Tree>>),
    Mapping(Vec<(Spanned<String>, Spanned<Tree>)>),
}

trait IntoNode {
    fn into_node(self, text: &str) -> Node;
}

impl IntoNode for Spanned<Tree> {
    fn into_node(self, text: &str) -> Node {
        let span = span_of(text, self.referenced);
        let value = match self.value {
            Tree::Text(value) => Value::Text(value),
            Tree::Bool(value) => Value::Bool(value),
            Tree::Number => Value::Number,
            Tree::Null => Value::Null,
            Tree::Sequence(items) => {
                Value::Sequence(items.into_iter().map(|item| item.into_node(text)).collect())
            }
            Tree::Mapping(entries) => Value::Mapping(
                entries
                    .into_iter()
                    .map(|(key, value)| {
                        let span = span_of(text, key.referenced);
                        let name = key.value;
                        (Key { name, span }, value.into_node(text))
                    })
                    .collect(),
            ),
        };
        Node { value, span }
    }
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TreeVisitor)
    }
}

struct TreeVisitor;

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = Tree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a mapping of keys")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Tree, E> {
        Ok(Tree::Bool(value))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Tree, E> {
        Ok(Tree::Number)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Tree, E> {
        Ok(Tree::Number)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Tree, E> {
        Ok(Tree::Number)
    }

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Null)
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Tree, E> {
        Ok(Tree::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Tree, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(Tree::Sequence(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Tree, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = access.next_entry()? {
            entries.push(entry);
        }
        Ok(Tree::Mapping(entries))
    }
}

/// Where byte `within` of a decoded text stands in the file, or `None` where the spelling has escapes or folded
/// lines, so that no byte of the value has a place of its own.
pub fn inner_span(
    text: &str,
    place: &Range<usize>,
    value: &str,
    within: &Range<usize>,
) -> Option<Range<usize>> {
    let raw = text.get(place.clone())?;
    let opening = match raw.as_bytes().first()? {
        b'"' | b'\'' => 1,
        _ => 0,
    };
    let inner = raw.get(opening..raw.len().checked_sub(opening)?)?;
    (inner == value).then(|| {
        let start = place.start + opening;
        start + within.start..start + within.end
    })
}
