//! Graphs: definitions, nodes, owners and executables.

mod across;
mod adjacency;
mod attachments;
mod conditionals;
mod copies;
mod executables;
mod host;
mod identity;
mod lifetimes;
mod memory;
mod nodes;
mod reclaim;
mod refused;
mod support;
mod sweep;
