//! One page for a browser, with everything in it: style, script and the report. It loads nothing.
//!
//! Names in a report come out of files that anybody may have made. None of them is written as markup: the report is one
//! JSON block whose strings hold no character that ends it, and the script makes text nodes of what it reads. The page's
//! policy allows its own style and script, by hash, and nothing else.

use std::collections::{BTreeSet, HashMap};
use std::io::{self, Write};

use blockgate_findings::render::json::JsonFinding;
use serde::Serialize;
use serde_json::ser::Formatter;
use serde_json::{Serializer, Value};
use sha2::{Digest as _, Sha256};

use super::demangle::demangled;
use super::json::{self, JsonEvaluation, Mnemonics};
use crate::report::Report;

const PAGE: &str = include_str!("html/page.html");
const STYLE: &str = include_str!("html/page.css");
/// One module in four files.
const SCRIPT: [&str; 4] = [
    include_str!("html/values.js"),
    include_str!("html/table.js"),
    include_str!("html/treemap.js"),
    include_str!("html/page.js"),
];

/// What a page shows beside the report.
#[derive(Clone, Debug, Default)]
pub struct HtmlOptions {
    /// Which instruction counts are in the report.
    pub mnemonics: Mnemonics,
    /// Warnings count as errors in the verdict.
    pub strict: bool,
}

/// Writes `report` as one HTML page.
///
/// The report in it is schema `blockgate.audit/1` with three differences: an image also has `e2m1`, its conversions to
/// E2M1; the functions of all images are one table under `page`, where each name stands once; and `page` has the exit
/// status.
pub fn html(out: &mut dyn Write, report: &Report, options: &HtmlOptions) -> io::Result<()> {
    let script = SCRIPT.concat();
    let policy = format!(
        "default-src 'none'; img-src data:; style-src 'sha256-{}'; script-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
        base64(&Sha256::digest(STYLE)),
        base64(&Sha256::digest(&script))
    );
    for (piece, hole) in pieces(PAGE) {
        out.write_all(piece.as_bytes())?;
        match hole {
            "" => {}
            "policy" => out.write_all(policy.as_bytes())?,
            "style" => out.write_all(STYLE.as_bytes())?,
            "script" => out.write_all(script.as_bytes())?,
            "data" => Document::of(report, options)?
                .serialize(&mut Serializer::with_formatter(&mut *out, InScript))?,
            other => return Err(io::Error::other(format!("the page has a hole `{other}`"))),
        }
    }
    Ok(())
}

/// The page's text up to each `{{hole}}`, with the hole's name; the rest has an empty one.
fn pieces(page: &str) -> Vec<(&str, &str)> {
    let mut pieces = Vec::new();
    let mut rest = page;
    while let Some((piece, (hole, after))) = rest
        .split_once("{{")
        .and_then(|(piece, after)| Some((piece, after.split_once("}}")?)))
    {
        pieces.push((piece, hole));
        rest = after;
    }
    pieces.push((rest, ""));
    pieces
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    inputs: Vec<Value>,
    expectations: Vec<JsonEvaluation>,
    findings: Vec<JsonFinding<'a>>,
    page: Page,
}

/// What is in the page alone.
#[derive(Serialize)]
struct Page {
    version: &'static str,
    exit_status: u8,
    kernels: Kernels,
}

/// The functions of all images. A kernel is compiled for many architectures under one long name.
#[derive(Default, Serialize)]
struct Kernels {
    /// Names of the columns after the first two.
    columns: Vec<String>,
    /// Those that count a mnemonic, where a function that has no value has none of it.
    mnemonics: BTreeSet<String>,
    names: Vec<String>,
    /// Each name as a person wrote it, where that is another.
    demangled: Vec<Option<String>>,
    /// The image's running number over all inputs, the name's, then the columns. A short row lacks the last ones.
    rows: Vec<Vec<Value>>,
    #[serde(skip)]
    positions: HashMap<String, usize>,
}

impl<'a> Document<'a> {
    fn of(report: &'a Report, options: &HtmlOptions) -> serde_json::Result<Self> {
        let mut kernels = Kernels::default();
        let mut inputs = Vec::new();
        let mut image_count: usize = 0;
        for file in &report.files {
            let mut input = json::input_without_images(file, &options.mnemonics)?;
            let mut images = Vec::with_capacity(file.images.len());
            for image in &file.images {
                let mut row = json::image(image, &options.mnemonics)?;
                if let Some(Value::Array(functions)) = row.remove("functions") {
                    kernels.add(image_count, functions, !options.mnemonics.all);
                }
                row.insert("e2m1".to_owned(), image.e2m1_conversions().into());
                images.push(Value::Object(row));
                image_count += 1;
            }
            input.insert("images".to_owned(), images.into());
            inputs.push(Value::Object(input));
        }
        Ok(Self {
            schema: json::SCHEMA,
            inputs,
            expectations: report.evaluations.iter().map(JsonEvaluation::from).collect(),
            findings: report.findings.iter().map(JsonFinding::from).collect(),
            page: Page {
                version: env!("CARGO_PKG_VERSION"),
                exit_status: report.status(options.strict).code(),
                kernels,
            },
        })
    }
}

impl Kernels {
    /// Adds the functions of image number `image`. Single values are columns; so are counts by mnemonic where `by_mnemonic`
    /// says that they are few.
    fn add(&mut self, image: usize, functions: Vec<Value>, by_mnemonic: bool) {
        for function in functions {
            let Value::Object(mut fields) = function else {
                continue;
            };
            let Some(Value::String(name)) = fields.remove("name") else {
                continue;
            };
            let mut row = vec![image.into(), self.position(name).into()];
            if let Some(Value::Object(sass)) = fields.remove("sass")
                && by_mnemonic
            {
                self.mnemonics.extend(sass.keys().cloned());
                fields.extend(sass);
            }
            for (column, value) in fields {
                if value.is_array() || value.is_object() {
                    continue;
                }
                let at = 2 + self.column(column);
                if row.len() <= at {
                    row.resize(at + 1, Value::Null);
                }
                row[at] = value;
            }
            self.rows.push(row);
        }
    }

    fn position(&mut self, name: String) -> usize {
        if let Some(at) = self.positions.get(&name) {
            return *at;
        }
        let shown = demangled(&name);
        self.demangled.push((shown != name).then_some(shown));
        self.names.push(name.clone());
        self.positions.insert(name, self.names.len() - 1);
        self.names.len() - 1
    }

    fn column(&mut self, name: String) -> usize {
        match self.columns.iter().position(|column| *column == name) {
            Some(at) => at,
            None => {
                self.columns.push(name);
                self.columns.len() - 1
            }
        }
    }
}

/// JSON whose strings hold nothing that ends a script element, opens a comment in it, or ends a line for an old reader.
struct InScript;

impl Formatter for InScript {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        let mut rest = fragment;
        while let Some(at) = rest.find(['<', '>', '&', '\u{2028}', '\u{2029}']) {
            let (plain, special) = rest.split_at(at);
            writer.write_all(plain.as_bytes())?;
            let mut chars = special.chars();
            if let Some(char) = chars.next() {
                write!(writer, "\\u{:04x}", u32::from(char))?;
            }
            rest = chars.as_str();
        }
        writer.write_all(rest.as_bytes())
    }
}

/// Base64 of RFC 4648 section 4, as a policy's hash wants it.
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let byte = |at: usize| u32::from(group.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4 {
            if digit <= group.len() {
                text.push(char::from(ALPHABET[(bits >> (18 - 6 * digit) & 63) as usize]));
            } else {
                text.push('=');
            }
        }
    }
    text
}

#[cfg(test)]
mod tests;
