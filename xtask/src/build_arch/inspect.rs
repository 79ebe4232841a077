//! The auditor's view of a built archive, in the terms of this task.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use blockgate_arch::Arch;
use blockgate_archlist::ArchList;
use blockgate_audit::render::{self, JsonEvaluation, JsonTotals, Mnemonics};
use blockgate_audit::{NoProgress, Options, Report, Totals, audit};
use blockgate_findings::Severity;
use regex::Regex;

use super::facts::{CensusRow, Evaluated};
use super::record::Record;

/// Which mnemonics summaries always count: the conversions between packed floating-point types.
const CONVERSIONS: &str = "^F2FP";

/// What the auditor says of the artifacts of a list.
pub(crate) struct Audited {
    pub(crate) census: Vec<CensusRow>,
    pub(crate) totals: serde_json::Value,
    pub(crate) expectations: Vec<Evaluated>,
    pub(crate) errors: Vec<String>,
    pub(crate) size_bytes: u64,
    report: Report,
}

/// Audits `paths` together against the expectations of `list`.
pub(crate) fn inspect(list: &ArchList, paths: &[PathBuf]) -> anyhow::Result<Audited> {
    let options = Options {
        kernels: true,
        expectations: list.expect.clone(),
        ..Options::default()
    };
    let report = audit(paths, &options, &NoProgress);
    let totals = Totals::of(report.files.iter().flat_map(|file| &file.images));
    let unattributed = report.files.iter().map(|file| file.unattributed_bytes).sum();
    Ok(Audited {
        census: census(&totals),
        totals: serde_json::to_value(JsonTotals::of(&totals, unattributed, &mnemonics()?))?,
        expectations: report
            .evaluations
            .iter()
            .map(|evaluation| serde_json::to_value(JsonEvaluation::from(evaluation)))
            .map(|value| serde_json::from_value(value?))
            .collect::<Result<_, _>>()?,
        errors: report
            .findings
            .iter()
            .filter(|finding| finding.severity == Severity::Error)
            .map(|finding| format!("{}: {}", finding.location.path(), finding.message))
            .collect(),
        size_bytes: report.files.iter().map(|file| file.size_bytes).sum(),
        report,
    })
}

impl Audited {
    /// The audit as schema `blockgate.audit/1`, with the record of the build added as `build`. Paths are made
    /// relative to `root`.
    pub(crate) fn document(&self, record: &Record, root: &Path) -> anyhow::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        render::json(&mut bytes, &self.report, &mnemonics()?)?;
        let mut document: serde_json::Value = serde_json::from_slice(&bytes)?;
        for input in document["inputs"].as_array_mut().into_iter().flatten() {
            if let Some(path) = input["path"].as_str() {
                input["path"] = relative(Path::new(path), root).into();
            }
        }
        document["build"] = serde_json::to_value(record)?;
        let mut bytes = serde_json::to_vec_pretty(&document)?;
        bytes.push(b'\n');
        Ok(bytes)
    }
}

/// `path` as it is written in records: relative to the workspace where it lies in it.
pub(crate) fn relative(path: &Path, root: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).display().to_string()
}

fn mnemonics() -> anyhow::Result<Mnemonics> {
    Ok(Mnemonics {
        all: false,
        patterns: vec![Regex::new(CONVERSIONS).context("the pattern of conversions")?],
    })
}

fn census(totals: &Totals) -> Vec<CensusRow> {
    let mut archs: Vec<Arch> = Vec::new();
    for row in totals.cubins.iter().chain(&totals.ptx) {
        if !archs.contains(&row.arch) {
            archs.push(row.arch);
        }
    }
    archs.sort_by_key(|arch| arch.display_key());
    archs
        .into_iter()
        .map(|arch| {
            let counted = totals.instructions.iter().any(|row| row.arch == arch);
            CensusRow {
                arch,
                cubins: Totals::count(&totals.cubins, arch),
                ptx: Totals::count(&totals.ptx, arch),
                conversions: counted.then(|| totals.sass_count(arch, blockgate_fatbin::converts_to_e2m1)),
            }
        })
        .collect()
}
