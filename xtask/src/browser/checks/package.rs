//! Files of a package, what kernels take, and what a policy says.

use std::collections::BTreeMap;

use anyhow::{Context as _, ensure};
use serde_json::Value;

use super::{IMAGES, equal, images, open};
use crate::browser::devtools::Tab;
use crate::browser::pages::{Pages, WAIVED};
use crate::browser::probes::{self, column};

const KERNELS: &str = "#kernels-data-table";
const MEMBERS: &str = "#members-data-table";

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The cells of two columns as one list of pairs, in order of their text.
fn pairs(tab: &mut Tab, table: &str, labels: [&str; 2]) -> anyhow::Result<Vec<(String, String)>> {
    let one: Vec<String> = tab.eval(&column(table, labels[0]))?;
    let other: Vec<String> = tab.eval(&column(table, labels[1]))?;
    let mut pairs: Vec<_> = one.into_iter().zip(other).collect();
    pairs.sort_unstable();
    Ok(pairs)
}

pub(super) fn files(tab: &mut Tab, pages: &Pages) -> anyhow::Result<()> {
    open(tab, &pages.wheel)?;
    let input = &pages.wheel.report["inputs"][0];
    let members = input["members"].as_array().context("the wheel has no members")?;
    let mut expected: Vec<(String, String)> = members
        .iter()
        .map(|member| (text(&member["name"]), text(&member["device_code"])))
        .collect();
    expected.sort_unstable();
    equal(
        "members",
        &pairs(tab, MEMBERS, ["Member", "Device code"])?,
        &expected,
    )?;
    let sizes: Vec<u64> = tab.eval(&column(MEMBERS, "Size"))?;
    let expected: Vec<u64> = members
        .iter()
        .filter_map(|member| member["size"].as_u64())
        .collect();
    equal("sizes of members", &sizes, &expected)?;
    let others: Vec<u64> = tab.eval(&column("#inputs table", "Other files"))?;
    equal("other files", &others, &vec![1])?;
    equal("other files in JSON", &input["other_files"], &Value::from(1))?;

    let files: Vec<String> = tab.eval(&column(IMAGES, "File"))?;
    let expected: Vec<String> = images(&pages.wheel.report)
        .iter()
        .map(|image| text(&image["file"]))
        .collect();
    equal("files of images", &files, &expected)?;

    let mut stored: BTreeMap<String, u64> = BTreeMap::new();
    for image in images(&pages.wheel.report) {
        *stored.entry(text(&image["file"])).or_default() += image["stored_size"].as_u64().unwrap_or(0);
    }
    equal("files with device code", &stored.len(), &2)?;
    let cells: BTreeMap<String, u64> = tab.eval(
        "Object.fromEntries([...document.querySelectorAll('#treemap > .cell')].map((cell) => \
         [cell.getAttribute('aria-label').split(': ')[0], Number(cell.dataset.bytes)]))",
    )?;
    equal("the first level of the treemap", &cells, &stored)
}

pub(super) fn resources(tab: &mut Tab, pages: &Pages) -> anyhow::Result<()> {
    open(tab, &pages.wheel)?;
    let functions: Vec<&Value> = images(&pages.wheel.report)
        .iter()
        .flat_map(|image| image["functions"].as_array().into_iter().flatten())
        .collect();
    ensure!(functions.len() > 1, "the fixture has no kernels");
    for (key, label, field) in [
        ("registers", "Registers", "/registers"),
        ("shared", "Shared", "/shared"),
        ("local", "Local", "/local"),
        ("parameters", "Parameters", "/parameters"),
        ("constants.0", "Constant bank 0", "/constants/0"),
    ] {
        tab.click(&probes::header(KERNELS, key))?;
        let found: Vec<Value> = tab.eval(&column(KERNELS, label))?;
        let mut expected: Vec<u64> = functions
            .iter()
            .filter_map(|function| function.pointer(field)?.as_u64())
            .collect();
        ensure!(!expected.is_empty(), "the fixture does not say {label}");
        expected.sort_unstable_by(|one, other| other.cmp(one));
        // What is not known comes last, and is no number.
        let known: Vec<u64> = found.iter().map_while(Value::as_u64).collect();
        equal(label, &known, &expected)?;
        equal("rows", &found.len(), &functions.len())?;
    }
    let mut expected: Vec<(String, String)> = functions
        .iter()
        .map(|function| match function["demangled"].as_str() {
            Some(shown) => (shown.to_owned(), text(&function["name"])),
            None => (text(&function["name"]), "–".to_owned()),
        })
        .collect();
    ensure!(
        expected.iter().any(|(_, mangled)| mangled != "–"),
        "the fixture has no mangled names"
    );
    expected.sort_unstable();
    equal(
        "names",
        &pairs(tab, KERNELS, ["Kernel", "Mangled name"])?,
        &expected,
    )
}

/// Rule and reason of each item of a section.
fn reasons(tab: &mut Tab, section: &str) -> anyhow::Result<Vec<(String, String)>> {
    tab.eval(&format!(
        "[...document.querySelectorAll('#{section} .finding')].map((item) => \
         [item.querySelector('code').textContent, item.querySelector('.reason').lastChild.textContent])"
    ))
}

pub(super) fn policy(tab: &mut Tab, pages: &Pages) -> anyhow::Result<()> {
    open(tab, &pages.wheel)?;
    let (rule, reason) = WAIVED;
    // One for each library of the wheel.
    let expected = vec![(rule.to_owned(), reason.to_owned()); 2];
    equal("waived", &reasons(tab, "waived")?, &expected)?;
    let followed: String = tab.eval("document.querySelector('#policy bdi').textContent")?;
    equal("policy", &followed, &text(&pages.wheel.report["policy"]))?;
    let verdict: String = tab.eval("document.getElementById('verdict').textContent")?;
    ensure!(verdict.ends_with(", 2 waived"), "the verdict is `{verdict}`");

    open(tab, &pages.listed)?;
    let mut expected: Vec<(String, String)> = pages.listed.report["unchecked"]
        .as_array()
        .context("no rules that were not checked")?
        .iter()
        .map(|row| (text(&row["rule"]), text(&row["reason"])))
        .collect();
    ensure!(!expected.is_empty(), "every rule was checked on headers alone");
    expected.sort_unstable();
    let mut found = reasons(tab, "unchecked")?;
    found.sort_unstable();
    equal("not checked", &found, &expected)?;
    let links: Vec<String> =
        tab.eval("[...document.querySelectorAll('#sections a')].map((link) => link.textContent)")?;
    for name in ["Not checked", "Waived"] {
        ensure!(
            links.iter().any(|link| link == name),
            "no link to `{name}` among {links:?}"
        );
    }
    Ok(())
}
