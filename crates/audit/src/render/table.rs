//! Tables without blanks at the ends of their lines.

use std::fmt;

use comfy_table::Table;

/// Shows a table; its last column is not padded.
pub(super) struct Lines<'t>(pub(super) &'t Table);

impl fmt::Display for Lines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, line) in self.0.lines().enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            write!(f, "{separator}{}", line.trim_end())?;
        }
        Ok(())
    }
}
