//! Managed memory, as the driver answers.
#![expect(unsafe_code, reason = "reads and writes memory that the driver handed out")]

mod advise;
mod allocate;
mod attributes;
mod batch;
mod machines;
mod pool;
mod prefetch;
mod residency;
mod support;
