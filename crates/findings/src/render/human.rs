//! One finding a paragraph, for a terminal.

use std::borrow::Cow;
use std::io::{self, Write};

use crate::{Finding, Location, Severity};

/// Whether words may be coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Palette {
    /// Bytes that any file or pager can take.
    #[default]
    Plain,
    /// ANSI colours, for a terminal.
    Ansi,
}

impl Palette {
    /// `text` in the colour of `severity`.
    pub fn severity(self, severity: Severity, text: &str) -> String {
        let colour = match severity {
            Severity::Info => "36",
            Severity::Warning => "33",
            Severity::Error => "31",
        };
        self.paint(colour, text)
    }

    /// `text` in bold.
    pub fn strong(self, text: &str) -> String {
        self.paint("1", text)
    }

    fn paint(self, code: &str, text: &str) -> String {
        match self {
            Self::Plain => text.to_owned(),
            Self::Ansi => format!("\x1b[{code}m{text}\x1b[0m"),
        }
    }
}

/// `text` as a terminal may show it. Names come out of files that anybody may have made, so control characters, which
/// can move the cursor or rename the window, are written as escapes.
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(|char: char| char.is_control()) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for char in text.chars() {
        if char.is_control() {
            shown.extend(char.escape_default());
        } else {
            shown.push(char);
        }
    }
    Cow::Owned(shown)
}

/// Writes `path:place: severity[rule]: message`, then the notes, one a line.
pub fn human(out: &mut dyn Write, findings: &[Finding], palette: Palette) -> io::Result<()> {
    for finding in findings {
        let label = palette.severity(finding.severity, &finding.severity.to_string());
        writeln!(
            out,
            "{}: {label}[{}]: {}",
            printable(&place(&finding.location)),
            finding.rule,
            printable(&finding.message)
        )?;
        for note in &finding.notes {
            writeln!(out, "  note: {}", printable(note))?;
        }
        if let Some(fix) = &finding.fix {
            writeln!(out, "  fix: {}", fix.title)?;
        }
    }
    Ok(())
}

fn place(location: &Location) -> String {
    match location {
        Location::Text(text) => format!("{}:{}:{}", text.path, text.at.line, text.at.column),
        Location::Artifact(artifact) => {
            let mut place = artifact.path.clone();
            if let Some(member) = &artifact.member {
                place.push_str(&format!("({member})"));
            }
            if let Some(offset) = artifact.offset_bytes {
                place.push_str(&format!(" at offset {offset:#x}"));
            }
            place
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::{Palette, human, printable};
    use crate::{ArtifactPlace, Finding, LineColumn, Location, Severity, TextPlace};

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(printable("a\u{1b}[31m\nb"), r"a\u{1b}[31m\nb");
        assert_eq!(printable("µ.o"), "µ.o");
    }

    #[test]
    fn places_and_notes() {
        let findings = [
            Finding {
                rule: "bad-entry",
                severity: Severity::Error,
                message: "`100fg` is no architecture".to_owned(),
                location: Location::Text(TextPlace {
                    path: "arch-lists/x.yaml".to_owned(),
                    start_byte: 20,
                    end_byte: 25,
                    at: LineColumn { line: 3, column: 16 },
                }),
                notes: vec!["did you mean `100f`?".to_owned()],
                fix: None,
            },
            Finding {
                rule: "suffix-disagreement",
                severity: Severity::Warning,
                message: "the entry says sm_121a, the ELF sm_121".to_owned(),
                location: Location::Artifact(ArtifactPlace {
                    path: "lib.a".to_owned(),
                    member: Some("x.o".to_owned()),
                    offset_bytes: Some(0x1f40),
                }),
                notes: Vec::new(),
                fix: None,
            },
        ];
        let mut out = Vec::new();
        human(&mut out, &findings, Palette::Plain).unwrap();
        expect![[r#"
            arch-lists/x.yaml:3:16: error[bad-entry]: `100fg` is no architecture
              note: did you mean `100f`?
            lib.a(x.o) at offset 0x1f40: warning[suffix-disagreement]: the entry says sm_121a, the ELF sm_121
        "#]]
        .assert_eq(std::str::from_utf8(&out).unwrap());
    }
}
