//! Graphs, built node by node: nodes with their parameters, edges, copies, updates of executables.

mod attributes;
mod child_updates;
mod children;
mod clones;
mod conditions;
mod dot;
mod edges;
mod executables;
mod generic;
mod instantiate;
mod kernels;
mod memory;
mod memory_addresses;
mod memory_places;
mod newer;
mod nodes;
mod order;
mod support;
mod updates;
mod user_objects;
