//! The finding's machine shape, shared by every versioned schema that carries findings.
//!
//! These types are frozen apart from the model: a field may be added here, never renamed.

use schemars::JsonSchema;
use serde::Serialize;

use crate::{Finding, Location};

/// A finding as machines read it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct JsonFinding<'a> {
    rule: &'a str,
    severity: String,
    message: &'a str,
    location: JsonLocation<'a>,
    notes: &'a [String],
    fix: Option<JsonFix<'a>>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
enum JsonLocation<'a> {
    Text {
        path: &'a str,
        line: usize,
        column: usize,
        start: usize,
        end: usize,
    },
    Artifact {
        path: &'a str,
        member: Option<&'a str>,
        offset: Option<u64>,
    },
}

#[derive(Debug, Serialize, JsonSchema)]
struct JsonFix<'a> {
    title: &'a str,
    edits: Vec<JsonEdit<'a>>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct JsonEdit<'a> {
    start: usize,
    end: usize,
    replacement: &'a str,
}

impl<'a> From<&'a Finding> for JsonFinding<'a> {
    fn from(finding: &'a Finding) -> Self {
        Self {
            rule: finding.rule,
            severity: finding.severity.to_string(),
            message: &finding.message,
            location: match &finding.location {
                Location::Text(place) => JsonLocation::Text {
                    path: &place.path,
                    line: place.at.line,
                    column: place.at.column,
                    start: place.start_byte,
                    end: place.end_byte,
                },
                Location::Artifact(place) => JsonLocation::Artifact {
                    path: &place.path,
                    member: place.member.as_deref(),
                    offset: place.offset_bytes,
                },
            },
            notes: &finding.notes,
            fix: finding.fix.as_ref().map(|fix| JsonFix {
                title: &fix.title,
                edits: fix
                    .edits
                    .iter()
                    .map(|edit| JsonEdit {
                        start: edit.start_byte,
                        end: edit.end_byte,
                        replacement: &edit.replacement,
                    })
                    .collect(),
            }),
        }
    }
}
