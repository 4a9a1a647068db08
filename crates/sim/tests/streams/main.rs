//! Streams and events: making them, what they are, whom they wait for, and the time between.

mod attributes;
mod create;
mod elapsed;
mod host;
mod info;
mod latch;
mod order;
mod record;
mod values;
