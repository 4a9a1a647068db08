//! Parsing of the header: `.version`, `.target`, `.address_size`.

use super::Parser;
use crate::error::{Error, Problem};
use crate::syntax::lexer::Token;
use crate::syntax::{AddressSize, Features, Header, Target, TextureMode, Version};

impl Header {
    /// Reads the header alone: the rest of the text is not checked.
    ///
    /// ```
    /// use warploom_ptx::{AddressSize, Header, Version};
    ///
    /// let header = Header::read(".version 8.7\n.target sm_90a\n.address_size 64\n")?;
    /// assert!(header.version >= Version { major: 7, minor: 8 });
    /// assert_eq!(header.target.to_string(), "sm_90a");
    /// assert_eq!(header.address_size, AddressSize::Bits64);
    /// # Ok::<(), warploom_ptx::Error>(())
    /// ```
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
