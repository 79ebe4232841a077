//! Facts of PTX text: version, target, kernels.

use blockgate_arch::{Arch, Scope};

use crate::DefectSeverity::Warning;
use crate::error::{Defect, Error};
use crate::view::{View, first_bytes};

/// What a PTX text says of itself, outside comments and strings.
///
/// Source: PTX ISA, "PTX Module Directives" and "Kernel and Function Directives".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PtxFacts {
    /// The first architecture of the first `.target`, as it stands there.
    pub target: String,
    /// The same, as an architecture.
    pub arch: Arch,
    /// What else the first `.target` lists, such as `debug` or `texmode_independent`.
    pub target_options: Vec<String>,
    /// The first `.version`: PTX ISA, major and minor.
    pub version: (u16, u16),
    /// The kernels, as `.entry` names them, in order.
    pub entries: Vec<String>,
}

/// Whether `bytes` start, after blanks and comments, with the `.version` that every PTX module starts with.
pub(crate) fn looks_like_ptx(bytes: &[u8]) -> bool {
    Tokens { bytes, at: 0 }
        .next()
        .is_some_and(|token| token.text == b".version")
}

/// The architecture of a name such as `sm_121a`.
pub(crate) fn arch_of_name(name: &str) -> Option<Arch> {
    let name = name.strip_prefix("sm_")?;
    let (digits, scope) = if let Some(digits) = name.strip_suffix('a') {
        (digits, Scope::Specific)
    } else if let Some(digits) = name.strip_suffix('f') {
        (digits, Scope::Family)
    } else {
        (name, Scope::Plain)
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Arch::from_number(digits.parse().ok()?, scope)
}

impl PtxFacts {
    /// Reads the facts, and reports directives that stand more than once: an assembler refuses such a text.
    ///
    /// # Errors
    /// When the text has no `.version` or no `.target`, or they are not what PTX allows there.
    pub(crate) fn read(view: &View<'_>) -> Result<(Self, Vec<Defect>), Error> {
        let mut tokens = Tokens {
            bytes: view.bytes(),
            at: 0,
        }
        .peekable();
        let mut defects = Vec::new();
        let mut version = None;
        let mut target: Option<(Arch, String, Vec<String>)> = None;
        let mut entries = Vec::new();
        let mut again = |directive: &str, at: usize| {
            let (expected, found) = (format!("one `{directive}`"), format!("another `{directive}`"));
            defects.push(view.defect(at as u64, "ptx-repeated-directive", Warning, expected, found));
        };
        while let Some(token) = tokens.next() {
            match token.text {
                b".version" if version.is_some() => again(".version", token.at),
                b".target" if target.is_some() => again(".target", token.at),
                b".version" => {
                    let text = tokens.next().map(|token| token.to_string()).unwrap_or_default();
                    let parsed = text
                        .split_once('.')
                        .and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
                    version = Some(parsed.ok_or_else(|| {
                        let expected = "a PTX version such as 9.0 after `.version`";
                        view.error(token.at as u64, expected, format!("`{}`", clipped(&text)))
                    })?);
                }
                b".target" => {
                    let name = tokens.next().map(|token| token.to_string()).unwrap_or_default();
                    let arch = arch_of_name(&name).ok_or_else(|| {
                        let expected = "an architecture such as sm_90a after `.target`";
                        view.error(token.at as u64, expected, format!("`{}`", clipped(&name)))
                    })?;
                    let mut options = Vec::new();
                    while tokens.next_if(|token| token.text == b",").is_some() {
                        options.extend(tokens.next().map(|token| token.to_string()));
                    }
                    target = Some((arch, name, options));
                }
                b".entry" => {
                    entries.extend(tokens.next().map(|token| token.to_string()));
                }
                _ => {}
            }
        }
        let missing = |directive: &str| {
            let expected = format!("PTX text with a `{directive}` directive");
            view.error(0, expected, first_bytes(view.bytes()))
        };
        let version = version.ok_or_else(|| missing(".version"))?;
        let (arch, target, target_options) = target.ok_or_else(|| missing(".target"))?;
        let facts = Self {
            target,
            arch,
            target_options,
            version,
            entries,
        };
        Ok((facts, defects))
    }
}

/// The start of a text that may be long, for a message.
fn clipped(text: &str) -> String {
    text.chars().take(40).collect()
}

struct Token<'a> {
    text: &'a [u8],
    at: usize,
}

impl std::fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&String::from_utf8_lossy(self.text))
    }
}

/// Splits PTX into words and single punctuation marks. Comments and strings are left out.
struct Tokens<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Tokens<'a> {
    /// Moves to the end of `end`, or to the end of the text.
    fn skip_past(&mut self, end: &[u8]) {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        self.at += rest
            .windows(end.len())
            .position(|window| window == end)
            .map_or(rest.len(), |position| position + end.len());
    }

    fn skip_string(&mut self) {
        self.at += 1;
        while let Some(&byte) = self.bytes.get(self.at) {
            self.at += if byte == b'\\' { 2 } else { 1 };
            if byte == b'"' {
                return;
            }
        }
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        loop {
            let rest = self.bytes.get(self.at..)?;
            match rest {
                [] => return None,
                [b'/', b'/', ..] => self.skip_past(b"\n"),
                [b'/', b'*', ..] => {
                    self.at += 2;
                    self.skip_past(b"*/");
                }
                [b'"', ..] => self.skip_string(),
                [byte, ..] if byte.is_ascii_whitespace() || *byte == 0 => self.at += 1,
                _ => {
                    let length = rest.iter().position(|byte| !is_word(*byte)).unwrap_or(rest.len());
                    let text = rest.get(..length.max(1))?;
                    let at = self.at;
                    self.at += text.len();
                    return Some(Token { text, at });
                }
            }
        }
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'$' | b'%') || byte >= 0x80
}
