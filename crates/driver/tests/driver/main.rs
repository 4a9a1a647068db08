//! The crate against a driver made of a few C functions.

mod allocations;
mod calls;
mod errors;
mod fake;
mod identity;
mod libraries;
mod observation;
mod resolution;
