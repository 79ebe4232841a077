//! The name that was probably meant.

/// The one of `names` nearest to `word`, if it is near enough to be a slip of the keyboard.
pub fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (word.chars().count() + 1).div_ceil(4).max(1);
    names
        .into_iter()
        .map(|name| (distance(word, name), name))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// Edits that turn `left` into `right`: insert, remove or replace a character, or swap two neighbours.
fn distance(left: &str, right: &str) -> usize {
    let left: Vec<char> = left.chars().collect();
    let right: Vec<char> = right.chars().collect();
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=right.len()).collect();
    for (row, &a) in left.iter().enumerate() {
        let mut current = vec![row + 1];
        for (column, &b) in right.iter().enumerate() {
            let mut best = (last[column] + usize::from(a != b))
                .min(last[column + 1] + 1)
                .min(current[column] + 1);
            let swapped = row > 0 && column > 0 && a == right[column - 1] && left[row - 1] == b;
            if swapped {
                best = best.min(before_last[column - 1] + 1);
            }
            current.push(best);
        }
        before_last = std::mem::replace(&mut last, current);
    }
    last[right.len()]
}

#[cfg(test)]
mod tests {
    use super::{distance, nearest};

    #[test]
    fn slips_are_recognized_and_other_words_are_not() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("ab", "ba"), 1);
        assert_eq!(distance("", "abc"), 3);
        let keys = ["architectures", "per_source", "expect", "expect_failure"];
        assert_eq!(nearest("architecture", keys), Some("architectures"));
        assert_eq!(nearest("per-source", keys), Some("per_source"));
        assert_eq!(nearest("exepct", keys), Some("expect"));
        assert_eq!(nearest("nvcc", keys), None);
    }
}
