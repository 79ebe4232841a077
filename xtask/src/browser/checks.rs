//! What must hold of the page in a browser. Each check opens what it needs, so that none depends on another.

mod looks;
mod package;
mod safety;
mod treemap;

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::devtools::Tab;
use super::pages::{MANY_IMAGES, Page, Pages};
use super::probes::{self, CELLS, column, fact};

/// A check by name.
pub(super) struct Check {
    pub(super) name: &'static str,
    pub(super) run: fn(&mut Tab, &Pages) -> anyhow::Result<()>,
}

pub(super) const CHECKS: &[Check] = &[
    Check {
        name: "totals on the page are those of the JSON report",
        run: totals,
    },
    Check {
        name: "verdict, expectations and findings are those of the JSON report",
        run: verdict,
    },
    Check {
        name: "a header sorts by mouse and by keyboard",
        run: sorting,
    },
    Check {
        name: "filter box and menus count rows",
        run: filtering,
    },
    Check {
        name: "kernels are all there, sortable",
        run: kernels,
    },
    Check {
        name: "a wheel shows its files: members, images, and the first level of the treemap",
        run: package::files,
    },
    Check {
        name: "what kernels take is in columns that sort, and names are as people wrote them",
        run: package::resources,
    },
    Check {
        name: "the policy, waived findings and rules that were not checked are shown with their reasons",
        run: package::policy,
    },
    Check {
        name: "areas of the treemap are in proportion to bytes",
        run: treemap::areas,
    },
    Check {
        name: "the treemap opens and closes by keyboard",
        run: treemap::zooming,
    },
    Check {
        name: "nothing is loaded, no policy is broken, the console is silent",
        run: safety::silence,
    },
    Check {
        name: "a page that breaks its policy is noticed",
        run: safety::noise,
    },
    Check {
        name: "hostile names stay text",
        run: safety::hostile_names,
    },
    Check {
        name: "text has a contrast of 4.5 in both schemes, chosen by the system or by hand",
        run: looks::contrast,
    },
    Check {
        name: "pale text is noticed",
        run: looks::pale_text,
    },
    Check {
        name: "nothing sticks out at 360, 768 and 1920 pixels",
        run: looks::widths,
    },
    Check {
        name: "everything that takes the focus has a name, and landmarks are there",
        run: looks::accessibility,
    },
    Check {
        name: "20,000 images: pages of rows, soon there",
        run: many_images,
    },
    Check {
        name: "on paper the controls are gone and the rows are there",
        run: printing,
    },
];

const IMAGES: &str = "#images-data-table";

/// Opens a page at the size of a desktop window and waits until its script is through.
fn open(tab: &mut Tab, page: &Page) -> anyhow::Result<()> {
    tab.prefer("light", "screen")?;
    tab.resize(1280, 900)?;
    tab.open(&page.url)?;
    let ready: bool = tab.eval("'ready' in document.documentElement.dataset")?;
    ensure!(
        ready,
        "the page's script has not come to its end: {}",
        safety::complaints(tab).join("; ")
    );
    Ok(())
}

fn images(report: &Value) -> Vec<&Value> {
    report["inputs"]
        .as_array()
        .into_iter()
        .flatten()
        .flat_map(|input| input["images"].as_array().into_iter().flatten())
        .collect()
}

/// The sum of a field over all images; one that is not known counts as nothing.
fn sum(report: &Value, field: &str) -> u64 {
    images(report)
        .iter()
        .filter_map(|image| image[field].as_u64())
        .sum()
}

fn equal<T: PartialEq + std::fmt::Debug>(what: &str, found: &T, expected: &T) -> anyhow::Result<()> {
    ensure!(
        found == expected,
        "{what}: expected {expected:?}, found {found:?}"
    );
    Ok(())
}

fn totals(tab: &mut Tab, pages: &Pages) -> anyhow::Result<()> {
    for page in [&pages.full, &pages.plain] {
        open(tab, page)?;
        let report = &page.report;
        let inputs = report["inputs"].as_array().context("the report has no inputs")?;
        let of_inputs: u64 = inputs.iter().filter_map(|input| input["size"].as_u64()).sum();
        equal("file size", &tab.eval(&fact("File size"))?, &of_inputs)?;
        equal(
            "stored bytes",
            &tab.eval(&fact("Device code, stored"))?,
            &sum(report, "stored_size"),
        )?;
        equal(
            "images",
            &tab.eval(&fact("Images"))?,
            &(images(report).len() as u64),
        )?;

        // Each row of the census against the report's own totals, which were not summed by the page.
        let table = "#census table";
        let archs: Vec<String> = tab.eval(&column(table, "Architecture"))?;
        let kinds: Vec<String> = tab.eval(&column(table, "Kind"))?;
        let counts: Vec<u64> = tab.eval(&column(table, "Images"))?;
        let instructions: Vec<Value> = tab.eval(&column(table, "Instructions"))?;
        let of_rows: Vec<String> = if inputs.len() > 1 {
            tab.eval(&column(table, "Input"))?
        } else {
            let path = inputs[0]["path"].as_str().unwrap_or_default();
            vec![path.to_owned(); archs.len()]
        };
        let mut rows = 0;
        for input in inputs {
            for (kind, table) in [("cubin", "cubins"), ("ptx", "ptx"), ("lto-ir", "other")] {
                for (arch, expected) in input["totals"][table].as_object().into_iter().flatten() {
                    let at = (0..archs.len())
                        .find(|at| {
                            archs[*at] == *arch
                                && kinds[*at] == kind
                                && input["path"]
                                    .as_str()
                                    .is_some_and(|path| path.ends_with(of_rows[*at].as_str()))
                        })
                        .with_context(|| format!("no row for {arch} {kind} of {}", input["path"]))?;
                    equal("images of a row", &Value::from(counts[at]), expected)?;
                    if kind == "cubin" {
                        let expected = &input["totals"]["instructions"][arch];
                        equal("instructions of a row", &instructions[at], expected)?;
                    }
                    rows += 1;
                }
            }
        }
        equal("rows of the census", &archs.len(), &rows)?;
        // What people read is what the table in a terminal says.
        let shown: String = tab.eval("document.querySelector('#facts data').textContent")?;
        equal(
            "size in words",
            &shown,
            &blockgate_audit::render::bytes(of_inputs),
        )?;
    }
    Ok(())
}

fn verdict(tab: &mut Tab, pages: &Pages) -> anyhow::Result<()> {
    open(tab, &pages.plain)?;
    let text: String = tab.eval("document.getElementById('verdict').textContent")?;
    equal("verdict", &text, &"Pass the expectation holds".to_owned())?;

    for (page, expected) in [(&pages.full, "Fail"), (&pages.troubled, "Not fully checked")] {
        open(tab, page)?;
        let word: String = tab.eval("document.querySelector('#verdict strong').textContent")?;
        equal("verdict", &word.as_str(), &expected)?;
        expectations_and_findings(tab, &page.report)?;
    }
    let found: usize = tab.eval("document.querySelectorAll('.finding').length")?;
    ensure!(found > 0, "the damaged archive has no findings to look for");
    Ok(())
}

fn expectations_and_findings(tab: &mut Tab, report: &Value) -> anyhow::Result<()> {
    let verdicts: Vec<String> = tab.eval(&column("#expectations table", "Verdict"))?;
    let expressions: Vec<String> = tab.eval(&column("#expectations table", "Expectation"))?;
    let expected = report["expectations"].as_array().context("no expectations")?;
    equal("expectations", &verdicts.len(), &expected.len())?;
    for ((word, expression), row) in verdicts.iter().zip(&expressions).zip(expected) {
        let of_row = match row["holds"].as_bool() {
            Some(true) => "holds",
            Some(false) => "fails",
            None => "not checked",
        };
        let of_row = (of_row, row["expr"].as_str().unwrap_or_default());
        equal("expectation", &(word.as_str(), expression.as_str()), &of_row)?;
    }
    let shown: Vec<[String; 3]> = tab.eval(
        "[...document.querySelectorAll('.finding')].map((item) => [item.querySelector('.state').textContent, \
         item.querySelector('code').textContent, item.children[1].textContent])",
    )?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut expected: Vec<[String; 3]> = report["findings"]
        .as_array()
        .context("no findings")?
        .iter()
        .map(|finding| ["severity", "rule", "message"].map(|field| text(&finding[field])))
        .collect();
    let rank = |row: &[String; 3]| {
        ["error", "warning", "info"]
            .iter()
            .position(|word| *word == row[0])
    };
    expected.sort_by_key(rank);
    equal("findings", &shown, &expected)
}

fn sort_state(tab: &mut Tab, key: &str) -> anyhow::Result<String> {
    tab.eval(&format!(
        "document.querySelector(\"{IMAGES} th[data-key='{key}']\").getAttribute('aria-sort') ?? 'none'"
    ))
}

fn sorting(tab: &mut Tab, pages: &Pages) -> anyhow::Result<()> {
    open(tab, &pages.full)?;
    let mut expected: Vec<u64> = images(&pages.full.report)
        .iter()
        .filter_map(|image| image["stored_size"].as_u64())
        .collect();
    let before: Vec<u64> = tab.eval(&column(IMAGES, "Stored"))?;
    equal("rows in file order", &before, &expected)?;
    expected.sort_unstable();
    ensure!(before != expected, "the fixture is sorted already");
    equal(
        "state before",
        &sort_state(tab, "stored_size")?,
        &"none".to_owned(),
    )?;

    tab.click(&probes::header(IMAGES, "stored_size"))?;
    equal(
        "state after a click",
        &sort_state(tab, "stored_size")?,
        &"descending".to_owned(),
    )?;
    let mut rows: Vec<u64> = tab.eval(&column(IMAGES, "Stored"))?;
    rows.reverse();
    equal("rows after a click", &rows, &expected)?;

    tab.press("Enter")?;
    equal(
        "state after Enter",
        &sort_state(tab, "stored_size")?,
        &"ascending".to_owned(),
    )?;
    equal(
        "rows after Enter",
        &tab.eval(&column(IMAGES, "Stored"))?,
        &expected,
    )?;

    // Architectures sort by capability, not by spelling: sm_80 before sm_100f before sm_120a.
    tab.click(&probes::header(IMAGES, "arch"))?;
    let mut archs: Vec<String> = tab.eval(&column(IMAGES, "Architecture"))?;
    archs.dedup();
    let position = |arch: &str| archs.iter().position(|found| found == arch);
    let order = [position("sm_80"), position("sm_100f"), position("sm_120a")];
    ensure!(
        order.is_sorted() && order[0].is_some(),
        "architectures in the order {archs:?}"
    );
    equal(
        "the other column's state",
        &sort_state(tab, "stored_size")?,
        &"none".to_owned(),
    )
}

fn row_count(tab: &mut Tab) -> anyhow::Result<(usize, String)> {
    tab.eval(&format!(
        "[document.querySelectorAll('{IMAGES} tbody tr').length, document.getElementById('images-data-count').textContent]"
    ))
}

fn filtering(tab: &mut Tab, pages: &Pages) -> anyhow::Result<()> {
    open(tab, &pages.full)?;
    let all = images(&pages.full.report);
    let total = all.len();
    equal("before", &row_count(tab)?, &(total, format!("{total} images")))?;

    let of_arch = all.iter().filter(|image| image["arch"] == "sm_100f").count();
    ensure!(
        of_arch > 0 && of_arch < total,
        "the fixture's filter tells nothing"
    );
    tab.click("#images-data-filter")?;
    tab.type_text("SM_100F")?;
    let counted = |number: usize| format!("{number} of {total} images");
    equal("after typing", &row_count(tab)?, &(of_arch, counted(of_arch)))?;
    tab.press("Escape")?;
    equal(
        "after Escape",
        &row_count(tab)?,
        &(total, format!("{total} images")),
    )?;

    // The second choice of the menu, after `All`, is the kind that comes first.
    tab.eval::<bool>("(document.getElementById('images-data-select-1').focus(), true)")?;
    tab.press("ArrowDown")?;
    let of_kind = all.iter().filter(|image| image["kind"] == "cubin").count();
    equal("after a choice", &row_count(tab)?, &(of_kind, counted(of_kind)))?;
    let kinds: Vec<String> = tab.eval(&column(IMAGES, "Kind"))?;
    ensure!(
        kinds.iter().all(|kind| kind == "cubin"),
        "rows of other kinds: {kinds:?}"
    );

    tab.click("#images-data-filter")?;
    tab.type_text("no such image")?;
    let text: String = tab.eval(&format!("document.querySelector('{IMAGES} tbody').textContent"))?;
    equal("no match", &text, &"Nothing matches the filter.".to_owned())
}

fn kernels(tab: &mut Tab, pages: &Pages) -> anyhow::Result<()> {
    open(tab, &pages.full)?;
    let functions: Vec<&Value> = images(&pages.full.report)
        .iter()
        .flat_map(|image| image["functions"].as_array().into_iter().flatten())
        .collect();
    ensure!(functions.len() > 1, "the fixture has no kernels");
    tab.click(&probes::header("#kernels-data-table", "code_size"))?;
    let sizes: Vec<u64> = tab.eval(&column("#kernels-data-table", "Code"))?;
    let mut expected: Vec<u64> = functions
        .iter()
        .filter_map(|function| function["code_size"].as_u64())
        .collect();
    expected.sort_unstable_by(|one, other| other.cmp(one));
    equal("sizes of code", &sizes, &expected)?;
    // Mnemonics that were asked for are columns.
    let exits: Vec<u64> = tab.eval(&column("#kernels-data-table", "EXIT"))?;
    let expected: u64 = functions
        .iter()
        .filter_map(|function| function["sass"]["EXIT"].as_u64())
        .sum();
    equal("counts of EXIT", &exits.iter().sum(), &expected)
}

/// What a person waits for without wondering, on a slow machine.
const SOON: Duration = Duration::from_secs(10);

fn many_images(tab: &mut Tab, pages: &Pages) -> anyhow::Result<()> {
    let started = Instant::now();
    open(tab, &pages.many)?;
    let opened = started.elapsed();
    let (rows, text) = row_count(tab)?;
    equal("images", &text, &"20,000 images".to_owned())?;
    ensure!(rows < 1000, "{rows} rows are in the page at once");
    let started = Instant::now();
    tab.click(&probes::header(IMAGES, "stored_size"))?;
    let sizes: Vec<u64> = tab.eval(&column(IMAGES, "Stored"))?;
    let sorted = started.elapsed();
    let mut expected: Vec<u64> = (0..MANY_IMAGES as u64)
        .map(|at| 1 + at * 7919 % 100_003)
        .collect();
    expected.sort_unstable_by(|one, other| other.cmp(one));
    equal("the first page", &sizes, &expected[..rows].to_vec())?;
    tab.eval::<bool>("([...document.querySelectorAll('#images .pages button')].find((button) => button.textContent === 'Next').click(), true)")?;
    let sizes: Vec<u64> = tab.eval(&column(IMAGES, "Stored"))?;
    equal("the second page", &sizes, &expected[rows..2 * rows].to_vec())?;
    let started = Instant::now();
    tab.click("#images-data-filter")?;
    tab.type_text("part7.a/")?;
    let (_, text) = row_count(tab)?;
    let filtered = started.elapsed();
    equal(
        "filtered",
        &text,
        &format!("{} of 20,000 images", MANY_IMAGES / 40),
    )?;
    ensure!(
        opened < SOON && sorted < SOON && filtered < SOON,
        "opened in {opened:?}, sorted in {sorted:?}, filtered in {filtered:?}"
    );
    let cells: Vec<treemap::Cell> = tab.eval(CELLS)?;
    ensure!(!cells.is_empty() && cells.len() < 1000, "{} cells", cells.len());
    Ok(())
}

fn printing(tab: &mut Tab, pages: &Pages) -> anyhow::Result<()> {
    open(tab, &pages.many)?;
    // What a row is on paper is what it was when the browser asked for the printed page.
    tab.eval::<bool>("(addEventListener('beforeprint', () => { window.printed = document.querySelectorAll('#images tbody tr').length; }), true)")?;
    let answer = tab.call(
        "Page.printToPDF",
        &json!({ "printBackground": false, "pageRanges": "1" }),
    )?;
    let data = answer["data"].as_str().unwrap_or_default();
    // `%PDF-` in base64.
    ensure!(data.starts_with("JVBERi0"), "the printed page is no PDF");
    let printed: usize = tab.eval("window.printed ?? 0")?;
    equal("rows on paper", &printed, &1000)?;
    let (rows, _) = row_count(tab)?;
    ensure!(rows < 500, "{rows} rows stay after printing");
    tab.prefer("light", "print")?;
    let shown: Vec<bool> = tab.eval(
        "['.top', '#images .controls', '#images .pages', '#images table', '#treemap'].map((part) => \
         document.querySelector(part).checkVisibility())",
    )?;
    equal("what is on paper", &shown, &vec![false, false, false, true, true])
}
