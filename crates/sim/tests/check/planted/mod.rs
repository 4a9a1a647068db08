//! Small programs with one bug each.
//!
//! A program is a function of a [`Bench`](bench::Bench). Run as it is it has a bug; run with `bench.fixed` it
//! has none, and what differs between the two is the fix. [`planted`](program::planted) runs both in every
//! mode: the bug is found, in the same words, whatever order the work runs in, and the fixed twin is quiet
//! and leaves nothing behind.

mod annotations;
mod batches;
mod bench;
mod blocks;
mod bodies;
mod bounds;
mod events;
mod frees;
mod graph;
mod graph_memory;
mod graphs;
mod handles;
mod host;
mod host_functions;
mod leaks;
mod managed;
mod peers;
mod program;
mod races;
mod stream_ordered;
mod streams;
mod threads;
mod uninitialised;
mod values;
mod virtual_memory;
mod words;
