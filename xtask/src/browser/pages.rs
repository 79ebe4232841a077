//! The pages that the checks open, made from committed fixtures, and the machine output of the same reports.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use blockgate_audit::render::{self, HtmlOptions, Mnemonics};
use blockgate_audit::{Options, Policy};
use blockgate_expect::Expectation;
use regex::Regex;
use serde_json::Value;

use crate::context::Context;

/// What ends a script, starts an element, starts a comment, reorders text, and breaks lines for old readers.
pub(super) const HOSTILE_NAMES: [&str; 5] = [
    "</script><script>window.hit=1</script>.o",
    "<img src=x onerror=window.hit=1>.o",
    "<!--<script>.o",
    "a\u{202e}o.uc\u{2028}b.o",
    "\"'&amp;`${window.hit=1}.o",
];
/// How many images the large page has.
pub(super) const MANY_IMAGES: usize = 20_000;

/// A page on disk with the report that it shows.
pub(super) struct Page {
    pub(super) url: String,
    pub(super) path: PathBuf,
    /// `--format json` of the same report.
    pub(super) report: Value,
}

/// All of them, in a folder that goes away with this.
pub(super) struct Pages {
    /// An archive and a linked library, with kernels, mnemonics, and expectations that hold and fail.
    pub(super) full: Page,
    /// An archive with members that cannot be read: findings, and an expectation that cannot be checked.
    pub(super) troubled: Page,
    /// One shared object and nothing to complain about.
    pub(super) plain: Page,
    /// A wheel with an archive, a library and texts, under a policy that waives a finding.
    pub(super) wheel: Page,
    /// The same, with headers read only, so that some rules cannot be checked.
    pub(super) listed: Page,
    /// Member names that would be markup.
    pub(super) hostile: Page,
    /// The report of `plain` with its images repeated.
    pub(super) many: Page,
    /// A page that breaks its own policy, for the checks of the checks.
    pub(super) broken: Page,
    _folder: tempfile::TempDir,
}

impl Pages {
    pub(super) fn make(context: &Context) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let fixtures = context.root().join("fixtures/fatbin");
        let fixture = |name: &str| fixtures.join(name);
        let write = |name: &str, html: &[u8], report: Value| -> anyhow::Result<Page> {
            let path = folder.path().join(name);
            std::fs::write(&path, html).with_context(|| format!("{} cannot be written", path.display()))?;
            Ok(Page {
                url: format!("file://{}", path.display()),
                path,
                report,
            })
        };
        let expect = [
            "cubins(sm_80) >= 1",
            "cubins(sm_75) >= 1",
            "size < 1 GiB",
            r"sass(EXIT|<b>)@sm_80 >= 1",
        ];
        let both = [fixture("toolkits/x_ar.a"), fixture("toolkits/x_so.so")];
        let (html, report) = rendered(&both, options(&expect)?, &["^EXIT$", "^F2FP"])?;
        let full = write("full.html", &html, report)?;
        let (html, report) = rendered(&[fixture("archives/unreadable.a")], options(&["size > 0"])?, &[])?;
        let troubled = write("troubled.html", &html, report)?;
        let (html, report) = rendered(&[fixture("toolkits/x_so.so")], options(&["cubins(*) >= 1"])?, &[])?;
        let plain = write("plain.html", &html, report)?;
        let many = write("many.html", &repeated(&html)?, Value::Null)?;
        let broken = write("broken.html", &breaking_its_policy(&html)?, Value::Null)?;
        let archive = folder.path().join("<b>hostile<b>.a");
        let object = std::fs::read(fixture("toolkits/x_r1.o")).context("x_r1.o cannot be read")?;
        std::fs::write(&archive, archive_of(&HOSTILE_NAMES, &object))?;
        let (html, report) = rendered(&[archive], options(&[])?, &[])?;
        let hostile = write("hostile.html", &html, report)?;
        let wheel = folder.path().join("x-1.0-py3-none-any.whl");
        std::fs::write(&wheel, wheel_of(&both)?)?;
        let policy = folder.path().join("policy.yaml");
        std::fs::write(&policy, POLICY)?;
        let under_policy = |list_only| -> anyhow::Result<Options> {
            let policy = Policy::read(&policy, Policy::today())
                .map_err(|error| anyhow::anyhow!("the policy of the checks is refused: {error:?}"))?;
            Ok(Options {
                list_only,
                policy: Some(policy),
                ..options(&[])?
            })
        };
        let (html, report) = rendered(std::slice::from_ref(&wheel), under_policy(false)?, &[])?;
        let whole = write("wheel.html", &html, report)?;
        let (html, report) = rendered(&[wheel], under_policy(true)?, &[])?;
        let listed = write("listed.html", &html, report)?;
        Ok(Self {
            full,
            troubled,
            plain,
            wheel: whole,
            listed,
            hostile,
            many,
            broken,
            _folder: folder,
        })
    }
}

/// What the wheel's policy waives, and why.
pub(super) const WAIVED: (&str, &str) = ("compression-driver-floor", "<i>old drivers</i> get another wheel");
const POLICY: &str = "audit:
  waivers:
    - rule: compression-driver-floor
      reason: \"<i>old drivers</i> get another wheel\"
";

/// With kernels, and what must hold.
fn options(expect: &[&str]) -> anyhow::Result<Options> {
    Ok(Options {
        kernels: true,
        expectations: expect
            .iter()
            .map(|text| text.parse::<Expectation>())
            .collect::<Result<_, _>>()?,
        ..Options::default()
    })
}

fn rendered(files: &[PathBuf], options: Options, sass: &[&str]) -> anyhow::Result<(Vec<u8>, Value)> {
    let report = blockgate_audit::audit(files, &options, &blockgate_audit::NoProgress);
    let mnemonics = Mnemonics {
        all: false,
        patterns: sass
            .iter()
            .map(|text| Regex::new(text))
            .collect::<Result<_, _>>()?,
    };
    let mut json = Vec::new();
    render::json(&mut json, &report, &mnemonics)?;
    let mut html = Vec::new();
    let options = HtmlOptions {
        mnemonics,
        strict: false,
    };
    render::html(&mut html, &report, &options)?;
    Ok((html, serde_json::from_slice(&json)?))
}

const DATA_START: &str = r#"<script type="application/json" id="report">"#;

/// The page with its images repeated, each at another offset and of another size, as a large wheel would give it.
fn repeated(html: &[u8]) -> anyhow::Result<Vec<u8>> {
    let page = std::str::from_utf8(html)?;
    let (head, rest) = page.split_once(DATA_START).context("the page has no data")?;
    let (data, tail) = rest.split_once("</script>").context("the data has no end")?;
    let mut report: Value = serde_json::from_str(data)?;
    let images = report["inputs"][0]["images"].take();
    let images = images.as_array().context("the report has no images")?;
    let many: Vec<Value> = images
        .iter()
        .cycle()
        .take(MANY_IMAGES)
        .enumerate()
        .map(|(at, image)| {
            let mut image = image.clone();
            image["offset"] = (at * 64).into();
            image["stored_size"] = (1 + at * 7919 % 100_003).into();
            image["member"] = format!("lib/part{}.a/unit{at}.cu.o", at % 40).into();
            image
        })
        .collect();
    report["inputs"][0]["images"] = many.into();
    Ok([head, DATA_START, &report.to_string(), "</script>", tail]
        .concat()
        .into())
}

/// The page with a picture from elsewhere, a script that no hash allows, and text that is hard to read.
fn breaking_its_policy(html: &[u8]) -> anyhow::Result<Vec<u8>> {
    let page = std::str::from_utf8(html)?;
    let (head, tail) = page.split_once("</main>").context("the page has no main part")?;
    let broken = r##"<img src="https://example.invalid/x.png" alt=""><script>window.hit = 1</script>
        <p><font color="#cccccc">pale</font></p></main>"##;
    Ok([head, broken, tail].concat().into())
}

/// A wheel of these binaries, with a text beside them.
fn wheel_of(binaries: &[PathBuf]) -> anyhow::Result<Vec<u8>> {
    let mut wheel = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default();
    wheel.start_file("x/__init__.py", options)?;
    wheel.write_all(b"from x import lib\n")?;
    for binary in binaries {
        let name = binary
            .file_name()
            .and_then(|name| name.to_str())
            .context("a fixture without a name")?;
        wheel.start_file(format!("x/lib/{name}"), options)?;
        wheel.write_all(
            &std::fs::read(binary).with_context(|| format!("{} cannot be read", binary.display()))?,
        )?;
    }
    Ok(wheel.finish()?.into_inner())
}

/// An archive whose members have these names, as BSD's `ar` writes long names.
fn archive_of(names: &[&str], member: &[u8]) -> Vec<u8> {
    let mut archive = b"!<arch>\n".to_vec();
    for name in names {
        // The member's data must lie where an object may: names are padded with zeros.
        let length = name.len().next_multiple_of(8);
        let size = length + member.len();
        let header = format!(
            "{:<16}{:<12}{:<6}{:<6}{:<8}{size:<10}`\n",
            format!("#1/{length}"),
            0,
            0,
            0,
            644
        );
        archive.extend(header.as_bytes());
        archive.extend(name.as_bytes());
        archive.resize(archive.len() + length - name.len(), 0);
        archive.extend(member);
        archive.resize(archive.len().next_multiple_of(2), b'\n');
    }
    archive
}

/// A `file:` address of any path.
pub(super) fn url_of(path: &Path) -> anyhow::Result<String> {
    let path = path
        .canonicalize()
        .with_context(|| format!("{} cannot be found", path.display()))?;
    let mut url = "file://".to_owned();
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' | b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => {
                url.push(char::from(*byte))
            }
            _ => url.push_str(&format!("%{byte:02X}")),
        }
    }
    Ok(url)
}
