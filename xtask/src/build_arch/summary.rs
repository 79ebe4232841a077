//! Schema `blockgate.build/1`: what build-arch tells other programs.
//!
//! A field may be added; none is renamed or removed without a new schema number.

use std::collections::BTreeMap;
use std::io::{self, Write};

use schemars::{JsonSchema, Schema};
use serde::Serialize;

use super::facts::{Digest, Evaluated, Repeat, SameBySource};
use super::outcome::{Row, Status};

#[derive(Serialize, JsonSchema)]
#[schemars(title = "blockgate.build/1")]
struct Summary<'a> {
    schema: &'static str,
    lists: Vec<SummaryList<'a>>,
}

/// A summary that is kept, with what it depended on beside the lists' own toolkits.
#[derive(Serialize)]
struct Kept<'a> {
    schema: &'static str,
    #[serde(flatten)]
    circumstances: &'a Circumstances,
    lists: Vec<SummaryList<'a>>,
}

/// When, where and from what the lists were built.
#[derive(Serialize)]
pub(crate) struct Circumstances {
    pub(crate) measured_at_utc: String,
    pub(crate) machine: String,
    /// Digest over the project's sources.
    pub(crate) sources_sha256: Digest,
    /// Digest of each list file, by the list's name.
    pub(crate) lists_sha256: BTreeMap<String, Digest>,
}

#[derive(Serialize, JsonSchema)]
struct SummaryList<'a> {
    name: &'a str,
    status: Status,
    reason: Option<String>,
    archive: Option<&'a str>,
    size: Option<u64>,
    /// Bytes, signed.
    size_over_baseline: Option<i64>,
    sha256: Option<&'a str>,
    /// Whether a rebuild from the same inputs gave the same bytes; null where there was nothing to compare with.
    reproduced: Option<bool>,
    toolkit: Option<SummaryToolkit<'a>>,
    same: Option<&'a SameBySource>,
    totals: Option<&'a serde_json::Value>,
    expectations: &'a [Evaluated],
    /// Images of each source.
    images: BTreeMap<&'a str, Vec<String>>,
    /// First error of each source that did not compile.
    errors: Vec<SummaryError<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct SummaryToolkit<'a> {
    version: String,
    source: &'a str,
}

#[derive(Serialize, JsonSchema)]
struct SummaryError<'a> {
    cause: &'static str,
    source: &'a str,
    message: &'a str,
}

/// The JSON Schema of what [`write()`] writes.
pub(crate) fn json_schema() -> Schema {
    schemars::schema_for!(Summary<'_>)
}

const SCHEMA: &str = "blockgate.build/1";

/// Writes the summary of a run, and under which circumstances it came about.
pub(crate) fn write_kept(out: &mut dyn Write, rows: &[Row], circumstances: &Circumstances) -> io::Result<()> {
    let kept = Kept {
        schema: SCHEMA,
        circumstances,
        lists: rows.iter().map(SummaryList::of).collect(),
    };
    serde_json::to_writer_pretty(&mut *out, &kept)?;
    writeln!(out)
}

/// Writes the summary of a run.
pub(crate) fn write(out: &mut dyn Write, rows: &[Row]) -> io::Result<()> {
    let summary = Summary {
        schema: SCHEMA,
        lists: rows.iter().map(SummaryList::of).collect(),
    };
    serde_json::to_writer_pretty(&mut *out, &summary)?;
    writeln!(out)
}

impl<'a> SummaryList<'a> {
    fn of(row: &'a Row) -> Self {
        let checked = row.checked.as_ref();
        let facts = checked.map(|checked| &checked.facts);
        let compared = checked.and_then(|checked| checked.baseline.as_ref());
        Self {
            name: &row.name,
            status: row.status,
            reason: (!row.reasons.is_empty()).then(|| row.reasons.join("\n")),
            archive: facts.map(|facts| facts.archive.as_str()),
            size: facts.map(|facts| facts.size_bytes),
            size_over_baseline: compared.map(|compared| compared.size_over_baseline_bytes),
            sha256: facts.map(|facts| facts.sha256.as_str()),
            reproduced: facts.and_then(|facts| match facts.repeat {
                Repeat::Nothing => None,
                Repeat::Identical => Some(true),
                Repeat::Differs(_) => Some(false),
            }),
            toolkit: row.toolkit.as_ref().map(|toolkit| SummaryToolkit {
                version: toolkit.version.to_string(),
                source: &toolkit.source,
            }),
            same: compared.map(|compared| &compared.same),
            totals: facts.map(|facts| &facts.totals),
            expectations: facts.map_or(&[], |facts| &facts.expectations),
            images: facts
                .iter()
                .flat_map(|facts| &facts.objects)
                .map(|object| {
                    let images = object.images.iter().map(|image| image.target.to_string());
                    (object.source.as_str(), images.collect())
                })
                .collect(),
            errors: row
                .failures
                .iter()
                .flat_map(|group| {
                    group.first_errors.iter().map(|error| SummaryError {
                        cause: group.cause.id,
                        source: &error.source,
                        message: &error.message,
                    })
                })
                .collect(),
        }
    }
}
