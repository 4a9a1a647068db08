//! Choice of the driver: the real one, or a simulated machine.

use std::ffi::OsString;
use std::path::Path;

use warploom::Driver;
use warploom::driver::Error as DriverError;
use warploom_sim::topology::{Topology, TopologyError};
use warploom_sim::trace::Trace;
use warploom_sim::{Machine, MachineBuilder};

use crate::report::{DriverKind, DriverReport};

/// The machine that stands in for a missing driver: four GPUs, each joined to each.
const STAND_IN: &str = "hgx-a100-4";

/// The driver that the command line selects.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// The system's, else a simulated machine.
    Any,
    System,
    Machine(MachineName),
}

/// A preset, or a topology file.
#[derive(Debug, PartialEq, Eq)]
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
        let path = Path::new(&self.0);
        if path.extension().is_some_and(|extension| extension == "toml") || path.components().count() > 1 {
            return Topology::from_toml_file(path);
        }
        Topology::preset(&self.text())
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

type Failure = Box<dyn std::error::Error>;

impl Choice {
    pub(crate) fn open(&self) -> Result<Opened, Failure> {
        let machine = Machine::builder();
        match self {
            Choice::System => system().map_err(Failure::from),
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

/// The reason for not using the system's driver; short if there is none.
fn because(error: warploom::Error) -> String {
    match error {
        warploom::Error::Driver(DriverError::DriverNotFound(_)) => "no CUDA driver was found".to_owned(),
        other => format!("the system's driver cannot be used: {other}"),
    }
}
