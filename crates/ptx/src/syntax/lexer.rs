//! The lexer: a text as words with their positions.

use crate::error::{Error, Position, Problem};

/// A word of the text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token<'t> {
    pub(crate) kind: Kind,
    pub(crate) text: &'t str,
    pub(crate) place: Position,
    /// The byte it starts at.
    pub(crate) start: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `%r1`, `ld`, `_`
    Name,
    /// `.global`, `.shared::cluster`; a lone dot, too.
    Directive,
    /// A word that starts with a digit.
    Number,
    /// `"…"`, with its quotes.
    String,
    /// Any other character.
    Mark,
    /// Nothing more comes; the text is empty.
    End,
}

impl Token<'_> {
    pub(crate) fn end(&self) -> usize {
        self.start + self.text.len()
    }
}

/// The rest of a text.
#[derive(Clone)]
pub(crate) struct Lexer<'t> {
    text: &'t str,
    /// The next byte.
    at: usize,
    line: u32,
    /// The start of the line, plus the continuation bytes of its characters, so that `at` less this is a
    /// number of characters.
    line_start: usize,
}

/// The classes of bytes, by the words they can be part of.
const SPACE: u8 = 1;
const WORD: u8 = 2;
const CLASS: [u8; 256] = classes();

const fn classes() -> [u8; 256] {
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let character = byte as u8;
        if character.is_ascii_alphanumeric() || matches!(character, b'_' | b'$') {
            classes[byte] = WORD;
        } else if matches!(character, b' ' | b'\t' | b'\r' | 0x0b | 0x0c) {
            classes[byte] = SPACE;
        }
        byte += 1;
    }
    classes
}

impl<'t> Lexer<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        Self { text, at: 0, line: 1, line_start: 0 }
    }

    pub(super) fn text(&self) -> &'t str {
        self.text
    }

    fn byte(&self, at: usize) -> u8 {
        // Zero is part of nothing, so the end needs no test of its own.
        self.text.as_bytes().get(at).copied().unwrap_or(0)
    }

    fn run(&self, mut at: usize, class: u8) -> usize {
        while CLASS[usize::from(self.byte(at))] == class {
            at += 1;
        }
        at
    }

    fn place(&self, at: usize) -> Position {
        let column = u32::try_from(at - self.line_start).unwrap_or(u32::MAX).saturating_add(1);
        Position { line: self.line, column }
    }

    fn skip_space_and_comments(&mut self) -> Result<(), Error> {
        loop {
            self.at = self.run(self.at, SPACE);
            match (self.byte(self.at), self.byte(self.at + 1)) {
                (b'\n', _) => {
                    self.at += 1;
                    self.line = self.line.saturating_add(1);
                    self.line_start = self.at;
                }
                // A preprocessor's `# 1 "kernel.cu"`, which has a line of its own.
                (b'#', b' ') if self.starts_line() => self.pass_line(),
                (b'/', b'/') => self.pass_line(),
                (b'/', b'*') => {
                    let end = self.text[self.at + 2..].find("*/");
                    let end = end.ok_or_else(|| self.error_here(2, Problem::OpenComment))?;
                    self.pass(2 + end + 2);
                }
                _ => return Ok(()),
            }
        }
    }

    /// `true` if only space is before the next byte in its line.
    fn starts_line(&self) -> bool {
        let before = self.text[..self.at].trim_end_matches([' ', '\t']);
        before.is_empty() || before.ends_with('\n')
    }

    fn pass_line(&mut self) {
        let rest = &self.text[self.at..];
        self.pass(rest.find('\n').unwrap_or(rest.len()));
    }

    /// Goes past bytes that may hold line ends and characters of any length.
    fn pass(&mut self, bytes: usize) {
        for (at, &byte) in self.text.as_bytes().iter().enumerate().skip(self.at).take(bytes) {
            if byte == b'\n' {
                self.line = self.line.saturating_add(1);
                self.line_start = at + 1;
            } else if byte & 0xc0 == 0x80 {
                self.line_start += 1;
            }
        }
        self.at += bytes;
    }

    /// The next word; an empty one at the end, however often.
    pub(crate) fn next(&mut self) -> Result<Token<'t>, Error> {
        self.skip_space_and_comments()?;
        let start = self.at;
        let place = self.place(start);
        let (kind, end) = match self.byte(start) {
            b'.' => (Kind::Directive, self.directive(start + 1)),
            b'0'..=b'9' => (Kind::Number, self.number(start)),
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$' => (Kind::Name, self.run(start, WORD)),
            b'%' if CLASS[usize::from(self.byte(start + 1))] == WORD => (Kind::Name, self.run(start + 1, WORD)),
            b'"' => (Kind::String, self.string(start)?),
            // A zero may stand in the text, too.
            0 if start == self.text.len() => (Kind::End, start),
            0..0x80 => (Kind::Mark, start + 1),
            _ => (Kind::Mark, start + self.text[start..].chars().next().map_or(0, char::len_utf8)),
        };
        let text = &self.text[start..end];
        if matches!(kind, Kind::String | Kind::Mark) && !text.is_ascii() {
            self.pass(text.len());
        } else {
            self.at = end;
        }
        Ok(Token { kind, text, place, start })
    }

    /// The end of `.mbarrier::complete_tx::bytes`.
    fn directive(&self, at: usize) -> usize {
        let mut end = self.run(at, WORD);
        while end > at
            && self.text.as_bytes()[end..].starts_with(b"::")
            && CLASS[usize::from(self.byte(end + 2))] == WORD
        {
            end = self.run(end + 2, WORD);
        }
        end
    }

    /// The end of a word that starts with a digit, number or not; dots and the sign of an exponent are part
    /// of it.
    fn number(&self, start: usize) -> usize {
        let mut end = self.run(start, WORD);
        let hexadecimal = matches!(self.byte(start + 1), b'x' | b'X' | b'f' | b'F' | b'd' | b'D');
        loop {
            let exponent = !hexadecimal && matches!(self.byte(end - 1), b'e' | b'E');
            match self.byte(end) {
                b'.' => {}
                b'+' | b'-' if exponent => {}
                _ => return end,
            }
            end = self.run(end + 1, WORD);
        }
    }

    /// The end of a string; a backslash saves a quote from ending it.
    fn string(&self, start: usize) -> Result<usize, Error> {
        let mut escaped = false;
        for (at, &byte) in self.text.as_bytes().iter().enumerate().skip(start + 1) {
            match byte {
                b'\n' => break,
                b'"' if !escaped => return Ok(at + 1),
                _ => escaped = byte == b'\\' && !escaped,
            }
        }
        Err(self.error_here(1, Problem::OpenString))
    }

    fn error_here(&self, length: usize, problem: Problem) -> Error {
        Error::new(self.text, self.at, length, self.place(self.at), problem)
    }

    /// A mistake in a word of this text.
    pub(super) fn error(&self, token: Token<'_>, problem: Problem) -> Error {
        Error::new(self.text, token.start, token.text.len(), token.place, problem)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Result<Vec<(&str, u32, u32)>, Error> {
        let mut lexer = Lexer::new(text);
        let mut words = Vec::new();
        loop {
            let word = lexer.next()?;
            if word.kind == Kind::End {
                return Ok(words);
            }
            words.push((word.text, word.place.line, word.place.column));
        }
    }

    fn texts(text: &str) -> Result<Vec<&str>, Error> {
        Ok(words(text)?.into_iter().map(|(text, ..)| text).collect())
    }

    #[test]
    fn words_stand_where_they_start() {
        let text = "// é\n\t.target sm_90, /* two\nlines é */ debug \"→\" x";
        let expected =
            vec![(".target", 2, 2), ("sm_90", 2, 10), (",", 2, 15), ("debug", 3, 12), ("\"→\"", 3, 18), ("x", 3, 22)];
        assert_eq!(words(text), Ok(expected));
    }

    #[test]
    fn a_comment_may_end_where_it_starts_but_not_share_its_star() {
        assert_eq!(words("/**/a/***/b"), Ok(vec![("a", 1, 5), ("b", 1, 11)]));
        let open = words("a/*/").unwrap_err();
        assert_eq!((open.place, open.problem), (Position { line: 1, column: 2 }, Problem::OpenComment));
    }

    #[test]
    fn a_preprocessors_line_is_a_comment_if_it_is_a_line() {
        assert_eq!(words("# 1 \"a.cu\"\na\n \t# 2\nb"), Ok(vec![("a", 2, 1), ("b", 4, 1)]));
        assert_eq!(texts("a # 1"), Ok(vec!["a", "#", "1"]));
    }

    #[test]
    fn a_strange_character_is_a_word_of_its_own() {
        assert_eq!(words("a→b"), Ok(vec![("a", 1, 1), ("→", 1, 2), ("b", 1, 3)]));
        assert_eq!(texts("a\0b"), Ok(vec!["a", "\0", "b"]));
    }

    #[test]
    fn modifiers_are_words_and_keep_their_colons() {
        assert_eq!(
            texts("ld.global.L1::no_allocate.v4.f32"),
            Ok(vec!["ld", ".global", ".L1::no_allocate", ".v4", ".f32"])
        );
        assert_eq!(texts(".a::b:"), Ok(vec![".a::b", ":"]));
        assert_eq!(texts(".a::.b"), Ok(vec![".a", ":", ":", ".b"]));
        assert_eq!(texts("%tid.x %r<7>"), Ok(vec!["%tid", ".x", "%r", "<", "7", ">"]));
    }

    #[test]
    fn signs_are_part_of_a_number_only_in_an_exponent() {
        assert_eq!(texts("1+2"), Ok(vec!["1", "+", "2"]));
        assert_eq!(texts("1e+2-3"), Ok(vec!["1e+2", "-", "3"]));
        assert_eq!(texts("0x1e+2"), Ok(vec!["0x1e", "+", "2"]));
        assert_eq!(texts("0f0000000E-1"), Ok(vec!["0f0000000E", "-", "1"]));
    }

    #[test]
    fn a_string_ends_at_a_quote_that_is_not_escaped_and_never_at_a_line() {
        assert_eq!(texts(r#""a\"b" "\\" c"#), Ok(vec![r#""a\"b""#, r#""\\""#, "c"]));
        let open = words("a \"b\nc\"").unwrap_err();
        assert_eq!((open.place, open.problem), (Position { line: 1, column: 3 }, Problem::OpenString));
    }
}
