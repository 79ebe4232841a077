//! Names in a table of terminated strings.

/// Looks names up, and stops when the names asked for are together many times longer than the table: only a file
/// made to waste time points into one long name again and again.
pub(crate) struct Names<'a> {
    table: &'a [u8],
    budget_bytes: usize,
}

impl<'a> Names<'a> {
    pub(crate) fn new(table: &'a [u8]) -> Self {
        // Tails of names are shared, and symbols repeat names, but nowhere near this often.
        let budget_bytes = table.len().saturating_mul(16).saturating_add(1 << 16);
        Self { table, budget_bytes }
    }

    /// The name at `at`, up to one of `ends`. `None` where it is not ended, lies outside, or the budget is spent.
    pub(crate) fn get(&mut self, at: usize, ends: [u8; 2]) -> Option<&'a [u8]> {
        let rest = self.table.get(at..)?;
        let window = rest.get(..self.budget_bytes).unwrap_or(rest);
        let length = memchr::memchr2(ends[0], ends[1], window);
        self.budget_bytes -= length.map_or(window.len(), |length| length + 1);
        rest.get(..length?)
    }
}

/// The start of a text that may be long, for a message.
pub(crate) fn clipped(text: &str) -> String {
    const MAX_CHARS: usize = 80;
    let mut start: String = text.chars().take(MAX_CHARS).collect();
    if start.len() < text.len() {
        start.push('…');
    }
    start
}

#[cfg(test)]
mod tests {
    use super::Names;

    #[test]
    fn names_end_and_budgets_too() {
        let mut names = Names::new(b"\0one\0two");
        assert_eq!(names.get(1, [0, 0]), Some(&b"one"[..]));
        assert_eq!(names.get(2, [0, 0]), Some(&b"ne"[..]));
        assert_eq!(names.get(5, [0, 0]), None);
        assert_eq!(names.get(9, [0, 0]), None);

        let mut table = vec![b'x'; 1 << 20];
        table.push(0);
        let mut names = Names::new(&table);
        let answered = (0..100).filter(|_| names.get(0, [0, 0]).is_some()).count();
        assert_eq!(answered, 16);
    }
}
