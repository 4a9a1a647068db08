//! Stream-ordered allocation takes a stream (S4.1, S4.22).

use warploom::{Buffer, DevicePool, GraphPool, OrderedResource, Result};

fn from_a_pool(pool: &DevicePool) -> Result<Buffer<u8>> {
    pool.allocate(4)
}

fn from_any_stream_ordered_resource(resource: &impl OrderedResource) -> Result<Buffer<u8>> {
    resource.zeroed(4)
}

fn for_a_graph(pool: &GraphPool) -> Result<Buffer<u8>> {
    pool.allocate(4)
}

fn main() {}
