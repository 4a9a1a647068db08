//! Results of commands: plain data, printed as JSON as it is and for people by `human`.

mod devices;
mod graph;
mod machine;
mod topology;
mod tour;

pub(crate) use devices::{DeviceReport, DevicesReport, DriverKind, DriverReport};
pub(crate) use graph::{GraphFileReport, GraphReport, NodeReport};
pub(crate) use machine::{LinkReport, MachineReport};
pub(crate) use topology::{PairReport, TopologyReport};
pub(crate) use tour::{Alive, Band, Check, Findings, Launch, Step, Tour};
