//! Modules, libraries, launches and occupancy, with the kernels of `crates/ptx/kernels`.

mod attributes;
mod containers;
mod devices;
mod faults;
mod launch;
mod library;
mod link;
mod module;
mod refused;
mod spread;
mod support;
mod sweep;
