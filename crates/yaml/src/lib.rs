//! YAML documents in which every key and value knows its place.
//!
//! [`parse`] gives a tree of [`Node`]s with byte spans; [`Reader`] takes values out of it and collects a finding for
//! every mistake, so that one run reports all of them. What the keys mean is the business of whoever reads.
#![forbid(unsafe_code)]

mod reader;
mod tree;

pub use reader::{Reader, ReaderRules, Span};
pub use tree::{Key, Node, Value, YamlError, inner_span, parse};
