//! A place in a text that moves from word to word.

use crate::error::{Error, Place, Problem};

/// The rest of a text, and where it starts.
pub(crate) struct Cursor<'t> {
    rest: &'t str,
    place: Place,
}

/// A piece of text that has no space in it, and where it starts.
#[derive(Clone, Copy)]
pub(crate) struct Word<'t> {
    pub(crate) text: &'t str,
    pub(crate) place: Place,
}

impl Word<'_> {
    pub(crate) fn error(self, problem: Problem) -> Error {
        Error { place: self.place, problem }
    }

    /// The mistake of standing where something else belongs.
    pub(crate) fn unexpected(self, expected: &'static str) -> Error {
        let found = if self.text.is_empty() { "the end of the text".to_owned() } else { format!("`{}`", self.text) };
        self.error(Problem::Unexpected { expected, found })
    }
}

/// What names, directives and numbers are made of.
fn is_part_of_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '$' | '%' | '.')
}

impl<'t> Cursor<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        Self { rest: text, place: Place { line: 1, column: 1 } }
    }

    fn skip(&mut self, bytes: usize) {
        let (skipped, rest) = self.rest.split_at(bytes);
        for character in skipped.chars() {
            if character == '\n' {
                self.place = Place { line: self.place.line.saturating_add(1), column: 1 };
            } else {
                self.place.column = self.place.column.saturating_add(1);
            }
        }
        self.rest = rest;
    }

    fn skip_space_and_comments(&mut self) -> Result<(), Error> {
        loop {
            let space = self.rest.len() - self.rest.trim_start().len();
            self.skip(space);
            if self.rest.starts_with("//") {
                self.skip(self.rest.find('\n').unwrap_or(self.rest.len()));
            } else if self.rest.starts_with("/*") {
                let end =
                    self.rest[2..].find("*/").ok_or(Error { place: self.place, problem: Problem::OpenComment })?;
                self.skip(2 + end + 2);
            } else {
                return Ok(());
            }
        }
    }

    /// The next word, left where it is: a run of letters, digits and dots, or one other character; empty at the end.
    pub(crate) fn peek(&mut self) -> Result<Word<'t>, Error> {
        self.skip_space_and_comments()?;
        let length = match self.rest.chars().next() {
            Some(first) if !is_part_of_word(first) => first.len_utf8(),
            _ => self.rest.find(|character| !is_part_of_word(character)).unwrap_or(self.rest.len()),
        };
        Ok(Word { text: &self.rest[..length], place: self.place })
    }

    /// The next word, taken.
    pub(crate) fn next(&mut self) -> Result<Word<'t>, Error> {
        let word = self.peek()?;
        self.skip(word.text.len());
        Ok(word)
    }

    /// Takes the next word if it is `text`.
    pub(crate) fn take(&mut self, text: &str) -> Result<bool, Error> {
        let found = self.peek()?.text == text;
        if found {
            self.skip(text.len());
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Result<Vec<(&str, u32, u32)>, Error> {
        let mut cursor = Cursor::new(text);
        let mut words = Vec::new();
        loop {
            let word = cursor.next()?;
            if word.text.is_empty() {
                return Ok(words);
            }
            words.push((word.text, word.place.line, word.place.column));
        }
    }

    #[test]
    fn words_stand_where_they_start() {
        let text = "// é\n\t.target sm_90, /* two\nlines */ debug";
        assert_eq!(words(text), Ok(vec![(".target", 2, 2), ("sm_90", 2, 10), (",", 2, 15), ("debug", 3, 10)]));
    }

    #[test]
    fn a_comment_may_end_where_it_starts_but_not_share_its_star() {
        assert_eq!(words("/**/a/***/b"), Ok(vec![("a", 1, 5), ("b", 1, 11)]));
        let open = Error { place: Place { line: 1, column: 2 }, problem: Problem::OpenComment };
        assert_eq!(words("a/*/"), Err(open));
    }

    #[test]
    fn a_strange_character_is_a_word_of_its_own() {
        assert_eq!(words("a→b"), Ok(vec![("a", 1, 1), ("→", 1, 2), ("b", 1, 3)]));
    }
}
