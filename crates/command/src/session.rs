//! Settings that all commands share, and the output of a command.

use serde::Serialize;

use crate::Carried;
use crate::choice::{Choice, DriverArgs};
use crate::failure::{Failure, code};
use crate::human::Style;

/// Settings from the options that stand before the command or are the same for each.
#[derive(Debug)]
pub(crate) struct Session {
    /// Print JSON.
    pub(crate) json: bool,
    pub(crate) style: Style,
    /// The driver that was chosen before the name of the command.
    pub(crate) driver: DriverArgs,
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "programs are simulated on Linux alone"))]
    pub(crate) carried: Carried,
}

impl Session {
    /// The driver of a command: its own choice, or the one that stands before its name.
    pub(crate) fn choice(&self, own: &DriverArgs) -> Choice {
        if own.is_given() { own.choice() } else { self.driver.choice() }
    }

    /// A report as JSON, or as text for people.
    pub(crate) fn show(&self, report: &impl Serialize, human: impl FnOnce(Style) -> String) -> Result<Output, Failure> {
        let text = if self.json { serde_json::to_string_pretty(report)? + "\n" } else { human(self.style) };
        Ok(Output::text(text))
    }

    /// Refuses `--json` next to an option that selects another format.
    pub(crate) fn no_json_with(&self, option: &str, is_given: bool) -> Result<(), Failure> {
        if self.json && is_given {
            return Err(Failure::misuse(format_args!("--json and {option} exclude each other")).hint("leave one out"));
        }
        Ok(())
    }
}

/// The text that a command prints, and its exit code.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) text: String,
    pub(crate) code: u8,
}

impl Output {
    /// Text of a command that succeeded.
    pub(crate) fn text(text: String) -> Self {
        Self { text, code: code::SUCCESS }
    }

    /// The same text, with the exit code 1 unless the command succeeded.
    pub(crate) fn succeeded(self, success: bool) -> Self {
        if success { self } else { Self { code: code::FAILURE, ..self } }
    }
}
