//! Colour, where there is a terminal to show it.

use std::io::IsTerminal as _;

/// Text markup: colours, or none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    colour: bool,
}

impl Style {
    /// Colours if standard output is a terminal that has them and `NO_COLOR` is not set.
    pub(crate) fn of_stdout() -> Style {
        let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let able = std::env::var_os("TERM").is_some_and(|terminal| terminal != "dumb");
        Style { colour: wanted && able && std::io::stdout().is_terminal() }
    }

    pub(crate) fn heading(self, text: &str) -> String {
        self.paint("1", text)
    }

    /// The mark of a check that held, or did not.
    pub(crate) fn mark(self, held: bool) -> String {
        if held { self.paint("32", "✓") } else { self.paint("31", "✗") }
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}
