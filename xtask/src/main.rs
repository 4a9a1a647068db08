//! The project's own chores.
//!
//! `cargo xtask generate` rebuilds the C bindings; `cargo xtask generate --check` fails if they are not what the
//! generator would write.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command for people at a terminal")]

mod generate;

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask <task>

  generate            rebuild crates/sys/src/{types,functions}.rs from the CUDA headers
  generate --check    fail if those files are not what would be generated
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["generate"] => generate::write(),
        ["generate", "--check"] => generate::check(),
        _ => {
            print!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(message) => {
            println!("{message}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}
