//! Graphs: definitions, nodes, owners and executables.

mod across;
mod adjacency;
mod attachments;
mod conditionals;
mod contexts;
mod copies;
mod executables;
mod failures;
mod found;
#[path = "../gate/mod.rs"]
mod gate;
mod host;
mod identity;
mod lifetimes;
mod memory;
mod nodes;
mod reclaim;
mod refused;
mod release;
mod reset;
mod sharing;
mod support;
mod sweep;
mod threads;
mod words;
