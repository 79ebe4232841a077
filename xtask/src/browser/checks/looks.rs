//! Contrast, widths, names of controls.

use anyhow::{Context as _, ensure};
use serde_json::json;

use super::treemap::{Area, Cell, proportional};
use super::{equal, open};
use crate::browser::devtools::Tab;
use crate::browser::pages::{Page, Pages};
use crate::browser::probes::{self, CELLS, CONTRAST};

fn lowest_contrast(tab: &mut Tab) -> anyhow::Result<(f64, String, u64)> {
    tab.eval(CONTRAST)
}

pub(super) fn contrast(tab: &mut Tab, pages: &Pages) -> anyhow::Result<()> {
    for page in [&pages.full, &pages.troubled, &pages.wheel, &pages.listed] {
        contrast_of(tab, page)?;
    }
    Ok(())
}

fn contrast_of(tab: &mut Tab, page: &Page) -> anyhow::Result<()> {
    open(tab, page)?;
    tab.eval::<bool>("(document.querySelector('details').open = true)")?;
    let mut backgrounds = Vec::new();
    for (system, chosen) in [("light", ""), ("dark", ""), ("light", "dark"), ("dark", "light")] {
        tab.prefer(system, "screen")?;
        tab.eval::<bool>(&format!(
            "(() => {{ const select = document.getElementById('theme'); select.value = '{chosen}'; \
             return select.dispatchEvent(new Event('change')); }})()"
        ))?;
        let (ratio, text, checked) = lowest_contrast(tab)?;
        ensure!(checked > 20, "only {checked} kinds of text were looked at");
        ensure!(
            ratio >= 4.5,
            "system {system}, chosen `{chosen}`: `{text}` has a contrast of {ratio:.2}"
        );
        backgrounds.push(tab.eval::<String>("getComputedStyle(document.body).backgroundColor")?);
    }
    tab.eval::<bool>("(localStorage.clear(), true)")?;
    ensure!(
        backgrounds[0] != backgrounds[1]
            && backgrounds[1] == backgrounds[2]
            && backgrounds[0] == backgrounds[3],
        "backgrounds {backgrounds:?}"
    );
    Ok(())
}

pub(super) fn pale_text(tab: &mut Tab, pages: &Pages) -> anyhow::Result<()> {
    open(tab, &pages.broken)?;
    let (ratio, text, _) = lowest_contrast(tab)?;
    equal("the text of the lowest contrast", &text, &"pale".to_owned())?;
    ensure!(ratio < 2.0, "its contrast is {ratio}");
    Ok(())
}

pub(super) fn widths(tab: &mut Tab, pages: &Pages) -> anyhow::Result<()> {
    for page in [
        &pages.full,
        &pages.troubled,
        &pages.hostile,
        &pages.wheel,
        &pages.listed,
    ] {
        open(tab, page)?;
        for width in [360, 768, 1920] {
            tab.resize(width, 800)?;
            let (needed, map): (f64, f64) =
                tab.eval("[document.documentElement.scrollWidth, document.getElementById('treemap').getBoundingClientRect().right]")?;
            let outside: Vec<String> = tab.eval(probes::STICKS_OUT)?;
            ensure!(
                needed <= f64::from(width) && map <= f64::from(width),
                "{}: {needed} pixels at a width of {width}, because of {outside:?}",
                page.path.display()
            );
            let cells: Vec<Cell> = tab.eval(CELLS)?;
            let outer: Vec<Area> = cells.iter().map(|cell| (cell.0, cell.1, cell.2)).collect();
            proportional("cells after a change of width", &outer)?;
        }
    }
    Ok(())
}

pub(super) fn accessibility(tab: &mut Tab, pages: &Pages) -> anyhow::Result<()> {
    open(tab, &pages.full)?;
    let tree = tab.call("Accessibility.getFullAXTree", &json!({}))?;
    let nodes = tree["nodes"]
        .as_array()
        .context("there is no accessibility tree")?;
    let mut roles = Vec::new();
    let mut nameless = Vec::new();
    for node in nodes.iter().filter(|node| node["ignored"] != true) {
        let role = node["role"]["value"].as_str().unwrap_or_default();
        roles.push(role);
        let takes_focus = node["properties"]
            .as_array()
            .into_iter()
            .flatten()
            .any(|property| property["name"] == "focusable" && property["value"]["value"] == true);
        let name = node["name"]["value"].as_str().unwrap_or_default();
        if takes_focus && role != "RootWebArea" && role != "main" && name.trim().is_empty() {
            nameless.push(role);
        }
    }
    ensure!(
        nameless.is_empty(),
        "these take the focus and have no name: {nameless:?}"
    );
    for expected in [
        "main",
        "navigation",
        "contentinfo",
        "banner",
        "region",
        "table",
        "columnheader",
        "rowheader",
        "searchbox",
    ] {
        ensure!(roles.contains(&expected), "no {expected} is in the tree");
    }
    let headings: Vec<String> =
        tab.eval("[...document.querySelectorAll('h1, h2, h3')].map((heading) => heading.tagName)")?;
    ensure!(
        headings.iter().filter(|tag| *tag == "H1").count() == 1 && headings[0] == "H1",
        "headings {headings:?}"
    );
    let language: String = tab.eval("document.documentElement.lang")?;
    equal("language", &language, &"en".to_owned())
}
