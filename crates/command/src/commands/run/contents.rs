//! Contents of memory that is passed to a kernel, before it runs.

use std::path::{Path, PathBuf};

use super::element::Element;
use super::spec::{Part, Size};
use super::spec_error::SpecError;
use crate::failure::Failure;
use crate::report::Number;

/// Contents of memory before the kernel runs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Contents {
    Zero,
    /// Allocated and never written, so that checks find a read.
    Uninitialised,
    /// One value.
    Fill(Number),
    /// `START`, `START + STEP`, …; integers wrap around.
    Iota {
        start: Number,
        step: Number,
    },
    /// Uniform from `low` up to and without `high`, the same for a seed every time.
    Random {
        seed: u64,
        low: Number,
        high: Number,
    },
    /// The values of a file.
    File(PathBuf),
}

const FORMS: &str = "zero, uninit, fill=VALUE, iota[=START[,STEP]], random[=SEED[,LOW,HIGH]] or file=PATH";

impl Contents {
    pub(super) fn parse(part: &Part<'_>, element: Element) -> Result<Contents, SpecError> {
        let zero = || if element.is_float() { Number::Double(0.0) } else { Number::Integer(0) };
        let one = || if element.is_float() { Number::Double(1.0) } else { Number::Integer(1) };
        let (key, value) = match part.key_value() {
            Some((key, value)) => (key.word(), Some(value)),
            None => (part.word(), None),
        };
        let list = value.as_ref().map(|value| value.list(',').collect::<Vec<_>>()).unwrap_or_default();
        match (key, list.as_slice()) {
            ("zero", []) => Ok(Contents::Zero),
            ("uninit", []) => Ok(Contents::Uninitialised),
            ("fill", [value]) => Ok(Contents::Fill(value.number(element)?)),
            ("iota", []) => Ok(Contents::Iota { start: zero(), step: one() }),
            ("iota", [start]) => Ok(Contents::Iota { start: start.number(element)?, step: one() }),
            ("iota", [start, step]) => {
                Ok(Contents::Iota { start: start.number(element)?, step: step.number(element)? })
            }
            ("random", []) => Ok(Contents::Random { seed: 0, low: zero(), high: default_high(element) }),
            ("random", [seed]) => {
                Ok(Contents::Random { seed: parse_seed(seed)?, low: zero(), high: default_high(element) })
            }
            ("random", [seed, low, high]) => {
                let (seed, low, above) = (parse_seed(seed)?, low.number(element)?, high.number(element)?);
                if low.to_float() < above.to_float() {
                    return Ok(Contents::Random { seed, low, high: above });
                }
                Err(high.error(format!("{} is not above {}", high.word(), list[1].word())))
            }
            ("file", _) => match value {
                Some(path) if !path.word().is_empty() => Ok(Contents::File(path.path())),
                _ => Err(part.error("the path is missing; expected file=PATH")),
            },
            _ => Err(part.error(format!("{:?} is none of {FORMS}, nor n=SIZE", part.word()))),
        }
    }

    /// The values as bytes, and their number where a file says it; `None` for memory that the device fills or
    /// leaves as it is.
    pub(crate) fn bytes(&self, element: Element, size: Option<&Size>) -> Result<Option<(Vec<u8>, Size)>, Failure> {
        if let Contents::File(path) = self {
            return read(path, element, size).map(Some);
        }
        let Some(size) = size else { return Ok(None) };
        let values = |next: &mut dyn FnMut() -> Number| {
            let mut bytes = Vec::new();
            let length = size.count() * element.size();
            bytes.try_reserve_exact(length).map_err(|_| {
                Failure::new(format_args!("there is no host memory for {length} bytes of {element} values"))
                    .hint("zero and uninit need none")
            })?;
            (0..size.count()).for_each(|_| element.encode(next(), &mut bytes));
            Ok(Some((bytes, size.clone())))
        };
        match *self {
            Contents::Zero | Contents::Uninitialised | Contents::File(_) => Ok(None),
            Contents::Fill(value) => values(&mut || value),
            Contents::Iota { start: Number::Integer(start), step: Number::Integer(step) } => {
                let mut at = 0;
                values(&mut || {
                    let value = start.wrapping_add(step.wrapping_mul(at));
                    at += 1;
                    Number::Integer(value)
                })
            }
            Contents::Iota { start, step } => {
                let mut at = 0.0;
                values(&mut || {
                    let value = start.to_float() + step.to_float() * at;
                    at += 1.0;
                    Number::Double(value)
                })
            }
            Contents::Random { seed, low: Number::Integer(low), high: Number::Integer(high) } => {
                let mut random = Random(seed);
                // The upper half of a product, so that every value is as likely. Neither half overflows: a range
                // has at most as many values as a word.
                let range = (high - low).unsigned_abs();
                values(&mut || Number::Integer(low + ((u128::from(random.next()) * range) >> 64) as i128))
            }
            Contents::Random { seed, low, high } => {
                let (mut random, low, high) = (Random(seed), low.to_float(), high.to_float());
                values(&mut || Number::Double(low + random.fraction() * (high - low)))
            }
        }
    }
}

/// One above the largest random value where none is given: 1 for floating-point types, else 256 or as much
/// as the type has.
fn default_high(element: Element) -> Number {
    match element.range() {
        None => Number::Double(1.0),
        Some((_, most)) => Number::Integer((most + 1).min(256)),
    }
}

fn parse_seed(part: &Part<'_>) -> Result<u64, SpecError> {
    part.word().parse().map_err(|_| part.error(format!("{:?} is no seed; expected one such as 7", part.word())))
}

/// Random numbers by SplitMix64, which needs one word of state and passes the usual tests.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// From 0 up to and without 1.
    fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// The values of a file: numbers between spaces, commas and line ends in `.txt`, `.csv` and `.tsv`, else the
/// bytes of the values, lowest first.
fn read(path: &Path, element: Element, size: Option<&Size>) -> Result<(Vec<u8>, Size), Failure> {
    let contents = std::fs::read(path).map_err(|error| Failure::file(path, error))?;
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let bytes = if ["txt", "csv", "tsv"].contains(&extension) {
        numbers(path, &String::from_utf8_lossy(&contents), element)?
    } else {
        contents
    };
    let count = bytes.len() / element.size();
    let expected = size.map_or(count, Size::count);
    if count == 0 || count != expected || !bytes.len().is_multiple_of(element.size()) {
        let wanted = match size {
            Some(size) => format!("n={size} takes {expected} values of {element}, {} bytes", expected * element.size()),
            None => format!("it takes a whole number of {element} values, {} bytes each", element.size()),
        };
        return Err(Failure::file(path, format_args!("{} bytes of values; {wanted}", bytes.len())));
    }
    Ok((bytes, size.cloned().unwrap_or(Size::row(count))))
}

fn numbers(path: &Path, text: &str, element: Element) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        let words = line.split(|character: char| character.is_whitespace() || character == ',');
        for word in words.filter(|word| !word.is_empty()) {
            let value = element
                .parse(word)
                .map_err(|problem| Failure::new(format_args!("{}:{number}: {word:?} {}", path.display(), problem.0)))?;
            element.encode(value, &mut bytes);
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::super::spec::{Spec, SpecKind};

    /// The values that memory begins with.
    fn values(text: &str) -> Vec<f64> {
        let Spec { element, kind, .. } = text.parse().unwrap_or_else(|error| panic!("{error}"));
        let SpecKind::Memory { size, contents } = kind else { panic!("{text} is a value") };
        let made = contents.bytes(element, size.as_ref()).unwrap_or_else(|failure| panic!("{}", failure.message));
        let (bytes, _) = made.expect("the host makes the values");
        bytes.chunks(element.size()).map(|bytes| element.decode(bytes).to_float()).collect()
    }

    #[test]
    fn contents_are_what_they_say() {
        assert_eq!(values("f32:x:n=3:iota"), [0.0, 1.0, 2.0]);
        assert_eq!(values("i16:x:n=3:iota=5,-2"), [5.0, 3.0, 1.0]);
        assert_eq!(values("u8:x:n=3:iota=254"), [254.0, 255.0, 0.0]);
        assert_eq!(values("f64:x:n=2:fill=0.5"), [0.5, 0.5]);
        assert_eq!(values("bool:x:n=2:fill=true"), [1.0, 1.0]);
    }

    #[test]
    fn random_contents_are_in_range_and_the_same_for_a_seed() {
        let once = values("f32:x:n=1000:random=7,-2,3");
        assert_eq!(once, values("f32:x:n=1000:random=7,-2,3"));
        assert_ne!(once, values("f32:x:n=1000:random=8,-2,3"));
        assert!(once.iter().all(|value| (-2.0..3.0).contains(value)));
        let dice = values("u32:x:n=1000:random=1,1,7");
        assert!(
            (1..7).all(|side| dice.contains(&f64::from(side))) && dice.iter().all(|side| (1.0..7.0).contains(side))
        );
        assert!(values("i8:x:n=1000:random").iter().all(|value| (0.0..128.0).contains(value)));
        let seldom = values("u64:x:n=4:random=0,0,0xffffffffffffffff");
        assert!(seldom.iter().any(|value| *value > 1e18), "{seldom:?}");
    }

    #[test]
    fn unknown_contents_are_marked() {
        for (text, problem) in [
            ("f32:x:n=1:ones", "\"ones\" is none of zero, uninit, fill=VALUE"),
            ("f32:x:n=1:iota=1,2,3", "\"iota=1,2,3\" is none of"),
            ("u8:x:n=1:random=x", "\"x\" is no seed; expected one such as 7\n  u8:x:n=1:random=x\n                  ^"),
            ("u8:x:n=1:random=1,4,4", "4 is not above 4\n  u8:x:n=1:random=1,4,4\n                      ^"),
            ("u8:x:n=1:fill=-1", "\"-1\" is out of range; u8 has 0 to 255"),
            ("u8:x:n=1:file=", "the path is missing; expected file=PATH"),
        ] {
            let error = text.parse::<Spec>().expect_err(text).to_string();
            assert!(error.starts_with(problem), "{error}");
        }
    }
}
