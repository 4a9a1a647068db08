//! What surrounds a kernel beside memory: output, the heap, time, and those who watch.

use super::access::Access;

/// What a kernel asks of the machine that runs it; every answer has a default.
pub trait Host {
    /// Whether [`shared`](Self::shared) wants to be called.
    const WATCHES_SHARED: bool = false;

    /// Takes what `printf` made of one thread's call.
    fn print(&self, text: &str) {
        let _ = text;
    }

    /// Memory of the device's heap for one thread; zero where there is none.
    fn allocate(&self, bytes: u64) -> u64 {
        let _ = bytes;
        0
    }

    /// Takes memory of the heap back.
    fn free(&self, address: u64) {
        let _ = address;
    }

    /// What `%globaltimer` says, in nanoseconds.
    fn nanoseconds(&self) -> u64 {
        0
    }

    /// What `%clock64` says, given the instructions that the warp has carried out.
    fn clock(&self, instructions: u64) -> u64 {
        instructions
    }

    /// Sees an access to shared memory: one lane, its bytes, and whether it writes.
    fn shared(&self, access: &Access, offset: u32, bytes: u32, writes: bool) {
        let _ = (access, offset, bytes, writes);
    }

    /// Sees that all threads of a block have passed a barrier.
    fn barrier(&self, block: [u32; 3], barrier: u32) {
        let _ = (block, barrier);
    }
}

impl<T: Host> Host for &T {
    const WATCHES_SHARED: bool = T::WATCHES_SHARED;

    fn print(&self, text: &str) {
        T::print(self, text);
    }

    fn allocate(&self, bytes: u64) -> u64 {
        T::allocate(self, bytes)
    }

    fn free(&self, address: u64) {
        T::free(self, address);
    }

    fn nanoseconds(&self) -> u64 {
        T::nanoseconds(self)
    }

    fn clock(&self, instructions: u64) -> u64 {
        T::clock(self, instructions)
    }

    fn shared(&self, access: &Access, offset: u32, bytes: u32, writes: bool) {
        T::shared(self, access, offset, bytes, writes);
    }

    fn barrier(&self, block: [u32; 3], barrier: u32) {
        T::barrier(self, block, barrier);
    }
}

impl<T: Host> Host for std::sync::Arc<T> {
    const WATCHES_SHARED: bool = T::WATCHES_SHARED;

    fn print(&self, text: &str) {
        T::print(self, text);
    }

    fn allocate(&self, bytes: u64) -> u64 {
        T::allocate(self, bytes)
    }

    fn free(&self, address: u64) {
        T::free(self, address);
    }

    fn nanoseconds(&self) -> u64 {
        T::nanoseconds(self)
    }

    fn clock(&self, instructions: u64) -> u64 {
        T::clock(self, instructions)
    }

    fn shared(&self, access: &Access, offset: u32, bytes: u32, writes: bool) {
        T::shared(self, access, offset, bytes, writes);
    }

    fn barrier(&self, block: [u32; 3], barrier: u32) {
        T::barrier(self, block, barrier);
    }
}
