//! What kernels take, beside what NVIDIA's `cuobjdump -res-usage` says, where it is installed.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::process::Command;
use std::sync::{LazyLock, Mutex};

use blockgate_fatbin::{ConstantBank, Inspection, Resources};
use libtest_mimic::{Failed, Trial};

use crate::goldens::inputs;
use crate::oracles::{find, oracle_trial};
use crate::resources::{inspections, same};

pub(crate) fn trials() -> Result<Vec<Trial>, Failed> {
    let cuobjdump = find("cuobjdump");
    let mut trials = Vec::new();
    for (name, path) in inputs()? {
        if inspections(&path)?.is_empty() {
            continue;
        }
        let program = cuobjdump.clone();
        let installed = program.is_some();
        let trial = oracle_trial("cuobjdump", &format!("resources/{name}"), installed, move || {
            run(program.as_deref().ok_or("no program")?, &path)
        });
        trials.push(trial);
    }
    Ok(trials)
}

/// Cubins that were compared already: the inputs repeat many of them.
static COMPARED: LazyLock<Mutex<HashSet<Vec<u8>>>> = LazyLock::new(Mutex::default);

fn run(program: &Path, path: &Path) -> Result<(), Failed> {
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR"));
    std::fs::create_dir_all(scratch)?;
    for (index, (content, inspection)) in inspections(path)?.into_iter().enumerate() {
        let new = COMPARED
            .lock()
            .map_err(|_| "another trial panicked")?
            .insert(content.clone());
        if !new {
            continue;
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let file = scratch.join(format!("{name}-{index}-{}-resources.cubin", std::process::id()));
        std::fs::write(&file, content)?;
        let output = Command::new(program).arg("-res-usage").arg(&file).output();
        std::fs::remove_file(&file)?;
        let output = output?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
        }
        compare(&Said::of(&String::from_utf8_lossy(&output.stdout)), &inspection)?;
    }
    Ok(())
}

/// What the program printed: numbers by their labels, such as `CONSTANT[0]`.
#[derive(Default)]
struct Said {
    common: BTreeMap<String, u64>,
    functions: BTreeMap<String, BTreeMap<String, u64>>,
}

impl Said {
    fn of(text: &str) -> Self {
        let mut said = Self::default();
        let mut function = None;
        for line in text.lines() {
            if let Some(name) = line.strip_prefix(" Function ") {
                let name = name.trim_end_matches(':').to_owned();
                said.functions.entry(name.clone()).or_default();
                function = Some(name);
                continue;
            }
            let numbers = match function.as_ref().and_then(|name| said.functions.get_mut(name)) {
                Some(numbers) => numbers,
                None => &mut said.common,
            };
            numbers.extend(line.split_whitespace().filter_map(|word| {
                let (label, number) = word.rsplit_once(':')?;
                Some((label.to_owned(), number.parse().ok()?))
            }));
        }
        said
    }
}

fn compare(said: &Said, inspection: &Inspection) -> Result<(), Failed> {
    let module = inspection.module.as_ref().ok_or("no module resources")?;
    let common = said.common.get("GLOBAL").copied().unwrap_or(0);
    same("all", "global variables", &common, &module.global_bytes)?;
    same("all", "constants", &banks(&said.common), &module.constants)?;
    let theirs: Vec<_> = said.functions.keys().cloned().collect();
    let mut ours: Vec<_> = inspection
        .kernels
        .iter()
        .map(|kernel| kernel.name.clone())
        .collect();
    ours.sort();
    same("all", "functions", &theirs, &ours)?;
    for kernel in &inspection.kernels {
        let name = &kernel.name;
        let numbers = said.functions.get(name).ok_or("no such function")?;
        let number = |label| numbers.get(label).copied().unwrap_or(0);
        let Resources {
            registers,
            stack_bytes,
            shared_bytes,
            local_bytes,
            constants,
            ..
        } = kernel.resources.as_ref().ok_or("no resources")?;
        // From sm_90 on the program says 0 registers of every function that no host launches.
        if kernel.is_entry || number("REG") != 0 {
            same(name, "registers", &Some(number("REG")), &registers.map(u64::from))?;
        }
        same(name, "stack", &number("STACK"), &stack_bytes.map_or(0, u64::from))?;
        same(name, "shared memory", &number("SHARED"), shared_bytes)?;
        same(name, "local memory", &number("LOCAL"), local_bytes)?;
        same(name, "constants", &banks(numbers), constants)?;
    }
    Ok(())
}

fn banks(numbers: &BTreeMap<String, u64>) -> Vec<ConstantBank> {
    let mut banks: Vec<ConstantBank> = numbers
        .iter()
        .filter_map(|(label, bytes)| {
            let bank = label.strip_prefix("CONSTANT[")?.strip_suffix(']')?.parse().ok()?;
            Some(ConstantBank { bank, bytes: *bytes })
        })
        .collect();
    banks.sort_unstable();
    banks
}
