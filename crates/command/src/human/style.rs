//! Colour and line width of the output.

use std::io::IsTerminal as _;

use crate::command_line::Color;

/// Text markup: colours, or none, and the width of a line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    colour: bool,
    /// Columns of the terminal, if there is one.
    width: Option<usize>,
}

impl Style {
    /// The style of standard output. In `auto` there are colours if it is a terminal that has them and
    /// `NO_COLOR` is not set.
    pub(crate) fn of_stdout(color: Color) -> Style {
        let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        let able = || set("TERM").is_some_and(|terminal| terminal != "dumb") && std::io::stdout().is_terminal();
        let colour = match color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => set("NO_COLOR").is_none() && able(),
        };
        let asked = set("COLUMNS").and_then(|columns| columns.to_str()?.parse().ok());
        let terminal = || Some(usize::from(terminal_size::terminal_size_of(std::io::stdout())?.0.0));
        Style { colour, width: asked.or_else(terminal).filter(|width| *width > 0) }
    }

    /// No colours, and lines of any length.
    #[cfg(test)]
    pub(crate) fn plain() -> Style {
        Style { colour: false, width: None }
    }

    /// No colours, and lines of a width.
    #[cfg(test)]
    pub(crate) fn of_width(width: usize) -> Style {
        Style { colour: false, width: Some(width) }
    }

    /// Columns that a line may have; no limit without a terminal.
    pub(crate) fn width(self) -> Option<usize> {
        self.width
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
