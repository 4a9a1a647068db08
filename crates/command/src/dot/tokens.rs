//! Tokens of the DOT language.

use std::fmt;
use std::iter::Peekable;
use std::str::Chars;

use super::DotError;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A name or a number without quotes; it may be a keyword.
    Word(String),
    /// Text in quotes; `\"` is a quote, and other escapes are left as they are.
    Quoted(String),
    Arrow,
    /// One of `{}[];,=:`.
    Mark(char),
}

impl Token {
    /// `true` for a keyword, in any case.
    pub(super) fn is_keyword(&self, keyword: &str) -> bool {
        matches!(self, Token::Word(word) if word.eq_ignore_ascii_case(keyword))
    }
}

impl fmt::Display for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Token::Word(word) => write!(formatter, "`{word}`"),
            Token::Quoted(text) => {
                let line = text.lines().next().unwrap_or_default();
                write!(formatter, "the text {line:?}")
            }
            Token::Arrow => formatter.write_str("`->`"),
            Token::Mark(mark) => write!(formatter, "`{mark}`"),
        }
    }
}

/// The tokens of a text, each with its line.
#[derive(Debug)]
pub(super) struct Tokens<'a> {
    text: Peekable<Chars<'a>>,
    line: usize,
    peeked: Option<(Token, usize)>,
}

impl<'a> Tokens<'a> {
    pub(super) fn new(text: &'a str) -> Tokens<'a> {
        Tokens { text: text.chars().peekable(), line: 1, peeked: None }
    }

    /// The line that has been reached.
    pub(super) fn line(&self) -> usize {
        self.line
    }

    /// The next token, or `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<(Token, usize)>, DotError> {
        match self.peeked.take() {
            Some(token) => Ok(Some(token)),
            None => self.read(),
        }
    }

    /// Looks at the next token without taking it.
    pub(super) fn peek(&mut self) -> Result<Option<&Token>, DotError> {
        if self.peeked.is_none() {
            self.peeked = self.read()?;
        }
        Ok(self.peeked.as_ref().map(|(token, _)| token))
    }

    /// Takes the next token if it is a mark.
    pub(super) fn take(&mut self, mark: char) -> Result<bool, DotError> {
        let is_next = self.peek()? == Some(&Token::Mark(mark));
        if is_next {
            self.peeked = None;
        }
        Ok(is_next)
    }

    fn read(&mut self) -> Result<Option<(Token, usize)>, DotError> {
        loop {
            self.skip_blanks();
            let line = self.line;
            let Some(&first) = self.text.peek() else { return Ok(None) };
            if is_word(first) {
                return Ok(Some((Token::Word(self.word()), line)));
            }
            self.advance();
            let token = match first {
                '{' | '}' | '[' | ']' | ';' | ',' | '=' | ':' => Token::Mark(first),
                '"' => Token::Quoted(self.quoted(line)?),
                '-' => match self.text.peek() {
                    Some('>') => {
                        self.advance();
                        Token::Arrow
                    }
                    Some('-') => return Err(DotError::new(line, "`--` is an edge without direction; expected `->`")),
                    Some(digit) if digit.is_ascii_digit() || *digit == '.' => Token::Word(format!("-{}", self.word())),
                    _ => return Err(DotError::new(line, "expected `->` after `-`")),
                },
                '#' => {
                    self.skip_line();
                    continue;
                }
                '/' => {
                    self.comment(line)?;
                    continue;
                }
                other => return Err(DotError::new(line, format!("unexpected character {other:?}"))),
            };
            return Ok(Some((token, line)));
        }
    }

    fn advance(&mut self) -> Option<char> {
        let character = self.text.next();
        if character == Some('\n') {
            self.line += 1;
        }
        character
    }

    fn skip_blanks(&mut self) {
        while self.text.peek().is_some_and(|character| character.is_whitespace() || *character == '\u{feff}') {
            self.advance();
        }
    }

    fn skip_line(&mut self) {
        while self.text.peek().is_some_and(|character| *character != '\n') {
            self.advance();
        }
    }

    fn word(&mut self) -> String {
        let mut word = String::new();
        while let Some(character) = self.text.next_if(|character| is_word(*character)) {
            word.push(character);
        }
        word
    }

    /// The rest of a text in quotes, which began on a line.
    fn quoted(&mut self, start: usize) -> Result<String, DotError> {
        let mut text = String::new();
        loop {
            match self.advance() {
                None => return Err(DotError::new(start, "the quote that begins here is not closed")),
                Some('"') => return Ok(text),
                Some('\\') => match self.advance() {
                    None => return Err(DotError::new(start, "the quote that begins here is not closed")),
                    Some('"') => text.push('"'),
                    Some('\n') => {}
                    Some(other) => text.extend(['\\', other]),
                },
                Some(other) => text.push(other),
            }
        }
    }

    /// The rest of a comment, after its first `/`.
    fn comment(&mut self, start: usize) -> Result<(), DotError> {
        match self.advance() {
            Some('/') => self.skip_line(),
            Some('*') => loop {
                match self.advance() {
                    None => return Err(DotError::new(start, "the comment that begins here is not closed")),
                    Some('*') if self.text.peek() == Some(&'/') => {
                        self.advance();
                        break;
                    }
                    Some(_) => {}
                }
            },
            _ => return Err(DotError::new(start, "expected `//` or `/*` after `/`")),
        }
        Ok(())
    }
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_' || character == '.'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Result<Vec<(Token, usize)>, DotError> {
        let mut tokens = Tokens::new(text);
        let mut found = Vec::new();
        while let Some(token) = tokens.next()? {
            found.push(token);
        }
        Ok(found)
    }

    #[test]
    fn tokens_have_their_line() {
        let text = "# head\na -> \"b\n\\\"c\\l\" /* one\ntwo */ [w=-1.5]; // end";
        let expected = [
            (Token::Word("a".into()), 2),
            (Token::Arrow, 2),
            (Token::Quoted("b\n\"c\\l".into()), 2),
            (Token::Mark('['), 4),
            (Token::Word("w".into()), 4),
            (Token::Mark('='), 4),
            (Token::Word("-1.5".into()), 4),
            (Token::Mark(']'), 4),
            (Token::Mark(';'), 4),
        ];
        assert_eq!(all(text), Ok(expected.into()));
    }

    #[test]
    fn mistakes_have_the_line_where_they_begin() {
        for (text, line) in
            [("a\n\"b\n\n", 2), ("\"a\\", 1), ("\n/* a\n", 2), ("a\n--", 2), ("a - b", 1), ("\n\n<b>", 3), ("/a", 1)]
        {
            assert_eq!(all(text).map_err(|error| error.line), Err(line), "{text:?}");
        }
    }
}
