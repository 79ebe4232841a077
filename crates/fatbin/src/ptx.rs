//! Facts of PTX text: version, target, kernels.

use blockgate_arch::{Arch, SpelledArch, Spelling};
use memchr::{memchr2, memmem};

use crate::error::{Defect, Error};
use crate::limits::Limits;
use crate::names::clipped;
use crate::view::{View, first_bytes};
use blockgate_findings::Severity::Warning;

/// What a PTX text says of itself, outside comments and strings.
///
/// Source: PTX ISA, "PTX Module Directives" and "Kernel and Function Directives".
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PtxFacts {
    /// The first architecture of the first `.target`, as it stands there.
    pub target: String,
    /// The same, as an architecture.
    pub arch: Arch,
    /// What else the first `.target` lists, such as `debug` or `texmode_independent`.
    pub target_options: Vec<String>,
    /// The `.address_size` in bits, which can only stand behind the first `.target`. Where there is none, PTX ISA has 32.
    pub address_size_bits: Option<u16>,
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

/// The architecture of a name such as `sm_121a`; other spellings mean nothing to an assembler.
pub(crate) fn arch_of_name(name: &str) -> Option<Arch> {
    let spelled: SpelledArch = name.parse().ok()?;
    (spelled.spelling == Spelling::Sm).then_some(spelled.arch)
}

impl PtxFacts {
    /// Reads the facts, and reports directives that stand more than once: an assembler refuses such a text.
    ///
    /// # Errors
    /// When the text has no `.version` or no `.target`, or they are not what PTX allows there, or when the names of its
    /// kernels and options ask for more memory than `limits` allow.
    pub(crate) fn read(view: &View<'_>, limits: &Limits) -> Result<(Self, Vec<Defect>), Error> {
        let mut names = Budget::new(limits);
        let found = Directives::find(view.bytes(), names.most());
        let mut defects = Vec::new();
        for (directive, places) in [(VERSION, &found.versions), (TARGET, &found.targets)] {
            for &again in places.get(1..).unwrap_or_default() {
                let (expected, found) = (format!("one `{directive}`"), format!("another `{directive}`"));
                defects.push(view.defect(again as u64, "ptx-repeated-directive", Warning, expected, found));
            }
        }
        let first = |directive: &str, places: &[usize]| {
            places.first().copied().ok_or_else(|| {
                let expected = format!("PTX text with a `{directive}` directive");
                view.error(0, expected, first_bytes(view.bytes()))
            })
        };
        let version = read_version(view, first(VERSION, &found.versions)?)?;
        let target = read_target(view, first(TARGET, &found.targets)?, &mut names)?;
        let mut entries = Vec::new();
        for at in found.entries {
            if let Some(token) = arguments(view.bytes(), at, ENTRY).next() {
                entries.push(names.copy(view, at, &token)?);
            }
        }
        let facts = Self {
            target: target.name,
            arch: target.arch,
            target_options: target.options,
            address_size_bits: target.address_size_bits,
            version,
            entries,
        };
        Ok((facts, defects))
    }
}

const VERSION: &str = ".version";
const TARGET: &str = ".target";
const ENTRY: &str = ".entry";
const ADDRESS_SIZE: &[u8] = b".address_size";

/// What the copied names may still take. Each is charged with what it costs to list it too, or a text of empty kernels
/// would ask for many times its own size.
struct Budget {
    left_bytes: u64,
    limit_bytes: u64,
    count: u64,
}

impl Budget {
    fn new(limits: &Limits) -> Self {
        Self {
            left_bytes: limits.max_name_bytes,
            limit_bytes: limits.max_name_bytes,
            count: 0,
        }
    }

    /// As many names are too many, however short they are.
    fn most(&self) -> usize {
        let most = self.limit_bytes / size_of::<String>() as u64 + 1;
        usize::try_from(most).unwrap_or(usize::MAX)
    }

    /// `token` as text, of the directive at `at`.
    fn copy(&mut self, view: &View<'_>, at: usize, token: &Token<'_>) -> Result<String, Error> {
        self.count += 1;
        let left = self.left_bytes;
        let left_for = |name_bytes: usize| left.checked_sub((name_bytes + size_of::<String>()) as u64);
        // Bytes that are no UTF-8 become longer when they are replaced, so the room is known only then.
        let name = left_for(token.text.len()).map(|_| token.to_string());
        match name.and_then(|name| Some((left_for(name.len())?, name))) {
            Some((left, name)) => {
                self.left_bytes = left;
                Ok(name)
            }
            None => {
                let expected = format!(
                    "names of at most {:#x} bytes together, with {} for each",
                    self.limit_bytes,
                    size_of::<String>()
                );
                let found = format!("more, in the first {} of them", self.count);
                Err(view.error(at as u64, expected, found))
            }
        }
    }
}

/// The tokens that follow the directive at `at`.
fn arguments<'a>(bytes: &'a [u8], at: usize, directive: &str) -> Tokens<'a> {
    Tokens {
        bytes,
        at: at + directive.len(),
    }
}

fn read_version(view: &View<'_>, at: usize) -> Result<(u16, u16), Error> {
    let token = arguments(view.bytes(), at, VERSION).next();
    let text = token.map(|token| token.short()).unwrap_or_default();
    let parsed = text
        .split_once('.')
        .and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
    parsed.ok_or_else(|| {
        let expected = "a PTX version such as 9.0 after `.version`";
        view.error(at as u64, expected, format!("`{}`", clipped(&text)))
    })
}

/// What the first `.target` says, and the directive that may follow it.
struct Target {
    arch: Arch,
    name: String,
    options: Vec<String>,
    address_size_bits: Option<u16>,
}

fn read_target(view: &View<'_>, at: usize, names: &mut Budget) -> Result<Target, Error> {
    let mut tokens = arguments(view.bytes(), at, TARGET);
    let name = tokens.next().map(|token| token.short()).unwrap_or_default();
    let arch = arch_of_name(&name).ok_or_else(|| {
        let expected = "an architecture such as sm_90a after `.target`";
        view.error(at as u64, expected, format!("`{}`", clipped(&name)))
    })?;
    let mut options = Vec::new();
    let mut next = tokens.next();
    while next.as_ref().is_some_and(|token| token.text == b",") {
        if let Some(token) = tokens.next() {
            options.push(names.copy(view, at, &token)?);
        }
        next = tokens.next();
    }
    let address_size_bits = next
        .filter(|token| token.text == ADDRESS_SIZE)
        .and_then(|_| tokens.next()?.short().parse().ok());
    Ok(Target {
        arch,
        name,
        options,
        address_size_bits,
    })
}

/// Where the directives stand that are of interest: of those that belong there once, the first and the second.
#[derive(Default)]
struct Directives {
    versions: Vec<usize>,
    targets: Vec<usize>,
    entries: Vec<usize>,
}

impl Directives {
    /// Looks for directives between comments and strings. Those are rare, and so are the directives, which makes
    /// this many times faster than splitting all of the text into tokens.
    fn find(bytes: &[u8], most_entries: usize) -> Self {
        let mut found = Self::default();
        let finders = [VERSION, TARGET, ENTRY].map(memmem::Finder::new);
        let mut tokens = Tokens { bytes, at: 0 };
        while tokens.at < bytes.len() {
            let start = tokens.at;
            let rest = bytes.get(start..).unwrap_or_default();
            let end = start + memchr2(b'/', b'"', rest).unwrap_or(rest.len());
            let plain = bytes.get(start..end).unwrap_or_default();
            let places = [
                (&mut found.versions, 2),
                (&mut found.targets, 2),
                (&mut found.entries, most_entries),
            ];
            for (finder, (places, most)) in finders.iter().zip(places) {
                let hits = finder.find_iter(plain).map(|hit| start + hit);
                let whole = hits.filter(|&at| is_whole_word(bytes, at, finder.needle().len()));
                places.extend(whole.take(most - places.len()));
            }
            tokens.at = end;
            if !tokens.skip_comment_or_string() {
                // A slash by itself, or the end.
                tokens.at += 1;
            }
        }
        found
    }
}

fn is_whole_word(bytes: &[u8], at: usize, len: usize) -> bool {
    let before = at.checked_sub(1).and_then(|before| bytes.get(before));
    let after = bytes.get(at + len);
    !before.into_iter().chain(after).any(|&byte| is_word(byte))
}

struct Token<'a> {
    text: &'a [u8],
}

impl Token<'_> {
    /// The start of the token: enough for a version or the name of an architecture, and for a message about another.
    fn short(&self) -> String {
        const MAX_BYTES: usize = 512;
        let start = self.text.get(..MAX_BYTES).unwrap_or(self.text);
        String::from_utf8_lossy(start).into_owned()
    }
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
    /// Moves behind the comment or string that starts here. `false` where none does.
    fn skip_comment_or_string(&mut self) -> bool {
        match self.bytes.get(self.at..) {
            Some([b'/', b'/', ..]) => self.skip_past(b"\n"),
            Some([b'/', b'*', ..]) => {
                self.at += 2;
                self.skip_past(b"*/");
            }
            Some([b'"', ..]) => self.skip_string(),
            _ => return false,
        }
        true
    }

    /// Moves behind `end`, or to the end of the text.
    fn skip_past(&mut self, end: &[u8]) {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        self.at += memmem::find(rest, end).map_or(rest.len(), |position| position + end.len());
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
            if self.skip_comment_or_string() {
                continue;
            }
            match self.bytes.get(self.at..)? {
                [] => return None,
                [byte, ..] if byte.is_ascii_whitespace() || *byte == 0 => self.at += 1,
                rest => {
                    let length = rest.iter().position(|byte| !is_word(*byte)).unwrap_or(rest.len());
                    let text = rest.get(..length.max(1))?;
                    self.at += text.len();
                    return Some(Token { text });
                }
            }
        }
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'$' | b'%') || byte >= 0x80
}

#[cfg(test)]
mod tests {
    use super::{PtxFacts, looks_like_ptx};
    use crate::limits::Limits;
    use crate::view::View;

    fn facts(text: &str) -> Result<PtxFacts, String> {
        let view = View::new(text.as_bytes(), None, 0);
        PtxFacts::read(&view, &Limits::default())
            .map(|(facts, _)| facts)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn comments_and_strings_hide_directives() {
        let cases = [
            (
                ".version 9.0 .target sm_121a .visible .entry k(){ ret; }",
                "sm_121a",
            ),
            (
                "// .version 1.0\n/* .target sm_70\n*/.version 9.0\n.target sm_90 // sm_80",
                "sm_90",
            ),
            (".version\t9.0\r\n.target\t/* sm_50 */ sm_120f\r\n", "sm_120f"),
            (".version 9.0\n.target sm_75\n.pragma \".target sm_10\";", "sm_75"),
            (
                ".version 9.0\n.file 1 \"a\\\".target sm_10\"\n.target sm_75",
                "sm_75",
            ),
            (
                ".version 9.0 .b.target sm_10 .targets sm_20 .target sm_75",
                "sm_75",
            ),
            (".version 9.0 / .target sm_75", "sm_75"),
        ];
        for (text, target) in cases {
            assert_eq!(
                facts(text).map(|facts| facts.target),
                Ok(target.to_owned()),
                "{text}"
            );
        }
    }

    #[test]
    fn options_and_kernels_are_listed() {
        let text = ".version 8.4\n.target sm_90a, debug,texmode_independent\n.address_size 64\n\
                    .visible .entry _Z1kv(\n) { .entry_point: }\n.weak .entry/**/b()";
        let facts = facts(text).unwrap();
        assert_eq!(facts.version, (8, 4));
        assert_eq!(facts.target_options, ["debug", "texmode_independent"]);
        assert_eq!(facts.address_size_bits, Some(64));
        assert_eq!(facts.entries, ["_Z1kv", "b"]);
    }

    /// Text, limit in bytes, and the place and count of the name that is too much.
    type Row<'t> = (&'t [u8], u64, Option<(u64, u64)>);

    #[test]
    fn copied_names_are_capped() {
        let listed = size_of::<String>() as u64;
        let two = ".version 9.0 .target sm_90 .entry abcd() .entry efgh()";
        let empty = ".version 9.0 .target sm_90 .entry;.entry;.entry;";
        let options = ".version 9.0 .target sm_90, debug, debug";
        let replaced = b".version 9.0 .target sm_90 .entry \xff\xff";
        let rows: [Row<'_>; 10] = [
            (two.as_bytes(), 2 * (listed + 4), None),
            (two.as_bytes(), 2 * (listed + 4) - 1, Some((41, 2))),
            (two.as_bytes(), listed + 3, Some((27, 1))),
            (two.as_bytes(), 0, Some((27, 1))),
            (empty.as_bytes(), 3 * (listed + 1), None),
            (empty.as_bytes(), 3 * (listed + 1) - 1, Some((41, 3))),
            (options.as_bytes(), 2 * (listed + 5), None),
            (options.as_bytes(), 2 * (listed + 5) - 1, Some((13, 2))),
            (replaced, listed + 6, None),
            (replaced, listed + 5, Some((27, 1))),
        ];
        for (text, max_name_bytes, refused) in rows {
            let limits = Limits {
                max_name_bytes,
                ..Limits::default()
            };
            let read = PtxFacts::read(&View::new(text, None, 0), &limits);
            let expected = refused.map(|(at, count)| {
                format!(
                    "at {at:#x}: expected names of at most {max_name_bytes:#x} bytes together, with {listed} for each, \
                     found more, in the first {count} of them"
                )
            });
            let shown = String::from_utf8_lossy(text);
            assert_eq!(
                read.err().map(|error| error.to_string()),
                expected,
                "{shown}, {max_name_bytes}"
            );
        }
    }

    #[test]
    fn an_address_size_follows_the_target_or_is_not_there() {
        for (text, expected) in [
            (".version 9.0 .target sm_90 .address_size 32", Some(32)),
            (
                ".version 9.0 .target sm_90, debug /* x */ .address_size 64",
                Some(64),
            ),
            (".version 9.0 .target sm_90 .address_size", None),
            (".version 9.0 .target sm_90 .address_size x", None),
            (".version 9.0 .target sm_90 .file 1 \"a\" .address_size 64", None),
            (".version 9.0 .target sm_90,", None),
        ] {
            assert_eq!(facts(text).unwrap().address_size_bits, expected, "{text}");
        }
    }

    #[test]
    fn missing_or_odd_directives_are_errors_with_a_place() {
        for (text, expected) in [
            (
                ".version 9.0",
                "at 0x0: expected PTX text with a `.target` directive, found bytes 2e 76 65 72 73 69 6f 6e",
            ),
            (
                ".version 9.0\n.target",
                "at 0xd: expected an architecture such as sm_90a after `.target`, found ``",
            ),
            (
                ".version 9.0 .target sm_9x",
                "at 0xd: expected an architecture such as sm_90a after `.target`, found `sm_9x`",
            ),
            (
                ".version 9.0 .target sm_90f",
                "at 0xd: expected an architecture such as sm_90a after `.target`, found `sm_90f`",
            ),
            (
                ".version 9.0 .target compute_90",
                "at 0xd: expected an architecture such as sm_90a after `.target`, found `compute_90`",
            ),
            (
                ".version x .target sm_90",
                "at 0x0: expected a PTX version such as 9.0 after `.version`, found `x`",
            ),
        ] {
            assert_eq!(facts(text).err().as_deref(), Some(expected));
        }
    }

    #[test]
    fn ptx_is_recognised_by_its_first_directive() {
        for (text, expected) in [
            ("\n//\n// x\n.version 9.0", true),
            ("/* a */ .version 9.0", true),
            (".versions", false),
            ("", false),
            ("// .version", false),
            ("#include <x>", false),
        ] {
            assert_eq!(looks_like_ptx(text.as_bytes()), expected, "{text}");
        }
    }
}
