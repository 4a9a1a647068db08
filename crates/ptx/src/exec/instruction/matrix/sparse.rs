//! Metadata of sparse matrices: the column of each element.
//!
//! Of every four columns two are there, and four bits say which. Wider elements come one of two columns, with
//! the same bits as if they were two halves each; elements of four bits come in pairs.

use crate::lanes::Words;
use crate::program::matrix::Element;

/// The metadata that the lanes hold about the columns of a factor.
pub(crate) struct Choices<'w> {
    words: &'w Words,
    bits: usize,
    /// The first lane of every four that has a say.
    first: usize,
}

impl Choices<'_> {
    pub(crate) fn new(element: Element, k: usize, words: &Words, chosen_by: u8) -> Choices<'_> {
        let bits = element.bits();
        // Groups of columns in a row, four bits each.
        let groups = match bits {
            32 => k / 2,
            4 => k / 8,
            _ => k / 4,
        };
        Choices { words, bits, first: usize::from(chosen_by) * groups / 4 }
    }

    /// The four bits of a group in a row.
    fn of(&self, row: usize, group: usize) -> usize {
        let (lane, at) = if self.bits >= 16 {
            // A word has four groups of a row and of the row eight below it.
            (group / 4, row / 8 * 16 + group % 4 * 4)
        } else {
            // A word has eight groups of a row.
            (row / 8 + group / 8 * 2, group % 8 * 4)
        };
        (self.words[row % 8 * 4 + self.first + lane] >> at) as usize & 15
    }

    /// The column of the element at `place` of a row.
    pub(crate) fn column(&self, row: usize, place: usize) -> usize {
        match self.bits {
            32 => place * 2 + (self.of(row, place) & 3) / 2,
            4 => {
                let (group, pair) = (place / 4, place % 4 / 2);
                group * 8 + (self.of(row, group) >> (2 * pair) & 3) * 2 + place % 2
            }
            _ => place / 2 * 4 + (self.of(row, place / 2) >> (place % 2 * 2) & 3),
        }
    }
}
