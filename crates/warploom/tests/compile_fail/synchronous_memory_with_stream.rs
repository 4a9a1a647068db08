//! Memory that is allocated and freed synchronously takes no stream (S4.5, S4.6).

use warploom::{Buffer, DeviceMemory, FreeError, Queue, Result, VirtualMemory};

fn allocation(memory: &DeviceMemory, queue: &impl Queue) -> Result<Buffer<u8>> {
    memory.allocate(4, queue)
}

/// Virtual memory waits for every stream that used it.
fn free(memory: &VirtualMemory, buffer: Buffer<u8>, queue: &impl Queue) -> Result<(), FreeError<u8>> {
    memory.free_after(buffer, queue)
}

fn main() {}
