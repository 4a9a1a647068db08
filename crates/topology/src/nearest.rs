//! The known name closest to a misspelt one.

/// Longer words are not compared: no known name comes near, and the cost grows with the square of the length.
const LONGEST: usize = 80;

/// The candidate that needs the fewest edits, unless that would change more than a third of the word.
pub fn nearest(word: &str, candidates: impl IntoIterator<Item = &'static str>) -> Option<&'static str> {
    if word.len() > LONGEST {
        return None;
    }
    let limit = word.chars().count().div_ceil(3);
    candidates
        .into_iter()
        .map(|candidate| (edits(word, candidate), candidate))
        .filter(|(edits, _)| *edits <= limit)
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, candidate)| candidate)
}

/// Insertions, deletions and substitutions that turn one word into the other, ignoring case.
fn edits(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (above, letter) in from.chars().enumerate() {
        let mut diagonal = above;
        let mut left = above.saturating_add(1);
        for (cell, target) in row.iter_mut().skip(1).zip(&to) {
            let substituted = diagonal.saturating_add(usize::from(!letter.eq_ignore_ascii_case(target)));
            diagonal = *cell;
            left = substituted.min(left.saturating_add(1)).min(diagonal.saturating_add(1));
            *cell = left;
        }
        if let Some(first) = row.first_mut() {
            *first = above.saturating_add(1);
        }
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_counted() {
        assert_eq!(edits("", ""), 0);
        assert_eq!(edits("", "abc"), 3);
        assert_eq!(edits("abc", ""), 3);
        assert_eq!(edits("kitten", "sitting"), 3);
        assert_eq!(edits("H100", "h100"), 0);
        assert_eq!(edits("memroy", "memory"), 2);
    }

    #[test]
    fn the_closest_name_wins() {
        assert_eq!(nearest("memroy", ["name", "memory", "model"]), Some("memory"));
        assert_eq!(nearest("dgxh100", ["dgx-h200", "dgx-h100"]), Some("dgx-h100"));
    }

    #[test]
    fn nothing_close_is_nothing() {
        assert_eq!(nearest("zebra", ["memory", "count"]), None);
        assert_eq!(nearest("", ["a", "b"]), None);
        assert_eq!(nearest(&"m".repeat(1_000_000), ["memory"]), None);
    }
}
