//! One audit run: open, read, inspect in parallel, sum up, evaluate.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use blockgate_expect::{Expectation, Pattern, Subject};
use blockgate_fatbin::{Artifact, Defect, DeviceCode, Image, ImageKind, InspectOptions, Limits, SassDetail};
use blockgate_findings::{ArtifactPlace, Finding, Location, Severity};
use rayon::prelude::*;

use crate::census::Totals;
use crate::evaluate::{Sight, evaluate};
use crate::mapped::Bytes;
use crate::policy::Policy;
use crate::report::{FileReport, ImageReport, KernelReport, MemberReport, Report};
use crate::{identical, rules};

/// What an audit looks at.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Read headers only: nothing is decompressed, no instruction is counted.
    pub list_only: bool,
    /// Keep the code sections of every image, not just their number.
    pub kernels: bool,
    /// What must hold of the inputs together.
    pub expectations: Vec<Expectation>,
    /// What the reader accepts.
    pub limits: Limits,
    /// What a configuration file says; rules are checked where there is one, even if it says nothing.
    pub policy: Option<Policy>,
}

impl Options {
    /// Every expectation: those over all inputs, then those of the configuration file.
    fn all_expectations(&self) -> impl Iterator<Item = &Expectation> {
        let policy = self.policy.iter().flat_map(|policy| policy.config.expectations());
        self.expectations.iter().chain(policy.map(|placed| &placed.value))
    }
}

/// Told about the work as it goes on, from several threads.
pub trait Progress: Sync {
    /// `count` more images are to be inspected.
    fn found(&self, count: u64);
    /// One image has been inspected.
    fn inspected(&self);
}

/// Nobody watches.
pub struct NoProgress;

impl Progress for NoProgress {
    fn found(&self, _count: u64) {}
    fn inspected(&self) {}
}

/// Audits `paths`. Whatever goes wrong is in the report: an input that could not be read is a finding and makes
/// the report's status 3.
pub fn audit(paths: &[PathBuf], options: &Options, progress: &dyn Progress) -> Report {
    let outcomes: Vec<FileOutcome> = paths
        .par_iter()
        .map(|path| audit_file(path, options, progress))
        .collect();
    let mut report = Report {
        files: Vec::new(),
        evaluations: Vec::new(),
        findings: Vec::new(),
        unreadable: false,
        policy: None,
        waived: Vec::new(),
        unchecked: Vec::new(),
    };
    for outcome in outcomes {
        report.files.push(outcome.file);
        report.findings.extend(outcome.findings);
        report.unreadable |= outcome.unreadable;
    }
    for (index, expectation) in options.expectations.iter().enumerate() {
        if expectation.counts_converter_in_ptx_text() {
            report.findings.push(converter_in_ptx_text(expectation, paths));
        }
        let sight = Sight::all(&report.files);
        report.evaluations.push(evaluate(index, expectation, &sight));
    }
    if let Some(policy) = &options.policy {
        rules::apply(&mut report, policy, options.list_only, options.expectations.len());
    }
    report
}

struct FileOutcome {
    file: FileReport,
    findings: Vec<Finding>,
    unreadable: bool,
}

fn audit_file(path: &Path, options: &Options, progress: &dyn Progress) -> FileOutcome {
    let mut outcome = FileOutcome {
        file: FileReport {
            path: path.display().to_string(),
            format: "unknown",
            size_bytes: 0,
            device_code: DeviceCode::Unreadable,
            members: Vec::new(),
            images: Vec::new(),
            totals: Totals::default(),
            unattributed_bytes: 0,
            read_in_full: false,
        },
        findings: Vec::new(),
        unreadable: false,
    };
    let bytes = match Bytes::open(path) {
        Ok(bytes) => bytes,
        Err(error) => {
            outcome.cannot_read(None, None, format!("cannot be opened: {error}"));
            return outcome;
        }
    };
    outcome.file.size_bytes = bytes.len() as u64;
    let artifact = match blockgate_fatbin::read(&bytes, &options.limits) {
        Ok(artifact) => artifact,
        Err(error) => {
            outcome.defect(&error.into_defect("unreadable"), None);
            return outcome;
        }
    };
    outcome.file.format = artifact.format.as_str();
    outcome.file.read_in_full = true;
    let mut states = Vec::new();
    outcome.take(&artifact, None, &mut states, options, progress);
    let mut opened = BTreeSet::new();
    for external in &artifact.external {
        // Members of a thin archive are named relative to the folder that the archive lies in.
        let member_path = path.parent().unwrap_or(Path::new("")).join(&external.path);
        let name: Arc<str> = external.path.as_str().into();
        let mut refuse = |outcome: &mut FileOutcome, offset_bytes: u64, message: String| {
            outcome.cannot_read(Some(name.to_string()), Some(offset_bytes), message);
            states.push(DeviceCode::Unreadable);
        };
        // A header of a few bytes must not cost the reading of a large file again.
        if !opened.insert(external.path.as_str()) {
            refuse(
                &mut outcome,
                external.offset,
                "the thin archive names this file twice".to_owned(),
            );
            continue;
        }
        let member_bytes = match Bytes::open_regular(&member_path) {
            Ok(bytes) => bytes,
            Err(error) => {
                let message = format!("the thin archive's member cannot be opened: {error}");
                refuse(&mut outcome, external.offset, message);
                continue;
            }
        };
        match blockgate_fatbin::read(&member_bytes, &options.limits) {
            Ok(artifact) if artifact.external.is_empty() => {
                outcome.take(&artifact, Some(&name), &mut states, options, progress);
            }
            Ok(_) => {
                let message = "a thin archive in a thin archive is not followed".to_owned();
                refuse(&mut outcome, external.offset, message);
            }
            Err(error) => {
                outcome.defect(&error.into_defect("unreadable"), Some(&name));
                states.push(DeviceCode::Unreadable);
            }
        }
    }
    outcome.file.read_in_full &= !states.contains(&DeviceCode::Unreadable);
    outcome.file.device_code = overall(&states);
    if !outcome.file.read_in_full && outcome.file.device_code == DeviceCode::None {
        // What could not be read may hold device code.
        outcome.file.device_code = DeviceCode::Unreadable;
    }
    outcome.name_unknown_kinds();
    leave_out_prelinked(&mut outcome.file.images);
    outcome.file.totals = Totals::of(&outcome.file.images);
    outcome
}

impl FileOutcome {
    /// Adds what `artifact` holds; `external` names it where it is a member of a thin archive.
    fn take(
        &mut self,
        artifact: &Artifact<'_>,
        external: Option<&Arc<str>>,
        states: &mut Vec<DeviceCode>,
        options: &Options,
        progress: &dyn Progress,
    ) {
        for member in &artifact.members {
            if let Some(name) = external.or(member.name.as_ref()) {
                self.file.members.push(MemberReport {
                    name: Arc::clone(name),
                    file: None,
                    size_bytes: member.data.len() as u64,
                    device_code: member.device_code,
                });
            }
            states.push(member.device_code);
        }
        self.file.unattributed_bytes += artifact.unattributed_bytes;
        for defect in &artifact.defects {
            self.file.read_in_full &= defect.severity != Severity::Error;
            self.defect(defect, external);
        }
        progress.found(artifact.images.len() as u64);
        let inspected: Vec<(ImageReport, Vec<Defect>)> = artifact
            .images
            .par_iter()
            .map(|image| {
                let result = inspect(image, external, options);
                progress.inspected();
                result
            })
            .collect();
        let identical_to = identical::offsets(&artifact.images);
        for ((mut image, defects), identical_to) in inspected.into_iter().zip(identical_to) {
            image.identical_to = identical_to;
            self.file.images.push(image);
            for defect in defects {
                self.defect(&defect, external);
            }
        }
    }

    /// Something that could not be opened, or that is not followed.
    fn cannot_read(&mut self, member: Option<String>, offset_bytes: Option<u64>, message: String) {
        self.unreadable = true;
        self.findings.push(Finding {
            rule: "unreadable",
            severity: Severity::Error,
            message,
            location: self.place(member, offset_bytes),
            notes: Vec::new(),
            fix: None,
        });
    }

    fn defect(&mut self, defect: &Defect, external: Option<&Arc<str>>) {
        self.unreadable |= defect.severity == Severity::Error;
        let member = external.or(defect.member.as_ref()).map(ToString::to_string);
        self.findings.push(Finding {
            rule: defect.rule,
            severity: defect.severity,
            message: format!("expected {}, found {}", defect.expected, defect.found),
            location: self.place(member, Some(defect.offset)),
            notes: defect
                .image_offset
                .map(|offset| format!("byte {offset:#x} of the decompressed image"))
                .into_iter()
                .collect(),
            fix: None,
        });
    }

    /// An image of a kind that the reader does not know could be anything, machine code included.
    fn name_unknown_kinds(&mut self) {
        let kinds: BTreeSet<u16> = self
            .file
            .images
            .iter()
            .filter_map(|image| match image.kind {
                ImageKind::Unknown(kind) => Some(kind),
                _ => None,
            })
            .collect();
        if kinds.is_empty() {
            return;
        }
        let kinds: Vec<String> = kinds.iter().map(|kind| format!("{kind:#x}")).collect();
        self.findings.push(Finding {
            rule: "unknown-kind",
            severity: Severity::Warning,
            message: format!("images of a kind that is not known: {}", kinds.join(", ")),
            location: self.place(None, None),
            notes: vec!["they are listed and not looked into".to_owned()],
            fix: None,
        });
    }

    fn place(&self, member: Option<String>, offset_bytes: Option<u64>) -> Location {
        Location::Artifact(ArtifactPlace {
            path: self.file.path.clone(),
            member,
            offset_bytes,
        })
    }
}

/// Inspects one image. The report row exists whatever happens, so that nothing that is in the file goes missing.
fn inspect(image: &Image<'_>, external: Option<&Arc<str>>, options: &Options) -> (ImageReport, Vec<Defect>) {
    let mut row = ImageReport {
        member: external.or(image.member.as_ref()).cloned(),
        file: None,
        section: image.section,
        region: image.region,
        offset_bytes: image.offset,
        kind: image.kind,
        arch: image.declared,
        arch_certain: true,
        relocatable: image.relocatable,
        counted: true,
        compression: image.compression,
        stored_bytes: image.stored_size,
        container: image.container(),
        identical_to: None,
        size_bytes: image.size,
        toolkit: None,
        kernel_count: None,
        instructions: None,
        sass: blockgate_fatbin::Histogram::default(),
        mnemonics_known: false,
        kernels: Vec::new(),
        ptx_matches: vec![None; options.all_expectations().count()],
    };
    let mut defects = Vec::new();
    // LTO-IR and unknown kinds are listed, never unpacked. A bare cubin or PTX file has no entry header that
    // would name its architecture, so that one is inspected even for a listing.
    let opaque = !matches!(image.kind, ImageKind::Cubin | ImageKind::Ptx);
    if opaque || (options.list_only && image.declared.is_some()) {
        return (row, defects);
    }
    match image.inspect(
        &options.limits,
        &InspectOptions {
            sass: match (options.list_only, options.kernels) {
                (true, _) => SassDetail::Off,
                (false, false) => SassDetail::Image,
                (false, true) => SassDetail::Kernels,
            },
        },
    ) {
        Ok(inspection) => {
            row.arch = Some(inspection.arch);
            row.arch_certain = !inspection.arch_evidence.plain_or_family;
            row.relocatable = inspection.relocatable;
            row.size_bytes = Some(inspection.size);
            row.toolkit = inspection.toolkit;
            row.kernel_count = Some(match &inspection.ptx {
                Some(ptx) => ptx.entries.len() as u64,
                None => inspection.kernels.iter().filter(|kernel| kernel.is_entry).count() as u64,
            });
            row.instructions = inspection.instructions;
            row.sass = inspection.sass;
            row.mnemonics_known = inspection.mnemonics_known;
            if options.kernels {
                row.kernels = inspection
                    .kernels
                    .into_iter()
                    .map(|kernel| KernelReport {
                        name: kernel.name,
                        code_bytes: kernel.code_bytes,
                        instructions: kernel.instructions,
                        sass: kernel.sass,
                    })
                    .collect();
            }
            defects.extend(inspection.defects);
        }
        Err(error) => {
            defects.push(error.into_defect("unreadable-image"));
            return (row, defects);
        }
    }
    if image.kind == ImageKind::Ptx {
        search_ptx(image, options, &mut row, &mut defects);
    }
    (row, defects)
}

fn search_ptx(image: &Image<'_>, options: &Options, row: &mut ImageReport, defects: &mut Vec<Defect>) {
    let patterns: Vec<(usize, &Pattern)> = options
        .all_expectations()
        .enumerate()
        .filter_map(|(index, expectation)| match &expectation.subject {
            Subject::PtxText(pattern) => Some((index, pattern)),
            _ => None,
        })
        .collect();
    if patterns.is_empty() {
        return;
    }
    match image.decode(&options.limits) {
        Ok(text) => {
            let text = String::from_utf8_lossy(&text);
            for (index, pattern) in patterns {
                row.ptx_matches[index] = Some(pattern.count_in(&text) as u64);
            }
        }
        Err(error) => defects.push(error.into_defect("unreadable-image")),
    }
}

/// A linked object that still holds the images it was linked from would count every kernel twice.
fn leave_out_prelinked(images: &mut [ImageReport]) {
    let linked: BTreeSet<Option<Arc<str>>> = images
        .iter()
        .filter(|image| !image.relocatable && image.is_cubin())
        .map(|image| image.member.clone())
        .collect();
    for image in images.iter_mut().filter(|image| image.relocatable) {
        image.counted = !linked.contains(&image.member);
    }
}

/// The state of a file from those of its members: what could not be read outweighs everything.
fn overall(states: &[DeviceCode]) -> DeviceCode {
    [
        DeviceCode::Unreadable,
        DeviceCode::Present,
        DeviceCode::PtxOnly,
        DeviceCode::LtoOnly,
    ]
    .into_iter()
    .find(|state| states.contains(state))
    .unwrap_or(DeviceCode::None)
}

fn converter_in_ptx_text(expectation: &Expectation, paths: &[PathBuf]) -> Finding {
    Finding {
        rule: "converter-in-ptx-text",
        severity: Severity::Warning,
        message: format!(
            "`{}` looks for the converter in PTX, where a correct build need not have it",
            expectation.source
        ),
        location: Location::Artifact(ArtifactPlace {
            path: paths.first().map_or_else(String::new, |path| path.display().to_string()),
            member: None,
            offset_bytes: None,
        }),
        notes: vec![
            "under a combined or per-source list the PTX comes from the plain pass, which holds no conversion; count it in \
             machine code: sass(F2FP\\.SATFINITE\\.E2M1) >= 1"
                .to_owned(),
        ],
        fix: None,
    }
}
