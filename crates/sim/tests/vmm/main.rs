//! Virtual memory management: physical allocations, reservations, mappings and access to them.

mod access;
mod devices;
mod host;
mod mapping;
mod physical;
mod reservation;
mod support;
