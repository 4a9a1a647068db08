//! Commands, a file each: its arguments, and `run`.
//!
//! A command is added with a module, a variant of [`Command`] and a row of [`Command::as_run`].

mod bench;
mod completions;
mod devices;
#[cfg(target_os = "linux")]
mod doctor;
mod graph;
mod machine;
mod man;
mod presets;
mod ptx;
mod run;
#[cfg(target_os = "linux")]
mod sim;
#[cfg(test)]
mod sweep;
mod topology;
pub(crate) mod tour;

use clap::Subcommand;

use crate::choice::DriverArgs;
use crate::failure::Failure;
use crate::session::{Output, Session};

/// A command with its arguments. The first line of a variant is its line in the help.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show what the library does, with every result checked (the default)
    Tour(tour::Args),
    /// Run a program on a simulated machine
    #[cfg(target_os = "linux")]
    Sim(sim::Args),
    /// Show driver, libraries and permissions, and the next step for each that is missing
    #[cfg(target_os = "linux")]
    Doctor(doctor::Args),
    /// List the devices and their peer access
    Devices(devices::Args),
    /// Show peer access between devices, their links and islands
    Topology(topology::Args),
    /// List the machines that can be simulated by name
    Presets(presets::Args),
    /// Check and show a machine: a preset, or a topology file
    Machine(machine::Args),
    /// List the nodes of a graph in a DOT file, as `GraphDef::write_dot` writes it
    Graph(graph::Args),
    /// Launch a kernel of a .cu or .ptx file, print its results, and check it
    Run(run::Args),
    /// Check a file with PTX: kernels, instructions, and refusals of a simulated driver
    Ptx(ptx::Args),
    /// Measure bandwidth between devices, host time of calls, and kernels
    Bench(bench::Args),
    /// Print a completion script for a shell
    Completions(completions::Args),
    /// Print manual pages, or write them into a folder
    Man(man::Args),
}

impl Command {
    pub(crate) fn as_run(&self) -> &dyn Run {
        match self {
            Command::Tour(arguments) => arguments,
            #[cfg(target_os = "linux")]
            Command::Sim(arguments) => arguments,
            #[cfg(target_os = "linux")]
            Command::Doctor(arguments) => arguments,
            Command::Devices(arguments) => arguments,
            Command::Topology(arguments) => arguments,
            Command::Presets(arguments) => arguments,
            Command::Machine(arguments) => arguments,
            Command::Graph(arguments) => arguments,
            Command::Run(arguments) => arguments,
            Command::Ptx(arguments) => arguments,
            Command::Bench(arguments) => arguments,
            Command::Completions(arguments) => arguments,
            Command::Man(arguments) => arguments,
        }
    }
}

/// Arguments of a command that can be run.
pub(crate) trait Run {
    /// The choice of a driver, for commands that use one.
    fn driver(&self) -> Option<&DriverArgs> {
        None
    }

    fn run(&self, session: &Session) -> Result<Output, Failure>;
}
