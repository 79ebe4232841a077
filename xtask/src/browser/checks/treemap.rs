//! Areas, and the way through them by keyboard.

use anyhow::ensure;

use super::{equal, open, sum};
use crate::browser::devtools::Tab;
use crate::browser::pages::Pages;
use crate::browser::probes::{CELLS, FOCUSED_CELL, TRAIL};

/// Bytes, width, height.
pub(super) type Area = (f64, f64, f64);
pub(super) type Cell = (f64, f64, f64, Vec<Area>);

/// Whether areas are in proportion to bytes. Boxes snap to 1/64 of a pixel.
pub(super) fn proportional(what: &str, areas: &[Area]) -> anyhow::Result<()> {
    let bytes: f64 = areas.iter().map(|area| area.0).sum();
    let space: f64 = areas.iter().map(|area| area.1 * area.2).sum();
    for (size, width, height) in areas {
        let expected = size / bytes * space;
        let found = width * height;
        let tolerance = expected * 0.01 + (width + height) / 32.0;
        ensure!(
            (found - expected).abs() <= tolerance,
            "{what}: {size} bytes of {bytes} have {found} of {space} square pixels, expected {expected}"
        );
    }
    Ok(())
}

#[allow(clippy::cast_precision_loss, reason = "sizes of fixtures are far below 2^53")]
pub(super) fn areas(tab: &mut Tab, pages: &Pages) -> anyhow::Result<()> {
    for page in [&pages.full, &pages.plain] {
        open(tab, page)?;
        for (choice, field) in [("stored", "stored_size"), ("size", "size")] {
            tab.click(&format!("label[for='treemap-metric-{choice}']"))?;
            let cells: Vec<Cell> = tab.eval(CELLS)?;
            ensure!(cells.len() > 1, "the treemap has {} cells", cells.len());
            let total: f64 = cells.iter().map(|cell| cell.0).sum();
            equal("bytes of all cells", &total, &(sum(&page.report, field) as f64))?;
            let outer: Vec<Area> = cells.iter().map(|cell| (cell.0, cell.1, cell.2)).collect();
            proportional("cells", &outer)?;
            let [width, height]: [f64; 2] =
                tab.eval("[document.getElementById('treemap').clientWidth, document.getElementById('treemap').clientHeight]")?;
            let covered: f64 = outer.iter().map(|area| area.1 * area.2).sum();
            ensure!(
                (covered / (width * height) - 1.0).abs() < 0.005,
                "the cells cover {covered} of {width} by {height}"
            );
            for (bytes, _, _, inside) in cells.iter().filter(|cell| !cell.3.is_empty()) {
                equal(
                    "bytes inside a cell",
                    &inside.iter().map(|area| area.0).sum(),
                    bytes,
                )?;
                proportional("inside a cell", inside)?;
            }
        }
    }
    Ok(())
}

pub(super) fn zooming(tab: &mut Tab, pages: &Pages) -> anyhow::Result<()> {
    open(tab, &pages.full)?;
    // The tab key alone gets there.
    let mut label = String::new();
    for _ in 0..80 {
        tab.press("Tab")?;
        label = tab.eval(FOCUSED_CELL)?;
        if !label.is_empty() {
            break;
        }
    }
    ensure!(!label.is_empty(), "80 presses of Tab do not reach the treemap");
    ensure!(
        label.contains(" bytes)") && label.contains(" % of all"),
        "the cell says `{label}`"
    );
    let tip: bool = tab.eval("document.getElementById('treemap-tip').checkVisibility()")?;
    ensure!(tip, "a cell with the focus shows no tip");

    tab.press("End")?;
    let last: String = tab.eval(FOCUSED_CELL)?;
    tab.press("Home")?;
    equal("Home", &tab.eval(FOCUSED_CELL)?, &label)?;
    ensure!(last != label, "End stays where it was");
    let moved = ["ArrowRight", "ArrowDown"]
        .into_iter()
        .try_fold(false, |moved, key| {
            tab.press(key)?;
            anyhow::Ok(moved || tab.eval::<String>(FOCUSED_CELL)? != label)
        })?;
    ensure!(moved, "no arrow key moves");

    tab.press("Home")?;
    let before: Vec<Cell> = tab.eval(CELLS)?;
    tab.press("Enter")?;
    let inside: Vec<Cell> = tab.eval(CELLS)?;
    let trail: Vec<String> = tab.eval(TRAIL)?;
    equal("steps", &trail.len(), &2)?;
    ensure!(
        label.starts_with(&trail[1]),
        "{} was opened, not `{label}`",
        trail[1]
    );
    equal(
        "bytes inside",
        &inside.iter().map(|cell| cell.0).sum(),
        &before[0].0,
    )?;
    ensure!(
        !tab.eval::<String>(FOCUSED_CELL)?.is_empty(),
        "the focus is lost on opening"
    );

    for key in ["Escape", "Backspace"] {
        tab.press(key)?;
        equal(
            "steps after going back",
            &tab.eval::<Vec<String>>(TRAIL)?.len(),
            &1,
        )?;
        equal("the focus after going back", &tab.eval(FOCUSED_CELL)?, &label)?;
        tab.press("Enter")?;
    }
    Ok(())
}
