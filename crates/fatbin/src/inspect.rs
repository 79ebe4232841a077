//! Looks into an image: architecture by all the evidence, kernels, instructions.

use std::collections::HashSet;

use blockgate_arch::{Arch, Scope, ToolkitVersion};

use crate::cubin::{Cubin, CudaNote, ModuleResources, Resources, Tool, entry_names};
use crate::elf::Symbol;
use crate::error::{Defect, Error, Place};
use crate::image::{Image, ImageKind};
use crate::names::clipped;
use crate::ptx::PtxFacts;
use crate::sass::{Counter, Histogram, INSTRUCTION_BYTES};
use crate::scratch::Scratch;
use crate::view::View;
use crate::{Limits, sass};
use blockgate_findings::Severity::{Info, Warning};

/// What to look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct InspectOptions {
    /// How far instructions are counted by mnemonic.
    pub sass: SassDetail,
}

/// How far instructions are counted by mnemonic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum SassDetail {
    /// Not at all; only their number is known.
    Off,
    /// For the image as a whole.
    Image,
    /// For each kernel too, with what it takes of a multiprocessor ([`Kernel::resources`]).
    #[default]
    Kernels,
}

/// A part of a decoded image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content<'a> {
    /// A code section of a cubin, in the order of [`Inspection::kernels`].
    Code {
        /// The mangled name of the kernel or function.
        name: &'a str,
        /// Its instructions, padding included; in code to be linked before relocation.
        bytes: &'a [u8],
    },
    /// The text of PTX, without the padding behind it.
    Ptx(&'a [u8]),
}

/// What an image is found to be.
///
/// ```
/// use blockgate_fatbin::{InspectOptions, Limits, read};
/// # use blockgate_arch::{Arch, Scope, ToolkitVersion};
/// # use blockgate_fatbin::write::{Cubin, Kernel, instruction};
/// # let bytes = Cubin::new(Arch::new(12, 1, Scope::Specific), ToolkitVersion::new(13, 0))
/// #     .kernel(Kernel::new("_Z5scalePf", [instruction(0x94d)]))
/// #     .build()?;
///
/// // A cubin by itself: the architecture is in the file, and no entry header claims one.
/// let artifact = read(&bytes, &Limits::default())?;
/// let found = artifact.images[0].inspect(&Limits::default(), &InspectOptions::default())?;
/// assert_eq!(found.arch.to_string(), "sm_121a");
/// assert_eq!(found.arch_evidence.entry, None);
/// assert_eq!(found.toolkit.unwrap().to_string(), "13.0");
/// // Code is padded with NOPs, which count as disassemblers count them.
/// let kernel = &found.kernels[0];
/// assert_eq!((kernel.name.as_str(), kernel.instructions), ("_Z5scalePf", Some(8)));
/// assert_eq!((kernel.sass.get("EXIT"), kernel.sass.get("NOP")), (1, 7));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Inspection {
    /// The architecture, by all the evidence.
    pub arch: Arch,
    /// What each carrier said.
    pub arch_evidence: ArchEvidence,
    /// Bytes of content after decompression.
    pub size: u64,
    /// The release that made the image, as exactly as it says. PTX does not say.
    pub toolkit: Option<ToolkitVersion>,
    /// The command line of the assembler or linker, where it left one.
    pub toolkit_command: Option<String>,
    /// The programs that wrote a cubin, in their order, where they left notes: the last one made what there is now.
    pub tools: Vec<Tool>,
    /// What a cubin's note says of its target and release.
    pub cuda_note: Option<CudaNote>,
    /// Whether it is input of a device link and not what the driver loads.
    pub relocatable: bool,
    /// The code sections of a cubin, in file order.
    pub kernels: Vec<Kernel>,
    /// What a cubin takes for all its kernels together, where kernels were asked for.
    pub module: Option<ModuleResources>,
    /// Instructions of all kernels; 0 for a cubin without code. `None` for sm_50 to sm_62, whose instructions have
    /// another size, and for what is not machine code.
    pub instructions: Option<u64>,
    /// Instructions by mnemonic, where they were asked for and counted.
    pub sass: Histogram,
    /// Whether a mnemonic that [`Inspection::sass`] does not have is not in the image either. False for machine code
    /// of an architecture whose opcodes have no known names, or whose instructions are not counted (sm_50 to sm_62):
    /// there a count of 0 is no answer. False for an image of unknown kind too. True where there is no machine code.
    pub mnemonics_known: bool,
    /// What the text of PTX says.
    pub ptx: Option<PtxFacts>,
    /// What is wrong in an image that could be read.
    pub defects: Vec<Defect>,
}

/// The architecture according to each place that states one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ArchEvidence {
    /// By the entry header: what the builder claimed, and what the driver chooses by.
    pub entry: Option<Arch>,
    /// By the content itself. For a cubin the ELF header with `.nv.compat`, where scope plain means "plain or
    /// family"; for PTX its `.target`.
    pub content: Option<Arch>,
    /// By the command line in the note of the last tool that wrote a cubin.
    pub note: Option<Arch>,
    /// Whether it may as well be a family image: a cubin of an architecture that has families, without an entry
    /// header and without a note.
    pub plain_or_family: bool,
}

/// One code section of a cubin: a kernel, or in code to be linked a device function.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Kernel {
    /// The mangled name.
    pub name: String,
    /// Whether a host can launch it.
    pub is_entry: bool,
    /// Size of its code, padding included.
    pub code_bytes: u64,
    /// How many instructions it has, padding included, as disassemblers list them. `None` for sm_50 to sm_62.
    pub instructions: Option<u64>,
    /// Instructions by mnemonic, where they were asked for by kernel and counted.
    pub sass: Histogram,
    /// What it takes of a multiprocessor, where kernels were asked for.
    pub resources: Option<Resources>,
}

impl Image<'_> {
    /// Decodes the image and looks into it. LTO-IR and unknown kinds are not decoded: their inspection repeats what
    /// the header says.
    ///
    /// # Errors
    /// When the content cannot be decoded or read. Other images are not affected.
    pub fn inspect(&self, limits: &Limits, options: &InspectOptions) -> Result<Inspection, Error> {
        self.inspect_with(limits, options, &mut Scratch::new(), &mut |_| {})
    }

    /// Like [`Image::inspect`], in memory that is reused for the next image; and shows `visit` the code of every kernel, or
    /// the text of PTX, while the decoded image is at hand: to hash or to search it without decoding twice.
    ///
    /// # Errors
    /// As those of [`Image::inspect`]. What was visited before an error is part of an image that cannot be read.
    pub fn inspect_with(
        &self,
        limits: &Limits,
        options: &InspectOptions,
        scratch: &mut Scratch,
        visit: &mut dyn FnMut(Content<'_>),
    ) -> Result<Inspection, Error> {
        let inspection = self.inspect_in(limits, *options, scratch, visit);
        scratch.trim();
        inspection
    }

    fn inspect_in(
        &self,
        limits: &Limits,
        options: InspectOptions,
        scratch: &mut Scratch,
        visit: &mut dyn FnMut(Content<'_>),
    ) -> Result<Inspection, Error> {
        match self.kind {
            ImageKind::Cubin => {
                let content = self.decode_with(limits, scratch)?;
                self.inspect_cubin(self.view_of(content), limits, options, visit)
            }
            ImageKind::Ptx => {
                let content = self.decode_with(limits, scratch)?;
                visit(Content::Ptx(content));
                self.inspect_ptx(&self.view_of(content), limits)
            }
            ImageKind::LtoIr | ImageKind::Unknown(_) => {
                let declared = self.declared.ok_or_else(|| {
                    let expected = "an architecture in the header of an image that cannot be looked into";
                    self.header().error(ARCH_AT, expected, "none")
                })?;
                Ok(Inspection {
                    relocatable: true,
                    ..self.inspection(declared, None, self.stored_size)
                })
            }
        }
    }

    fn inspection(&self, arch: Arch, content: Option<Arch>, size: u64) -> Inspection {
        Inspection {
            arch,
            arch_evidence: ArchEvidence {
                entry: self.declared,
                content,
                note: None,
                plain_or_family: false,
            },
            size,
            toolkit: None,
            toolkit_command: None,
            tools: Vec::new(),
            cuda_note: None,
            relocatable: self.relocatable,
            kernels: Vec::new(),
            module: None,
            instructions: None,
            sass: Histogram::default(),
            mnemonics_known: !matches!(self.kind, ImageKind::Unknown(_)),
            ptx: None,
            defects: Vec::new(),
        }
    }

    fn inspect_ptx(&self, view: &View<'_>, limits: &Limits) -> Result<Inspection, Error> {
        let (facts, mut defects) = PtxFacts::read(view, limits)?;
        if let Some(declared) = self.declared.filter(|declared| *declared != facts.arch) {
            let rule = disagreement(declared, facts.arch);
            let expected = format!("`.target {declared}`, as the entry header says");
            let found = format!("`.target {}`", facts.target);
            defects.push(self.header().defect(ARCH_AT, rule, Warning, expected, found));
        }
        if let Some(declared) = self
            .declared_version
            .filter(|declared| *declared != facts.version)
        {
            let expected = format!(
                "`.version {}.{}`, as the entry header says",
                declared.0, declared.1
            );
            let found = format!("`.version {}.{}`", facts.version.0, facts.version.1);
            let rule = "ptx-version-disagreement";
            defects.push(self.header().defect(VERSION_AT, rule, Warning, expected, found));
        }
        let arch = facts.arch;
        Ok(Inspection {
            ptx: Some(facts),
            defects,
            ..self.inspection(arch, Some(arch), view.len())
        })
    }

    fn inspect_cubin(
        &self,
        view: View<'_>,
        limits: &Limits,
        options: InspectOptions,
        visit: &mut dyn FnMut(Content<'_>),
    ) -> Result<Inspection, Error> {
        let size = view.len();
        let cubin = Cubin::parse_view(view)?;
        let content = cubin.header_arch()?;
        let mut inspection = self.inspection(content, Some(content), size);
        let notes = match cubin.tool_notes() {
            Ok(notes) => notes,
            Err(error) => {
                // The note alone tells family from plain, so a damaged one leaves a doubt that must not pass unseen.
                inspection.defects.push(error.into_defect("unreadable-note"));
                Vec::new()
            }
        };
        let last = notes.last();
        inspection.cuda_note = cubin.cuda_note();
        inspection.toolkit = last
            .and_then(|note| note.toolkit)
            .or_else(|| cubin.header_toolkit())
            .or_else(|| inspection.cuda_note?.toolkit);
        inspection.toolkit_command = last.map(|note| note.tool.command.clone());
        let note = notes
            .iter()
            .rev()
            .find_map(|note| Some((note.arch?, note.place.clone())));
        inspection.tools = notes.into_iter().map(|note| note.tool).collect();
        self.judge_arch(&mut inspection, content, note, cubin.view());
        inspection.relocatable = self.relocatable || cubin.is_relocatable();
        count_kernels(&cubin, &mut inspection, limits, options, visit)?;
        Ok(inspection)
    }

    /// Sets the verdict, and reports carriers that disagree.
    ///
    /// The number and the `a` are the cubin's own business: its header always has them. Only note and entry header
    /// know `f`; the note is the assembler's word, the entry header the builder's claim.
    fn judge_arch(
        &self,
        inspection: &mut Inspection,
        content: Arch,
        note: Option<(Arch, Place)>,
        view: &View<'_>,
    ) {
        let evidence = &mut inspection.arch_evidence;
        evidence.note = note.as_ref().map(|(arch, _)| *arch);
        let scope = match (content.scope(), evidence.note, evidence.entry) {
            (Scope::Specific, _, _) => Scope::Specific,
            (_, Some(note), _) if note.scope() != Scope::Specific => note.scope(),
            (_, None, Some(entry)) if entry.scope() == Scope::Family => Scope::Family,
            _ => Scope::Plain,
        };
        inspection.arch = content.with_scope(scope);
        evidence.plain_or_family = scope == Scope::Plain
            && content.major() >= Scope::Family.first_major()
            && evidence.note.is_none()
            && evidence.entry.is_none();
        if evidence.plain_or_family {
            let expected = "a note or an entry header that tells plain from family";
            let found = format!("neither: {content} or {}", content.with_scope(Scope::Family));
            inspection
                .defects
                .push(view.defect(0, "plain-or-family", Info, expected, found));
        }
        let verdict = inspection.arch;
        let entry = evidence.entry.map(|arch| (arch, self.header().place(ARCH_AT)));
        let carriers = [
            (entry, "the entry header"),
            (note, "the assembler's command line"),
        ];
        for (stated, carrier) in carriers {
            if let Some((stated, place)) = stated.filter(|(stated, _)| *stated != verdict) {
                let expected = format!("{stated}, as {carrier} says");
                let found = format!("{verdict} by the cubin itself");
                let rule = disagreement(stated, verdict);
                inspection.defects.push(Defect {
                    severity: Warning,
                    ..Error::new(place, expected, found).into_defect(rule)
                });
            }
        }
    }
}

/// Where an entry header has the architecture number and the version.
const ARCH_AT: u64 = 28;
const VERSION_AT: u64 = 24;

fn disagreement(stated: Arch, found: Arch) -> &'static str {
    if stated.number() == found.number() {
        "suffix-disagreement"
    } else {
        "arch-disagreement"
    }
}

fn count_kernels(
    cubin: &Cubin<'_>,
    inspection: &mut Inspection,
    limits: &Limits,
    options: InspectOptions,
    visit: &mut dyn FnMut(Content<'_>),
) -> Result<(), Error> {
    let arch = inspection.arch;
    let countable = sass::is_countable(arch);
    let symbols = match cubin.symbols() {
        Ok(symbols) => symbols,
        Err(error) => {
            // Which functions a host can launch is lost, and what functions take.
            inspection.defects.push(error.into_defect("unreadable-symbols"));
            Vec::new()
        }
    };
    let entries = entry_names(&symbols);
    let mut counter = (countable && options.sass != SassDetail::Off).then(|| Counter::new(arch));
    let mut total = 0;
    let mut code_bytes = 0;
    let mut name_bytes = 0;
    // The first stands for all: a damaged file may have as many as it has sections.
    let mut partial = None;
    for section in cubin.code_views() {
        let (name, code) = section?;
        name_bytes += name.len() as u64;
        if name_bytes > limits.max_name_bytes {
            let expected = format!("names of at most {:#x} bytes together", limits.max_name_bytes);
            let found = format!(
                "more, in {} of the sections with code",
                inspection.kernels.len() + 1
            );
            return Err(code.error(0, expected, found));
        }
        let instructions = countable.then(|| code.len() / INSTRUCTION_BYTES as u64);
        if countable && partial.is_none() && !code.len().is_multiple_of(INSTRUCTION_BYTES as u64) {
            let expected = "machine code in instructions of 16 bytes";
            let found = format!("{:#x} bytes in `{}`", code.len(), clipped(name));
            partial = Some(code.defect(0, "partial-instruction", Warning, expected, found));
        }
        let sass = match &mut counter {
            Some(counter) if options.sass == SassDetail::Kernels => counter.count(code.bytes()),
            Some(counter) => {
                counter.count_into_total(code.bytes());
                Histogram::default()
            }
            None => Histogram::default(),
        };
        visit(Content::Code {
            name,
            bytes: code.bytes(),
        });
        total += instructions.unwrap_or(0);
        code_bytes += code.len();
        inspection.kernels.push(Kernel {
            name: name.to_owned(),
            is_entry: entries.contains(name),
            code_bytes: code.len(),
            instructions,
            sass,
            resources: None,
        });
    }
    inspection.instructions = countable.then_some(total);
    inspection.mnemonics_known = code_bytes == 0 || sass::is_known(arch);
    inspection.defects.extend(partial);
    if options.sass == SassDetail::Kernels {
        add_resources(cubin, inspection, &symbols, &entries);
    }
    let Some(counter) = counter else {
        return Ok(());
    };
    inspection.sass = counter.into_total();
    if !inspection.mnemonics_known {
        let expected = "an architecture whose opcodes are known";
        let found = format!("{}: opcodes are counted without names", inspection.arch);
        let defect = cubin
            .view()
            .defect(0, "unknown-opcodes", Warning, expected, found);
        inspection.defects.push(defect);
    }
    Ok(())
}

/// Says of each kernel what it takes. What cannot be read leaves a defect and is not known, the rest is.
fn add_resources<'a>(
    cubin: &Cubin<'a>,
    inspection: &mut Inspection,
    symbols: &[Symbol<'a>],
    entries: &HashSet<&str>,
) {
    let mut found = cubin.resources(inspection.arch, symbols, entries);
    let counted = inspection.instructions.is_some() && inspection.mnemonics_known;
    for kernel in &mut inspection.kernels {
        let Some(resources) = found.by_name.remove(kernel.name.as_str()) else {
            continue;
        };
        kernel.resources = Some(Resources {
            local_loads: counted.then(|| kernel.sass.get("LDL")),
            local_stores: counted.then(|| kernel.sass.get("STL")),
            ..resources
        });
    }
    inspection.module = Some(found.module);
    let defect = found
        .damage
        .map(|error| error.into_defect("unreadable-kernel-info"));
    inspection.defects.extend(defect);
}
