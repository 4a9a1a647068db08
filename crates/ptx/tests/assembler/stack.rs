//! Candidates of instructions for the stack of a thread.

use super::{TYPES, file};

/// Adds all of them.
pub(crate) fn add_all(mut add: impl FnMut(&str, &str)) {
    for scalar in TYPES {
        for letter in ['r', 'q', file(scalar)] {
            let pair = format!("%{letter}1, %{letter}2");
            add(&format!("alloca.{scalar}"), &format!("%{letter}1"));
            add(&format!("alloca.{scalar}"), &pair);
            add(&format!("alloca.{scalar}"), &format!("%{letter}1, 64"));
            for alignment in ["0", "1", "2", "3", "8", "16", "128", "256", "%r3"] {
                add(&format!("alloca.{scalar}"), &format!("{pair}, {alignment}"));
            }
            for operands in [format!("%{letter}1"), "64".to_owned(), pair] {
                add(&format!("stacksave.{scalar}"), &operands);
                add(&format!("stackrestore.{scalar}"), &operands);
            }
        }
    }
}
