//! Results of commands: plain data, printed as JSON as it is and for people by `human`.

mod bench;
mod devices;
#[cfg(target_os = "linux")]
mod doctor;
mod graph;
mod machine;
mod ptx;
mod run;
#[cfg(target_os = "linux")]
mod sim;
mod topology;
mod tour;

pub(crate) use bench::{BandwidthReport, BenchReport, CallReport, HostBandwidth, KernelTime, PairBandwidth};
pub(crate) use devices::{DeviceReport, DevicesReport, DriverKind, DriverReport};
#[cfg(target_os = "linux")]
pub(crate) use doctor::{DoctorReport, Health, Subject};
pub(crate) use graph::{GraphFileReport, GraphReport, NodeReport};
pub(crate) use machine::{LinkReport, MachineReport};
pub(crate) use ptx::{KernelReport, ParameterReport, ProblemReport, PtxReport, PtxText, RefusalReport};
pub(crate) use run::{CompilerReport, LaunchReport, MemoryReport, Number, RunReport, Statistics};
#[cfg(target_os = "linux")]
pub(crate) use sim::{EnvironmentSetting, Exit, ProcessReport, SimReport, Totals};
pub(crate) use topology::{PairReport, TopologyReport};
pub(crate) use tour::{Alive, Band, Check, Findings, Launch, Step, Tour};
