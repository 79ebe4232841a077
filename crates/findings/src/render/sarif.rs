//! SARIF 2.1.0 in the subset that GitHub's code scanning reads.
//!
//! Source: SARIF 2.1.0 (OASIS standard), sections named below; GitHub documentation, "SARIF support for code scanning":
//! every result needs a physical location with a region of lines and columns, a rule needs `help.text`, and a fingerprint
//! keeps an alert the same from run to run.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use serde_json::{Map, Value, json};

use super::printable;
use crate::{Finding, Location, RuleInfo, Severity};

/// The most results that GitHub takes from one run. Source: GitHub documentation, "SARIF support for code scanning".
const MAX_RESULTS: usize = 25_000;

/// The longest description and help that GitHub takes without cutting, in characters; the same source.
const MAX_DESCRIPTION_CHARS: usize = 1024;

/// What is written beside the results.
#[derive(Clone, Debug)]
pub struct Run<'a> {
    /// The tool's version.
    pub version: &'a str,
    /// Descriptions of the rules that findings may name.
    pub rules: &'a [RuleInfo],
    /// The exit code.
    pub exit_code: u8,
    /// Whether everything that was asked could be read and checked.
    pub complete: bool,
    /// What a reader should know of the run itself: what was skipped, and why.
    pub notifications: &'a [String],
}

/// A finding, and the reason where it was accepted.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// The finding.
    pub finding: &'a Finding,
    /// Why it is accepted, where it is.
    pub accepted: Option<&'a str>,
}

/// Writes one log with one run. Results are sorted by place and rule.
///
/// # Errors
/// When `out` cannot be written.
pub fn sarif(out: &mut dyn Write, rows: &[Row<'_>], run: &Run<'_>) -> io::Result<()> {
    let mut rows = rows.to_vec();
    rows.sort_by_key(|row| sort_key(row.finding));
    let mut notifications = run.notifications.to_vec();
    if rows.len() > MAX_RESULTS {
        notifications.push(format!(
            "{} results are left out: a run may have {MAX_RESULTS}",
            rows.len() - MAX_RESULTS
        ));
        // Errors must not be those that go.
        rows.sort_by_key(|row| std::cmp::Reverse(row.finding.severity));
        rows.truncate(MAX_RESULTS);
        rows.sort_by_key(|row| sort_key(row.finding));
    }
    let used: BTreeSet<&str> = rows.iter().map(|row| row.finding.rule).collect();
    let used: Vec<&str> = used.into_iter().collect();
    let rules: Vec<Value> = used.iter().map(|id| descriptor(id, run.rules)).collect();
    let mut ordinals = BTreeMap::new();
    let results: Vec<Value> = rows.iter().map(|row| result(row, &used, &mut ordinals)).collect();
    let notifications: Vec<Value> = notifications
        .iter()
        .map(|text| json!({ "level": "warning", "message": { "text": text } }))
        .collect();
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "blockgate",
                "version": run.version,
                "rules": rules,
            }},
            // Columns count characters, as everywhere here (section 3.14.17).
            "columnKind": "unicodeCodePoints",
            "invocations": [{
                "executionSuccessful": run.complete,
                "exitCode": run.exit_code,
                "toolExecutionNotifications": notifications,
            }],
            "results": results,
        }],
    });
    serde_json::to_writer_pretty(&mut *out, &log)?;
    writeln!(out)
}

fn sort_key(finding: &Finding) -> (String, usize, Option<String>, Option<u64>, &'static str, String) {
    let (start, member, offset) = match &finding.location {
        Location::Text(place) => (place.start_byte, None, None),
        Location::Artifact(place) => (0, place.member.clone(), place.offset_bytes),
    };
    (
        finding.location.path().to_owned(),
        start,
        member,
        offset,
        finding.rule,
        finding.message.clone(),
    )
}

/// A `reportingDescriptor` (section 3.49). A rule that nobody described is still named.
fn descriptor(id: &str, rules: &[RuleInfo]) -> Value {
    let Some(rule) = rules.iter().find(|rule| rule.id == id) else {
        return json!({
            "id": id,
            "shortDescription": { "text": id },
            "fullDescription": { "text": id },
            "help": { "text": id },
        });
    };
    let severity = rule.severity.unwrap_or(Severity::Error);
    let full: String = first_paragraph(&rule.page)
        .unwrap_or_else(|| rule.summary.to_owned())
        .chars()
        .take(MAX_DESCRIPTION_CHARS)
        .collect();
    json!({
        "id": id,
        "name": id,
        "shortDescription": { "text": rule.summary },
        "fullDescription": { "text": full },
        "help": { "text": rule.page, "markdown": rule.page },
        "defaultConfiguration": { "level": level(severity) },
        "properties": {
            "tags": ["cuda", "gpu", "release"],
            "precision": "very-high",
            "problem.severity": problem(severity),
        },
    })
}

/// The first paragraph of a page that is no heading, in one line.
fn first_paragraph(page: &str) -> Option<String> {
    let paragraph = page
        .split("\n\n")
        .map(str::trim)
        .find(|text| !text.is_empty() && !text.starts_with('#'))?;
    Some(paragraph.lines().collect::<Vec<_>>().join(" "))
}

const fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Info => "note",
        Severity::Warning => "warning",
        Severity::Error => "error",
    }
}

/// GitHub's own word for how much a rule that is not about security matters.
const fn problem(severity: Severity) -> &'static str {
    match severity {
        Severity::Info => "recommendation",
        Severity::Warning => "warning",
        Severity::Error => "error",
    }
}

/// A `result` (section 3.27).
fn result(row: &Row<'_>, rules: &[&str], ordinals: &mut BTreeMap<u64, u64>) -> Value {
    let finding = row.finding;
    let rule_index = rules.iter().position(|id| *id == finding.rule);
    let mut text = printable(&finding.message).into_owned();
    for note in &finding.notes {
        text.push_str(".\n");
        text.push_str(&printable(note));
    }
    let fingerprint = fingerprint(finding);
    // Findings that only a number tells apart are told apart by their order.
    let ordinal = ordinals.entry(fingerprint).or_insert(0);
    *ordinal += 1;
    let mut result = json!({
        "ruleId": finding.rule,
        "ruleIndex": rule_index,
        "level": level(finding.severity),
        "message": { "text": text },
        "locations": [location(&finding.location)],
        "partialFingerprints": {
            "primaryLocationLineHash": format!("{fingerprint:016x}:{ordinal}"),
        },
    });
    if let (Some(reason), Some(object)) = (row.accepted, result.as_object_mut()) {
        object.insert(
            "suppressions".to_owned(),
            json!([{ "kind": "external", "status": "accepted", "justification": reason }]),
        );
    }
    result
}

/// A `location` (section 3.28). GitHub demands lines and columns, which a binary does not have: there they are 1, and
/// `byteOffset` says where it is (section 3.30.11).
fn location(location: &Location) -> Value {
    let mut region = Map::new();
    let mut logical = Vec::new();
    match location {
        Location::Text(place) => {
            region.insert("startLine".to_owned(), json!(place.at.line));
            region.insert("startColumn".to_owned(), json!(place.at.column));
            region.insert("endLine".to_owned(), json!(place.at.line));
            region.insert("endColumn".to_owned(), json!(place.at.column));
            region.insert("byteOffset".to_owned(), json!(place.start_byte));
            let length = place.end_byte.saturating_sub(place.start_byte);
            region.insert("byteLength".to_owned(), json!(length));
        }
        Location::Artifact(place) => {
            for key in ["startLine", "startColumn", "endLine", "endColumn"] {
                region.insert(key.to_owned(), json!(1));
            }
            if let Some(offset) = place.offset_bytes {
                region.insert("byteOffset".to_owned(), json!(offset));
            }
            if let Some(member) = &place.member {
                let member = printable(member);
                logical.push(json!({ "name": member, "fullyQualifiedName": member, "kind": "module" }));
            }
        }
    }
    let mut value = json!({
        "physicalLocation": {
            "artifactLocation": { "uri": uri(location.path()) },
            "region": region,
        },
    });
    if let (false, Some(object)) = (logical.is_empty(), value.as_object_mut()) {
        object.insert("logicalLocations".to_owned(), Value::Array(logical));
    }
    value
}

/// A path as a URI reference (RFC 3986): relative paths stay relative, absolute ones become `file:` URIs.
fn uri(path: &str) -> String {
    let path = path.replace('\\', "/");
    let path = path.strip_prefix("./").unwrap_or(&path);
    let mut uri = String::with_capacity(path.len() + 8);
    if path.starts_with('/') {
        uri.push_str("file://");
    }
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            uri.push_str(&format!("%{byte:02X}"));
        }
    }
    if uri.is_empty() { ".".to_owned() } else { uri }
}

/// What makes a finding the same one in the next run: rule, place and message, but neither offsets nor counts, which
/// change with every build.
fn fingerprint(finding: &Finding) -> u64 {
    let member = match &finding.location {
        Location::Text(_) => "",
        Location::Artifact(place) => place.member.as_deref().unwrap_or(""),
    };
    let is_number = |word: &&str| {
        word.starts_with(|first: char| first.is_ascii_digit())
            && word
                .chars()
                .all(|char| char.is_ascii_hexdigit() || ".,x".contains(char))
    };
    let words = finding.message.split_whitespace().filter(|word| !is_number(word));
    let parts = [finding.rule, finding.location.path(), member]
        .into_iter()
        .chain(words);
    parts.fold(FNV_START, |hash, part| {
        // A byte that is in no text ends each part, so that parts cannot run together.
        part.bytes().chain([0xff]).fold(hash, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(FNV_PRIME)
        })
    })
}

/// FNV-1a with 64 bits: its results must be the same on every machine and in every release.
const FNV_START: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0100_0000_01b3;

#[cfg(test)]
mod tests;
