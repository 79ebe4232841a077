//! Writes `src/sass/opcodes.rs` from the opcode data, or checks that it is up to date.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use blockgate_arch::{Arch, Scope};
use blockgate_fatbin::{Histogram, InspectOptions, Limits, can_name, read};
use libtest_mimic::{Failed, Trial};
use serde_json::Value;

use crate::goldens::inputs;
use crate::support::{compare_or_bless, fixtures};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        Trial::test("generated/opcodes", || {
            let data: Value = serde_json::from_slice(&std::fs::read(fixtures().join("sass-opcodes.json"))?)?;
            let source = generate(&data).ok_or("the opcode data has another shape")?;
            compare_or_bless(&generated_file(), &source)
        }),
        Trial::test("vocabulary/every-counted-name-is-in-it", every_counted_name),
    ]
}

/// What `can_name` denies must not be found in any input.
fn every_counted_name() -> Result<(), Failed> {
    let limits = Limits::default();
    let mut total = Histogram::default();
    for path in inputs()?.into_values() {
        let bytes = std::fs::read(path)?;
        let Ok(artifact) = read(&bytes, &limits) else {
            continue;
        };
        for image in &artifact.images {
            if let Ok(inspection) = image.inspect(&limits, &InspectOptions::default()) {
                total.merge(&inspection.sass);
            }
        }
    }
    if total.is_empty() {
        return Err("no input has an instruction".into());
    }
    match total.iter().find(|(name, _)| !can_name(|known| known == *name)) {
        Some((name, _)) => Err(format!("{name} was counted").into()),
        None => Ok(()),
    }
}

fn generated_file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/sass/opcodes.rs")
}

/// The source text; `None` where the data does not have the expected shape.
fn generate(data: &Value) -> Option<String> {
    let classes = data.get("classes")?.as_array()?;
    let mut names = BTreeSet::new();
    for class in classes {
        names.extend(
            class
                .get("operations")?
                .as_object()?
                .values()
                .filter_map(Value::as_str),
        );
        for exception in class.get("exceptions")?.as_object()?.values() {
            names.extend(exception.as_str());
            names.extend(
                ["clear", "set"]
                    .iter()
                    .filter_map(|key| exception.get(key)?.as_str()),
            );
        }
    }
    let ids: BTreeMap<&str, usize> = names.iter().enumerate().map(|(id, &name)| (name, id)).collect();

    let mut out = String::from(HEAD);
    let _ = writeln!(out, "\n/// Every base mnemonic, sorted.");
    let _ = writeln!(
        out,
        "#[rustfmt::skip]\npub(crate) static NAMES: [&str; {}] = [",
        names.len()
    );
    let quoted: Vec<_> = names.iter().map(|name| format!("{name:?},")).collect();
    for row in quoted.chunks(8) {
        let _ = writeln!(out, "    {}", row.join(" "));
    }
    let _ = writeln!(out, "];\n\n/// One row per class of architectures.");
    let _ = writeln!(out, "pub(super) static CLASSES: [Class; {}] = [", classes.len());
    for class in classes {
        let name = class.get("name")?.as_str()?;
        let mut capabilities = Vec::new();
        for number in class.get("sm")?.as_array()? {
            let arch = Arch::from_number(u32::try_from(number.as_u64()?).ok()?, Scope::Plain)?;
            capabilities.push(format!("({}, {})", arch.major(), arch.minor()));
        }
        let capabilities = capabilities.join(", ");
        let _ = writeln!(out, "    Class {{\n        capabilities: &[{capabilities}],");
        let _ = writeln!(out, "        operations: &OPERATIONS_{name},");
        let _ = writeln!(out, "        exceptions: &EXCEPTIONS_{name},\n    }},");
    }
    let _ = writeln!(out, "];");
    for class in classes {
        class_tables(class, &ids, &mut out)?;
    }
    Some(out)
}

const HEAD: &str = "\
//! Opcode tables, generated from fixtures/fatbin/sass-opcodes.json. Do not edit by hand:
//! `BLOCKGATE_BLESS=1 cargo test -p blockgate-fatbin generated/opcodes` writes this file.

use super::{Class, Exception};

/// How many operations the low 9 bits can name.
pub(super) const OPERATIONS: usize = 512;

/// An operation that the class does not have.
pub(super) const NO_NAME: u16 = u16::MAX;
";

fn class_tables(class: &Value, ids: &BTreeMap<&str, usize>, out: &mut String) -> Option<()> {
    let name = class.get("name")?.as_str()?;
    let id = |name: &Value| ids.get(name.as_str()?).copied();
    let mut operations = vec!["NO_NAME".to_owned(); 512];
    for (low9, name) in class.get("operations")?.as_object()? {
        *operations.get_mut(usize::from_str_radix(low9, 16).ok()?)? = id(name)?.to_string();
    }
    let _ = writeln!(
        out,
        "\n#[rustfmt::skip]\nstatic OPERATIONS_{name}: [u16; OPERATIONS] = ["
    );
    for row in operations.chunks(16) {
        let _ = writeln!(out, "    {},", row.join(", "));
    }
    let exceptions = class.get("exceptions")?.as_object()?;
    let _ = writeln!(
        out,
        "];\n\n#[rustfmt::skip]\nstatic EXCEPTIONS_{name}: [(u16, Exception); {}] = [",
        exceptions.len()
    );
    for (low12, exception) in exceptions {
        let row = if exception.is_string() {
            format!("Exception::Name({})", id(exception)?)
        } else {
            let bit = exception.get("bit")?;
            // All deciding bits are in the low half of the upper word.
            let shift = u32::try_from(bit.as_u64()?).ok()?.checked_sub(64)?;
            let mask = 1_u32.checked_shl(shift)?;
            let (clear, set) = (id(exception.get("clear")?)?, id(exception.get("set")?)?);
            format!("Exception::Bit {{ hi_mask: {mask:#x}, clear: {clear}, set: {set} }}")
        };
        let _ = writeln!(out, "    (0x{low12}, {row}),");
    }
    let _ = writeln!(out, "];");
    Some(())
}
