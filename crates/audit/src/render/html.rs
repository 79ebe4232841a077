//! One page for a browser, with everything in it: style, script and the report. It loads nothing.
//!
//! Names in a report come out of files that anybody may have made. None of them is written as markup: the report is one
//! JSON block whose strings hold no character that ends it, and the script makes text nodes of what it reads. The page's
//! policy allows its own style and script, by hash, and nothing else.

use std::collections::{BTreeSet, HashMap};
use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::Formatter;
use serde_json::{Map, Serializer, Value};
use sha2::{Digest as _, Sha256};

use super::json::image::JsonKernel;
use super::json::{JsonReport, Mnemonics};
use crate::report::{ImageReport, Report};

const PAGE: &str = include_str!("html/page.html");
const STYLE: &str = include_str!("html/page.css");
/// One module in six files.
const SCRIPT: [&str; 6] = [
    include_str!("html/values.js"),
    include_str!("html/table.js"),
    include_str!("html/treemap.js"),
    include_str!("html/rules.js"),
    include_str!("html/kernels.js"),
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
/// The report in it is schema `blockgate.audit/1` with two differences: the functions of all images are one table, where
/// each name stands once; and there is `page`, with that table, the exit status and the conversions to E2M1 of each image.
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
    /// The machine output itself, so that whatever it has is in the page.
    #[serde(flatten)]
    report: JsonReport<'a>,
    page: Page,
}

/// What is in the page alone.
#[derive(Serialize)]
struct Page {
    version: &'static str,
    exit_status: u8,
    /// Conversions to E2M1 by the image's running number over all inputs; null where they cannot be told.
    e2m1: Vec<Option<u64>>,
    kernels: Kernels,
}

/// The functions of all images. A kernel is compiled for many architectures under one long name.
#[derive(Default, Serialize)]
struct Kernels {
    /// Names of the columns after the first two; a value of a nested object has both names, with a dot between.
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
        let mut machine = JsonReport::of(report, &options.mnemonics);
        let mut kernels = Kernels::default();
        for (image, functions) in machine.take_functions().iter().enumerate() {
            kernels.add(image, functions, !options.mnemonics.all)?;
        }
        let images = report.files.iter().flat_map(|file| &file.images);
        Ok(Self {
            report: machine,
            page: Page {
                version: env!("CARGO_PKG_VERSION"),
                exit_status: report.status(options.strict).code(),
                e2m1: images.map(ImageReport::e2m1_conversions).collect(),
                kernels,
            },
        })
    }
}

impl Kernels {
    /// Adds the functions of image number `image`, each of their values in a column. Counts by mnemonic are columns where
    /// `by_mnemonic` says that they are few.
    fn add(
        &mut self,
        image: usize,
        functions: &[JsonKernel<'_>],
        by_mnemonic: bool,
    ) -> serde_json::Result<()> {
        for function in functions {
            let mut fields: Map<String, Value> =
                serde_json::to_value(function).and_then(serde_json::from_value)?;
            let (Some(Value::String(name)), shown) = (fields.remove("name"), fields.remove("demangled"))
            else {
                continue;
            };
            let mut row = vec![image.into(), self.position(name, shown).into()];
            if let Some(Value::Object(sass)) = fields.remove("sass")
                && by_mnemonic
            {
                self.mnemonics.extend(sass.keys().cloned());
                fields.extend(sass);
            }
            for (column, value) in fields {
                match value {
                    Value::Null => {}
                    Value::Object(inner) => {
                        for (below, value) in inner {
                            self.put(&mut row, format!("{column}.{below}"), value);
                        }
                    }
                    value => self.put(&mut row, column, value),
                }
            }
            self.rows.push(row);
        }
        Ok(())
    }

    fn put(&mut self, row: &mut Vec<Value>, column: String, value: Value) {
        let at = 2 + self.column(column);
        if row.len() <= at {
            row.resize(at + 1, Value::Null);
        }
        row[at] = value;
    }

    fn position(&mut self, name: String, shown: Option<Value>) -> usize {
        if let Some(at) = self.positions.get(&name) {
            return *at;
        }
        self.demangled.push(match shown {
            Some(Value::String(shown)) => Some(shown),
            _ => None,
        });
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
