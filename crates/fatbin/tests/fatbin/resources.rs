//! What kernels take: a table over all inputs, and what `ptxas -v` said when it made some of them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use blockgate_fatbin::{
    ConstantBank, ImageKind, InspectOptions, Inspection, Kernel, Limits, Resources, Spills, read,
};
use libtest_mimic::{Failed, Trial};

use crate::goldens::inputs;
use crate::support::{compare_or_bless, fixtures};

pub(crate) fn trials() -> Result<Vec<Trial>, Failed> {
    let mut trials = vec![
        Trial::test("resources/table", table),
        Trial::test("resources/damaged-kernel", damaged_kernel),
        Trial::test("resources/damaged-functions", damaged_functions),
        Trial::test("resources/every-byte-of-the-lists", every_byte),
    ];
    for (name, said) in recorded()? {
        trials.push(Trial::test(format!("resources/ptxas-v/{name}"), move || {
            compare(&fixtures().join("resources").join(&name), &said)
        }));
    }
    Ok(trials)
}

/// Every cubin of a file that can be read.
pub(crate) fn inspections(path: &Path) -> Result<Vec<(Vec<u8>, Inspection)>, Failed> {
    let bytes = std::fs::read(path)?;
    let limits = Limits::default();
    let Ok(artifact) = read(&bytes, &limits) else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    for image in artifact
        .images
        .iter()
        .filter(|image| image.kind == ImageKind::Cubin)
    {
        let Ok(inspection) = image.inspect(&limits, &InspectOptions::default()) else {
            continue;
        };
        found.push((image.decode(&limits)?.into_owned(), inspection));
    }
    Ok(found)
}

/// One line per kernel of every input. Images that repeat are listed where they first are.
fn table() -> Result<(), Failed> {
    let mut text = String::new();
    let mut seen = BTreeMap::new();
    for (name, path) in inputs()? {
        for (index, (content, inspection)) in inspections(&path)?.into_iter().enumerate() {
            if seen.insert(content, ()).is_some() {
                continue;
            }
            writeln!(
                text,
                "{name} {index} {}: {}",
                inspection.arch,
                module(&inspection)?
            )?;
            for kernel in &inspection.kernels {
                writeln!(text, "  {} {}", kernel.name, line(kernel)?)?;
            }
        }
    }
    compare_or_bless(&fixtures().join("kernel-resources.txt"), &text)
}

fn module(inspection: &Inspection) -> Result<String, Failed> {
    let module = inspection.module.as_ref().ok_or("no module resources")?;
    let note = inspection.cuda_note.map(|note| {
        let toolkit = note.toolkit.map(|toolkit| format!(" of {toolkit}"));
        format!(", compute_{}{}", note.virtual_arch, toolkit.unwrap_or_default())
    });
    let builds: String = inspection
        .tools
        .iter()
        .map(|tool| format!(", {} `{}`", tool.name, tool.build))
        .collect();
    Ok(format!(
        "global {}{}{}{builds}",
        module.global_bytes,
        banks(&module.constants),
        note.unwrap_or_default(),
    ))
}

fn banks(banks: &[ConstantBank]) -> String {
    banks
        .iter()
        .map(|bank| format!(" c{}={}", bank.bank, bank.bytes))
        .collect()
}

fn line(kernel: &Kernel) -> Result<String, Failed> {
    fn known<T: std::fmt::Debug>(value: Option<T>) -> String {
        value.map_or_else(|| "-".to_owned(), |value| format!("{value:?}"))
    }
    let all = kernel.resources.as_ref().ok_or("no resources")?;
    let Resources {
        registers,
        register_limit,
        max_threads,
        exact_threads,
        barriers,
        shared_bytes,
        static_shared_bytes,
        frame_bytes,
        stack_bytes,
        local_bytes,
        constants,
        parameter_bytes,
        local_loads,
        local_stores,
        spills,
    } = all.clone();
    let spills = spills.map(|spills| {
        let Spills {
            instructions,
            store_bytes,
            load_bytes,
            shared_store_bytes,
            shared_load_bytes,
        } = spills;
        (
            instructions,
            store_bytes,
            load_bytes,
            shared_store_bytes,
            shared_load_bytes,
        )
    });
    Ok(format!(
        "{} regs={}/{} threads={}/{} barriers={} shared={shared_bytes}/{static_shared_bytes} frame={} stack={} \
         local={local_bytes}{} params={} LDL={} STL={} spills={}",
        if kernel.is_entry { "entry" } else { "function" },
        known(registers),
        known(register_limit),
        known(max_threads),
        known(exact_threads),
        known(barriers),
        known(frame_bytes),
        known(stack_bytes),
        banks(&constants),
        known(parameter_bytes),
        known(local_loads),
        known(local_stores),
        known(spills),
    ))
}

/// What `ptxas -v` said of one function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Said {
    is_entry: bool,
    frame_bytes: u32,
    store_bytes: u64,
    load_bytes: u64,
    registers: Option<u32>,
    barriers: Option<u32>,
    shared_bytes: u64,
    constants: Vec<ConstantBank>,
}

/// By file and function, as the recipe of the inputs wrote it down.
fn recorded() -> Result<BTreeMap<String, BTreeMap<String, Said>>, Failed> {
    let text = std::fs::read_to_string(fixtures().join("resources/ptxas-v.txt"))?;
    let mut files: BTreeMap<String, BTreeMap<String, Said>> = BTreeMap::new();
    let (mut file, mut function, mut entry) = (String::new(), String::new(), String::new());
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("### ") {
            name.clone_into(&mut file);
            entry.clear();
            continue;
        }
        let functions = files.entry(file.clone()).or_default();
        if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            entry = rest.split('\'').next().unwrap_or_default().to_owned();
            functions.entry(entry.clone()).or_default().is_entry = true;
        } else if let Some((_, name)) = line.split_once("Function properties for ") {
            name.clone_into(&mut function);
        } else if line.contains("bytes spill stores") {
            let [frame, stores, loads] =
                numbers_before(line, ["bytes stack", "bytes spill s", "bytes spill l"]);
            let said = functions.entry(function.clone()).or_default();
            said.frame_bytes = u32::try_from(frame.unwrap_or(0))?;
            said.store_bytes += stores.unwrap_or(0);
            said.load_bytes += loads.unwrap_or(0);
            if function != entry && !entry.is_empty() {
                // A function within the code of the kernel: what it spills counts for the kernel.
                let kernel = functions.entry(entry.clone()).or_default();
                kernel.store_bytes += stores.unwrap_or(0);
                kernel.load_bytes += loads.unwrap_or(0);
            }
        } else if line.contains("Used ") {
            let [registers, barriers, shared] = numbers_before(line, ["registers", "barriers", "bytes smem"]);
            let said = functions.entry(entry.clone()).or_default();
            said.registers = registers.map(u32::try_from).transpose()?;
            said.barriers = barriers.map(u32::try_from).transpose()?;
            said.shared_bytes = shared.unwrap_or(0);
            for bank in 0..8 {
                let [bytes] = numbers_before(line, [&format!("bytes cmem[{bank}]")]);
                said.constants
                    .extend(bytes.map(|bytes| ConstantBank { bank, bytes }));
            }
        }
    }
    Ok(files)
}

/// The number that stands before each of `words`.
fn numbers_before<const N: usize>(line: &str, words: [&str; N]) -> [Option<u64>; N] {
    words.map(|word| {
        let before = line.split(word).next().filter(|before| *before != line)?;
        before.split_whitespace().last()?.parse().ok()
    })
}

fn compare(path: &Path, said: &BTreeMap<String, Said>) -> Result<(), Failed> {
    /// The first compute capability of which `ptxas -v` no longer tells the constant banks.
    const WITHOUT_BANKS: u16 = 9;
    let found = inspections(path)?;
    let [(_, inspection)] = found.as_slice() else {
        return Err("not one cubin".into());
    };
    let lists_spills = inspection.toolkit.ok_or("no toolkit")? >= "12.8".parse()?;
    for kernel in &inspection.kernels {
        let said = said
            .get(&kernel.name)
            .ok_or_else(|| format!("`ptxas -v` does not have {}", kernel.name))?;
        let ours = kernel.resources.as_ref().ok_or("no resources")?;
        let spilled = ours.spills.map(|spills| {
            // To shared memory is told as part of neither.
            (spills.store_bytes, spills.load_bytes)
        });
        let knows = lists_spills && kernel.is_entry;
        let expected = knows.then_some((said.store_bytes, said.load_bytes));
        same(&kernel.name, "spills", &expected, &spilled)?;
        same(&kernel.name, "entry", &said.is_entry, &kernel.is_entry)?;
        same(&kernel.name, "frame", &Some(said.frame_bytes), &ours.frame_bytes)?;
        if !said.is_entry {
            continue;
        }
        same(&kernel.name, "registers", &said.registers, &ours.registers)?;
        let barriers = said.barriers.or(ours.barriers);
        same(&kernel.name, "barriers", &barriers, &ours.barriers)?;
        same(
            &kernel.name,
            "shared memory",
            &said.shared_bytes,
            &ours.static_shared_bytes,
        )?;
        if inspection.arch.major() < WITHOUT_BANKS {
            same(&kernel.name, "constant banks", &said.constants, &ours.constants)?;
        }
    }
    if inspection.kernels.is_empty() {
        return Err("nothing was compared".into());
    }
    Ok(())
}

pub(crate) fn same<T: PartialEq + std::fmt::Debug>(
    kernel: &str,
    what: &str,
    theirs: &T,
    ours: &T,
) -> Result<(), Failed> {
    if theirs == ours {
        Ok(())
    } else {
        Err(format!("{what} of {kernel} differ: theirs {theirs:?}, ours {ours:?}").into())
    }
}

const DAMAGED: &str = "k_130_90.cubin";

/// The cubin, and where the section of that name lies in it.
fn section(name: &str) -> Result<(Vec<u8>, std::ops::Range<usize>), Failed> {
    let bytes = std::fs::read(fixtures().join("resources").join(DAMAGED))?;
    let elf = goblin::elf::Elf::parse(&bytes)?;
    let header = elf
        .section_headers
        .iter()
        .find(|header| elf.shdr_strtab.get_at(header.sh_name) == Some(name))
        .ok_or("no such section")?;
    let range = header.file_range().ok_or("no content")?;
    Ok((bytes, range))
}

fn inspect(bytes: &[u8]) -> Result<Inspection, Failed> {
    let limits = Limits::default();
    let artifact = read(bytes, &limits)?;
    let image = artifact.images.first().ok_or("no image")?;
    Ok(image.inspect(&limits, &InspectOptions::default())?)
}

fn defects(inspection: &Inspection) -> Vec<String> {
    inspection.defects.iter().map(ToString::to_string).collect()
}

/// What stands in front of the kernels is lost for one of them, and named.
fn damaged_kernel() -> Result<(), Failed> {
    let (mut bytes, range) = section(".nv.info.spilled")?;
    let whole = inspect(&bytes)?;
    bytes[range.start] = 9;
    let damaged = inspect(&bytes)?;
    let expected = format!(
        "error[unreadable-kernel-info] at {:#x}: expected an attribute record of format 1 to 4, found format 9, \
         attribute 55",
        range.start
    );
    same("spilled", "defects", &vec![expected], &defects(&damaged))?;
    for (whole, damaged) in whole.kernels.iter().zip(&damaged.kernels) {
        let (whole, damaged) = (whole.resources.as_ref(), damaged.resources.as_ref());
        let (whole, damaged) = whole.zip(damaged).ok_or("no resources")?;
        if whole.register_limit == Some(24) && whole.spills != damaged.spills {
            same("spilled", "spills", &None, &damaged.spills)?;
            same("spilled", "barriers", &None, &damaged.barriers)?;
            same("spilled", "registers", &whole.registers, &damaged.registers)?;
        } else {
            same("others", "resources", whole, damaged)?;
        }
    }
    Ok(())
}

/// A function that is no symbol, and a record of another size than it must have.
fn damaged_functions() -> Result<(), Failed> {
    let (bytes, range) = section(".nv.info")?;
    for (at, value, expected) in [
        (4, 0xff, "expected a function among 36 symbols, found number 255"),
        (
            2,
            4,
            "expected a symbol and a number, 8 bytes, found 0x4 bytes for attribute 0x2f",
        ),
    ] {
        let mut bytes = bytes.clone();
        bytes[range.start + at] = value;
        let damaged = inspect(&bytes)?;
        let expected = format!("error[unreadable-kernel-info] at {:#x}: {expected}", range.start);
        same("all", "defects", &vec![expected], &defects(&damaged))?;
        let known = damaged.kernels.iter().filter(|kernel| {
            let resources = kernel.resources.as_ref();
            resources.is_some_and(|all| all.registers.is_some())
        });
        same("all", "kernels whose registers are known", &0, &known.count())?;
    }
    Ok(())
}

/// Whatever a byte of the lists says, the image is read, and a list that is damaged leaves a defect or another number.
fn every_byte() -> Result<(), Failed> {
    let mut tried = 0;
    for name in [".nv.info", ".nv.info.calls", ".nv.info.static_shared"] {
        let (bytes, range) = section(name)?;
        for at in range {
            for value in [0, 1, 4, 0x7f, 0xff] {
                let mut bytes = bytes.clone();
                bytes[at] = value;
                let inspection = inspect(&bytes)?;
                same("all", "kernels", &8, &inspection.kernels.len())?;
                tried += 1;
            }
        }
    }
    same("all", "whether enough was tried", &true, &(tried > 4000))
}
