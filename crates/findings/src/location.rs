//! Where a finding is: in a text, or in an artifact.

/// A place in a text or in a binary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// A byte span of a text file.
    Text(TextPlace),
    /// A member and offset of a binary.
    Artifact(ArtifactPlace),
}

impl Location {
    /// The path as it was given.
    pub fn path(&self) -> &str {
        match self {
            Self::Text(place) => &place.path,
            Self::Artifact(place) => &place.path,
        }
    }
}

/// A byte span of a text file, with the line and column of its start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextPlace {
    /// The path as it was given.
    pub path: String,
    /// First byte of the span.
    pub start_byte: usize,
    /// One past the last byte of the span.
    pub end_byte: usize,
    /// Line and column of `start_byte`.
    pub at: LineColumn,
}

/// A place in a binary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArtifactPlace {
    /// The path as it was given.
    pub path: String,
    /// The archive member, where there is one.
    pub member: Option<String>,
    /// Absolute offset in bytes: in the input, or of a package or folder in the file that `member` names or is in. An entry of
    /// a package that is refused before it is read has the offset where it lies in that package.
    pub offset_bytes: Option<u64>,
}

/// One-based line and column; the column counts characters, as editors do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineColumn {
    /// One-based line.
    pub line: usize,
    /// One-based column in characters.
    pub column: usize,
}

/// Line and column of byte `at` in `text`. Past the end means the end; inside a character means its start.
pub fn line_column(text: &str, at: usize) -> LineColumn {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    let before = &text[..at];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    LineColumn {
        line: before.matches('\n').count() + 1,
        column: before[line_start..].chars().count() + 1,
    }
}

#[cfg(test)]
mod tests {
    use super::{LineColumn, line_column};

    #[test]
    fn columns_count_characters() {
        let text = "a: 1\nµ: \"121\"\n";
        assert_eq!(line_column(text, 0), LineColumn { line: 1, column: 1 });
        assert_eq!(
            line_column(text, text.find("121").unwrap()),
            LineColumn { line: 2, column: 5 }
        );
        assert_eq!(line_column(text, 999), LineColumn { line: 3, column: 1 });
    }
}
