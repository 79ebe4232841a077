//! The same inputs, read by others: `goblin` always, NVIDIA's programs where they are installed.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{LazyLock, Mutex};

use blockgate_arch::{Arch, Scope};
use blockgate_fatbin::{
    Artifact, Cubin, FileFormat, ImageKind, InspectOptions, Limits, SassDetail, Severity, WITH_MODIFIERS,
    read,
};
use libtest_mimic::{Failed, Trial};

use crate::edge;
use crate::goldens::inputs;
use crate::hosts;
use crate::support::{files, fixtures};

/// The first compute capability that the 13.x programs still know.
const FIRST_OF_13: (u16, u8) = (7, 5);

pub(crate) fn trials() -> Result<Vec<Trial>, Failed> {
    let mut trials = Vec::new();
    let listings = recorded_listings()?;
    let cuobjdump = find("cuobjdump");
    let nvdisasm = find("nvdisasm");
    for (name, path) in inputs()? {
        // The programs read ELF files and no odd sections; trials of their own hold these inputs against goblin.
        if hosts::FOLDERS.iter().any(|folder| name.starts_with(folder)) {
            continue;
        }
        if goblin_has_a_say(&path)? {
            let (name, path) = (name.clone(), path.clone());
            trials.push(Trial::test(format!("goblin/{name}"), move || {
                goblin(&name, &path)
            }));
        }
        if let Some(listing) = listings.get(&name) {
            let (path, listing) = (path.clone(), listing.clone());
            trials.push(Trial::test(format!("cuobjdump-recorded/{name}"), move || {
                compare_listing(&path, &listing)
            }));
        }
        let archive_or_edge = name.starts_with("edge/") || name.starts_with("archives/");
        if !archive_or_edge {
            let (program, input) = (cuobjdump.clone(), path.clone());
            trials.push(oracle_trial("cuobjdump", &name, cuobjdump.is_some(), move || {
                run_cuobjdump(program.as_deref().ok_or("no program")?, &input)
            }));
        }
        if !archive_or_edge && nvdisasm_has_a_say(&path)? {
            let (program, input) = (nvdisasm.clone(), path);
            trials.push(oracle_trial("nvdisasm", &name, nvdisasm.is_some(), move || {
                run_nvdisasm(program.as_deref().ok_or("no program")?, &input)
            }));
        }
    }
    for name in listings.keys() {
        if !fixtures().join(name).is_file() {
            return Err(format!("the recorded listing has {name}, which is no input").into());
        }
    }
    Ok(trials)
}

/// A trial that is listed as ignored, with the reason as its kind, where the program is missing.
pub(crate) fn oracle_trial(
    program: &str,
    name: &str,
    installed: bool,
    run: impl FnOnce() -> Result<(), Failed> + Send + 'static,
) -> Trial {
    let trial = Trial::test(format!("{program}/{name}"), run);
    if installed {
        trial
    } else {
        trial
            .with_kind(format!("no {program} in BLOCKGATE_ORACLES or target/toolkits"))
            .with_ignored_flag(true)
    }
}

/// Looks for one of NVIDIA's programs in the folder that `BLOCKGATE_ORACLES` names, then below `target/toolkits`.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    if let Some(folder) = std::env::var_os("BLOCKGATE_ORACLES") {
        return Some(PathBuf::from(folder).join(program)).filter(|path| path.is_file());
    }
    let toolkits = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/toolkits");
    let is_program = |path: &Path| path.ends_with(Path::new("bin").join(program));
    files(&toolkits, is_program).ok()?.into_iter().next()
}

/// Whether there is anything that goblin reads too: an archive, a host file with device code, a cubin.
fn goblin_has_a_say(path: &Path) -> Result<bool, Failed> {
    let bytes = std::fs::read(path)?;
    let starts = [&b"\x7fELF"[..], b"!<arch>\n"];
    let is_elf_or_archive = starts.iter().any(|start| bytes.starts_with(start));
    let has_cubin = |artifact: &Artifact<'_>| artifact.images.iter().any(|i| i.kind == ImageKind::Cubin);
    Ok(is_elf_or_archive || read(&bytes, &Limits::default()).is_ok_and(|artifact| has_cubin(&artifact)))
}

fn goblin(name: &str, path: &Path) -> Result<(), Failed> {
    let bytes = std::fs::read(path)?;
    let limits = Limits::default();
    let artifact = match read(&bytes, &limits) {
        Ok(artifact) => artifact,
        Err(error) => return both_refuse(name, &error, goblin::elf::Elf::parse(&bytes).is_err()),
    };
    let mut compared = 0;
    match artifact.format {
        FileFormat::Archive => compared += goblin_archive(&artifact, &bytes)?,
        FileFormat::ElfRelocatable | FileFormat::ElfExecutable | FileFormat::ElfShared => {
            compared += goblin_host(&artifact, &bytes)?;
        }
        _ => {}
    }
    for image in artifact
        .images
        .iter()
        .filter(|image| image.kind == ImageKind::Cubin)
    {
        compared += 1;
        let content = match image.decode(&limits) {
            Ok(content) => content,
            Err(error) => {
                // The other reader does not decompress.
                both_refuse(name, &error, false)?;
                continue;
            }
        };
        let theirs = goblin_kernels(&content);
        let inspection = match image.inspect(
            &limits,
            &InspectOptions {
                sass: SassDetail::Off,
            },
        ) {
            Ok(inspection) => inspection,
            Err(error) => {
                both_refuse(name, &error, theirs.is_err())?;
                continue;
            }
        };
        let ours: Vec<_> = inspection
            .kernels
            .iter()
            .map(|kernel| (kernel.name.clone(), kernel.code_bytes, kernel.is_entry))
            .collect();
        same(&theirs?, &ours, "code sections")?;
    }
    if compared == 0 {
        return Err("nothing was compared".into());
    }
    Ok(())
}

/// What this reader refuses, the other one refuses too, or it is among the inputs that must be refused.
fn both_refuse(name: &str, error: &blockgate_fatbin::Error, they_refuse: bool) -> Result<(), Failed> {
    if they_refuse || edge::is_known_to_be_refused(name) {
        Ok(())
    } else {
        Err(format!("only this reader refuses: {error}").into())
    }
}

fn goblin_kernels(content: &[u8]) -> Result<Vec<(String, u64, bool)>, Failed> {
    let elf = goblin::elf::Elf::parse(content)?;
    let launchable: Vec<_> = elf
        .syms
        .iter()
        .filter(|symbol| symbol.is_function() && symbol.st_other & 0x10 != 0)
        .filter_map(|symbol| elf.strtab.get_at(symbol.st_name))
        .collect();
    Ok(elf
        .section_headers
        .iter()
        .filter(|header| {
            header.is_executable() && header.sh_type == goblin::elf::section_header::SHT_PROGBITS
        })
        .filter_map(|header| {
            let name = elf.shdr_strtab.get_at(header.sh_name)?.strip_prefix(".text.")?;
            Some((name.to_owned(), header.sh_size, launchable.contains(&name)))
        })
        .collect())
}

/// Every image lies in the section that it names, and every such section starts with its first image. Gives how many
/// sections there were to look at, device sections or not.
fn goblin_host(artifact: &Artifact<'_>, bytes: &[u8]) -> Result<usize, Failed> {
    let elf = goblin::elf::Elf::parse(bytes)?;
    let mut placed = 0;
    for header in &elf.section_headers {
        let name = elf.shdr_strtab.get_at(header.sh_name).unwrap_or_default();
        if !matches!(name, ".nv_fatbin" | "__nv_relfatbin") {
            continue;
        }
        let range = header.sh_offset..header.sh_offset + header.sh_size;
        let inside: Vec<_> = artifact
            .images
            .iter()
            .filter(|image| image.section.as_deref() == Some(name) && range.contains(&image.offset))
            .collect();
        let first = inside.first().ok_or_else(|| format!("{name} has no image"))?;
        let header_of_first = first
            .container()
            .map_or(first.offset, |container| container.offset);
        same(&(header.sh_offset + 16), &header_of_first, "the first entry")?;
        placed += inside.len();
    }
    same(&placed, &artifact.images.len(), "images in device sections")?;
    Ok(elf.section_headers.len())
}

/// Gives how many members were compared; an archive that the other reader refuses counts as one.
fn goblin_archive(artifact: &Artifact<'_>, bytes: &[u8]) -> Result<usize, Failed> {
    let theirs = match goblin_members(bytes, "", 0) {
        Ok(theirs) => theirs,
        // Where the other reader gives up, this one has to say that something is wrong.
        Err(_) if has_errors(artifact) => return Ok(1),
        Err(error) => return Err(error.into()),
    };
    let ours: Vec<_> = artifact
        .members
        .iter()
        .map(|member| {
            let name = member.name.as_deref().unwrap_or_default().to_owned();
            (name, member.offset, member.data.len() as u64)
        })
        .collect();
    same(&theirs, &ours, "archive members")?;
    Ok(ours.len())
}

/// Name, offset and size of each member. Those of an archive inside the archive stand in its place.
fn goblin_members(
    bytes: &[u8],
    prefix: &str,
    offset: u64,
) -> Result<Vec<(String, u64, u64)>, goblin::error::Error> {
    let archive = goblin::archive::Archive::parse(bytes)?;
    let mut members = Vec::new();
    for member in (0..archive.len()).filter_map(|index| archive.get_at(index)) {
        let name = member.extended_name().trim_end_matches('/');
        let (start, size) = (member.offset, member.size() as u64);
        // The symbol table of a BSD archive is no member; and members behind the end of the file are not there.
        let content = usize::try_from(start)
            .ok()
            .and_then(|start| bytes.get(start..start + member.size()));
        let Some(content) = content.filter(|_| name != "__.SYMDEF") else {
            continue;
        };
        let name = format!("{prefix}{name}");
        if prefix.is_empty() && content.starts_with(b"!<arch>\n") {
            members.extend(goblin_members(content, &format!("{name}/"), start)?);
        } else {
            members.push((name, offset + start, size));
        }
    }
    Ok(members)
}

fn has_errors(artifact: &Artifact<'_>) -> bool {
    artifact
        .defects
        .iter()
        .any(|defect| defect.severity == Severity::Error)
}

fn same<T: PartialEq + std::fmt::Debug>(theirs: &T, ours: &T, what: &str) -> Result<(), Failed> {
    if theirs == ours {
        Ok(())
    } else {
        Err(format!("{what} differ:\ntheirs {theirs:?}\nours   {ours:?}").into())
    }
}

/// What cuobjdump said of one file.
#[derive(Clone, Default)]
struct Listing {
    names: Vec<String>,
    /// It stopped with an error.
    fatal: bool,
    /// It found nothing to read.
    no_device_code: bool,
}

impl Listing {
    fn add(&mut self, line: &str) {
        if let Some((head, name)) = line.split_once(": ")
            && (head.starts_with("ELF file") || head.starts_with("PTX file"))
        {
            self.names.push(name.to_owned());
        }
        self.fatal |= line.contains("cuobjdump fatal");
        self.no_device_code |= line.contains("does not contain device code");
    }
}

/// The listing that came with the inputs: one block per file, which starts with `### ./path`.
fn recorded_listings() -> Result<BTreeMap<String, Listing>, Failed> {
    let text = std::fs::read_to_string(fixtures().join("cuobjdump-13.5-listing.txt"))?;
    let mut listings: BTreeMap<String, Listing> = BTreeMap::new();
    let mut current = None;
    for line in text.lines() {
        if let Some(path) = line.strip_prefix("### ./") {
            current = Some(path.to_owned());
            listings.entry(path.to_owned()).or_default();
        } else if let Some(listing) = current.as_ref().and_then(|path| listings.get_mut(path)) {
            listing.add(line);
        }
    }
    Ok(listings)
}

fn run_cuobjdump(program: &Path, path: &Path) -> Result<(), Failed> {
    let output = Command::new(program)
        .args(["-lelf", "-lptx", "-all"])
        .arg(path)
        .output()?;
    let mut listing = Listing::default();
    for bytes in [&output.stdout, &output.stderr] {
        String::from_utf8_lossy(bytes)
            .lines()
            .for_each(|line| listing.add(line));
    }
    compare_listing(path, &listing)
}

/// Both must list the same, except where cuobjdump is known to be blind: it does not read bare PTX, it stops at the
/// first defect, and it never shows the suffix `f` of machine code (its names are made the way it makes them).
fn compare_listing(path: &Path, listing: &Listing) -> Result<(), Failed> {
    let bytes = std::fs::read(path)?;
    let limits = Limits::default();
    let artifact = match read(&bytes, &limits) {
        Ok(artifact) => artifact,
        Err(_) if listing.fatal || listing.no_device_code => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    if artifact.format == FileFormat::Ptx {
        return same(
            &true,
            &listing.no_device_code,
            "whether bare PTX is read by cuobjdump",
        );
    }
    let (names, unreadable) = cuobjdump_names(&artifact, path, &limits)?;
    if listing.fatal {
        let reported = unreadable || has_errors(&artifact);
        same(&true, &reported, "whether something is wrong")?;
        let theirs_are_ours = listing.names.iter().all(|name| names.contains(name));
        return same(&true, &theirs_are_ours, "whether ours include theirs");
    }
    if listing.no_device_code {
        return same(
            &true,
            &artifact.images.is_empty(),
            "whether there is no device code",
        );
    }
    let sorted = |names: &[String]| {
        let mut names = names.to_vec();
        names.sort();
        names
    };
    same(&sorted(&listing.names), &sorted(&names), "listings")
}

/// The names under which cuobjdump would list the images, and whether one could not be read.
fn cuobjdump_names(
    artifact: &Artifact<'_>,
    path: &Path,
    limits: &Limits,
) -> Result<(Vec<String>, bool), Failed> {
    let stem = path
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let (mut cubins, mut texts) = (0, 0);
    let mut unreadable = false;
    let mut names = Vec::new();
    for image in &artifact.images {
        let (index, arch, extension) = match image.kind {
            ImageKind::Cubin => {
                cubins += 1;
                match image.inspect(
                    limits,
                    &InspectOptions {
                        sass: SassDetail::Off,
                    },
                ) {
                    Ok(inspection) => (cubins, inspection.arch_evidence.content, "cubin"),
                    Err(_) => {
                        unreadable = true;
                        continue;
                    }
                }
            }
            ImageKind::Ptx => {
                texts += 1;
                (texts, image.declared, "ptx")
            }
            _ => continue,
        };
        let arch = arch.ok_or("an image without architecture")?;
        let base = match &image.ident {
            Some(ident) => Path::new(ident)
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .replace(' ', "-"),
            None if artifact.format == FileFormat::Cubin => stem.clone(),
            None => format!("{stem}.{index}"),
        };
        names.push(format!("{base}.{arch}.{extension}"));
    }
    Ok((names, unreadable))
}

/// Whether there is a cubin of an architecture that the program knows.
fn nvdisasm_has_a_say(path: &Path) -> Result<bool, Failed> {
    let bytes = std::fs::read(path)?;
    let limits = Limits::default();
    let Ok(artifact) = read(&bytes, &limits) else {
        return Ok(false);
    };
    Ok(artifact
        .images
        .iter()
        .filter(|image| image.kind == ImageKind::Cubin)
        .filter_map(|image| {
            image
                .inspect(
                    &limits,
                    &InspectOptions {
                        sass: SassDetail::Off,
                    },
                )
                .ok()
        })
        .any(|inspection| is_known_to_13(inspection.arch)))
}

fn is_known_to_13(arch: Arch) -> bool {
    (arch.major(), arch.minor()) >= FIRST_OF_13
}

/// An architecture, without its suffix, and machine code for it.
type Code = (Arch, Vec<u8>);

/// Machine code that was compared already: the inputs repeat much of it, and a disassembler takes its time.
static COMPARED: LazyLock<Mutex<HashSet<Code>>> = LazyLock::new(Mutex::default);

/// Every kernel of every cubin has the same mnemonics as nvdisasm prints, some of them with all modifiers.
fn run_nvdisasm(program: &Path, path: &Path) -> Result<(), Failed> {
    let bytes = std::fs::read(path)?;
    let limits = Limits::default();
    let artifact = read(&bytes, &limits)?;
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR"));
    std::fs::create_dir_all(scratch)?;
    for (index, image) in artifact.images.iter().enumerate() {
        if image.kind != ImageKind::Cubin {
            continue;
        }
        let inspection = image.inspect(&limits, &InspectOptions::default())?;
        if !is_known_to_13(inspection.arch) {
            continue;
        }
        let content = image.decode(&limits)?;
        let mut code = Vec::new();
        for section in Cubin::parse(&content, 0)?.code_sections() {
            code.extend_from_slice(section?.bytes);
        }
        let new = COMPARED
            .lock()
            .map_err(|_| "another trial panicked")?
            .insert((inspection.arch.with_scope(Scope::Plain), code));
        if !new {
            continue;
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let file = scratch.join(format!("{name}-{index}-{}.cubin", std::process::id()));
        std::fs::write(&file, content)?;
        let output = Command::new(program).arg("-c").arg(&file).output();
        std::fs::remove_file(&file)?;
        let output = output?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
        }
        let theirs = disassembled(&String::from_utf8_lossy(&output.stdout));
        let ours: BTreeMap<_, BTreeMap<_, _>> = inspection
            .kernels
            .iter()
            .map(|kernel| {
                let counts = kernel.sass.iter().map(|(name, count)| (name.to_owned(), count));
                (kernel.name.clone(), counts.collect())
            })
            .collect();
        same(&theirs, &ours, &format!("mnemonics of image {index}"))?;
    }
    Ok(())
}

/// Mnemonics by function of what `nvdisasm -c` prints.
fn disassembled(text: &str) -> BTreeMap<String, BTreeMap<String, u64>> {
    let mut functions: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
    let mut current = String::new();
    for line in text.lines() {
        if let Some(name) = line.trim().strip_prefix(".section\t.text.") {
            current = name
                .split(',')
                .next()
                .unwrap_or(name)
                .trim_matches('"')
                .to_owned();
            functions.entry(current.clone()).or_default();
        }
        let Some((address, instruction)) = line.trim().strip_prefix("/*").and_then(|l| l.split_once("*/"))
        else {
            continue;
        };
        if u64::from_str_radix(address, 16).is_err() {
            continue;
        }
        let mut words = instruction
            .split_whitespace()
            .filter(|word| !word.starts_with('@'));
        let Some(mnemonic) = words.next() else {
            continue;
        };
        let mnemonic = mnemonic.trim_end_matches(';');
        let base = mnemonic.split('.').next().unwrap_or(mnemonic);
        let counted = if WITH_MODIFIERS.contains(&base) {
            mnemonic
        } else {
            base
        };
        *functions
            .entry(current.clone())
            .or_default()
            .entry(counted.to_owned())
            .or_default() += 1;
    }
    functions
}
