//! Pieces of messages.

use std::fmt;

/// Text in quotes, cut where it would bury the message.
#[derive(Debug)]
pub struct Quoted<'a>(pub &'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.char_indices().nth(60) {
            Some((end, _)) => write!(f, "{:?}...", self.0.get(..end).unwrap_or_default()),
            None => write!(f, "{:?}", self.0),
        }
    }
}

/// The clause that offers a known name, or nothing.
#[derive(Debug)]
pub struct DidYouMean(pub Option<&'static str>);

impl fmt::Display for DidYouMean {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |name| write!(f, ", did you mean {name:?}?"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_is_cut() {
        let shown = Quoted(&"é".repeat(1000)).to_string();
        assert_eq!(shown, format!("\"{}\"...", "é".repeat(60)));
        assert_eq!(Quoted("a\nb").to_string(), "\"a\\nb\"");
    }
}
