//! Nothing is loaded, nothing is run, and no name becomes markup.

use anyhow::ensure;

use super::{equal, open};
use crate::browser::devtools::Tab;
use crate::browser::pages::{HOSTILE_NAMES, Pages};
use crate::browser::probes::column;

/// Everything that the page asked for, said or broke, other than itself.
pub(super) fn complaints(tab: &Tab) -> Vec<String> {
    let mut page = None;
    let mut found = Vec::new();
    for event in &tab.events {
        let parameters = &event["params"];
        match event["method"].as_str().unwrap_or_default() {
            "Network.requestWillBeSent" => {
                let url = parameters["request"]["url"].as_str().unwrap_or_default();
                if page.is_none() {
                    page = Some(url);
                } else if !url.starts_with("data:") {
                    found.push(format!("request of {url}"));
                }
            }
            "Runtime.consoleAPICalled" => found.push(format!("console: {}", parameters["args"])),
            "Runtime.exceptionThrown" => {
                let details = &parameters["exceptionDetails"];
                found.push(format!(
                    "exception: {} {}",
                    details["text"], details["exception"]["description"]
                ));
            }
            "Log.entryAdded" => found.push(format!("log: {}", parameters["entry"]["text"])),
            _ => {}
        }
    }
    found
}

pub(super) fn silence(tab: &mut Tab, pages: &Pages) -> anyhow::Result<()> {
    for page in [
        &pages.full,
        &pages.troubled,
        &pages.plain,
        &pages.hostile,
        &pages.wheel,
        &pages.listed,
        &pages.many,
    ] {
        open(tab, page)?;
        tab.resize(700, 900)?;
        let requests = tab
            .events
            .iter()
            .filter(|event| event["method"] == "Network.requestWillBeSent");
        ensure!(requests.count() > 0, "not even the page's own request was seen");
        let found = complaints(tab);
        ensure!(found.is_empty(), "{}: {}", page.path.display(), found.join("; "));
    }
    Ok(())
}

/// The check above can fail, and the policy does what it is for.
pub(super) fn noise(tab: &mut Tab, pages: &Pages) -> anyhow::Result<()> {
    open(tab, &pages.broken)?;
    let found = complaints(tab).join("; ");
    for expected in ["example.invalid", "inline script"] {
        ensure!(found.contains(expected), "nothing about {expected} in: {found}");
    }
    let ran: bool = tab.eval("'hit' in window")?;
    ensure!(!ran, "a script that the policy does not name ran");
    Ok(())
}

pub(super) fn hostile_names(tab: &mut Tab, pages: &Pages) -> anyhow::Result<()> {
    open(tab, &pages.hostile)?;
    let shown: Vec<String> = tab.eval(&column("#members-data-table", "Member"))?;
    let expected: Vec<String> = HOSTILE_NAMES
        .iter()
        .map(|name| {
            name.replace('\u{202e}', r"\u{202e}")
                .replace('\u{2028}', r"\u{2028}")
        })
        .collect();
    equal("names of members", &shown, &expected)?;
    let heading: String = tab.eval("document.querySelector('h1').textContent")?;
    ensure!(heading.ends_with("<b>hostile<b>.a"), "the heading is `{heading}`");
    // Open every level of the treemap, where names are labels too.
    tab.eval::<bool>("(document.querySelector('#treemap > .cell').focus(), true)")?;
    tab.press("Enter")?;
    let [elements, scripts, hit]: [u64; 3] = tab.eval(
        "[document.querySelectorAll('img, b, iframe, object, svg').length, document.scripts.length, Number('hit' in window)]",
    )?;
    equal(
        "elements that names could have made",
        &(elements, scripts, hit),
        &(0, 2, 0),
    )?;
    let found = complaints(tab);
    ensure!(found.is_empty(), "{}", found.join("; "));
    Ok(())
}
