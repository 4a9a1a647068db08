//! The commands of the `warploom` program.
//!
//! ```text
//! command_line ─▶ choice: which driver ─▶ commands/<name>: ask it ─▶ report: the data ─▶ human: its text, or JSON
//!                                         ├─▶ dot: graphs in files, and their pictures
//!                                         ├─▶ picture: values as PNG, PGM and PPM files
//!                                         └─▶ plot: measurements as SVG
//! ```

mod choice;
mod command_line;
mod commands;
mod dot;
mod failure;
mod human;
#[cfg(target_os = "linux")]
mod libraries;
mod picture;
mod plot;
mod report;
mod session;
mod svg;

use std::io::{ErrorKind, Write as _};
use std::process::ExitCode;

use clap::Parser as _;

use crate::command_line::CommandLine;
use crate::failure::{Failure, code};
use crate::human::Style;
use crate::session::{Output, Session};

/// A shared library that a program carries: the path where cargo built it, and its bytes, which a debug build
/// does not carry.
pub type Library = Option<(&'static str, &'static [u8])>;

/// The shared libraries that the program carries.
#[derive(Clone, Copy, Debug, Default)]
pub struct Carried {
    /// The simulated driver.
    pub driver: Library,
    /// The library with which NVRTC and nvJitLink keep PTX in cubins.
    pub preload: Library,
}

/// Runs the command that the program's arguments name; returns the exit code.
#[must_use]
pub fn main(carried: Carried) -> ExitCode {
    let done = match CommandLine::try_parse() {
        Ok(line) => run(line, carried),
        // Help and version are "errors" that go to standard output.
        Err(error) if !error.use_stderr() => Ok(Output::text(error.to_string())),
        Err(error) => {
            complain(error.to_string().trim_start_matches("error: ").trim_end());
            return ExitCode::from(code::MISUSE);
        }
    };
    let written = done.and_then(|Output { text, code }| match write(&text) {
        Ok(()) => Ok(code),
        Err(error) => Err(Failure::new(format_args!("the output could not be written: {error}"))),
    });
    ExitCode::from(written.unwrap_or_else(|Failure { message, hint, code }| {
        complain(&message);
        if let Some(hint) = hint {
            complain(&format!("hint: {hint}"));
        }
        code
    }))
}

fn run(line: CommandLine, carried: Carried) -> Result<Output, Failure> {
    let (json, style) = (line.json, Style::of_stdout(line.color));
    let (command, driver) = line.into_command()?;
    command.as_run().run(&Session { json, style, driver, carried })
}

/// Prints a text; a reader that has seen enough is no failure.
fn write(text: &str) -> std::io::Result<()> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

#[expect(clippy::print_stderr, reason = "the one place where the command complains")]
fn complain(message: &str) {
    eprintln!("warploom: {message}");
}
