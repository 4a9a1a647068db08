//! Reports as text for people.

mod devices;
mod graph;
mod machine;
mod quantity;
mod style;
mod table;
mod topology;
mod tour;

pub(crate) use devices::devices;
pub(crate) use graph::graph;
pub(crate) use machine::{machine, presets};
pub(crate) use style::Style;
pub(crate) use topology::topology;
pub(crate) use tour::tour;
