//! Schema `blockgate.diff/1`.
//!
//! As with the audit's schema, a field may be added; none is renamed or removed without a new schema number.

use std::collections::BTreeMap;
use std::io::{self, Write};

use blockgate_findings::render::json::JsonFinding;
use schemars::{JsonSchema, Schema};
use serde::Serialize;

use crate::diff::{
    ArchTotals, Before, Change, Diff, Gate, GateOutcome, ImageDiff, KernelDiff, MemberDiff, ModuleDiff,
    totals,
};
use crate::report::{FileReport, ImageReport, KernelReport};

/// Writes `diff` as schema `blockgate.diff/1`; with `all` what is the same too.
pub fn diff_json(out: &mut dyn Write, diff: &Diff<'_>, all: bool) -> io::Result<()> {
    let wanted = |change: Change| all || change != Change::Same;
    let document = JsonDiff {
        schema: "blockgate.diff/1",
        compared: "code sections of kernels and text of PTX, byte for byte; not relocations, notes, debug data, constants",
        identical: diff.is_identical(),
        old: JsonSide::of(diff.old),
        new: JsonSide::of(diff.new),
        members: diff
            .members
            .iter()
            .filter(|member| wanted(member.change()))
            .map(JsonMember::of)
            .collect(),
        modules: diff
            .modules
            .iter()
            .filter(|module| wanted(module.change()))
            .map(|module| JsonModule::of(module, all))
            .collect(),
        totals: totals(diff).iter().map(JsonTotals::of).collect(),
        gates: diff.gates.iter().map(JsonGate::of).collect(),
        findings: diff.findings.iter().copied().map(JsonFinding::from).collect(),
    };
    serde_json::to_writer_pretty(&mut *out, &document)?;
    writeln!(out)
}

/// The JSON Schema of what [`diff_json`] writes.
pub fn diff_json_schema() -> Schema {
    schemars::schema_for!(JsonDiff<'_>)
}

#[derive(Serialize, JsonSchema)]
#[schemars(title = "blockgate.diff/1")]
struct JsonDiff<'a> {
    schema: &'static str,
    /// What "identical" is said of.
    compared: &'static str,
    /// Whether the inputs are the same as a whole, byte for byte.
    identical: bool,
    old: JsonSide<'a>,
    new: JsonSide<'a>,
    members: Vec<JsonMember<'a>>,
    modules: Vec<JsonModule<'a>>,
    totals: Vec<JsonTotals>,
    gates: Vec<JsonGate<'a>>,
    findings: Vec<JsonFinding<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct JsonSide<'a> {
    path: &'a str,
    format: &'a str,
    size: u64,
    sha256: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct JsonMember<'a> {
    name: &'a str,
    change: &'static str,
    old_size: Option<u64>,
    new_size: Option<u64>,
}

/// A translation unit, or a region of a linked file.
#[derive(Serialize, JsonSchema)]
struct JsonModule<'a> {
    member: Option<&'a str>,
    change: &'static str,
    old_region: Option<u32>,
    new_region: Option<u32>,
    images: Vec<JsonImage<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct JsonImage<'a> {
    arch: Option<String>,
    kind: Option<&'static str>,
    change: &'static str,
    code: &'static str,
    old: Option<JsonImageSide>,
    new: Option<JsonImageSide>,
    kernels: Vec<JsonKernel<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct JsonImageSide {
    offset: u64,
    stored_size: u64,
    size: Option<u64>,
    instructions: Option<u64>,
    kernels: Option<u64>,
}

#[derive(Serialize, JsonSchema)]
struct JsonKernel<'a> {
    name: &'a str,
    change: &'static str,
    code: &'static str,
    old: Option<JsonKernelSide>,
    new: Option<JsonKernelSide>,
    /// Before and after, where the number changed.
    mnemonics: BTreeMap<&'a str, [u64; 2]>,
}

#[derive(Serialize, JsonSchema)]
struct JsonKernelSide {
    code_size: u64,
    instructions: Option<u64>,
    sha256: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct JsonTotals {
    arch: Option<String>,
    kind: &'static str,
    images: JsonBefore,
    identical_images: u64,
    not_compared_images: u64,
    same_kernels: u64,
    changed_kernels: u64,
    added_kernels: u64,
    removed_kernels: u64,
    instructions: Option<JsonBefore>,
    stored_size: JsonBefore,
    size: Option<JsonBefore>,
    /// Before and after, where the number changed.
    mnemonics: BTreeMap<String, [u64; 2]>,
}

#[derive(Serialize, JsonSchema)]
struct JsonBefore {
    old: u64,
    new: u64,
}

#[derive(Serialize, JsonSchema)]
struct JsonGate<'a> {
    same_code: &'a str,
    /// What was compared: images of members, or kernels.
    scope: Option<&'static str>,
    /// How many of them; null where it fails or was not checked.
    compared: Option<u64>,
    /// Null where it was not checked.
    holds: Option<bool>,
    differences: &'a [String],
    reason: Option<&'a str>,
}

impl<'a> JsonSide<'a> {
    fn of(file: &'a FileReport) -> Self {
        Self {
            path: &file.path,
            format: file.format,
            size: file.size_bytes,
            sha256: file.digest.map(|digest| digest.to_string()),
        }
    }
}

impl<'a> JsonMember<'a> {
    fn of(member: &MemberDiff<'a>) -> Self {
        Self {
            name: member.name,
            change: member.change().as_str(),
            old_size: member.old.map(|member| member.size_bytes),
            new_size: member.new.map(|member| member.size_bytes),
        }
    }
}

impl<'a> JsonModule<'a> {
    fn of(module: &'a ModuleDiff<'a>, all: bool) -> Self {
        let images = module.images.iter();
        Self {
            member: module.member,
            change: module.change().as_str(),
            old_region: module.old_region,
            new_region: module.new_region,
            images: images
                .filter(|image| all || image.change() != Change::Same)
                .map(|image| JsonImage::of(image, all))
                .collect(),
        }
    }
}

impl<'a> JsonImage<'a> {
    fn of(image: &'a ImageDiff<'a>, all: bool) -> Self {
        let side = image.sides().next();
        Self {
            arch: side.and_then(|side| side.arch).map(|arch| arch.to_string()),
            kind: side.map(|side| side.kind.as_str()),
            change: image.change().as_str(),
            code: image.code.as_str(),
            old: image.old.map(JsonImageSide::of),
            new: image.new.map(JsonImageSide::of),
            kernels: image
                .kernels
                .iter()
                .filter(|kernel| all || kernel.change() != Change::Same)
                .map(JsonKernel::of)
                .collect(),
        }
    }
}

impl JsonImageSide {
    fn of(image: &ImageReport) -> Self {
        Self {
            offset: image.offset_bytes,
            stored_size: image.stored_bytes,
            size: image.size_bytes,
            instructions: image.instructions,
            kernels: image.kernel_count,
        }
    }
}

impl<'a> JsonKernel<'a> {
    fn of(kernel: &'a KernelDiff<'a>) -> Self {
        let mnemonics = kernel.mnemonics().into_iter();
        Self {
            name: kernel.name,
            change: kernel.change().as_str(),
            code: kernel.code().as_str(),
            old: kernel.old.map(JsonKernelSide::of),
            new: kernel.new.map(JsonKernelSide::of),
            mnemonics: mnemonics.map(|(name, (old, new))| (name, [old, new])).collect(),
        }
    }
}

impl JsonKernelSide {
    fn of(kernel: &KernelReport) -> Self {
        Self {
            code_size: kernel.code_bytes,
            instructions: kernel.instructions,
            sha256: kernel.digest.map(|digest| digest.to_string()),
        }
    }
}

impl JsonTotals {
    fn of(row: &ArchTotals) -> Self {
        let mnemonics = row.mnemonics().into_iter();
        Self {
            arch: row.arch.map(|arch| arch.to_string()),
            kind: row.kind,
            images: row.images.into(),
            identical_images: row.identical_images,
            not_compared_images: row.not_compared_images,
            same_kernels: row.same_kernels,
            changed_kernels: row.changed_kernels,
            added_kernels: row.added_kernels,
            removed_kernels: row.removed_kernels,
            instructions: row
                .instructions
                .filter(|_| row.kind == "cubin")
                .map(JsonBefore::from),
            stored_size: row.stored_bytes.into(),
            size: row.size_bytes.map(JsonBefore::from),
            mnemonics: mnemonics
                .map(|(name, (old, new))| (name.to_owned(), [old, new]))
                .collect(),
        }
    }
}

impl From<Before> for JsonBefore {
    fn from(before: Before) -> Self {
        Self {
            old: before.old,
            new: before.new,
        }
    }
}

impl<'a> JsonGate<'a> {
    fn of(gate: &'a Gate) -> Self {
        let row = Self {
            same_code: gate.glob.as_str(),
            scope: None,
            compared: None,
            holds: None,
            differences: &[],
            reason: None,
        };
        match &gate.outcome {
            GateOutcome::Holds { compared, kernels } => Self {
                scope: Some(if *kernels { "kernels" } else { "images" }),
                compared: Some(*compared),
                holds: Some(true),
                ..row
            },
            GateOutcome::Fails { differences } => Self {
                holds: Some(false),
                differences,
                ..row
            },
            GateOutcome::NotChecked { reason } => Self {
                reason: Some(reason),
                ..row
            },
        }
    }
}
