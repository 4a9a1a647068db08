//! Managed memory of a pool, memory that is wrapped with a stream-ordered resource, and frees of one take a stream
//! (S4.1, S4.19, S4.22).

use std::sync::Arc;

use warploom::{Context, ManagedBuffer, ManagedPool, Result, StreamOrdered, StreamWord};

fn of_a_managed_pool(pool: &ManagedPool) -> Result<ManagedBuffer<u8>> {
    pool.allocate(4)
}

fn wrapped(address: u64, resource: &Arc<dyn StreamOrdered>) -> Result<ManagedBuffer<u8>> {
    unsafe { ManagedBuffer::from_ordered(address, 4, resource) }
}

fn freed(address: u64, resource: &dyn StreamOrdered) -> Result<()> {
    unsafe { resource.deallocate_raw(address, 4) }
}

fn allocated(resource: &dyn StreamOrdered) -> Result<u64> {
    resource.allocate_raw(4)
}

fn of_the_default_resource(context: &Context) -> Result<()> {
    context.default_resource()?.allocate::<u8>(4).map(drop)
}

fn word(word: &StreamWord) -> Result<()> {
    word.write(1)
}

fn main() {}
