//! Operations of atomic instructions and reductions, by their names.

use super::super::atomic::Change;

/// The operation of a modifier such as `add`.
pub(super) fn change(word: &str) -> Option<Change> {
    Some(match word {
        "add" => Change::Add,
        "min" => Change::Minimum,
        "max" => Change::Maximum,
        "inc" => Change::Increment,
        "dec" => Change::Decrement,
        "and" => Change::And,
        "or" => Change::Or,
        "xor" => Change::Xor,
        "exch" => Change::Exchange,
        "cas" => Change::CompareAndSwap,
        _ => return None,
    })
}
