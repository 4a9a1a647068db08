//! The `warploom` command.
//!
//! ```text
//! args ─▶ choice: which driver ─▶ commands/<name>: ask it ─▶ report: the data ─▶ human: its text, or JSON
//!                                 └─▶ dot: graphs in files, and their pictures
//! ```

mod args;
mod choice;
mod commands;
mod dot;
mod human;
mod report;

use std::io::{ErrorKind, Write as _};
use std::process::ExitCode;

use crate::commands::Output;
use crate::human::Style;

/// The exit code of a command line that cannot be understood.
const MISUSE: u8 = 2;

fn main() -> ExitCode {
    let arguments = match args::parse(lexopt::Parser::from_env()) {
        Ok(arguments) => arguments,
        Err(error) => return complain(&format!("{error}; `warploom --help` lists what there is"), MISUSE),
    };
    match commands::run(&arguments, Style::of_stdout()) {
        Ok(Output { text, success }) => match write(&text) {
            Ok(()) if success => ExitCode::SUCCESS,
            Ok(()) => ExitCode::FAILURE,
            Err(error) => complain(&format!("the output could not be written: {error}"), 1),
        },
        Err(error) => complain(&error.to_string(), 1),
    }
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
fn complain(message: &str, code: u8) -> ExitCode {
    eprintln!("warploom: {message}");
    ExitCode::from(code)
}
