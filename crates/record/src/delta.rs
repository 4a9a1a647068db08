//! Columns of numbers that grow slowly, stored as differences: fewer digits.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serializer};

/// Serialises each number as its difference to the one before.
pub(crate) fn serialize<S: Serializer>(numbers: &[u64], serializer: S) -> Result<S::Ok, S::Error> {
    let mut before = 0;
    serializer.collect_seq(numbers.iter().map(|number| {
        let difference = number.wrapping_sub(before).cast_signed();
        before = *number;
        difference
    }))
}

/// Adds the differences up again.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u64>, D::Error> {
    let numbers = Vec::<i64>::deserialize(deserializer)?;
    let mut before = 0_u64;
    let add = |difference: i64| {
        before = before.checked_add_signed(difference).ok_or_else(|| D::Error::custom("a number below zero"))?;
        Ok(before)
    };
    numbers.into_iter().map(add).collect()
}
