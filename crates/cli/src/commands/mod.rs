//! One file per command: ask, and report.

mod devices;
mod graph;
mod machine;
mod presets;
mod topology;
mod tour;

use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::Path;

use serde::Serialize;
use warploom_sim::Machine;

use crate::args::{Arguments, Command, Format, HELP};
use crate::choice::Opened;
use crate::dot::Document;
use crate::human::{self, Style};

/// The text that a command prints, and its success.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) text: String,
    pub(crate) success: bool,
}

type Failure = Box<dyn std::error::Error>;

/// Runs a command.
pub(crate) fn run(arguments: &Arguments, style: Style) -> Result<Output, Failure> {
    let Arguments { command, driver, format, timeline, picture } = arguments;
    match command {
        Command::Help => Ok(Output { text: HELP.to_owned(), success: true }),
        Command::Version => Ok(Output { text: format!("warploom {}\n", warploom::VERSION), success: true }),
        Command::Presets => {
            let presets = presets::report()?;
            show(*format, &presets, || human::presets(&presets, style))
        }
        Command::Machine(name) => {
            let topology = name.topology()?;
            if *format == Format::Toml {
                return Ok(Output { text: topology.to_toml(), success: true });
            }
            let machine = machine::report(&name.text(), &topology);
            show(*format, &machine, || human::machine(&machine, style))
        }
        Command::Devices => {
            let devices = devices::report(&driver.open()?)?;
            show(*format, &devices, || human::devices(&devices, style))
        }
        Command::Topology => {
            let opened = driver.open()?;
            let topology = topology::probe(&opened)?;
            match format {
                Format::Dot => Ok(Output { text: topology.to_dot(), success: true }),
                Format::Svg => Ok(Output { text: topology.to_svg(), success: true }),
                _ => {
                    let report = topology::report(&opened, &topology);
                    show(*format, &report, || human::topology(&report, &topology, style))
                }
            }
        }
        Command::Graph(file) => {
            let document = graph::read(file)?;
            if let Some(path) = picture {
                write_picture(&document, path)?;
            }
            let report = graph::report(&document);
            show(*format, &report, || human::graph(&report, &document, style))
        }
        Command::Tour => {
            let opened = if timeline.is_some() { driver.open_recording()? } else { driver.open()? };
            if let Some(worked) = tour::work(&opened) {
                return worked.map(|()| Output { text: String::new(), success: true });
            }
            let tour = tour::report(&opened);
            if let Some(path) = timeline {
                write_timeline(&opened, path).map_err(|error| format!("{}: {error}", path.display()))?;
            }
            if let (Some(path), Some(dot)) = (picture, tour.dot()) {
                write_picture(&Document::parse(dot)?, path)?;
            }
            let output = show(*format, &tour, || human::tour(&tour, style))?;
            Ok(Output { success: tour.passed, ..output })
        }
    }
}

fn write_timeline(opened: &Opened, path: &Path) -> io::Result<()> {
    let recorded = opened.machine.as_ref().and_then(Machine::timeline);
    recorded.unwrap_or_default().write_chrome(BufWriter::new(File::create(path)?))
}

fn write_picture(document: &Document, path: &Path) -> Result<(), Failure> {
    fs::write(path, document.to_svg()).map_err(|error| format!("{}: {error}", path.display()).into())
}

/// A report as its reader wants it.
fn show(format: Format, report: &impl Serialize, human: impl FnOnce() -> String) -> Result<Output, Failure> {
    let text = match format {
        Format::Json => serde_json::to_string_pretty(report)? + "\n",
        Format::Human | Format::Toml | Format::Dot | Format::Svg => human(),
    };
    Ok(Output { text, success: true })
}
