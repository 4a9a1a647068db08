//! The first lines of a PTX text: what it was written for.
//!
//! ```text
//! .version 8.7              which PTX
//! .target sm_90a, debug     which architecture, and how
//! .address_size 64          how wide a pointer is; 32 where the line is missing
//! ```

use std::fmt;

use super::lexer::Token;
use super::parse::Parser;
use crate::error::{Error, Problem};

/// What a PTX text was written for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The version of the language.
    pub version: Version,
    /// The architecture, and what else `.target` says.
    pub target: Target,
    /// The width of a pointer.
    pub address_size: AddressSize,
}

/// A version of PTX; a later one compares greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// The number before the dot.
    pub major: u16,
    /// The number behind it.
    pub minor: u16,
}

/// What `.target` names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    /// The architecture: 90 for `sm_90` and `sm_90a`.
    pub architecture: u32,
    /// Which of the architecture's features the text may use, and so where else it runs.
    pub features: Features,
    /// How textures and samplers are bound, where the text says it.
    pub texture_mode: Option<TextureMode>,
    /// Whether the text carries debug information.
    pub debug: bool,
    /// Whether double precision is to be carried out in single precision.
    pub map_f64_to_f32: bool,
}

/// Which features of an architecture a text may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Features {
    /// Those that every later architecture keeps: `sm_90`.
    Portable,
    /// Those that the rest of its family keeps, too: `sm_100f`.
    Family,
    /// All of them: `sm_90a`, which runs on that architecture alone.
    Specific,
}

/// How textures and samplers are bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TextureMode {
    /// One descriptor for both.
    Unified,
    /// A descriptor each.
    Independent,
}

/// How wide a pointer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AddressSize {
    /// Four bytes.
    Bits32,
    /// Eight bytes.
    Bits64,
}

impl Header {
    /// Reads the header and looks no further: what follows may be anything.
    pub fn read(text: &str) -> Result<Header, Error> {
        Self::parse(&mut Parser::new(text)?)
    }

    pub(super) fn parse(parser: &mut Parser<'_>) -> Result<Header, Error> {
        parser.expect(".version")?;
        let version = version(parser)?;
        parser.expect(".target")?;
        let target = target(parser)?;
        let address_size = if parser.take(".address_size")? { address_size(parser)? } else { AddressSize::Bits32 };
        Ok(Header { version, target, address_size })
    }
}

/// A number in plain digits; `parse` alone would take a sign.
fn number<N: std::str::FromStr>(digits: &str) -> Option<N> {
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| digits.parse().ok()).flatten()
}

fn version(parser: &mut Parser<'_>) -> Result<Version, Error> {
    let word = parser.next()?;
    let parts = word.text.split_once('.');
    let version = parts.and_then(|(major, minor)| Some(Version { major: number(major)?, minor: number(minor)? }));
    version.ok_or_else(|| parser.unexpected(word, "a version such as 8.7"))
}

fn address_size(parser: &mut Parser<'_>) -> Result<AddressSize, Error> {
    let word = parser.next()?;
    match number::<u64>(word.text) {
        Some(32) => Ok(AddressSize::Bits32),
        Some(64) => Ok(AddressSize::Bits64),
        Some(_) => Err(parser.error(word, Problem::AddressSize(word.text.to_owned()))),
        None => Err(parser.unexpected(word, "32 or 64")),
    }
}

/// `90a` as architecture and features.
fn architecture(text: &str) -> Option<(u32, Features)> {
    let (digits, features) = match text.as_bytes().last()? {
        b'a' => (text.strip_suffix('a')?, Features::Specific),
        b'f' => (text.strip_suffix('f')?, Features::Family),
        _ => (text, Features::Portable),
    };
    Some((number(digits)?, features))
}

fn target(parser: &mut Parser<'_>) -> Result<Target, Error> {
    let start = parser.peek()?;
    let (mut named, mut texture_mode) = (None, None);
    let (mut debug, mut map_f64_to_f32) = (false, false);
    loop {
        let word = parser.next()?;
        match word.text {
            "texmode_unified" => set_once(parser, &mut texture_mode, TextureMode::Unified, word)?,
            "texmode_independent" => set_once(parser, &mut texture_mode, TextureMode::Independent, word)?,
            "debug" => debug = true,
            "map_f64_to_f32" => map_f64_to_f32 = true,
            text if text.starts_with("sm_") => {
                let found = architecture(&text[3..]);
                let found = found.ok_or_else(|| parser.error(word, Problem::UnknownTarget(text.to_owned())))?;
                set_once(parser, &mut named, found, word)?;
            }
            text if text.starts_with(char::is_alphabetic) => {
                return Err(parser.error(word, Problem::UnknownTarget(text.to_owned())));
            }
            _ => return Err(parser.unexpected(word, "a target such as sm_90")),
        }
        if !parser.take(",")? {
            break;
        }
    }
    let (architecture, features) = named.ok_or_else(|| parser.error(start, Problem::NoArchitecture))?.0;
    let texture_mode = texture_mode.map(|(mode, _)| mode);
    Ok(Target { architecture, features, texture_mode, debug, map_f64_to_f32 })
}

/// Keeps a value with the word that gave it; a second one contradicts the first.
fn set_once<'t, T>(
    parser: &Parser<'t>,
    kept: &mut Option<(T, Token<'t>)>,
    value: T,
    word: Token<'t>,
) -> Result<(), Error> {
    match kept {
        Some((_, first)) => {
            let (first, second) = (first.text.to_owned(), word.text.to_owned());
            Err(parser.error(word, Problem::Contradiction { first, second }))
        }
        None => {
            *kept = Some((value, word));
            Ok(())
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.major, self.minor)
    }
}

impl fmt::Display for Target {
    /// The architecture as PTX spells it: `sm_90a`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let suffix = match self.features {
            Features::Portable => "",
            Features::Family => "f",
            Features::Specific => "a",
        };
        write!(formatter, "sm_{}{suffix}", self.architecture)
    }
}
