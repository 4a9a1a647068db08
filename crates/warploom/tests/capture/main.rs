//! Stream capture: graphs, and memory freed during a capture.

mod begin;
mod bodies;
mod forgotten;
mod forks;
mod kernels;
mod memory;
mod nodes;
mod refused;
#[path = "../spy/mod.rs"]
mod spy;
mod support;
mod sweep;
mod threads;
