//! Prefetches and discards of managed memory take a stream, and prefetches a location (S1.18, S1.26, S4.22).

use warploom::{Host, ManagedBuffer, Queue, Result, discard_batch, discard_prefetch_batch, prefetch_batch};

fn prefetch(buffer: &ManagedBuffer) -> Result<()> {
    buffer.prefetch(Host::Any)
}

fn prefetch_without_location(buffer: &ManagedBuffer, queue: &impl Queue) -> Result<()> {
    buffer.prefetch(queue)
}

fn discard(buffer: &mut ManagedBuffer) -> Result<()> {
    buffer.discard()
}

fn discard_and_prefetch(buffer: &mut ManagedBuffer) -> Result<()> {
    buffer.discard_prefetch(Host::Any)
}

fn batch_of_prefetches(buffer: &ManagedBuffer) -> Result<()> {
    prefetch_batch([buffer], Host::Any)
}

fn batch_of_discards(buffer: &mut ManagedBuffer) -> Result<()> {
    discard_batch([buffer])
}

fn batch_of_both(buffer: &mut ManagedBuffer) -> Result<()> {
    discard_prefetch_batch([buffer], Host::Any)
}

fn main() {}
