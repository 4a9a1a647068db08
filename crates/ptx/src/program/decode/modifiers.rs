//! The modifiers of an instruction; one that the decoder does not take is refused.

use super::types::Types;
use super::{Decoded, Why};
use crate::arith::round::Rounding;
use crate::syntax::ScalarType;

/// The modifiers of an instruction, and which of them have been understood.
#[derive(Debug)]
pub(super) struct Modifiers<'i, 't> {
    words: &'i [&'t str],
    taken: u64,
}

impl<'i, 't> Modifiers<'i, 't> {
    pub(super) fn new(words: &'i [&'t str]) -> Self {
        Modifiers { words, taken: 0 }
    }

    /// Takes a word if it is there.
    pub(super) fn flag(&mut self, word: &str) -> bool {
        self.pick(|found| (found == word).then_some(())).is_some()
    }

    /// Takes the first modifier that has a meaning.
    pub(super) fn pick<T>(&mut self, meaning: impl Fn(&str) -> Option<T>) -> Option<T> {
        for (index, word) in self.words.iter().enumerate().take(64) {
            if self.taken >> index & 1 == 0
                && let Some(meaning) = meaning(word)
            {
                self.taken |= 1 << index;
                return Some(meaning);
            }
        }
        None
    }

    /// Takes the next type.
    pub(super) fn scalar(&mut self) -> Decoded<ScalarType> {
        self.pick(ScalarType::named).ok_or(Why::Missing("a type"))
    }

    /// Takes the next type, which has to be one of these.
    pub(super) fn one_of(&mut self, types: Types) -> Decoded<ScalarType> {
        let scalar = self.scalar()?;
        let spelled = || self.words.iter().find(|word| ScalarType::named(word) == Some(scalar));
        if types.hold(scalar) {
            Ok(scalar)
        } else {
            Err(Why::Type(spelled().map_or_else(String::new, |word| (*word).to_owned())))
        }
    }

    /// Takes a rounding to a floating-point number.
    pub(super) fn rounding(&mut self) -> Option<Rounding> {
        self.pick(|word| {
            Some(match word {
                "rn" => Rounding::Nearest,
                "rz" => Rounding::Zero,
                "rm" => Rounding::Down,
                "rp" => Rounding::Up,
                "rna" => Rounding::NearestAway,
                _ => return None,
            })
        })
    }

    /// Takes a rounding to an integer.
    pub(super) fn integer_rounding(&mut self) -> Option<Rounding> {
        self.pick(|word| {
            Some(match word {
                "rni" => Rounding::Nearest,
                "rzi" => Rounding::Zero,
                "rmi" => Rounding::Down,
                "rpi" => Rounding::Up,
                _ => return None,
            })
        })
    }

    /// `true` if a word is there, taken or not.
    pub(super) fn any(&self, is: impl Fn(&str) -> bool) -> bool {
        self.words.iter().any(|word| is(word))
    }

    /// Refuses modifiers that were not taken.
    pub(super) fn finish(&self) -> Decoded {
        let rest = self.words.iter().enumerate().find(|(index, _)| *index > 63 || self.taken >> index & 1 == 0);
        rest.map_or(Ok(()), |(_, word)| Err(Why::Modifier((*word).to_owned())))
    }
}
