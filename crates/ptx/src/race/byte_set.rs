//! Sets of bytes of a block's shared memory: those written, those that a copy writes.

use std::ops::Range;

/// A bit for each byte.
#[derive(Debug)]
pub(crate) struct ByteSet(Vec<u64>);

impl ByteSet {
    pub(crate) fn new(bytes: u32) -> Self {
        Self(vec![0; (bytes as usize).div_ceil(64)])
    }

    /// The words of a range, each with the bits that are of it.
    fn words(range: &Range<u64>) -> impl Iterator<Item = (usize, u64)> {
        let Range { start, end } = range.clone();
        (start / 64..end.div_ceil(64)).map(move |word| {
            let (from, to) = (start.saturating_sub(word * 64), (end - word * 64).min(64));
            (word as usize, u64::MAX >> (64 - (to - from)) << from)
        })
    }

    pub(crate) fn add(&mut self, range: Range<u64>) {
        for (word, bits) in Self::words(&range) {
            if let Some(word) = self.0.get_mut(word) {
                *word |= bits;
            }
        }
    }

    pub(crate) fn remove(&mut self, range: Range<u64>) {
        for (word, bits) in Self::words(&range) {
            if let Some(word) = self.0.get_mut(word) {
                *word &= !bits;
            }
        }
    }

    /// `true` if any byte of a range is there.
    pub(crate) fn has(&self, range: Range<u64>) -> bool {
        Self::words(&range).any(|(word, bits)| self.0.get(word).is_some_and(|there| there & bits != 0))
    }

    /// The first stretch of a range that has not been written: where it starts, and how long it is.
    pub(crate) fn gap(&self, range: Range<u64>) -> Option<(u64, u64)> {
        let missing = |(word, bits): (usize, u64)| self.0.get(word).map_or(0, |there| bits & !there);
        if Self::words(&range).all(|word| missing(word) == 0) {
            return None;
        }
        let is_missing = |at: &u64| self.0.get(*at as usize / 64).is_some_and(|word| word >> (at % 64) & 1 == 0);
        let start = range.clone().find(is_missing)?;
        Some((start, (start..range.end).take_while(is_missing).count() as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_found_to_the_byte() {
        let mut written = ByteSet::new(200);
        assert_eq!(written.gap(0..4), Some((0, 4)));
        written.add(60..70);
        assert_eq!((written.gap(60..70), written.gap(64..68), written.gap(56..64)), (None, None, Some((56, 4))));
        assert_eq!(written.gap(68..76), Some((70, 6)));
        written.add(64..128);
        assert_eq!((written.gap(60..128), written.gap(60..132)), (None, Some((128, 4))));
        written.remove(62..126);
        assert_eq!((written.gap(60..66), written.has(62..126), written.has(62..127)), (Some((62, 4)), false, true));
    }
}
