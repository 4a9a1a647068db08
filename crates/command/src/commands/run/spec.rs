//! Specifications of kernel arguments on the command line: `f32:x:n=1000:iota`.
//!
//! ```text
//! TYPE:NAME=VALUE[,VALUE…]          a value, or a small vector of values
//! TYPE:[NAME:]n=SIZE[:CONTENTS]     memory of that many values, passed as its address
//! TYPE:[NAME:]file=PATH             memory with the values of a file
//!
//! SIZE      1000, 640x360 or 16x16x4; the first dimension is the one of neighbouring values
//! CONTENTS  zero (the default), uninit, fill=VALUE, iota[=START[,STEP]], random[=SEED[,LOW,HIGH]], file=PATH
//! ```
//!
//! `n=…` alone behind the type is a value that is called `n`.

use std::ops::Range;
use std::path::PathBuf;
use std::str::FromStr;

use super::contents::Contents;
use super::element::Element;
use super::spec_error::SpecError;
use crate::report::Number;

/// The most values of a vector: a matrix of 4 by 4.
const MOST_VALUES: usize = 16;
/// The most dimensions of memory.
const MOST_DIMENSIONS: usize = 3;

/// The specification of one kernel argument.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Spec {
    /// The specification as it was given.
    pub(crate) text: String,
    /// The name, if it has one.
    pub(crate) name: Option<String>,
    pub(crate) element: Element,
    pub(crate) kind: SpecKind,
}

/// The kind of an argument.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SpecKind {
    /// A value, or the values of a vector.
    Value(Vec<Number>),
    /// Memory, passed as its address.
    Memory {
        /// Number of values in each dimension; `None` if a file says it.
        size: Option<Size>,
        contents: Contents,
    },
}

/// Number of values in each dimension, neighbouring values first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Size(Vec<usize>);

impl Size {
    /// So many values in a row.
    pub(crate) fn row(count: usize) -> Size {
        Size(vec![count])
    }

    /// One to three dimensions, none of them 0.
    pub(crate) fn dimensions(&self) -> &[usize] {
        &self.0
    }

    /// Number of values.
    pub(crate) fn count(&self) -> usize {
        self.0.iter().product()
    }
}

impl std::fmt::Display for Size {
    /// `640x360`
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0.iter().map(usize::to_string).collect::<Vec<_>>().join("x"))
    }
}

impl Spec {
    /// The size of the argument in bytes, as a kernel parameter has it.
    pub(crate) fn parameter_bytes(&self) -> usize {
        match &self.kind {
            SpecKind::Value(values) => values.len() * self.element.size(),
            SpecKind::Memory { .. } => size_of::<u64>(),
        }
    }
}

impl FromStr for Spec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Spec, SpecError> {
        let mut parts = Parts { text, start: 0, is_done: false };
        let element = parts.next().unwrap_or(Part { text, range: 0..0 });
        let names = || Element::ALL.map(Element::name).join(", ");
        let element = Element::named(element.word())
            .ok_or_else(|| element.error(format!("{:?} is no type; expected one of {}", element.word(), names())))?;
        let forms = format!("expected {element}:NAME=VALUE, or {element}:NAME:n=SIZE for memory");
        let Some(second) = parts.next() else {
            return Err(SpecError::new(text, text.len()..text.len(), forms));
        };
        let (name, first) = match second.key_value() {
            None => {
                let first = parts.next().ok_or_else(|| {
                    let problem = format!("{:?} has neither a value nor a size; {forms}", second.word());
                    SpecError::new(text, text.len()..text.len(), problem)
                })?;
                (Some(name(&second)?), first)
            }
            Some((key, _)) if key.word() == "file" || (key.word() == "n" && !parts.is_done) => (None, second),
            Some((key, value)) => {
                let name = Some(name(&key)?);
                let values = vector(&value, element)?;
                return match parts.next() {
                    None => Ok(Spec { text: text.to_owned(), name, element, kind: SpecKind::Value(values) }),
                    Some(more) => {
                        let problem = format!("nothing follows a value; memory is {element}:NAME:n=SIZE");
                        Err(more.error(problem))
                    }
                };
            }
        };
        let kind = memory(first, parts, element)?;
        Ok(Spec { text: text.to_owned(), name, element, kind })
    }
}

/// The parts that describe memory: its size and its contents, in either order.
fn memory(first: Part<'_>, rest: Parts<'_>, element: Element) -> Result<SpecKind, SpecError> {
    let (mut size, mut contents) = (None, None);
    let text = first.text;
    for part in std::iter::once(first).chain(rest) {
        match part.key_value() {
            Some((key, value)) if key.word() == "n" => {
                if size.replace(parse_size(&value, element)?).is_some() {
                    return Err(part.error("the size is given twice; leave one out"));
                }
            }
            _ => {
                if contents.replace(Contents::parse(&part, element)?).is_some() {
                    return Err(part.error("the contents are given twice; leave one out"));
                }
            }
        }
    }
    let contents = contents.unwrap_or(Contents::Zero);
    if size.is_none() && !matches!(contents, Contents::File(_)) {
        return Err(SpecError::new(text, text.len()..text.len(), "the size of the memory is missing; expected n=SIZE"));
    }
    Ok(SpecKind::Memory { size, contents })
}

/// A name as C++ has them.
fn name(part: &Part<'_>) -> Result<String, SpecError> {
    let word = part.word();
    let is_name = word.chars().all(|character| character.is_alphanumeric() || character == '_')
        && word.chars().next().is_some_and(|first| !first.is_numeric());
    if is_name {
        return Ok(word.to_owned());
    }
    Err(part.error(format!("{word:?} is no name; expected letters, digits and underscores")))
}

fn vector(part: &Part<'_>, element: Element) -> Result<Vec<Number>, SpecError> {
    let values = part.list(',').map(|value| value.number(element)).collect::<Result<Vec<_>, _>>()?;
    if values.len() > MOST_VALUES {
        let problem = format!("{} values; a vector has at most {MOST_VALUES}, more of them are memory", values.len());
        return Err(part.error(problem));
    }
    Ok(values)
}

fn parse_size(part: &Part<'_>, element: Element) -> Result<Size, SpecError> {
    let mut dimensions = Vec::new();
    for dimension in part.list('x') {
        match dimension.word().parse::<usize>() {
            Ok(count) if count > 0 && !dimension.word().starts_with('+') => dimensions.push(count),
            _ => {
                let problem =
                    format!("{:?} is no size; expected one such as 1000, 640x360 or 16x16x4", dimension.word());
                return Err(dimension.error(problem));
            }
        }
    }
    if dimensions.len() > MOST_DIMENSIONS {
        return Err(part.error(format!("{} dimensions; there are at most {MOST_DIMENSIONS}", dimensions.len())));
    }
    let bytes = dimensions.iter().try_fold(element.size(), |all, count| all.checked_mul(*count));
    match bytes.filter(|bytes| isize::try_from(*bytes).is_ok()) {
        Some(_) => Ok(Size(dimensions)),
        None => Err(part.error(format!("{} values of {element} are more than an address reaches", part.word()))),
    }
}

/// A part of a specification.
#[derive(Clone, Debug)]
pub(super) struct Part<'t> {
    text: &'t str,
    range: Range<usize>,
}

impl<'t> Part<'t> {
    pub(super) fn word(&self) -> &'t str {
        &self.text[self.range.clone()]
    }

    pub(super) fn error(&self, problem: impl Into<String>) -> SpecError {
        SpecError::new(self.text, self.range.clone(), problem)
    }

    /// The parts before and behind `=`.
    pub(super) fn key_value(&self) -> Option<(Part<'t>, Part<'t>)> {
        let at = self.range.start + self.word().find('=')?;
        let part = |range| Part { text: self.text, range };
        Some((part(self.range.start..at), part(at + 1..self.range.end)))
    }

    /// The parts between separators.
    pub(super) fn list(&self, separator: char) -> impl Iterator<Item = Part<'t>> {
        let (text, mut start) = (self.text, self.range.start);
        self.word().split(separator).map(move |word| {
            let range = start..start + word.len();
            start = range.end + separator.len_utf8();
            Part { text, range }
        })
    }

    /// The value that the part is.
    pub(super) fn number(&self, element: Element) -> Result<Number, SpecError> {
        element.parse(self.word()).map_err(|problem| self.error(format!("{:?} {}", self.word(), problem.0)))
    }

    pub(super) fn path(&self) -> PathBuf {
        PathBuf::from(self.word())
    }
}

/// The parts between colons. A path is the last one, colons included.
struct Parts<'t> {
    text: &'t str,
    start: usize,
    is_done: bool,
}

impl<'t> Iterator for Parts<'t> {
    type Item = Part<'t>;

    fn next(&mut self) -> Option<Part<'t>> {
        if self.is_done {
            return None;
        }
        let rest = &self.text[self.start..];
        let length = if rest.starts_with("file=") { rest.len() } else { rest.find(':').unwrap_or(rest.len()) };
        let range = self.start..self.start + length;
        self.is_done = range.end == self.text.len();
        self.start = range.end + 1;
        Some(Part { text: self.text, range })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(text: &str) -> Spec {
        text.parse().unwrap_or_else(|error| panic!("{error}"))
    }

    fn memory_of(text: &str) -> (Option<String>, Vec<usize>, Contents) {
        match spec(text) {
            Spec { name, kind: SpecKind::Memory { size, contents }, .. } => {
                (name, size.map(|size| size.0).unwrap_or_default(), contents)
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_value_has_a_type_and_a_name() {
        let Spec { name, element, kind, .. } = spec("f32:a=2.0");
        assert_eq!(
            (name.as_deref(), element, kind),
            (Some("a"), Element::F32, SpecKind::Value(vec![Number::Double(2.0)]))
        );
        assert_eq!(spec("u32:n=1000").kind, SpecKind::Value(vec![Number::Integer(1000)]));
        assert_eq!((spec("f32:v=1,2,3").parameter_bytes(), spec("u8:x:n=7").parameter_bytes()), (12, 8));
    }

    #[test]
    fn memory_has_a_size_and_contents() {
        let x = || Some("x".to_owned());
        assert_eq!(memory_of("f32:x:n=1000"), (x(), vec![1000], Contents::Zero));
        assert_eq!(memory_of("f32:n=8:zero"), (None, vec![8], Contents::Zero));
        assert_eq!(memory_of("u8:x:n=3x640x360:uninit"), (x(), vec![3, 640, 360], Contents::Uninitialised));
        assert_eq!(memory_of("u8:x:fill=7:n=2x2"), (x(), vec![2, 2], Contents::Fill(Number::Integer(7))));
        assert_eq!(memory_of("f64:x:file=a:b=c.bin"), (x(), vec![], Contents::File("a:b=c.bin".into())));
        assert_eq!(memory_of("f64:file=a.bin"), (None, vec![], Contents::File("a.bin".into())));
        assert_eq!(memory_of("f64:x:n=2:file=/a.bin"), (x(), vec![2], Contents::File("/a.bin".into())));
    }

    #[test]
    fn the_wrong_part_is_marked() {
        for (text, expected) in [
            (
                "f23:x:n=4",
                "\"f23\" is no type; expected one of bool, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64\n  \
                 f23:x:n=4\n  ^^^",
            ),
            ("f32", "expected f32:NAME=VALUE, or f32:NAME:n=SIZE for memory\n  f32\n     ^"),
            (
                "f32:x:n=12a",
                "\"12a\" is no size; expected one such as 1000, 640x360 or 16x16x4\n  f32:x:n=12a\n          ^^^",
            ),
            (
                "f32:x:n=2x0",
                "\"0\" is no size; expected one such as 1000, 640x360 or 16x16x4\n  f32:x:n=2x0\n            ^",
            ),
            ("f32:x:n=1x1x1x1", "4 dimensions; there are at most 3\n  f32:x:n=1x1x1x1\n          ^^^^^^^"),
            ("u8:a=300", "\"300\" is out of range; u8 has 0 to 255\n  u8:a=300\n       ^^^"),
            ("u8:a=1:n=3", "nothing follows a value; memory is u8:NAME:n=SIZE\n  u8:a=1:n=3\n         ^^^"),
            ("u8:2x=1", "\"2x\" is no name; expected letters, digits and underscores\n  u8:2x=1\n     ^^"),
            ("u8:x:zero", "the size of the memory is missing; expected n=SIZE\n  u8:x:zero\n           ^"),
            ("u8:x:n=1:n=2", "the size is given twice; leave one out\n  u8:x:n=1:n=2\n           ^^^"),
            (
                "u8:x:n=1:zero:uninit",
                "the contents are given twice; leave one out\n  u8:x:n=1:zero:uninit\n                ^^^^^^",
            ),
            (
                "u8:x",
                "\"x\" has neither a value nor a size; expected u8:NAME=VALUE, or u8:NAME:n=SIZE for memory\n  u8:x\n      ^",
            ),
            (
                "f64:x:n=9999999999x9999999999",
                "9999999999x9999999999 values of f64 are more than an address reaches\n  f64:x:n=9999999999x9999999999\n          \
                 ^^^^^^^^^^^^^^^^^^^^^",
            ),
        ] {
            assert_eq!(text.parse::<Spec>().map_err(|error| error.to_string()), Err(expected.to_owned()), "{text}");
        }
    }
}
