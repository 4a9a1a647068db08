//! Several processes: events and memory that they share.

mod events;
mod memory_handles;
mod support;
