//! The command line: options of all commands, and the commands.

use clap::{Parser, ValueEnum};

use crate::commands::{Command, tour};
use crate::failure::Failure;

/// Shown below the help of `warploom` itself.
const AFTER_HELP: &str = "\
Examples:
  warploom                                   a tour, on your GPU or on a simulated machine
  warploom sim --check -- ./program          any program on a simulated machine, checked
  warploom devices --machine dgx-h100        the devices of a simulated machine
  warploom topology --machine dgx-h100 --svg > topology.svg
  warploom help graph                        help for one command

Exit codes:
  0    success
  1    the command failed, or a check did not hold
  2    the command line is wrong; nothing was done
  3    the checks of a simulated machine have findings
  `warploom sim` ends with the code of the program; its help has the others

Without a command it is the tour. --color=auto shows colour on a terminal unless NO_COLOR is set.";

/// A safe library over the CUDA driver, and simulated machines to run it on.
#[derive(Debug, Parser)]
#[command(name = "warploom", version = warploom::VERSION, after_help = AFTER_HELP)]
pub(crate) struct CommandLine {
    /// Print JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Colour the output
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: Color,
    /// The tour, and the driver of any command.
    #[command(flatten)]
    tour: tour::Args,
    #[command(subcommand)]
    command: Option<Command>,
}

/// The cases in which output is coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    // On a terminal, unless NO_COLOR is set.
    Auto,
    Always,
    Never,
}

impl CommandLine {
    /// The command. Options before its name must be those of a driver, and it must use one.
    pub(crate) fn into_command(self) -> Result<(Command, crate::choice::DriverArgs), Failure> {
        let Self { tour, command, .. } = self;
        let Some(command) = command else { return Ok((Command::Tour(tour), crate::choice::DriverArgs::default())) };
        let tour::Args { driver, timeline, html, svg } = tour;
        for (option, file) in [("--timeline", timeline), ("--html", html), ("--svg", svg)] {
            if let Some(file) = file {
                return Err(Failure::misuse(format_args!("{option} {} stands before the command", file.display()))
                    .hint(format!("put {option} behind the name of the command that it is for")));
            }
        }
        if driver.is_given() {
            match command.as_run().driver() {
                None => {
                    return Err(Failure::misuse("--machine and --system choose a driver, and this command uses none")
                        .hint("leave them out, or put --machine behind the command"));
                }
                Some(own) if own.is_given() => {
                    return Err(Failure::misuse("--machine or --system is given twice").hint("leave one out"));
                }
                Some(_) => {}
            }
        }
        Ok((command, driver))
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::Carried;
    use crate::choice::{Choice, DriverArgs, MachineName};
    use crate::human::Style;
    use crate::session::Session;

    /// The command that words name, or the message.
    fn parse(words: &[&str]) -> Result<(Command, DriverArgs), String> {
        let line = CommandLine::try_parse_from([&["warploom"], words].concat()).map_err(|error| error.to_string())?;
        line.into_command().map_err(|failure| failure.message)
    }

    /// The driver that a command opens.
    fn choice(words: &[&str]) -> Result<Choice, String> {
        let (command, driver) = parse(words)?;
        let session = Session { json: false, style: Style::plain(), driver, carried: Carried::default() };
        Ok(session.choice(command.as_run().driver().ok_or("it uses no driver")?))
    }

    #[test]
    fn the_commands_and_options_are_consistent() {
        CommandLine::command().debug_assert();
    }

    #[test]
    fn without_a_command_it_is_the_tour() {
        assert!(matches!(parse(&[]), Ok((Command::Tour(_), _))));
        assert!(matches!(parse(&["--svg", "a.svg"]), Ok((Command::Tour(tour::Args { svg: Some(_), .. }), _))));
    }

    #[test]
    fn a_driver_is_chosen_before_or_after_the_command() {
        let h200 = || Ok(Choice::Machine(MachineName::from(std::ffi::OsString::from("h200"))));
        assert_eq!(choice(&["--json", "--machine=h200", "devices"]), h200());
        assert_eq!(choice(&["devices", "--machine", "h200", "--json"]), h200());
        assert_eq!(choice(&["--machine", "h200"]), h200());
        assert_eq!(choice(&["--system", "topology"]), Ok(Choice::System));
        assert_eq!(choice(&["topology"]), Ok(Choice::Any));
    }

    #[test]
    fn mistakes_are_named() {
        for (words, message) in [
            (&["fly"][..], "unrecognized subcommand 'fly'"),
            (&["devises"], "'devices'"),
            (&["--fast"], "unexpected argument '--fast'"),
            (&["devices", "extra"], "unexpected argument 'extra'"),
            (&["machine"], "<NAME>"),
            (&["--machine"], "a value is required for '--machine <NAME>'"),
            (&["--machine", "h200", "--system"], "'--machine <NAME>' cannot be used with '--system'"),
            (&["--machine", "h200", "devices", "--system"], "--machine or --system is given twice"),
            (&["topology", "--svg", "--dot"], "cannot be used with"),
            (&["devices", "--svg"], "unexpected argument '--svg'"),
            (&["tour", "--toml"], "unexpected argument '--toml'"),
            (&["tour", "--timeline"], "a value is required for '--timeline <FILE>'"),
            (&["devices", "--timeline", "t.json"], "unexpected argument '--timeline'"),
            (&["--timeline", "t.json", "devices"], "--timeline t.json stands before the command"),
            (&["graph"], "<FILE>"),
            (&["graph", "a.dot", "--svg"], "a value is required for '--svg <FILE>'"),
            (&["graph", "a.dot", "--system"], "unexpected argument '--system'"),
            (&["--system", "graph", "a.dot"], "--machine and --system choose a driver, and this command uses none"),
            (&["presets", "--system"], "unexpected argument '--system'"),
            (&["--color", "blue"], "invalid value 'blue' for '--color <WHEN>'"),
        ] {
            let said = parse(words).map(|_| ()).expect_err("it is wrong");
            assert!(said.contains(message), "{words:?}: {said}");
        }
    }

    #[test]
    fn every_command_has_examples_in_its_help() {
        for command in CommandLine::command().get_subcommands() {
            let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(after.starts_with("Examples:\n"), "{}", command.get_name());
        }
    }
}
