//! GitHub-flavoured Markdown for a job summary, within the size that a summary may have.

use crate::{Finding, Location, Severity};

/// How large a step's summary may be, in bytes. Source: GitHub documentation, "Workflow commands", on job summaries.
pub const MAX_SUMMARY_BYTES: usize = 1 << 20;

/// What is kept free for the line that says what was left out, in bytes.
const RESERVE_BYTES: usize = 512;

/// A page that grows until it is full, and then counts what it leaves out.
#[derive(Clone, Debug)]
pub struct Page {
    text: String,
    max_bytes: usize,
    left_out_lines: usize,
}

impl Default for Page {
    fn default() -> Self {
        Self::with_limit(MAX_SUMMARY_BYTES)
    }
}

impl Page {
    /// A page of at most `max_bytes`, what it says of itself included.
    pub fn with_limit(max_bytes: usize) -> Self {
        Self {
            text: String::new(),
            max_bytes,
            left_out_lines: 0,
        }
    }

    /// Adds a line. Once one did not fit, no later one is added either, so that what is there is a beginning.
    pub fn line(&mut self, line: &str) {
        let grown = self.text.len() + line.len() + 1;
        if self.left_out_lines > 0 || grown + RESERVE_BYTES > self.max_bytes {
            self.left_out_lines += 1;
            return;
        }
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Adds a heading with the empty lines around it.
    pub fn heading(&mut self, level: usize, text: &str) {
        if !self.text.is_empty() {
            self.line("");
        }
        self.line(&format!("{} {text}", "#".repeat(level)));
        self.line("");
    }

    /// Adds a row of cells that are Markdown already.
    pub fn row(&mut self, cells: &[String]) {
        self.line(&format!("| {} |", cells.join(" | ")));
    }

    /// Adds the head of a table: titles, and whether each column holds numbers.
    pub fn table_head(&mut self, columns: &[(&str, bool)]) {
        let titles: Vec<String> = columns.iter().map(|(title, _)| (*title).to_owned()).collect();
        self.row(&titles);
        let rules = columns
            .iter()
            .map(|(_, is_number)| if *is_number { "---:" } else { "---" });
        self.line(&format!("|{}|", rules.collect::<Vec<_>>().join("|")));
    }

    /// The text, with a last line that says what was left out.
    pub fn finish(mut self) -> String {
        if self.left_out_lines > 0 {
            let line = format!(
                "\n**{} more lines are left out**: a job summary may have {} bytes. `--format json` has everything.\n",
                self.left_out_lines, self.max_bytes
            );
            self.text.push_str(&line);
        }
        self.text
    }
}

/// `text` as Markdown that shows exactly it, in a table too.
pub fn escaped(text: &str) -> String {
    let mut markdown = String::with_capacity(text.len() + 8);
    for char in text.chars() {
        match char {
            '\n' | '\r' => markdown.push(' '),
            _ if char.is_control() => markdown.extend(char.escape_default()),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '#' | '$' => markdown.extend(['\\', char]),
            '&' => markdown.push_str("&amp;"),
            '<' => markdown.push_str("&lt;"),
            '>' => markdown.push_str("&gt;"),
            _ => markdown.push(char),
        }
    }
    markdown
}

/// `text` as a code span, in a table too: the fence is longer than any run of backticks within.
pub fn code(text: &str) -> String {
    let text: String = super::printable(text).replace('|', "\\|");
    let longest = text.split(|char| char != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    // A span that begins or ends with a backtick, or is empty, needs a space that is not shown.
    let pad = if text.is_empty() || text.starts_with('`') || text.ends_with('`') {
        " "
    } else {
        ""
    };
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// Adds a table of findings, errors first.
pub fn findings(page: &mut Page, findings: &[&Finding]) {
    page.table_head(&[
        ("severity", false),
        ("rule", false),
        ("where", false),
        ("what", false),
    ]);
    let mut sorted = findings.to_vec();
    sorted.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    for finding in sorted {
        let mut what = escaped(&finding.message);
        for note in &finding.notes {
            what.push_str("<br>");
            what.push_str(&escaped(note));
        }
        page.row(&[
            severity(finding.severity).to_owned(),
            code(finding.rule),
            place(&finding.location),
            what,
        ]);
    }
}

const fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Info => "info",
        Severity::Warning => "warning",
        Severity::Error => "**error**",
    }
}

fn place(location: &Location) -> String {
    match location {
        Location::Text(text) => code(&format!("{}:{}:{}", text.path, text.at.line, text.at.column)),
        Location::Artifact(artifact) => {
            let mut place = code(&artifact.path);
            if let Some(member) = &artifact.member {
                place.push_str(&format!(" {}", code(member)));
            }
            if let Some(offset) = artifact.offset_bytes {
                place.push_str(&format!(" at {offset:#x}"));
            }
            place
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::{Page, code, escaped, findings};
    use crate::{ArtifactPlace, Finding, Location, Severity};

    #[test]
    fn text_is_shown_as_it_is() {
        assert_eq!(
            escaped("a|b `c` <img src=x> & sm_12*\n\u{1b}"),
            r"a\|b \`c\` &lt;img src=x&gt; &amp; sm\_12\* \u{1b}"
        );
        assert_eq!(code("a|b"), r"`a\|b`");
        assert_eq!(code("a``b"), "```a``b```");
        assert_eq!(code("`x"), "`` `x ``");
        assert_eq!(code("</code>\n"), r"`</code>\n`");
    }

    #[test]
    fn a_table_of_findings() {
        let finding = |severity, message: &str| Finding {
            rule: "duplicate-image",
            severity,
            message: message.to_owned(),
            location: Location::Artifact(ArtifactPlace {
                path: "lib.a".to_owned(),
                member: Some("x|y.o".to_owned()),
                offset_bytes: Some(255),
            }),
            notes: vec!["a *note*".to_owned()],
            fix: None,
        };
        let rows = [
            finding(Severity::Info, "first"),
            finding(Severity::Error, "second"),
        ];
        let mut page = Page::default();
        findings(&mut page, &rows.iter().collect::<Vec<_>>());
        expect![[r#"
            | severity | rule | where | what |
            |---|---|---|---|
            | **error** | `duplicate-image` | `lib.a` `x\|y.o` at 0xff | second<br>a \*note\* |
            | info | `duplicate-image` | `lib.a` `x\|y.o` at 0xff | first<br>a \*note\* |
        "#]]
        .assert_eq(&page.finish());
    }

    #[test]
    fn a_full_page_says_what_is_missing_and_stays_within_its_size() {
        let mut page = Page::with_limit(1000);
        for number in 0..100 {
            page.line(&format!("line {number}"));
        }
        let text = page.finish();
        assert!(text.len() <= 1000, "{}", text.len());
        assert!(text.contains("line 0\nline 1\n"), "{text}");
        let shown = text.lines().filter(|line| line.starts_with("line ")).count();
        let said = format!("**{} more lines are left out**", 100 - shown);
        assert!(text.contains(&said), "{text}");
    }
}
