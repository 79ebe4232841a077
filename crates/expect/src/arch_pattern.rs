//! Architectures with wildcards.

use std::fmt;
use std::str::FromStr;

use blockgate_arch::Arch;

use crate::error::{ExpectationError, Expected};

/// One architecture, or several by `*`.
///
/// The pattern is compared with the name: `sm_121` is the plain target alone, `sm_121*` also its `f` and `a`
/// forms, `sm_12*a` every architecture-specific target whose number begins with 12. The prefixes `sm_` and
/// `compute_` and the dotted spelling are accepted and mean the same, because what is counted is named
/// by the subject (cubins, PTX), not by the spelling.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ArchPattern {
    /// Number and suffix with `*`, without prefix: `12*a`.
    token: String,
}

impl ArchPattern {
    /// Whether `arch` is one of those named.
    pub fn matches(&self, arch: Arch) -> bool {
        let token = arch.token().to_string();
        let mut pieces = self.token.split('*');
        let first = pieces.next().unwrap_or_default();
        let Some(mut rest) = token.strip_prefix(first) else {
            return false;
        };
        let Some(last) = pieces.next_back() else {
            return rest.is_empty();
        };
        for piece in pieces {
            match rest.find(piece) {
                Some(at) => rest = &rest[at + piece.len()..],
                None => return false,
            }
        }
        rest.ends_with(last)
    }

    /// Whether the pattern names one architecture, without `*`.
    pub fn is_exact(&self) -> bool {
        !self.token.contains('*')
    }
}

impl FromStr for ArchPattern {
    type Err = ExpectationError;

    fn from_str(text: &str) -> Result<Self, ExpectationError> {
        // A name that no architecture can have would match nothing, and "nothing" would then look like an answer.
        let token = if text.contains('*') {
            normalize(text)
        } else {
            text.parse::<Arch>().ok().map(|arch| arch.token().to_string())
        };
        token
            .map(|token| Self { token })
            .ok_or_else(|| ExpectationError::new(text, 0..text.len(), Expected::Architecture))
    }
}

impl fmt::Display for ArchPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.token == "*" {
            f.write_str("*")
        } else {
            write!(f, "sm_{}", self.token)
        }
    }
}

/// `12*a` of every accepted spelling of a pattern with `*`, or `None`.
fn normalize(text: &str) -> Option<String> {
    let bare = ["sm_", "compute_"]
        .iter()
        .find_map(|prefix| text.strip_prefix(prefix))
        .unwrap_or(text);
    let (number, suffix) = match bare.strip_suffix(['a', 'f']) {
        Some(number) => (number, &bare[number.len()..]),
        None => (bare, ""),
    };
    let (major, minor) = match number.split_once('.') {
        Some((major, minor)) if !major.is_empty() && minor.len() == 1 => (major, minor),
        Some(_) => return None,
        None => (number, ""),
    };
    let digits = major
        .chars()
        .chain(minor.chars())
        .all(|char| char.is_ascii_digit() || char == '*');
    (digits && !number.is_empty() && !number.starts_with('0') && number.len() <= 16)
        .then(|| format!("{major}{minor}{suffix}"))
}

#[cfg(test)]
mod tests {
    use blockgate_arch::{Arch, Scope};

    use super::ArchPattern;

    #[test]
    fn patterns_match_names() {
        let plain = Arch::new(12, 1, Scope::Plain);
        let family = plain.with_scope(Scope::Family);
        let specific = plain.with_scope(Scope::Specific);
        let other = Arch::new(12, 0, Scope::Specific);
        let hopper = Arch::new(9, 0, Scope::Specific);
        let rows: [(&str, [bool; 5]); 11] = [
            ("sm_121", [true, false, false, false, false]),
            ("121", [true, false, false, false, false]),
            ("121a", [false, false, true, false, false]),
            ("compute_121f", [false, true, false, false, false]),
            ("12.1a", [false, false, true, false, false]),
            ("12.*a", [false, false, true, true, false]),
            ("sm_12*a", [false, false, true, true, false]),
            ("sm_121*", [true, true, true, false, false]),
            ("sm_*a", [false, false, true, true, true]),
            ("sm_1*1*", [true, true, true, false, false]),
            ("*", [true; 5]),
        ];
        for (text, expected) in rows {
            let pattern: ArchPattern = text.parse().unwrap();
            let found = [plain, family, specific, other, hopper].map(|arch| pattern.matches(arch));
            assert_eq!(found, expected, "{text}");
            let again: ArchPattern = pattern.to_string().parse().unwrap();
            assert_eq!(again, pattern, "{text}");
        }
    }

    #[test]
    fn overlapping_pieces_do_not_match_twice() {
        let pattern: ArchPattern = "sm_12*21".parse().unwrap();
        assert!(!pattern.matches(Arch::new(12, 1, Scope::Plain)));
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            "sm_",
            "a",
            "1",
            "sm_121b",
            "121A",
            "sm_121-real",
            "12.1.0",
            ".1",
            "12.",
            "012",
            "sm-121",
            "sm_12",
            "sm_90f",
            "sm_80a",
            "sm_1210",
            "1234567",
        ] {
            assert!(text.parse::<ArchPattern>().is_err(), "{text}");
        }
    }
}
