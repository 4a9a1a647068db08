//! Hash tables for names and constants, fast because every word of a text is looked up.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::OnceLock;

/// A table whose hash is quick for short names, and seeded at random in each process: a text cannot be
/// written so that all its names collide.
pub(super) type Table<K, V> = HashMap<K, V, NameHash>;

/// Makes hashers with a key that is chosen once.
#[derive(Clone, Copy, Debug)]
pub(super) struct NameHash(u64);

impl Default for NameHash {
    fn default() -> Self {
        static KEY: OnceLock<u64> = OnceLock::new();
        NameHash(*KEY.get_or_init(|| RandomState::new().hash_one("names")))
    }
}

impl BuildHasher for NameHash {
    type Hasher = Mixer;

    #[inline]
    fn build_hasher(&self) -> Mixer {
        Mixer { state: self.0, key: self.0.rotate_left(32) | 1 }
    }
}

/// Eight bytes at a time, each spread over all bits by a product.
#[derive(Debug)]
pub(super) struct Mixer {
    state: u64,
    key: u64,
}

impl Mixer {
    #[inline]
    fn mix(&mut self, value: u64) {
        let product = u128::from(self.state ^ value) * u128::from(self.key ^ 0x9e37_79b9_7f4a_7c15);
        self.state = (product as u64) ^ ((product >> 64) as u64);
    }
}

impl Hasher for Mixer {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        let (chunks, rest) = bytes.as_chunks::<8>();
        for chunk in chunks {
            self.mix(u64::from_le_bytes(*chunk));
        }
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        self.mix(u64::from_le_bytes(last) ^ (bytes.len() as u64) << 56);
    }

    /// Ends every name; its length is part of the hash.
    #[inline]
    fn write_u8(&mut self, byte: u8) {
        self.state = self.state.rotate_left(8) ^ u64::from(byte);
    }

    #[inline]
    fn write_u32(&mut self, value: u32) {
        self.mix(value.into());
    }

    #[inline]
    fn write_u64(&mut self, value: u64) {
        self.mix(value);
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.state
    }
}

/// A table by numbers that mostly follow each other: as long as they do, it is a list.
#[derive(Debug)]
pub(super) struct Numbered<V> {
    list: Vec<Option<V>>,
    named: usize,
    others: Table<u32, V>,
}

impl<V> Default for Numbered<V> {
    fn default() -> Self {
        Numbered { list: Vec::new(), named: 0, others: Table::default() }
    }
}

impl<V: Copy> Numbered<V> {
    /// The value of a key, made when it is first looked up.
    #[inline]
    pub(super) fn get_or_insert_with(&mut self, number: u32, make: impl FnOnce() -> V) -> V {
        let index = number as usize;
        if let Some(Some(value)) = self.list.get(index) {
            return *value;
        }
        self.insert(number, make)
    }

    fn insert(&mut self, number: u32, make: impl FnOnce() -> V) -> V {
        let index = number as usize;
        // The list may be no longer than the text has names.
        if index >= self.list.len() && index <= 4 * self.named + 64 {
            self.list.resize_with(index + 1, || None);
        }
        self.named += 1;
        match self.list.get_mut(index) {
            // It may have been named when the list was still too short for it.
            Some(place) => *place.insert(self.others.remove(&number).unwrap_or_else(make)),
            None => *self.others.entry(number).or_insert_with(make),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_values_however_far_apart_they_are() {
        let mut table = Numbered::default();
        let mut next = 0;
        let mut ask = |number: u32| {
            table.get_or_insert_with(number, || {
                next += 1;
                next
            })
        };
        let numbers = [0, 5, 1_000_000_000, 200, 64, u32::MAX, 201];
        let first: Vec<i32> = numbers.iter().map(|number| ask(*number)).collect();
        assert_eq!(first, [1, 2, 3, 4, 5, 6, 7]);
        assert!((0..400).map(&mut ask).all(|value| value > 0));
        let again: Vec<i32> = numbers.iter().map(|number| ask(*number)).collect();
        assert_eq!(again, first);
        assert!(table.list.len() < 2000);
    }

    #[test]
    fn names_that_differ_hash_apart() {
        let quick = NameHash::default();
        let names: Vec<String> =
            (0..1000).flat_map(|n| [format!("%r{n}"), format!("%rd{n}"), format!("a{n}\0")]).collect();
        let hashes: std::collections::HashSet<u64> = names.iter().map(|name| quick.hash_one(name.as_str())).collect();
        assert_eq!(hashes.len(), names.len());
    }
}
