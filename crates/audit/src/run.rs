//! One audit run: open, read, inspect in parallel, sum up, evaluate.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use blockgate_arch::ptx_isa::PtxIsa;
use blockgate_expect::{Expectation, Pattern, Subject};
use blockgate_fatbin::{
    Artifact, Content, Defect, DeviceCode, Image, ImageKind, InspectOptions, Limits, SassDetail,
    is_device_section,
};
use blockgate_findings::{ArtifactPlace, Finding, Location, Severity};
use rayon::prelude::*;

use crate::census::Totals;
use crate::digest::Digest;
use crate::evaluate::{Sight, evaluate};
use crate::open::{Note, NoteKind, PackageLimits};
use crate::policy::Policy;
use crate::report::{FileReport, ImageReport, KernelReport, MemberReport, PtxTextCount, Report};
use crate::scratch::with_scratch;
use crate::{identical, input, rules};

/// What an audit looks at.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Read headers only: nothing is decompressed, no instruction is counted.
    pub list_only: bool,
    /// Keep the code sections of every image, not just their number.
    pub kernels: bool,
    /// What to count in the text of PTX.
    pub ptx_text: Vec<Pattern>,
    /// Keep the names of the kernels of every image, machine code and PTX.
    pub entries: bool,
    /// Hash inputs, members, the code of kernels and the text of PTX, to compare them with others.
    pub digests: bool,
    /// What must hold of the inputs together.
    pub expectations: Vec<Expectation>,
    /// What the reader accepts.
    pub limits: Limits,
    /// What packages and folders may cost.
    pub packages: PackageLimits,
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

/// Audits `paths`: files, packages, folders, and `-` for standard input. Whatever goes wrong is in the report: an input
/// that could not be read is a finding and makes the report's status 3.
pub fn audit(paths: &[PathBuf], options: &Options, progress: &dyn Progress) -> Report {
    report_of(input::audit_paths(paths, options, progress), options)
}

/// Audits `bytes` as if they were a file that is shown as `label`. No file is opened.
pub fn audit_bytes(label: &str, bytes: &[u8], options: &Options, progress: &dyn Progress) -> Report {
    report_of(
        vec![input::audit_content(label, bytes, options, progress)],
        options,
    )
}

fn report_of(outcomes: Vec<FileOutcome>, options: &Options) -> Report {
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
            let finding = converter_in_ptx_text(expectation, &report.files);
            report.findings.push(finding);
        }
        let sight = Sight::all(&report.files);
        report.evaluations.push(evaluate(index, expectation, &sight));
    }
    if let Some(policy) = &options.policy {
        rules::apply(&mut report, policy, options.list_only, options.expectations.len());
    }
    report
}

/// What is found out about an input, or about a file of a package or folder.
pub(crate) struct FileOutcome {
    pub(crate) file: FileReport,
    pub(crate) findings: Vec<Finding>,
    pub(crate) unreadable: bool,
    states: Vec<DeviceCode>,
    notes: BTreeMap<NoteKind, (u64, Vec<String>)>,
}

/// Where something lies that is read on its own.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Naming<'n> {
    /// The file of the package or folder.
    pub(crate) file: Option<&'n Arc<str>>,
    /// The member of a thin archive.
    pub(crate) external: Option<&'n Arc<str>>,
}

impl Naming<'_> {
    /// The full name of what is called `own` in the file that is read.
    pub(crate) fn full(&self, own: Option<&Arc<str>>) -> Option<Arc<str>> {
        match (self.file, self.external.or(own)) {
            (None, member) => member.cloned(),
            (Some(file), None) => Some(Arc::clone(file)),
            (Some(file), Some(member)) => Some(Arc::from(format!("{file}/{member}"))),
        }
    }
}

/// Images of one input, at most. Each costs memory in the report, and a package can name many of them in few bytes.
const MAX_IMAGES: usize = 1 << 20;

/// How many names a note lists.
const NAMES_IN_NOTE: usize = 8;

impl FileOutcome {
    pub(crate) fn new(label: &str) -> Self {
        Self {
            file: FileReport {
                path: label.to_owned(),
                format: "unknown",
                size_bytes: 0,
                digest: None,
                device_code: DeviceCode::Unreadable,
                members: Vec::new(),
                other_files: 0,
                images: Vec::new(),
                totals: Totals::default(),
                unattributed_bytes: 0,
                read_in_full: false,
            },
            findings: Vec::new(),
            unreadable: false,
            states: Vec::new(),
            notes: BTreeMap::new(),
        }
    }

    /// Adds what `artifact` holds.
    pub(crate) fn take(
        &mut self,
        artifact: &Artifact<'_>,
        naming: Naming<'_>,
        options: &Options,
        progress: &dyn Progress,
    ) {
        for member in &artifact.members {
            if let Some(name) = naming.full(member.name.as_ref()) {
                self.file.members.push(MemberReport {
                    name,
                    file: naming.file.cloned(),
                    size_bytes: member.data.len() as u64,
                    digest: options.digests.then(|| Digest::of(member.data)),
                    device_code: member.device_code,
                });
            }
            self.states.push(member.device_code);
        }
        self.file.unattributed_bytes += artifact.unattributed_bytes;
        for defect in &artifact.defects {
            self.defect(defect, naming);
        }
        progress.found(artifact.images.len() as u64);
        let inspected: Vec<(ImageReport, Vec<Defect>)> = artifact
            .images
            .par_iter()
            .map(|image| {
                let result = inspect(image, naming, options);
                progress.inspected();
                result
            })
            .collect();
        let identical_to = identical::offsets(&artifact.images);
        for ((mut image, defects), identical_to) in inspected.into_iter().zip(identical_to) {
            image.identical_to = identical_to;
            self.file.images.push(image);
            for defect in defects {
                self.defect_of_image(&defect, naming);
            }
        }
    }

    /// Adds what was found out about a file of this package or folder.
    pub(crate) fn absorb(&mut self, part: Self) {
        if self.file.images.len() + part.file.images.len() > MAX_IMAGES {
            let name = part.file.members.first().map(|member| member.name.to_string());
            let message = format!("expected at most {MAX_IMAGES} images in one input, found more");
            self.refuse("package-limit", name, None, message);
            return;
        }
        self.file.members.extend(part.file.members);
        self.file.images.extend(part.file.images);
        self.file.other_files += part.file.other_files;
        self.file.unattributed_bytes += part.file.unattributed_bytes;
        self.file.read_in_full &= part.file.read_in_full;
        self.findings.extend(part.findings);
        self.unreadable |= part.unreadable;
        self.states.extend(part.states);
    }

    /// Sums up, when everything is in.
    pub(crate) fn finish(mut self) -> Self {
        self.file.read_in_full &= !self.states.contains(&DeviceCode::Unreadable);
        self.file.device_code = overall(&self.states);
        let holds_none = matches!(self.file.device_code, DeviceCode::None | DeviceCode::NvrtcOnly);
        if !self.file.read_in_full && holds_none {
            // What could not be read may hold device code.
            self.file.device_code = DeviceCode::Unreadable;
        }
        self.name_unknown_kinds();
        self.write_notes();
        leave_out_prelinked(&mut self.file.images);
        self.file.totals = Totals::of(&self.file.images);
        self
    }

    /// Something that could not be opened, or that is not followed.
    pub(crate) fn refuse(
        &mut self,
        rule: &'static str,
        member: Option<String>,
        offset_bytes: Option<u64>,
        message: String,
    ) {
        self.unreadable = true;
        self.states.push(DeviceCode::Unreadable);
        self.findings.push(Finding {
            rule,
            severity: Severity::Error,
            message,
            location: self.place(member, offset_bytes),
            notes: Vec::new(),
            fix: None,
        });
    }

    /// The file, or one that it names, is of no format that can be read.
    pub(crate) fn not_read(&mut self, error: blockgate_fatbin::Error, naming: Naming<'_>) {
        self.states.push(DeviceCode::Unreadable);
        self.defect(&error.into_defect("unreadable"), naming);
    }

    fn defect(&mut self, defect: &Defect, naming: Naming<'_>) {
        self.file.read_in_full &= defect.severity != Severity::Error;
        self.defect_of_image(defect, naming);
    }

    /// A defect in an image that is listed for what it is, so that counts of images stay right.
    fn defect_of_image(&mut self, defect: &Defect, naming: Naming<'_>) {
        self.unreadable |= defect.severity == Severity::Error;
        let member = naming.full(defect.member.as_ref());
        self.findings.push(Finding {
            rule: defect.rule,
            severity: defect.severity,
            message: format!("expected {}, found {}", defect.expected, defect.found),
            location: self.place(member.map(|name| name.to_string()), Some(defect.offset)),
            notes: defect
                .image_offset
                .map(|offset| format!("byte {offset:#x} of the decompressed image"))
                .into_iter()
                .collect(),
            fix: None,
        });
    }

    /// Something that is worth saying of an entry. Those of one kind become one finding.
    pub(crate) fn note(&mut self, note: Note) {
        let (count, names) = self.notes.entry(note.kind).or_default();
        *count += 1;
        if names.len() < NAMES_IN_NOTE {
            names.push(note.what);
        }
    }

    fn write_notes(&mut self) {
        for (kind, (count, mut names)) in std::mem::take(&mut self.notes) {
            let (rule, severity, what) = kind.rule();
            let unnamed = count - names.len() as u64;
            if unnamed > 0 {
                names.push(format!("and {unnamed} more"));
            }
            self.findings.push(Finding {
                rule,
                severity,
                message: format!("{what}: {count}"),
                location: self.place(None, None),
                notes: names,
                fix: None,
            });
        }
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
fn inspect(image: &Image<'_>, naming: Naming<'_>, options: &Options) -> (ImageReport, Vec<Defect>) {
    let mut row = ImageReport {
        member: naming.full(image.member.as_ref()),
        file: naming.file.cloned(),
        section: image.section.clone(),
        region: image.region,
        entry: image.entry,
        offset_bytes: image.offset,
        kind: image.kind,
        arch: image.declared,
        declared: image.declared,
        ptx_isa: match image.kind {
            ImageKind::Ptx => image
                .declared_version
                .map(|(major, minor)| PtxIsa::new(major, minor)),
            _ => None,
        },
        arch_certain: true,
        relocatable: image.relocatable,
        counted: true,
        compression: image.compression,
        stored_bytes: image.stored_size,
        container: image.container(),
        identical_to: None,
        size_bytes: image.size,
        toolkit: None,
        tools: Vec::new(),
        cuda_note: None,
        ptx: None,
        ptx_text: Vec::new(),
        kernel_count: None,
        instructions: None,
        sass: blockgate_fatbin::Histogram::default(),
        mnemonics_known: false,
        kernels: Vec::new(),
        module: None,
        entries: Vec::new(),
        digest: None,
        ptx_matches: vec![None; options.all_expectations().count()],
    };
    let mut defects = Vec::new();
    // LTO-IR and unknown kinds are listed, never unpacked. A bare cubin or PTX file has no entry header that
    // would name its architecture, so that one is inspected even for a listing.
    let opaque = !matches!(image.kind, ImageKind::Cubin | ImageKind::Ptx);
    if opaque || (options.list_only && image.declared.is_some()) {
        return (row, defects);
    }
    let detail = InspectOptions {
        sass: match (options.list_only, options.kernels) {
            (true, _) => SassDetail::Off,
            (false, false) => SassDetail::Image,
            (false, true) => SassDetail::Kernels,
        },
    };
    let mut code_digests = Vec::new();
    let mut text_digest = None;
    let mut hash = |content: Content<'_>| match content {
        _ if !options.digests => {}
        Content::Code { bytes, .. } => code_digests.push(Digest::of(bytes)),
        Content::Ptx(text) => text_digest = Some(Digest::of(text)),
    };
    match with_scratch(|scratch| image.inspect_with(&options.limits, &detail, scratch, &mut hash)) {
        Ok(inspection) => {
            row.arch = Some(inspection.arch);
            row.arch_certain = !inspection.arch_evidence.plain_or_family;
            row.relocatable = inspection.relocatable;
            row.size_bytes = Some(inspection.size);
            row.toolkit = inspection.toolkit;
            row.tools = inspection.tools;
            row.cuda_note = inspection.cuda_note;
            row.module = inspection.module;
            row.kernel_count = Some(match &inspection.ptx {
                Some(ptx) => ptx.entries.len() as u64,
                None => inspection.kernels.iter().filter(|kernel| kernel.is_entry).count() as u64,
            });
            row.digest = text_digest;
            if let Some(ptx) = &inspection.ptx {
                row.ptx_isa = Some(PtxIsa::new(ptx.version.0, ptx.version.1));
            }
            if options.entries {
                row.entries = match &inspection.ptx {
                    Some(ptx) => ptx.entries.clone(),
                    None => inspection
                        .kernels
                        .iter()
                        .filter(|kernel| kernel.is_entry)
                        .map(|kernel| kernel.name.clone())
                        .collect(),
                };
            }
            row.ptx = inspection.ptx.map(|mut ptx| {
                if !options.kernels {
                    ptx.entries = Vec::new();
                }
                ptx
            });
            row.instructions = inspection.instructions;
            row.sass = inspection.sass;
            row.mnemonics_known = inspection.mnemonics_known;
            if options.kernels {
                let mut digests = code_digests.into_iter();
                row.kernels = inspection
                    .kernels
                    .into_iter()
                    .map(|kernel| KernelReport {
                        name: kernel.name,
                        is_entry: kernel.is_entry,
                        digest: digests.next(),
                        code_bytes: kernel.code_bytes,
                        instructions: kernel.instructions,
                        sass: kernel.sass,
                        resources: kernel.resources,
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
    row.ptx_text = options
        .ptx_text
        .iter()
        .map(|pattern| PtxTextCount {
            pattern: pattern.as_str().into(),
            count: None,
        })
        .collect();
    if patterns.is_empty() && options.ptx_text.is_empty() {
        return;
    }
    match image.decode(&options.limits) {
        Ok(text) => {
            let text = String::from_utf8_lossy(&text);
            for (index, pattern) in patterns {
                row.ptx_matches[index] = Some(pattern.count_in(&text) as u64);
            }
            for (counted, pattern) in row.ptx_text.iter_mut().zip(&options.ptx_text) {
                counted.count = Some(pattern.count_in(&text) as u64);
            }
        }
        Err(error) => defects.push(error.into_defect("unreadable-image")),
    }
}

/// A linked object that still holds the images it was linked from would count every kernel twice. Relocatable images among
/// its other data are for links that it makes itself when it runs.
fn leave_out_prelinked(images: &mut [ImageReport]) {
    let linked: BTreeSet<Option<Arc<str>>> = images
        .iter()
        .filter(|image| !image.relocatable && image.is_cubin())
        .map(|image| image.member.clone())
        .collect();
    let is_input = |image: &&mut ImageReport| {
        image.relocatable && image.section.as_deref().is_none_or(is_device_section)
    };
    for image in images.iter_mut().filter(is_input) {
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
        DeviceCode::NvrtcOnly,
    ]
    .into_iter()
    .find(|state| states.contains(state))
    .unwrap_or(DeviceCode::None)
}

fn converter_in_ptx_text(expectation: &Expectation, files: &[FileReport]) -> Finding {
    Finding {
        rule: "converter-in-ptx-text",
        severity: Severity::Warning,
        message: format!(
            "`{}` looks for the converter in PTX, where a correct build need not have it",
            expectation.source
        ),
        location: Location::Artifact(ArtifactPlace {
            path: files.first().map_or_else(String::new, |file| file.path.clone()),
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
