//! Reports as text for people.

mod bench;
mod devices;
#[cfg(target_os = "linux")]
mod doctor;
mod graph;
mod machine;
mod progress;
mod ptx;
mod quantity;
mod run;
#[cfg(target_os = "linux")]
mod sim;
mod style;
mod table;
mod topology;
mod tour;

pub(crate) use bench::bench;
pub(crate) use devices::devices;
#[cfg(target_os = "linux")]
pub(crate) use doctor::doctor;
pub(crate) use graph::graph;
pub(crate) use machine::{machine, presets};
pub(crate) use progress::Progress;
pub(crate) use ptx::ptx;
#[cfg(target_os = "linux")]
pub(crate) use quantity::count;
pub(crate) use run::run;
#[cfg(target_os = "linux")]
pub(crate) use sim::{environment, sim};
pub(crate) use style::Style;
pub(crate) use topology::topology;
pub(crate) use tour::tour;
