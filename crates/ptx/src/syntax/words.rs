//! A short list of words, which needs no allocation for up to four.

use std::fmt;
use std::ops::Deref;

/// As many as are kept in place; no more than that stand behind most opcodes.
const FEW: usize = 4;

/// Words in order, used as a slice: `["global", "f32"]`.
///
/// Texts have hundreds of thousands of instructions: a piece of memory for the words of each is a good part
/// of reading them.
#[derive(Clone)]
pub struct Words<'t> {
    few: [&'t str; FEW],
    count: usize,
    /// All of them, if they are more.
    many: Vec<&'t str>,
}

impl<'t> From<&[&'t str]> for Words<'t> {
    fn from(words: &[&'t str]) -> Self {
        let (mut few, count) = ([""; FEW], words.len());
        match few.get_mut(..count) {
            Some(place) => {
                place.copy_from_slice(words);
                Words { few, count, many: Vec::new() }
            }
            None => Words { few, count, many: words.to_vec() },
        }
    }
}

impl<'t> Deref for Words<'t> {
    type Target = [&'t str];

    fn deref(&self) -> &[&'t str] {
        self.few.get(..self.count).unwrap_or(&self.many)
    }
}

impl<'w, 't> IntoIterator for &'w Words<'t> {
    type Item = &'w &'t str;
    type IntoIter = std::slice::Iter<'w, &'t str>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl PartialEq for Words<'_> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Words<'_> {}

impl fmt::Debug for Words<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_the_slice_they_came_from_however_many() {
        let all = ["mma", "sync", "aligned", "m16n8k8", "row", "col", "f16"];
        for count in 0..all.len() {
            let words = Words::from(&all[..count]);
            assert_eq!(*words, all[..count]);
            assert_eq!(format!("{words:?}"), format!("{:?}", &all[..count]));
            assert_eq!(words, words.clone());
            assert_ne!(words, Words::from(&all[..=count]));
        }
    }
}
