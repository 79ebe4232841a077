//! Schema `blockgate.audit/1`.
//!
//! These types are the contract with other programs. A field may be added; none is renamed or removed without a
//! new schema number. Maps are sorted, numbers are raw.

pub(super) mod image;

use std::collections::BTreeMap;
use std::io::{self, Write};

use blockgate_arch::Arch;
use blockgate_findings::render::json::JsonFinding;
use regex::Regex;
use schemars::{JsonSchema, Schema};
use serde::Serialize;

use self::image::{JsonCudaNote, JsonKernel, JsonModule, JsonPtx, JsonTool};
use crate::census::{ArchCount, Totals};
use crate::evaluate::{Evaluation, Outcome};
use crate::report::{FileReport, ImageReport, MemberReport, Report, Unchecked, Waived};

/// The name of the schema, with its number.
const SCHEMA: &str = "blockgate.audit/1";

/// Writes `report` as schema `blockgate.audit/1`. `mnemonics` selects which instruction counts are written.
pub fn json(out: &mut dyn Write, report: &Report, mnemonics: &Mnemonics) -> io::Result<()> {
    let document = JsonReport::of(report, mnemonics);
    serde_json::to_writer_pretty(&mut *out, &document)?;
    writeln!(out)
}

/// The JSON Schema of what [`json`] writes.
pub fn json_schema() -> Schema {
    schemars::schema_for!(JsonReport<'_>)
}

/// Which mnemonics a report shows.
#[derive(Clone, Debug, Default)]
pub struct Mnemonics {
    /// All of them.
    pub all: bool,
    /// Those that one of these finds a match in.
    pub patterns: Vec<Regex>,
}

impl Mnemonics {
    /// Whether `mnemonic` is shown.
    pub fn shows(&self, mnemonic: &str) -> bool {
        self.all || self.patterns.iter().any(|pattern| pattern.is_match(mnemonic))
    }
}

#[derive(Serialize, JsonSchema)]
#[schemars(title = "blockgate.audit/1")]
pub(super) struct JsonReport<'a> {
    schema: &'static str,
    inputs: Vec<JsonInput<'a>>,
    expectations: Vec<JsonEvaluation>,
    findings: Vec<JsonFinding<'a>>,
    /// The configuration file that was followed.
    policy: Option<&'a str>,
    /// Findings that the configuration accepts; they are not among `findings`.
    waived: Vec<JsonWaived<'a>>,
    /// Rules that could not be checked, which is not the same as nothing found.
    unchecked: Vec<JsonUnchecked<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct JsonWaived<'a> {
    finding: JsonFinding<'a>,
    reason: &'a str,
}

#[derive(Serialize, JsonSchema)]
struct JsonUnchecked<'a> {
    rule: &'a str,
    /// The severity that a finding would have had.
    severity: String,
    /// What it could not be checked on; everything, if null.
    artifact: Option<&'a str>,
    reason: &'a str,
}

impl<'a> JsonReport<'a> {
    /// The machine shape of `report`.
    pub(super) fn of(report: &'a Report, mnemonics: &Mnemonics) -> Self {
        Self {
            schema: SCHEMA,
            inputs: report
                .files
                .iter()
                .map(|file| JsonInput::of(file, mnemonics))
                .collect(),
            expectations: report.evaluations.iter().map(JsonEvaluation::from).collect(),
            findings: report.findings.iter().map(JsonFinding::from).collect(),
            policy: report.policy.as_deref(),
            waived: report.waived.iter().map(JsonWaived::of).collect(),
            unchecked: report.unchecked.iter().map(JsonUnchecked::of).collect(),
        }
    }

    /// Takes the functions out of each image, in the order of the images over all inputs.
    pub(super) fn take_functions(&mut self) -> Vec<Vec<JsonKernel<'a>>> {
        let images = self.inputs.iter_mut().flat_map(|input| &mut input.images);
        images.map(|image| std::mem::take(&mut image.functions)).collect()
    }
}

impl<'a> JsonWaived<'a> {
    fn of(waived: &'a Waived) -> Self {
        Self {
            finding: JsonFinding::from(&waived.finding),
            reason: &waived.reason,
        }
    }
}

impl<'a> JsonUnchecked<'a> {
    fn of(unchecked: &'a Unchecked) -> Self {
        Self {
            rule: unchecked.rule,
            severity: unchecked.severity.to_string(),
            artifact: unchecked.artifact.as_deref(),
            reason: &unchecked.reason,
        }
    }
}

#[derive(Serialize, JsonSchema)]
struct JsonInput<'a> {
    path: &'a str,
    format: &'a str,
    size: u64,
    device_code: &'static str,
    /// The oldest CUDA driver release that loads every image, as far as compression decides it.
    driver_floor: Option<String>,
    members: Vec<JsonMember<'a>>,
    /// Files of a package or folder that are no binaries, and no members.
    other_files: u64,
    images: Vec<JsonImage<'a>>,
    totals: JsonTotals,
    /// Places in PTX text of the counted images, by pattern of `--ptx-text` and architecture.
    ptx_text: BTreeMap<String, BTreeMap<String, u64>>,
}

/// A member of an archive, package or folder.
#[derive(Serialize, JsonSchema)]
struct JsonMember<'a> {
    /// Full name: the path in the package, then the name in the archive.
    name: &'a str,
    /// The file of the package or folder that it is or lies in.
    file: Option<&'a str>,
    size: u64,
    device_code: &'static str,
}

#[derive(Serialize, JsonSchema)]
struct JsonImage<'a> {
    member: Option<&'a str>,
    file: Option<&'a str>,
    section: Option<&'a str>,
    region: u32,
    offset: u64,
    kind: &'static str,
    arch: Option<String>,
    arch_certain: bool,
    relocatable: bool,
    counted: bool,
    compression: &'static str,
    stored_size: u64,
    container: Option<JsonContainer>,
    /// Offset of the first image of the same input with the same stored bytes.
    identical_to: Option<u64>,
    size: Option<u64>,
    toolkit: Option<String>,
    /// The programs that wrote a cubin, in their order, where they left notes.
    tools: Vec<JsonTool<'a>>,
    cuda_note: Option<JsonCudaNote>,
    ptx: Option<JsonPtx<'a>>,
    /// Places in the text of PTX, by pattern of `--ptx-text`; null where the text could not be searched.
    ptx_text: BTreeMap<String, Option<u64>>,
    /// Kernels that a host can launch.
    kernels: Option<u64>,
    instructions: Option<u64>,
    sass: BTreeMap<String, u64>,
    /// The code sections of a cubin, with `--kernels`.
    functions: Vec<JsonKernel<'a>>,
    /// What a cubin takes for all its kernels together, with `--kernels`.
    module: Option<JsonModule>,
}

/// A compressed payload that several images share.
#[derive(Serialize, JsonSchema)]
struct JsonContainer {
    offset: u64,
    stored_size: u64,
}

/// The `totals` object, which the build summary has too.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct JsonTotals {
    cubins: BTreeMap<String, u64>,
    ptx: BTreeMap<String, u64>,
    other: BTreeMap<String, u64>,
    unknown_arch: u64,
    left_out: u64,
    kernels: BTreeMap<String, u64>,
    instructions: BTreeMap<String, u64>,
    sass: BTreeMap<String, BTreeMap<String, u64>>,
    bytes: BTreeMap<String, JsonBytes>,
    unattributed_bytes: u64,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
struct JsonBytes {
    stored: u64,
    size: u64,
}

/// One evaluated expectation.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct JsonEvaluation {
    expr: String,
    found: Option<u64>,
    holds: Option<bool>,
    reason: Option<String>,
    /// The one artifact that it was evaluated on; all inputs together, if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    artifact: Option<String>,
}

impl<'a> JsonInput<'a> {
    fn of(file: &'a FileReport, mnemonics: &Mnemonics) -> Self {
        Self {
            path: &file.path,
            format: file.format,
            size: file.size_bytes,
            device_code: file.device_code.as_str(),
            driver_floor: file.driver_floor().map(|floor| floor.to_string()),
            members: file.members.iter().map(JsonMember::of).collect(),
            other_files: file.other_files,
            images: file
                .images
                .iter()
                .map(|image| JsonImage::of(image, mnemonics))
                .collect(),
            totals: JsonTotals::of(&file.totals, file.unattributed_bytes, mnemonics),
            ptx_text: file
                .ptx_text()
                .iter()
                .map(|(pattern, rows)| (pattern.to_string(), by_name(rows)))
                .collect(),
        }
    }
}

impl<'a> JsonMember<'a> {
    fn of(member: &'a MemberReport) -> Self {
        Self {
            name: &member.name,
            file: member.file.as_deref(),
            size: member.size_bytes,
            device_code: member.device_code.as_str(),
        }
    }
}

impl<'a> JsonImage<'a> {
    fn of(image: &'a ImageReport, mnemonics: &Mnemonics) -> Self {
        Self {
            member: image.member.as_deref(),
            file: image.file.as_deref(),
            section: image.section.as_deref(),
            region: image.region,
            offset: image.offset_bytes,
            kind: image.kind.as_str(),
            arch: image.arch.map(|arch| arch.to_string()),
            arch_certain: image.arch_certain,
            relocatable: image.relocatable,
            counted: image.counted,
            compression: image.compression.as_str(),
            stored_size: image.stored_bytes,
            container: image.container.map(|container| JsonContainer {
                offset: container.offset,
                stored_size: container.stored_size,
            }),
            identical_to: image.identical_to,
            size: image.size_bytes,
            toolkit: image.toolkit.map(|toolkit| toolkit.to_string()),
            tools: image.tools.iter().map(JsonTool::from).collect(),
            cuda_note: image.cuda_note.map(JsonCudaNote::from),
            ptx: image.ptx.as_ref().map(JsonPtx::from),
            ptx_text: image::ptx_text(&image.ptx_text),
            kernels: image.kernel_count,
            instructions: image.instructions,
            sass: shown(&image.sass, mnemonics),
            functions: image
                .kernels
                .iter()
                .map(|kernel| JsonKernel::of(kernel, mnemonics))
                .collect(),
            module: image.module.as_ref().map(JsonModule::from),
        }
    }
}

impl JsonTotals {
    /// The machine shape of `totals`.
    pub fn of(totals: &Totals, unattributed_bytes: u64, mnemonics: &Mnemonics) -> Self {
        Self {
            cubins: by_name(&totals.cubins),
            ptx: by_name(&totals.ptx),
            other: by_name(&totals.other),
            unknown_arch: totals.unknown_arch,
            left_out: totals.left_out,
            kernels: by_name(&totals.kernels),
            instructions: by_name(&totals.instructions),
            sass: totals
                .sass
                .iter()
                .map(|(arch, histogram)| (arch.to_string(), shown(histogram, mnemonics)))
                .collect(),
            bytes: totals
                .bytes
                .iter()
                .map(|(arch, bytes)| {
                    (
                        arch.to_string(),
                        JsonBytes {
                            stored: bytes.stored,
                            size: bytes.size,
                        },
                    )
                })
                .collect(),
            unattributed_bytes,
        }
    }
}

impl From<&Evaluation> for JsonEvaluation {
    fn from(evaluation: &Evaluation) -> Self {
        let (found, holds, reason) = match &evaluation.outcome {
            Outcome::Checked { found, holds } => (Some(*found), Some(*holds), None),
            Outcome::NotChecked { reason } => (None, None, Some(reason.clone())),
        };
        Self {
            expr: evaluation.expectation.source.clone(),
            found,
            holds,
            reason,
            artifact: evaluation.artifact.clone(),
        }
    }
}

fn by_name(rows: &[ArchCount]) -> BTreeMap<String, u64> {
    rows.iter()
        .map(|row| (Arch::to_string(&row.arch), row.count))
        .collect()
}

fn shown(histogram: &blockgate_fatbin::Histogram, mnemonics: &Mnemonics) -> BTreeMap<String, u64> {
    histogram
        .iter()
        .filter(|(mnemonic, _)| mnemonics.shows(mnemonic))
        .map(|(mnemonic, count)| (mnemonic.to_owned(), count))
        .collect()
}
