//! Results of hardware, kept beside this file, compressed with zstd.
//!
//! An answer is the key of its variant, eight bytes, then the results of all cases, one result after the
//! other, each value in as many bytes as its width has. A variant without an answer is one that hardware has
//! not been asked yet.

use std::collections::HashMap;
use std::io::Read;

use ruzstd::decoding::StreamingDecoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use warploom_testkit::TestResult;

use crate::variant::Variant;

/// Answers by key.
#[derive(Debug)]
pub(crate) struct Answers {
    found: HashMap<u64, Vec<u8>>,
}

impl Answers {
    /// Finds the answers to `variants` in a file.
    pub(crate) fn read(packed: &[u8], variants: &[Variant]) -> TestResult<Answers> {
        let mut bytes = Vec::new();
        if !packed.is_empty() {
            StreamingDecoder::new(packed)?.read_to_end(&mut bytes)?;
        }
        let mut bytes = bytes.as_slice();
        let sizes: HashMap<u64, usize> = variants.iter().map(|variant| (variant.key(), variant.bytes())).collect();
        let mut found = HashMap::new();
        while let Some((key, rest)) = bytes.split_first_chunk() {
            let key = u64::from_le_bytes(*key);
            let size = *sizes.get(&key).ok_or("an answer belongs to no variant: ask hardware again")?;
            let (answer, rest) = rest.split_at_checked(size).ok_or("an answer is cut short")?;
            found.insert(key, answer.to_vec());
            bytes = rest;
        }
        Ok(Answers { found })
    }

    /// The results of a variant, as [`crate::device::run`] gives them.
    pub(crate) fn of(&self, variant: &Variant) -> Option<Vec<Vec<u64>>> {
        let mut bytes = self.found.get(&variant.key())?.as_slice();
        let mut results = Vec::new();
        for width in &variant.results {
            let (column, rest) = bytes.split_at(width.bytes() * variant.cases);
            let value = |bytes: &[u8]| bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte));
            results.push(column.chunks(width.bytes()).map(value).collect());
            bytes = rest;
        }
        Some(results)
    }
}

/// The bytes of a file with these results.
pub(crate) fn written(variants: &[Variant], results: &[Vec<Vec<u64>>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (variant, results) in variants.iter().zip(results) {
        bytes.extend(variant.key().to_le_bytes());
        for (width, column) in variant.results.iter().zip(results) {
            for value in column {
                bytes.extend(&value.to_le_bytes()[..width.bytes()]);
            }
        }
    }
    compress_to_vec(bytes.as_slice(), CompressionLevel::Fastest)
}
