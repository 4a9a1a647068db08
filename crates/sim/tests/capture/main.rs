//! Stream capture: what becomes a node, what takes part, what must not be called meanwhile, and the graph at
//! the end.

mod begin;
mod calls;
mod dependencies;
mod forks;
mod graph;
mod launch;
mod memory;
mod nodes;
mod programmatic;
mod support;
