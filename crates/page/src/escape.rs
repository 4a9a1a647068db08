//! Escapes: text of a program that stands in the page cannot end the element around it.

use std::io::{self, Write};

/// A writer of JSON in which every `<` is written as `\u003c`.
///
/// JSON has that character in strings alone, where the escape means the same. Without it nothing inside a
/// `script` element can end the element or start a comment.
pub(crate) struct Escaped<W>(W);

impl<W> Escaped<W> {
    pub(crate) fn new(to: W) -> Self {
        Self(to)
    }
}

impl<W: Write> Write for Escaped<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut parts = bytes.split(|byte| *byte == b'<');
        if let Some(first) = parts.next() {
            self.0.write_all(first)?;
        }
        for part in parts {
            self.0.write_all(b"\\u003c")?;
            self.0.write_all(part)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Text for an HTML element or attribute.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_keeps_its_meaning_without_the_character() -> Result<(), Box<dyn std::error::Error>> {
        let texts = ["</script><script>alert(1)</script>", "<!-- <script>", "a<b\u{2028}", "\\<", "<"];
        let mut json = Vec::new();
        serde_json::to_writer(Escaped::new(&mut json), &texts)?;
        let json = String::from_utf8(json)?;
        assert!(!json.contains('<'), "{json}");
        assert_eq!(serde_json::from_str::<Vec<String>>(&json)?, texts);
        Ok(())
    }

    #[test]
    fn html_text_has_no_markup() {
        assert_eq!(escape("<b a=\"1\" c='2'>&"), "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;");
    }
}
