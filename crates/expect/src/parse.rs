//! Reading an expectation from left to right.

use std::ops::Range;

use crate::arch_pattern::ArchPattern;
use crate::bytes::ByteCount;
use crate::error::{ExpectationError, Expected};
use crate::expectation::{Expectation, Subject};
use crate::op::Op;
use crate::pattern::{Glob, Pattern};

/// A place in a text; every error carries the span at which it happened.
pub(crate) struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn skip_spaces(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    fn error(&self, span: Range<usize>, expected: Expected) -> ExpectationError {
        ExpectationError::new(self.text, span, expected)
    }

    /// An error about the word that stands here.
    fn error_here(&self, expected: Expected) -> ExpectationError {
        let rest = self.rest();
        let word = rest.find(char::is_whitespace).unwrap_or(rest.len());
        self.error(self.at..self.at + word, expected)
    }

    fn take_while(&mut self, accept: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let length = rest.find(|char| !accept(char)).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    pub(crate) fn op(&mut self) -> Result<Op, ExpectationError> {
        self.skip_spaces();
        let (spelling, op) = Op::ALL
            .into_iter()
            .find(|(spelling, _)| self.rest().starts_with(spelling))
            .ok_or_else(|| self.error_here(Expected::Operator))?;
        self.at += spelling.len();
        Ok(op)
    }

    fn count(&mut self, expected: Expected) -> Result<u64, ExpectationError> {
        self.skip_spaces();
        let start = self.at;
        let digits = self.take_while(|char| char.is_ascii_digit());
        let glued = self.rest().starts_with(['.', '_']);
        match digits.parse() {
            Ok(count) if !glued => Ok(count),
            _ => {
                self.at = start;
                Err(self.error_here(expected))
            }
        }
    }

    pub(crate) fn bytes(&mut self) -> Result<ByteCount, ExpectationError> {
        self.skip_spaces();
        let start = self.at;
        let count = self.count(Expected::Bytes)?;
        let after_count = self.at;
        self.skip_spaces();
        let unit = self.take_while(char::is_alphabetic);
        // ` in MEMBER-GLOB` may follow directly; it is no unit.
        let unit = if unit.is_empty() || unit == "in" {
            self.at = after_count;
            "B"
        } else {
            unit
        };
        ByteCount::of(count, unit).ok_or_else(|| self.error(start..self.at, Expected::Bytes))
    }

    pub(crate) fn end(&mut self) -> Result<(), ExpectationError> {
        self.skip_spaces();
        if self.rest().is_empty() {
            return Ok(());
        }
        Err(self.error(self.at..self.text.trim_end().len(), Expected::End))
    }

    fn subject(&mut self) -> Result<Subject, ExpectationError> {
        self.skip_spaces();
        let start = self.at;
        let word = self.take_while(|char| char.is_ascii_alphanumeric() || char == '_');
        match word {
            "cubins" => self.architecture_in_parentheses().map(Subject::Cubins),
            "ptx" => self.architecture_in_parentheses().map(Subject::Ptx),
            "images" => self.architecture_in_parentheses().map(Subject::Images),
            "sass" => {
                let mnemonic = self.regex_in_parentheses()?;
                let arch = if self.rest().starts_with('@') {
                    self.at += 1;
                    let start = self.at;
                    self.take_while(|char| !char.is_whitespace() && !"=!<>".contains(char));
                    Some(self.architecture(start..self.at)?)
                } else {
                    None
                };
                Ok(Subject::Sass { mnemonic, arch })
            }
            "ptx_text" => self.regex_in_parentheses().map(Subject::PtxText),
            "size" => Ok(Subject::Size),
            _ => {
                self.at = start;
                Err(self.error_here(Expected::Subject))
            }
        }
    }

    fn open(&mut self) -> Result<(), ExpectationError> {
        if !self.rest().starts_with('(') {
            return Err(self.error_here(Expected::OpeningParenthesis));
        }
        self.at += 1;
        Ok(())
    }

    fn architecture(&self, span: Range<usize>) -> Result<ArchPattern, ExpectationError> {
        self.text[span.clone()]
            .parse()
            .map_err(|_| self.error(span, Expected::Architecture))
    }

    fn architecture_in_parentheses(&mut self) -> Result<ArchPattern, ExpectationError> {
        self.open()?;
        let inside = self.rest();
        let Some(length) = inside.find(')') else {
            return Err(self.error(self.text.len()..self.text.len(), Expected::ClosingParenthesis));
        };
        let leading = inside[..length].len() - inside[..length].trim_start().len();
        let start = self.at + leading;
        let span = start..start + inside[..length].trim().len();
        self.at += length + 1;
        self.architecture(span)
    }

    fn regex_in_parentheses(&mut self) -> Result<Pattern, ExpectationError> {
        self.open()?;
        let Some(length) = regex_length(self.rest()) else {
            return Err(self.error(self.text.len()..self.text.len(), Expected::ClosingParenthesis));
        };
        let span = self.at..self.at + length;
        self.at += length + 1;
        if span.is_empty() {
            return Err(self.error(
                span.start..span.start + 1,
                Expected::Regex("it is empty".to_owned()),
            ));
        }
        Pattern::new(&self.text[span.clone()]).map_err(|error| {
            let reason = last_line(&error.to_string());
            self.error(span, Expected::Regex(reason))
        })
    }

    fn member(&mut self) -> Result<Option<Glob>, ExpectationError> {
        self.skip_spaces();
        if self.rest().is_empty() {
            return Ok(None);
        }
        let word = self.rest().split(char::is_whitespace).next().unwrap_or_default();
        if word != "in" {
            return Err(self.error(self.at..self.text.trim_end().len(), Expected::EndOrMember));
        }
        self.at += word.len();
        self.skip_spaces();
        let span = self.at..self.text.trim_end().len().max(self.at);
        self.at = self.text.len();
        if span.is_empty() {
            return Err(self.error(span, Expected::Glob("it is empty".to_owned())));
        }
        Glob::new(&self.text[span.clone()])
            .map(Some)
            .map_err(|error| self.error(span, Expected::Glob(error.kind().to_string())))
    }
}

impl std::str::FromStr for Expectation {
    type Err = ExpectationError;

    fn from_str(text: &str) -> Result<Self, ExpectationError> {
        let mut cursor = Cursor::new(text);
        let subject = cursor.subject()?;
        let op = cursor.op()?;
        let threshold = match subject {
            Subject::Size => cursor.bytes()?.get(),
            _ => cursor.count(Expected::Count)?,
        };
        let member = cursor.member()?;
        Ok(Self {
            source: text.to_owned(),
            subject,
            op,
            threshold,
            member,
        })
    }
}

/// The length of the regular expression at the start of `text`, up to the parenthesis that closes the one
/// before it. Escaped parentheses and those in character classes do not count; balanced ones do.
fn regex_length(text: &str) -> Option<usize> {
    let mut groups = 0_usize;
    let mut classes = 0_usize;
    let mut chars = text.char_indices().peekable();
    while let Some((at, char)) = chars.next() {
        match char {
            '\\' => {
                chars.next();
            }
            '[' => {
                classes += 1;
                // A `]` that comes first, or first after `^`, is a member of the class.
                chars.next_if(|(_, char)| *char == '^');
                chars.next_if(|(_, char)| *char == ']');
            }
            ']' => classes = classes.saturating_sub(1),
            '(' if classes == 0 => groups += 1,
            ')' if classes == 0 && groups == 0 => return Some(at),
            ')' if classes == 0 => groups -= 1,
            _ => {}
        }
    }
    None
}

/// The regex crate draws a picture over several lines; its last line says what is wrong.
fn last_line(message: &str) -> String {
    message
        .lines()
        .last()
        .unwrap_or_default()
        .trim_start_matches("error: ")
        .to_owned()
}
