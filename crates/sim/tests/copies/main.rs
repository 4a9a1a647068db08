//! Copies and fills: what they move, what they refuse, and what the host waits for.

mod batch;
mod block;
mod block_batch;
mod devices;
mod fill;
mod linear;
mod model;
mod pools;
mod reach;
mod shared;
mod support;
mod waiting;
