//! Command-line arguments.

use std::ffi::OsString;
use std::path::PathBuf;

use lexopt::{Arg, Error, Parser, ValueExt as _};

use crate::choice::{Choice, MachineName};

pub(crate) const HELP: &str = "\
A safe library over the CUDA driver, and machines to run it on.

usage: warploom [options] [command]

commands:
  tour             show what the library does, with every result checked (the default)
  devices          list the devices, and which can access whose memory
  topology         show which devices can access whose memory, their links and islands
  presets          list the machines that can be simulated by name
  machine NAME     check and show a machine: a preset, or a topology file (a path, or a name ending in .toml)
  graph FILE       list the nodes of a graph in a DOT file, as `GraphDef::write_dot` writes it
  help             show this text

options:
  --machine NAME   use a simulated machine: a preset, or a topology file
  --system         use the system's driver, or fail; without either, a machine is simulated if there is no driver
  --json           print for programs
  --dot, --svg     print a topology as a graph for Graphviz, or as a picture
  --svg FILE       after `graph FILE` or `tour`: write a picture of the graph
  --timeline FILE  of a tour on a simulated machine: write what it did when, for ui.perfetto.dev or chrome://tracing
  --toml           print a machine as a topology file
  -h, --help       show this text
  -V, --version    show the version
";

/// A command and how to run it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Arguments {
    pub(crate) command: Command,
    pub(crate) driver: Choice,
    pub(crate) format: Format,
    /// The file for a timeline of the tour.
    pub(crate) timeline: Option<PathBuf>,
    /// The file for a picture of a graph.
    pub(crate) picture: Option<PathBuf>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Tour,
    Devices,
    Topology,
    Presets,
    Machine(MachineName),
    /// A graph in a DOT file.
    Graph(PathBuf),
    Help,
    Version,
}

/// The output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Human,
    Json,
    Toml,
    Dot,
    Svg,
}

const ONE_FORMAT: &str = "--json, --toml, --dot and --svg exclude each other";

/// Understands a command line, or says what is wrong with it.
pub(crate) fn parse(mut parser: Parser) -> Result<Arguments, Error> {
    let mut command = None;
    let mut driver = Choice::Any;
    let mut format = Format::Human;
    let mut timeline = None;
    let mut picture = None;
    while let Some(argument) = parser.next()? {
        match argument {
            Arg::Short('h') | Arg::Long("help") => return Ok(asked(Command::Help)),
            Arg::Short('V') | Arg::Long("version") => return Ok(asked(Command::Version)),
            Arg::Long("machine") => {
                let name = MachineName::from(parser.value()?);
                once(&mut driver, Choice::Any, Choice::Machine(name), "--machine and --system exclude each other")?;
            }
            Arg::Long("system") => {
                once(&mut driver, Choice::Any, Choice::System, "--machine and --system exclude each other")?;
            }
            Arg::Long("timeline") => timeline = Some(PathBuf::from(parser.value()?)),
            Arg::Long("json") => once(&mut format, Format::Human, Format::Json, ONE_FORMAT)?,
            Arg::Long("toml") => once(&mut format, Format::Human, Format::Toml, ONE_FORMAT)?,
            Arg::Long("dot") => once(&mut format, Format::Human, Format::Dot, ONE_FORMAT)?,
            Arg::Long("svg") => match (parser.optional_value(), &command) {
                (Some(file), _) => picture = Some(PathBuf::from(file)),
                (None, Some(Command::Graph(_) | Command::Tour)) => picture = Some(PathBuf::from(parser.value()?)),
                (None, _) => once(&mut format, Format::Human, Format::Svg, ONE_FORMAT)?,
            },
            Arg::Value(word) if command.is_none() => command = Some(named(word, &mut parser)?),
            other => return Err(other.unexpected()),
        }
    }
    let command = command.unwrap_or(Command::Tour);
    if format == Format::Toml && !matches!(command, Command::Machine(_)) {
        return Err("--toml is only for `warploom machine`".into());
    }
    if matches!(format, Format::Dot | Format::Svg) && command != Command::Topology {
        return Err("--dot and --svg are only for `warploom topology`".into());
    }
    if picture.is_some() && !matches!(command, Command::Graph(_) | Command::Tour) {
        return Err("--svg FILE is only for `warploom graph` and `warploom tour`".into());
    }
    if driver != Choice::Any && matches!(command, Command::Presets | Command::Machine(_) | Command::Graph(_)) {
        return Err("--machine and --system choose a driver, and this command uses none".into());
    }
    if timeline.is_some() && (command != Command::Tour || driver == Choice::System) {
        return Err("--timeline is only for a tour on a simulated machine".into());
    }
    Ok(Arguments { command, driver, format, timeline, picture })
}

/// A command that needs nothing else.
fn asked(command: Command) -> Arguments {
    Arguments { command, driver: Choice::Any, format: Format::Human, timeline: None, picture: None }
}

/// The command that a word names.
fn named(word: OsString, parser: &mut Parser) -> Result<Command, Error> {
    match word.string()?.as_str() {
        "tour" => Ok(Command::Tour),
        "devices" => Ok(Command::Devices),
        "topology" => Ok(Command::Topology),
        "presets" => Ok(Command::Presets),
        "machine" => match parser.value() {
            Ok(name) => Ok(Command::Machine(MachineName::from(name))),
            Err(_) => Err("`warploom machine` needs a preset or a file".into()),
        },
        "graph" => match parser.value() {
            Ok(file) => Ok(Command::Graph(PathBuf::from(file))),
            Err(_) => Err("`warploom graph` needs a DOT file".into()),
        },
        "help" => Ok(Command::Help),
        other => Err(format!("there is no command {other:?}").into()),
    }
}

/// Sets what is still at its default; saying the same thing twice is no contradiction.
fn once<T: PartialEq>(slot: &mut T, default: T, value: T, otherwise: &'static str) -> Result<(), Error> {
    if *slot != default && *slot != value {
        return Err(otherwise.into());
    }
    *slot = value;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_words(words: &[&str]) -> Result<Arguments, String> {
        parse(Parser::from_args(words)).map_err(|error| error.to_string())
    }

    fn preset(name: &str) -> MachineName {
        MachineName::from(OsString::from(name))
    }

    #[test]
    fn without_a_command_it_is_the_tour() {
        assert_eq!(parse_words(&[]), Ok(asked(Command::Tour)));
    }

    #[test]
    fn options_stand_before_or_after_the_command() {
        let expected =
            Ok(Arguments { driver: Choice::Machine(preset("h200")), format: Format::Json, ..asked(Command::Devices) });
        assert_eq!(parse_words(&["--json", "--machine=h200", "devices"]), expected);
        assert_eq!(parse_words(&["devices", "--machine", "h200", "--json"]), expected);
    }

    #[test]
    fn help_and_version_win_over_everything_after_them() {
        assert_eq!(parse_words(&["devices", "-h", "nonsense"]), Ok(asked(Command::Help)));
        assert_eq!(parse_words(&["-V", "--nonsense"]), Ok(asked(Command::Version)));
    }

    #[test]
    fn a_picture_of_a_graph_goes_to_a_file() {
        let picture = Some(PathBuf::from("a.svg"));
        let expected = Ok(Arguments { picture, ..asked(Command::Graph("a.dot".into())) });
        assert_eq!(parse_words(&["graph", "a.dot", "--svg", "a.svg"]), expected);
        assert_eq!(parse_words(&["--svg=a.svg", "graph", "a.dot"]), expected);
        let picture = Some(PathBuf::from("a.svg"));
        assert_eq!(parse_words(&["tour", "--svg", "a.svg"]), Ok(Arguments { picture, ..asked(Command::Tour) }));
    }

    #[test]
    fn nonsense_is_named() {
        for (words, message) in [
            (&["fly"][..], "there is no command \"fly\""),
            (&["--fast"], "invalid option '--fast'"),
            (&["devices", "extra"], "unexpected argument \"extra\""),
            (&["machine"], "`warploom machine` needs a preset or a file"),
            (&["--machine"], "missing argument for option '--machine'"),
            (&["--machine", "h200", "--system"], "--machine and --system exclude each other"),
            (&["--json", "--toml", "machine", "h200"], ONE_FORMAT),
            (&["topology", "--svg", "--dot"], ONE_FORMAT),
            (&["devices", "--svg"], "--dot and --svg are only for `warploom topology`"),
            (&["tour", "--toml"], "--toml is only for `warploom machine`"),
            (&["tour", "--timeline"], "missing argument for option '--timeline'"),
            (&["devices", "--timeline", "t.json"], "--timeline is only for a tour on a simulated machine"),
            (&["tour", "--system", "--timeline=t.json"], "--timeline is only for a tour on a simulated machine"),
            (&["graph"], "`warploom graph` needs a DOT file"),
            (&["graph", "a.dot", "--svg"], "missing argument for option '--svg'"),
            (&["graph", "a.dot", "--system"], "--machine and --system choose a driver, and this command uses none"),
            (&["devices", "--svg=a.svg"], "--svg FILE is only for `warploom graph` and `warploom tour`"),
            (&["presets", "--system"], "--machine and --system choose a driver, and this command uses none"),
        ] {
            assert_eq!(parse_words(words), Err(message.to_owned()), "{words:?}");
        }
    }

    #[test]
    fn every_command_is_in_the_help() {
        for command in ["tour", "devices", "topology", "presets", "machine", "graph", "help"] {
            assert!(HELP.contains(&format!("\n  {command} ")), "{command}");
        }
    }
}
