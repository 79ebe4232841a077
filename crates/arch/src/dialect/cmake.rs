//! The list of `CMAKE_CUDA_ARCHITECTURES`: `121`, `121-real`, `121a-virtual`, joined by `;`.
//!
//! Source: CMake manual, `CUDA_ARCHITECTURES`. An entry without an ending asks for machine code and PTX.

use super::{ArchList, Entry, EntryError, EntryProblem, Found, Images, Request, Span, Word};
use crate::parse::{SpelledArch, Spelling};

const SEPARATOR: char = ';';
const WORDS: [Word; 4] = [Word::All, Word::AllMajor, Word::Native, Word::Off];

/// Reads a list. Every part of it ends up in `entries` or in `errors`.
pub fn parse(text: &str) -> ArchList {
    let mut list = ArchList::default();
    if text.is_empty() {
        list.errors.push(EntryError {
            span: Span {
                start_byte: 0,
                end_byte: 0,
            },
            problem: EntryProblem::EmptyList,
        });
        return list;
    }
    let mut start_byte = 0;
    for token in text.split(SEPARATOR) {
        let span = Span {
            start_byte,
            end_byte: start_byte + token.len(),
        };
        start_byte = span.end_byte + SEPARATOR.len_utf8();
        match request(token) {
            Ok(request) => list.entries.push(Entry { request, span }),
            Err((within, problem)) => list.errors.push(EntryError {
                span: within.map_or(span, |within| Span {
                    start_byte: span.start_byte + within.start_byte,
                    end_byte: span.start_byte + within.end_byte,
                }),
                problem,
            }),
        }
    }
    if list.entries.len() + list.errors.len() > 1 {
        list.errors
            .extend(list.entries.iter().filter_map(|entry| match entry.request {
                Request::Word(word) => Some(EntryError {
                    span: entry.span,
                    problem: EntryProblem::WordNotAlone { word: word.text() },
                }),
                Request::Arch { .. } => None,
            }));
        list.entries
            .retain(|entry| matches!(entry.request, Request::Arch { .. }));
        list.errors.sort_by_key(|error| error.span.start_byte);
    }
    list
}

/// The request of one entry, or what is wrong and where within the entry.
fn request(token: &str) -> Result<Request, (Option<Span>, EntryProblem)> {
    if token.is_empty() {
        return Err((None, EntryProblem::EmptyEntry { separator: SEPARATOR }));
    }
    if let Some((at, character)) = token
        .char_indices()
        .find(|(_, character)| *character == ',' || character.is_whitespace())
    {
        let found = if character == ',' {
            Found::Comma
        } else {
            Found::Blank
        };
        let span = Span {
            start_byte: at,
            end_byte: at + character.len_utf8(),
        };
        return Err((
            Some(span),
            EntryProblem::Separator {
                found,
                separator: SEPARATOR,
            },
        ));
    }
    for word in WORDS {
        if token == word.text() {
            return Ok(Request::Word(word));
        }
        if token.eq_ignore_ascii_case(word.text()) {
            return Err((
                None,
                EntryProblem::WordCase {
                    token: token.to_owned(),
                    word: word.text(),
                },
            ));
        }
    }
    let SpelledArch { arch, spelling } = token.parse().map_err(|error| (None, EntryProblem::Arch(error)))?;
    let spelled_here = |spelling| SpelledArch { arch, spelling }.to_string();
    let images = match spelling {
        Spelling::Number => Images::Both,
        Spelling::Real => Images::Cubin,
        Spelling::Virtual => Images::Ptx,
        Spelling::Dotted | Spelling::Sm | Spelling::Compute => {
            return Err((
                None,
                EntryProblem::Spelling {
                    token: token.to_owned(),
                    spelling: spelled_here(match spelling {
                        Spelling::Sm => Spelling::Real,
                        Spelling::Compute => Spelling::Virtual,
                        _ => Spelling::Number,
                    }),
                },
            ));
        }
    };
    Ok(Request::Arch { arch, images })
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use expect_test::expect;
    use proptest::prelude::*;

    use super::parse;

    /// One line per entry and error: span, text, and what was made of it.
    fn listing(texts: &[&str]) -> String {
        let mut out = String::new();
        for text in texts {
            let list = parse(text);
            writeln!(out, "[{text}]").unwrap();
            for entry in &list.entries {
                let targets: Vec<String> = entry.targets().map(|target| target.to_string()).collect();
                let made = match entry.request {
                    super::Request::Word(word) => format!("word {}", word.text()),
                    super::Request::Arch { .. } => targets.join(" "),
                };
                writeln!(
                    out,
                    "  {}..{} {}: {made}",
                    entry.span.start_byte,
                    entry.span.end_byte,
                    entry.span.of(text)
                )
                .unwrap();
            }
            for error in &list.errors {
                writeln!(
                    out,
                    "  {}..{} error: {error}",
                    error.span.start_byte, error.span.end_byte
                )
                .unwrap();
            }
        }
        out
    }

    #[test]
    fn entries_keep_their_spans() {
        expect![[r#"
            [121]
              0..3 121: sm_121 compute_121
            [121a-real;121]
              0..9 121a-real: sm_121a
              10..13 121: sm_121 compute_121
            [121a-real;121a-virtual]
              0..9 121a-real: sm_121a
              10..22 121a-virtual: compute_121a
            [80;86;89;90a;100;120]
              0..2 80: sm_80 compute_80
              3..5 86: sm_86 compute_86
              6..8 89: sm_89 compute_89
              9..12 90a: sm_90a compute_90a
              13..16 100: sm_100 compute_100
              17..20 120: sm_120 compute_120
            [all-major]
              0..9 all-major: word all-major
            [OFF]
              0..3 OFF: word OFF
            [native]
              0..6 native: word native
        "#]]
        .assert_eq(&listing(&[
            "121",
            "121a-real;121",
            "121a-real;121a-virtual",
            "80;86;89;90a;100;120",
            "all-major",
            "OFF",
            "native",
        ]));
    }

    // rapidsai/rapids-cmake#900, nvidia-holoscan/holoscan-sdk#57 and their like.
    #[test]
    fn errors_point_at_the_part_that_is_wrong() {
        expect![[r#"
            []
              0..0 error: the list is empty; expected entries such as `121` or `121a-real`, or `OFF`
            [75-real;80-real;86-real;90a-real;100fg-real;120a-real;120]
              0..7 75-real: sm_75
              8..15 80-real: sm_80
              16..23 86-real: sm_86
              24..32 90a-real: sm_90a
              44..53 120a-real: sm_120a
              54..57 120: sm_120 compute_120
              33..43 error: `100fg-real` names no CUDA architecture: `fg` cannot follow the number; expected nothing, `a` (one capability) or `f` (a family), in lower case
            [80,86,120a]
              2..3 error: a comma does not separate entries here; `;` does
            [80 86 120a]
              2..3 error: a blank does not separate entries here; `;` does
            [90a; 120]
              0..3 90a: sm_90a compute_90a
              4..5 error: a blank does not separate entries here; `;` does
            [121;;120;]
              0..3 121: sm_121 compute_121
              5..8 120: sm_120 compute_120
              4..4 error: an entry is empty; `;` separates entries and ends none
              9..9 error: an entry is empty; `;` separates entries and ends none
            [12.1a]
              0..5 error: `12.1a` is not how this list spells it; write `121a`
            [sm_121a;compute_121]
              0..7 error: `sm_121a` is not how this list spells it; write `121a-real`
              8..19 error: `compute_121` is not how this list spells it; write `121-virtual`
            [all;121]
              4..7 121: sm_121 compute_121
              0..3 error: `all` stands for a whole list; it cannot have other entries beside it
            [off]
              0..3 error: `off` is no architecture; the word is spelled `OFF`
            [80a]
              0..3 error: `80a` names no CUDA architecture: compute capability 8.0 has no `a` form; `a` exists from 9.0 and `f` from 10.0 on
        "#]]
        .assert_eq(&listing(&[
            "",
            "75-real;80-real;86-real;90a-real;100fg-real;120a-real;120",
            "80,86,120a",
            "80 86 120a",
            "90a; 120",
            "121;;120;",
            "12.1a",
            "sm_121a;compute_121",
            "all;121",
            "off",
            "80a",
        ]));
    }

    proptest! {
        #[test]
        fn spans_lie_in_the_text(text in prop_oneof!["\\PC*", "[0-9af;, \u{e9}-]{0,24}", "(12[01][af]?(-real|-virtual)?;?){0,6}"]) {
            let list = parse(&text);
            for span in list.entries.iter().map(|entry| entry.span).chain(list.errors.iter().map(|error| error.span)) {
                prop_assert!(text.get(span.start_byte..span.end_byte).is_some(), "{span:?} in {text:?}");
            }
            for pair in list.errors.windows(2) {
                prop_assert!(pair[0].span.start_byte <= pair[1].span.start_byte);
            }
            // Every part of the list is accounted for exactly once.
            let parts = if text.is_empty() { 1 } else { text.split(';').count() };
            prop_assert_eq!(list.entries.len() + list.errors.len(), parts);
        }
    }
}
