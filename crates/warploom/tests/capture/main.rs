//! Captured streams, what a graph keeps, and what becomes of memory meanwhile.

mod begin;
mod forks;
mod kernels;
mod memory;
mod refused;
#[path = "../spy/mod.rs"]
mod spy;
mod support;
mod sweep;
