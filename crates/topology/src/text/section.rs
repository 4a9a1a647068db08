//! Tables and values that know their place.

use std::ops::RangeInclusive;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{Origin, Quoted, Read, TomlError, TomlProblem};
use crate::nearest::nearest;
use crate::{MAX_BANDWIDTH, TopologyError, parse_bandwidth, parse_size};

/// The text that is read.
#[derive(Debug)]
pub struct Source<'a> {
    text: &'a str,
    file: Option<&'a Path>,
}

impl<'a> Source<'a> {
    /// A text, and the file it came from.
    pub fn new(text: &'a str, file: Option<&'a Path>) -> Self {
        Self { text, file }
    }

    /// Line and column of a byte offset; an offset within a character counts as that character.
    fn place(&self, offset: usize) -> (usize, usize) {
        let before = self.text.get(..self.text.floor_char_boundary(offset)).unwrap_or_default();
        let line_start = before.rfind('\n').map_or(0, |newline| newline.saturating_add(1));
        let line = before.matches('\n').count().saturating_add(1);
        let column = before.get(line_start..).unwrap_or_default().chars().count().saturating_add(1);
        (line, column)
    }

    /// A problem at a byte offset.
    pub fn error(&self, offset: usize, key: &str, problem: TomlProblem) -> Box<TomlError> {
        let (line, column) = self.place(offset);
        Box::new(TomlError { file: self.file.map(Path::to_owned), line, column, key: key.to_owned(), problem })
    }

    /// The parser's error, as a problem with its position.
    pub fn syntax(&self, error: &toml::de::Error) -> Box<TomlError> {
        let span = error.span().unwrap_or(self.text.len()..self.text.len());
        let mut message = error.message().replace('\n', ", ");
        // The parser says what is wrong but not with which word.
        if let Some(word) = self.text.get(span.clone()).filter(|word| !word.trim().is_empty()) {
            message = format!("{message}, found {}", Quoted(word));
        }
        self.error(span.start, "", TomlProblem::Syntax(message))
    }
}

/// A table.
#[derive(Debug)]
pub struct Section<'a> {
    source: &'a Source<'a>,
    path: String,
    table: &'a DeTable<'a>,
    start: usize,
}

impl<'a> Section<'a> {
    /// The table of the whole text.
    pub fn root(source: &'a Source<'a>, table: &'a DeTable<'a>) -> Self {
        Self { source, path: String::new(), table, start: 0 }
    }

    fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// Refuses every key that is not listed, the first in the text if there are several.
    pub fn allow(&self, known: &'static [&'static str]) -> Read<()> {
        let unknown = self.entries().into_iter().find(|(key, ..)| !known.contains(key));
        unknown.map_or(Ok(()), |(key, start, _)| {
            Err(self.unknown_key(key, start, nearest(key, known.iter().copied()), known))
        })
    }

    /// A key that means nothing in this table.
    pub fn unknown_key(
        &self,
        key: &str,
        start: usize,
        nearest: Option<&'static str>,
        known: &'static [&'static str],
    ) -> Box<TomlError> {
        self.source.error(start, &self.path, TomlProblem::UnknownKey { key: key.to_owned(), nearest, known })
    }

    /// Every key with its offset and its value, in the order of the text.
    pub fn entries(&self) -> Vec<(&'a str, usize, Item<'a>)> {
        let mut entries: Vec<_> = self
            .table
            .iter()
            .map(|(key, value)| (key.get_ref().as_ref(), key.span().start, self.item(key.get_ref(), value)))
            .collect();
        entries.sort_by_key(|(_, start, _)| *start);
        entries
    }

    fn item(&self, key: &str, value: &'a Spanned<DeValue<'a>>) -> Item<'a> {
        Item { source: self.source, path: self.path_of(key), value: value.get_ref(), start: value.span().start }
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<Item<'a>> {
        self.table.get(key).map(|value| self.item(key, value))
    }

    /// The value of a key that must be there.
    pub fn require(&self, key: &'static str, expected: &'static str) -> Read<Item<'a>> {
        self.get(key).ok_or_else(|| self.problem(TomlProblem::Missing { key, expected }))
    }

    /// The tables of an array; none if the key is absent.
    pub fn sections(&self, key: &'static str) -> Read<Vec<Section<'a>>> {
        let Some(item) = self.get(key) else { return Ok(Vec::new()) };
        let elements = item.elements("an array of tables, each with its [[header]]")?;
        elements.into_iter().map(Item::section).collect()
    }

    /// Position of this table.
    pub(crate) fn origin(&self) -> Origin {
        Origin { start: self.start, path: self.path.clone() }
    }

    /// The line on which this table begins.
    pub fn line(&self) -> usize {
        self.source.place(self.start).0
    }

    /// A problem with the table as a whole.
    pub fn problem(&self, problem: TomlProblem) -> Box<TomlError> {
        self.source.error(self.start, &self.path, problem)
    }
}

/// A value.
#[derive(Debug)]
pub struct Item<'a> {
    source: &'a Source<'a>,
    path: String,
    value: &'a DeValue<'a>,
    start: usize,
}

impl<'a> Item<'a> {
    /// A problem with this value.
    pub fn problem(&self, problem: TomlProblem) -> Box<TomlError> {
        self.source.error(self.start, &self.path, problem)
    }

    /// A value that no machine could have.
    pub fn invalid(&self, problem: TopologyError) -> Box<TomlError> {
        self.problem(TomlProblem::Invalid(problem))
    }

    /// Text in the wrong form.
    pub fn malformed(&self, what: &'static str, text: &str, reason: &str) -> Box<TomlError> {
        self.invalid(TopologyError::malformed(what, text, reason))
    }

    /// A name that is not in a list.
    pub fn unknown_name(&self, what: &'static str, name: &str, known: &[&'static str]) -> Box<TomlError> {
        self.invalid(TopologyError::unknown_name(what, name, known.to_vec()))
    }

    /// A value of another type than the one expected.
    pub fn wrong_type(&self, expected: &'static str) -> Box<TomlError> {
        let found = match self.value {
            DeValue::String(_) => "a string",
            DeValue::Integer(_) => "an integer",
            DeValue::Float(_) => "a float",
            DeValue::Boolean(_) => "a boolean",
            DeValue::Datetime(_) => "a date or time",
            DeValue::Array(_) => "an array",
            DeValue::Table(_) => "a table",
        };
        self.problem(TomlProblem::WrongType { expected, found })
    }

    /// Position of this value.
    pub(crate) fn origin(&self) -> Origin {
        Origin { start: self.start, path: self.path.clone() }
    }

    /// The line on which this value stands.
    pub fn line(&self) -> usize {
        self.source.place(self.start).0
    }

    /// The text, if this is a string.
    pub fn as_text(&self) -> Option<&'a str> {
        self.value.as_str()
    }

    /// The truth value, if this is one.
    pub fn as_boolean(&self) -> Option<bool> {
        self.value.as_bool()
    }

    /// `true` if this is a table.
    pub fn is_table(&self) -> bool {
        self.value.is_table()
    }

    /// A table.
    pub fn section(self) -> Read<Section<'a>> {
        match self.value {
            DeValue::Table(table) => Ok(Section { source: self.source, path: self.path, table, start: self.start }),
            _ => Err(self.wrong_type("a table")),
        }
    }

    /// The values of an array.
    pub fn elements(&self, expected: &'static str) -> Read<Vec<Item<'a>>> {
        let DeValue::Array(array) = self.value else { return Err(self.wrong_type(expected)) };
        let element = |(index, value): (usize, &'a Spanned<DeValue<'a>>)| {
            let path = format!("{}[{index}]", self.path);
            Item { path, value: value.get_ref(), start: value.span().start, source: self.source }
        };
        Ok(array.iter().enumerate().map(element).collect())
    }

    /// A string.
    pub fn text(&self) -> Read<&'a str> {
        self.as_text().ok_or_else(|| self.wrong_type("a string"))
    }

    /// A string that stands for something else.
    pub fn parsed<T>(&self, parse: impl FnOnce(&str) -> Result<T, TopologyError>) -> Read<T> {
        parse(self.text()?).map_err(|error| self.invalid(error))
    }

    /// A truth value.
    pub fn boolean(&self) -> Read<bool> {
        self.as_boolean().ok_or_else(|| self.wrong_type("true or false"))
    }

    /// An integer between two limits.
    pub fn number<T>(&self, what: &'static str, range: RangeInclusive<T>) -> Read<T>
    where
        T: Copy + PartialOrd + Into<i128> + TryFrom<i128>,
    {
        let DeValue::Integer(integer) = self.value else { return Err(self.wrong_type("an integer")) };
        let value = i128::from_str_radix(integer.as_str(), integer.radix()).map_err(|_| {
            self.invalid(TopologyError::malformed("integer", integer.as_str(), "it has too many digits"))
        })?;
        let fitting = T::try_from(value).ok().filter(|value| range.contains(value));
        fitting.ok_or_else(|| self.invalid(TopologyError::out_of_range(what, value, *range.start(), *range.end())))
    }

    /// A number of bytes, bare or with a unit, between two limits.
    pub fn size(&self, what: &'static str, range: RangeInclusive<u64>) -> Read<u64> {
        match self.value {
            DeValue::String(text) => self.quantity(parse_size(text), what, range),
            DeValue::Integer(_) => self.number(what, range),
            _ => Err(self.wrong_type("a size such as \"80 GiB\" or a number of bytes")),
        }
    }

    /// A number of bytes per second, bare or with a unit.
    pub fn bandwidth(&self, what: &'static str) -> Read<u64> {
        let range = 1..=MAX_BANDWIDTH;
        match self.value {
            DeValue::String(text) => self.quantity(parse_bandwidth(text), what, range),
            DeValue::Integer(_) => self.number(what, range),
            _ => Err(self.wrong_type("a bandwidth such as \"450 GB/s\" or a number of bytes per second")),
        }
    }

    /// A parsed quantity between two limits.
    fn quantity(
        &self,
        parsed: Result<u64, TopologyError>,
        what: &'static str,
        range: RangeInclusive<u64>,
    ) -> Read<u64> {
        let value = parsed.map_err(|error| self.invalid(error))?;
        if range.contains(&value) {
            return Ok(value);
        }
        Err(self.invalid(TopologyError::out_of_range(what, value, *range.start(), *range.end())))
    }
}
