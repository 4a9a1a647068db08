//! Memory pools and allocation in stream order, as the driver answers.

mod access;
mod attributes;
mod create;
mod current;
mod fixture;
mod lifetime;
mod machines;
mod model;
mod reuse;
mod share;
mod statistics;
