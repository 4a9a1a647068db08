//! Choice of the driver: the real one, or a simulated machine.

use std::ffi::OsString;
use std::path::Path;

use warploom::Driver;
use warploom::driver::Error as DriverError;
use warploom_sim::topology::{Topology, TopologyError};
use warploom_sim::trace::Trace;
use warploom_sim::{Machine, MachineBuilder};

use crate::failure::Failure;
use crate::report::{DriverKind, DriverReport};

/// The machine that stands in for a missing driver: four GPUs, each joined to each.
const STAND_IN: &str = "hgx-a100-4";

/// Options that choose a driver, for the commands that use one.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct DriverArgs {
    /// Use a simulated machine: a preset, or a topology file (a path, or a name that ends in .toml)
    #[arg(long, value_name = "NAME")]
    machine: Option<MachineName>,
    /// Use the system's driver, or fail; without either, a machine is simulated if there is no driver
    #[arg(long, conflicts_with = "machine")]
    system: bool,
}

impl DriverArgs {
    pub(crate) fn is_given(&self) -> bool {
        self.system || self.machine.is_some()
    }

    pub(crate) fn choice(&self) -> Choice {
        match &self.machine {
            Some(name) => Choice::Machine(name.clone()),
            None if self.system => Choice::System,
            None => Choice::Any,
        }
    }
}

/// The driver that the command line selects.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// The system's, else a simulated machine.
    Any,
    System,
    Machine(MachineName),
}

/// A preset, or a topology file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MachineName(OsString);

impl From<OsString> for MachineName {
    fn from(name: OsString) -> Self {
        Self(name)
    }
}

impl MachineName {
    /// The machine it names. A path with a folder, or a name that ends in `.toml`, is a file; any other name
    /// is a preset.
    pub(crate) fn topology(&self) -> Result<Topology, TopologyError> {
        if self.is_path() { Topology::from_toml_file(&self.0) } else { Topology::preset(&self.text()) }
    }

    fn is_path(&self) -> bool {
        let path = Path::new(&self.0);
        path.extension().is_some_and(|extension| extension == "toml") || path.components().count() > 1
    }

    /// The name for a program that may run in another folder: a path is made absolute.
    #[cfg(target_os = "linux")]
    pub(crate) fn resolved(&self) -> OsString {
        let absolute = std::path::absolute(&self.0).ok().filter(|_| self.is_path());
        absolute.map_or_else(|| self.0.clone(), OsString::from)
    }

    pub(crate) fn text(&self) -> String {
        self.0.to_string_lossy().into_owned()
    }
}

/// A driver that can be used, and what to say about it.
pub(crate) struct Opened {
    pub(crate) driver: Driver,
    pub(crate) report: DriverReport,
    /// The machine behind it, if it is simulated.
    pub(crate) machine: Option<Machine>,
}

impl Choice {
    pub(crate) fn open(&self) -> Result<Opened, Failure> {
        self.open_on(Machine::builder())
    }

    /// Opens the driver; a simulated machine has the settings of the builder.
    pub(crate) fn open_on(&self, machine: MachineBuilder) -> Result<Opened, Failure> {
        match self {
            Choice::System => system().map_err(no_driver),
            Choice::Machine(name) => simulated(machine, &name.text(), name.topology()?, None),
            Choice::Any => {
                system().or_else(|error| simulated(machine, STAND_IN, Topology::preset(STAND_IN)?, Some(error)))
            }
        }
    }

    /// Opens a simulated machine that records a timeline, whether or not the system has a driver.
    pub(crate) fn open_recording(&self) -> Result<Opened, Failure> {
        let machine = Machine::builder().trace(Trace::timeline());
        match self {
            Choice::Machine(name) => simulated(machine, &name.text(), name.topology()?, None),
            Choice::System | Choice::Any => simulated(machine, STAND_IN, Topology::preset(STAND_IN)?, None),
        }
    }
}

/// The system's driver, if it has a device to offer.
fn system() -> Result<Opened, warploom::Error> {
    let driver = Driver::load()?;
    driver.devices()?;
    let report = DriverReport::new(&driver, DriverKind::System, None);
    Ok(Opened { driver, report, machine: None })
}

fn simulated(
    machine: MachineBuilder,
    name: &str,
    topology: Topology,
    instead_of: Option<warploom::Error>,
) -> Result<Opened, Failure> {
    let machine = machine.topology(topology).start()?;
    let driver = Driver::open(&machine)?;
    let kind = DriverKind::Simulated { machine: name.to_owned() };
    let report = DriverReport::new(&driver, kind, instead_of.map(because));
    Ok(Opened { driver, report, machine: Some(machine) })
}

/// The failure of `--system`.
fn no_driver(error: warploom::Error) -> Failure {
    Failure::new(error).hint("`warploom doctor` says what is missing; --machine NAME uses a simulated machine")
}

/// The reason for not using the system's driver; short if there is none.
fn because(error: warploom::Error) -> String {
    match error {
        warploom::Error::Driver(DriverError::DriverNotFound(_)) => "no CUDA driver was found".to_owned(),
        other => format!("the system's driver cannot be used: {other}"),
    }
}
