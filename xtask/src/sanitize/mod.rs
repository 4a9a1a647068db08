//! Tests under AddressSanitizer, ThreadSanitizer and Miri, which find undefined behaviour that a test run
//! does not show.
//!
//! ```text
//! cargo xtask sanitize                            every tool that the nightly toolchain has
//! cargo xtask sanitize thread                     one of them
//! cargo xtask sanitize thread -- --test streams   with arguments for `cargo test`
//! cargo xtask sanitize --toolchain NAME           another toolchain than `nightly`, by name or by folder
//! ```
//!
//! The tools need a nightly compiler; ThreadSanitizer and Miri also need the source of the standard library,
//! since an uninstrumented one hides its synchronisation from them. A tool that lacks a component is reported
//! as skipped with the command that installs it. Each builds into `target/sanitize/NAME`.

mod report;

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use self::report::{Count, Outcome};
use crate::toolchain::Toolchain;
use crate::workspace::root;

/// Packages whose tests run under AddressSanitizer and ThreadSanitizer.
const PACKAGES: &[&str] = &["warploom-engine", "warploom-sim"];

/// Packages whose unit tests call no C code and map no memory, so that Miri can interpret them.
const INTERPRETED: &[&str] = &["warploom-sys", "warploom-bytes", "warploom-driver", "warploom-engine", "warploom"];

/// The only target: sanitizers cannot instrument the build scripts and macros, which a named target leaves
/// alone.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// A tool that watches a test run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tool {
    Address,
    Thread,
    Miri,
}

impl Tool {
    const ALL: [Tool; 3] = [Tool::Address, Tool::Thread, Tool::Miri];

    fn name(self) -> &'static str {
        match self {
            Tool::Address => "address",
            Tool::Thread => "thread",
            Tool::Miri => "miri",
        }
    }

    /// The reason why the toolchain cannot run it, if it cannot.
    fn lacks(self, toolchain: &Toolchain) -> Option<String> {
        match self {
            Tool::Address => toolchain.lacks_runtime(TARGET, "asan"),
            Tool::Thread => toolchain.lacks_runtime(TARGET, "tsan").or_else(|| toolchain.lacks_source()),
            Tool::Miri => toolchain.lacks_miri().or_else(|| toolchain.lacks_source()),
        }
    }

    /// `cargo test` with the tool, without the arguments of a particular run.
    fn command(self, toolchain: &Toolchain) -> Result<Command, String> {
        let mut command = toolchain.cargo();
        command.current_dir(root()?);
        match self {
            Tool::Address => {
                command.args(["test", "--target", TARGET]).env("RUSTFLAGS", "-Zsanitizer=address");
                // The machines of a test process live in statics until its end.
                command.env("ASAN_OPTIONS", "detect_leaks=0");
            }
            Tool::Thread => {
                command.args(["test", "-Zbuild-std", "--target", TARGET]).env("RUSTFLAGS", "-Zsanitizer=thread");
            }
            Tool::Miri => {
                command.args(["miri", "test"]).env("MIRIFLAGS", "-Zmiri-disable-isolation");
            }
        }
        let packages = if self == Tool::Miri { INTERPRETED } else { PACKAGES };
        command.args(packages.iter().flat_map(|package| ["--package", package]));
        command.arg("--no-fail-fast").env("CARGO_TARGET_DIR", root()?.join("target/sanitize").join(self.name()));
        // Slow enough as it is: optimised, with the lines that reports name.
        command.env("CARGO_PROFILE_DEV_OPT_LEVEL", "1").env("CARGO_PROFILE_DEV_DEBUG", "line-tables-only");
        Ok(command)
    }

    /// The tests to build where the caller names none.
    fn targets(self) -> &'static [&'static str] {
        match self {
            Tool::Address | Tool::Thread => &["--lib", "--tests"],
            Tool::Miri => &["--lib"],
        }
    }

    /// Parts of the names of tests that cannot hold under the tool, and are skipped.
    fn unfit(self) -> &'static [&'static str] {
        match self {
            // Reserves more address space than the tool leaves.
            Tool::Address | Tool::Thread => &["memory_that_cannot_be_had_is_refused"],
            // Open dynamic libraries, or map memory for a simulated machine.
            Tool::Miri => {
                &["load::tests", "leaks::ledger", "managed::driver_location", "managed::batch", "memory::uses"]
            }
        }
    }

    /// Runs the tests; the output goes to the terminal as it comes.
    fn run(self, toolchain: &Toolchain, arguments: &[&str]) -> Result<Outcome, String> {
        if let Some(reason) = self.lacks(toolchain) {
            return Ok(Outcome::Skipped(reason));
        }
        let mut command = self.command(toolchain)?;
        command.args(if arguments.is_empty() { self.targets() } else { arguments });
        if !arguments.contains(&"--") {
            command.arg("--");
        }
        command.args(self.unfit().iter().flat_map(|test| ["--skip", test]));
        let (reader, writer) = std::io::pipe().map_err(|error| format!("no pipe: {error}"))?;
        let copy = writer.try_clone().map_err(|error| format!("no pipe: {error}"))?;
        command.stdin(Stdio::null()).stdout(writer).stderr(copy);
        let mut child = command.spawn().map_err(|error| format!("{command:?} could not be started: {error}"))?;
        // The pipe ends when no process can write to it any more; this one is the last but the child.
        drop(command);
        let mut count = Count::default();
        for line in BufReader::new(reader).split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line);
            println!("{line}");
            count.read(&line);
        }
        let status = child.wait().map_err(|error| format!("{}: {error}", self.name()))?;
        Ok(Outcome::Ran { count, succeeded: status.success() })
    }
}

/// Runs the tools that the arguments name, or all, and prints a table.
pub(crate) fn run(arguments: &[&str]) -> Result<String, String> {
    let (tools, toolchain, arguments) = parse(arguments)?;
    let toolchain = Toolchain::find(toolchain);
    let mut outcomes = Vec::new();
    for tool in tools {
        let outcome = match &toolchain {
            Ok(toolchain) => tool.run(toolchain, arguments)?,
            Err(reason) => Outcome::Skipped(reason.clone()),
        };
        outcomes.push((tool.name(), outcome));
    }
    report::summary(&outcomes)
}

/// The tools, the toolchain's name and the arguments for `cargo test`.
fn parse<'a>(arguments: &'a [&'a str]) -> Result<(Vec<Tool>, &'a str, &'a [&'a str]), String> {
    let (mut tools, mut toolchain, mut rest) = (Vec::new(), "nightly", arguments);
    while let [first, more @ ..] = rest {
        rest = more;
        match *first {
            "--" => break,
            "--toolchain" => (toolchain, rest) = more.split_first().ok_or("--toolchain needs a name")?,
            name => match Tool::ALL.into_iter().find(|tool| tool.name() == name) {
                Some(tool) => tools.push(tool),
                None => return Err(format!("{name} is none of address, thread and miri")),
            },
        }
    }
    if tools.is_empty() {
        tools = Tool::ALL.to_vec();
    }
    Ok((tools, toolchain, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_toolchain_and_test_arguments_are_told_apart() {
        assert_eq!(parse(&[]), Ok((Tool::ALL.to_vec(), "nightly", &[][..])));
        let words = ["thread", "--toolchain", "/opt/nightly", "miri", "--", "--test", "miri"];
        assert_eq!(parse(&words), Ok((vec![Tool::Thread, Tool::Miri], "/opt/nightly", &["--test", "miri"][..])));
        assert_eq!(parse(&["memory"]), Err("memory is none of address, thread and miri".to_owned()));
        assert!(parse(&["--toolchain"]).is_err());
    }
}
