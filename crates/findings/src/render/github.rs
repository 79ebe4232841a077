//! GitHub Actions annotations: workflow commands on standard output.
//!
//! Source: GitHub documentation, "Workflow commands for GitHub Actions"; the escaping is that of the runner, which undoes
//! `%25`, `%0D`, `%0A`, and in properties `%3A` and `%2C` too.

use std::io::{self, Write};

use super::printable;
use crate::{Finding, Location, Severity};

/// How many annotations of one kind a step may make; GitHub drops the others without a word.
/// Source: GitHub documentation, "Usage limits" of the checks that Actions create.
const MAX_PER_KIND: usize = 10;

/// Writes one command for each finding, errors first, at most ten of each kind. The rest follow as plain lines, counted,
/// and `verdict` ends the output.
///
/// # Errors
/// When `out` cannot be written.
pub fn github(out: &mut dyn Write, findings: &[Finding], verdict: &str) -> io::Result<()> {
    for severity in [Severity::Error, Severity::Warning, Severity::Info] {
        let of_kind: Vec<&Finding> = findings
            .iter()
            .filter(|finding| finding.severity == severity)
            .collect();
        let (shown, rest) = of_kind.split_at(of_kind.len().min(MAX_PER_KIND));
        for finding in shown {
            command(out, finding)?;
        }
        if rest.is_empty() {
            continue;
        }
        writeln!(
            out,
            "{} more of severity {severity}, beyond the {MAX_PER_KIND} annotations that a step may have:",
            rest.len()
        )?;
        for finding in rest {
            // The dash keeps a name out of an artifact from beginning the line, where it could be a command.
            writeln!(
                out,
                "- {}: {} [{}]",
                printable(finding.location.path()),
                printable(&finding.message),
                finding.rule
            )?;
        }
    }
    writeln!(out, "{}", printable(verdict))
}

fn command(out: &mut dyn Write, finding: &Finding) -> io::Result<()> {
    let kind = match finding.severity {
        Severity::Info => "notice",
        Severity::Warning => "warning",
        Severity::Error => "error",
    };
    let mut message = finding.message.clone();
    let (line, column) = match &finding.location {
        Location::Text(place) => (place.at.line, Some(place.at.column)),
        Location::Artifact(place) => {
            if let Some(member) = &place.member {
                message.push_str(&format!("\nmember: {member}"));
            }
            if let Some(offset) = place.offset_bytes {
                message.push_str(&format!("\noffset: {offset:#x}"));
            }
            (1, None)
        }
    };
    for note in &finding.notes {
        message.push_str(&format!("\nnote: {note}"));
    }
    write!(
        out,
        "::{kind} file={},line={line}",
        property(finding.location.path())
    )?;
    if let Some(column) = column {
        write!(out, ",col={column}")?;
    }
    writeln!(
        out,
        ",title={}::{}",
        property(&format!("blockgate {}", finding.rule)),
        data(&message)
    )
}

fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::github;
    use crate::{ArtifactPlace, Finding, LineColumn, Location, Severity, TextPlace};

    fn finding(severity: Severity, location: Location, message: &str) -> Finding {
        Finding {
            rule: "no-forward-ptx",
            severity,
            message: message.to_owned(),
            location,
            notes: vec!["50 % of it\r\n::error::no command".to_owned()],
            fix: None,
        }
    }

    fn artifact(path: &str, member: Option<&str>) -> Location {
        Location::Artifact(ArtifactPlace {
            path: path.to_owned(),
            member: member.map(str::to_owned),
            offset_bytes: Some(16),
        })
    }

    fn rendered(findings: &[Finding]) -> String {
        let mut out = Vec::new();
        github(&mut out, findings, "1 error").unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn nothing_breaks_out_of_a_command() {
        let text = Location::Text(TextPlace {
            path: "blockgate.yaml".to_owned(),
            start_byte: 3,
            end_byte: 5,
            at: LineColumn { line: 2, column: 4 },
        });
        expect![[r#"
            ::error file=blockgate.yaml,line=2,col=4,title=blockgate no-forward-ptx::first%0Anote: 50 %25 of it%0D%0A::error::no command
            ::warning file=a%2Cb%3Ac.a,line=1,title=blockgate no-forward-ptx::second, and more: all%0Amember: x%0A::set-env%0Aoffset: 0x10%0Anote: 50 %25 of it%0D%0A::error::no command
            1 error
        "#]]
        .assert_eq(&rendered(&[
            finding(
                Severity::Warning,
                artifact("a,b:c.a", Some("x\n::set-env")),
                "second, and more: all",
            ),
            finding(Severity::Error, text, "first"),
        ]));
    }

    #[test]
    fn the_eleventh_is_no_annotation_and_is_not_lost() {
        let findings: Vec<Finding> = (1..=12)
            .map(|number| {
                finding(
                    Severity::Info,
                    artifact("::error::x.so", None),
                    &format!("number {number}"),
                )
            })
            .collect();
        let text = rendered(&findings);
        assert_eq!(text.matches("::notice file=").count(), 10);
        let (_, rest) = text.split_once("2 more of severity info").unwrap();
        expect![[r#"
            , beyond the 10 annotations that a step may have:
            - ::error::x.so: number 11 [no-forward-ptx]
            - ::error::x.so: number 12 [no-forward-ptx]
            1 error
        "#]]
        .assert_eq(rest);
    }
}
