//! Services of the host that runs a kernel: output, the heap, conditions, time, and callbacks for observers.

use super::access::{Access, Fault};
use super::bounds::Bounds;
use super::trap::TrapKind;

/// The number of the cluster's barrier, which no instruction can name: those of the block are 0 to 15.
pub(crate) const CLUSTER_BARRIER: u32 = 16;

/// The upper eight bits of an address of shared memory: 0 for the block's own, or one more than the rank of
/// another block of the cluster.
pub(crate) const RANK_SHIFT: u32 = 24;

/// Services that a kernel needs of its host; each has a default.
pub trait Host {
    /// `true` if [`shared`](Self::shared) and [`event`](Self::event) are to be called; if not, they cost
    /// nothing.
    const WATCHES_SHARED: bool = false;

    /// The bounds that accesses to shared, local and parameter memory are held to; asked at the launch.
    fn bounds(&self) -> Bounds {
        Bounds::Declared
    }

    /// Sees an access beyond declared bounds that hardware lets pass. The lowest of its lanes is the first to
    /// go beyond.
    fn overrun(&self, access: &Access, kind: &TrapKind) {
        let _ = (access, kind);
    }

    /// Takes the output of one thread's `printf`.
    fn print(&self, text: &str) {
        let _ = text;
    }

    /// Allocates memory of the device's heap for one thread; zero if there is none left.
    fn allocate(&self, access: &Access, bytes: u64) -> u64 {
        let _ = (access, bytes);
        0
    }

    /// Frees memory of the heap for one thread; the address is not zero.
    fn free(&self, access: &Access, address: u64) -> Freed {
        let _ = (access, address);
        Freed::Done
    }

    /// Sets a condition of the graph that the kernel belongs to, for one thread: `cudaGraphSetConditional`.
    /// False if the host has no condition with this handle, which traps.
    fn set_condition(&self, access: &Access, handle: u64, value: u32) -> bool {
        let _ = (access, handle, value);
        false
    }

    /// A value of the machine, by its kind and number: the result of the function `warploom_device_value`, by
    /// which hosts give kernels what no register has. Without one, kernels get the least number of 64 bits.
    fn device_value(&self, kind: u32, number: u32) -> Option<i64> {
        let _ = (kind, number);
        None
    }

    /// The value of `%globaltimer`, in nanoseconds, so many cycles after the block's start.
    fn nanoseconds(&self, cycles: u64) -> u64 {
        cycles
    }

    /// The value of `%clock64`, so many cycles after the block's start.
    fn clock(&self, cycles: u64) -> u64 {
        cycles
    }

    /// Cycles of the device's clock in so many nanoseconds.
    fn cycles(&self, nanoseconds: u64) -> u64 {
        nanoseconds
    }

    /// Sees an access of lanes to shared memory; a write, before it is done. `place` is the offset of the
    /// first lane's bytes and the distance between those of neighbouring lanes. In a cluster the upper eight
    /// bits of the offset name the block: 0 for the lanes' own, or one more than the rank of another one.
    fn shared(&self, access: &Access, place: [u32; 2], touch: Touch) {
        let _ = (access, place, touch);
    }

    /// Sees a synchronisation event of some lanes of a warp.
    fn event(&self, access: &Access, event: Event) {
        let _ = (access, event);
    }
}

/// The outcome of freeing memory of the heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freed {
    /// It is free.
    Done,
    /// A double free, which traps.
    Twice,
    /// Not a block of the heap; nothing happens.
    Stray,
    /// Not a block of the heap, and not accessible memory.
    Unreachable(Fault),
}

/// An access of each lane to shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touch {
    /// Reads so many bytes.
    Read(u32),
    /// Writes bytes.
    Write {
        /// The number of bytes.
        bytes: u32,
        /// The lanes that write the value that is there already: a bit for each, in order of the lanes.
        same: u32,
    },
    /// An atomic update of so many bytes.
    Update(u32),
}

/// A synchronisation event: it orders accesses of threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A fence.
    Fence,
    /// The lanes have synchronised with each other.
    Lanes,
    /// They have arrived at a barrier of their block.
    Arrived {
        /// Its number.
        barrier: u32,
        /// Threads that it waits for; 0 is all.
        threads: u32,
        /// `true` if they wait there, too.
        waits: bool,
    },
    /// All threads of the block that wait at a barrier go on.
    Passed {
        /// Its number.
        barrier: u32,
    },
    /// `cp.async.commit_group`: the copies of each lane since its last group are a group.
    CopiesCommitted,
    /// `cp.async.wait_group`, `cp.async.wait_all`: they have waited for their copies.
    CopiesAwaited {
        /// The number of latest groups that are not waited for, nor copies without a group; `None` waits for
        /// all.
        but: Option<u32>,
    },
    /// A bulk copy, `st.async` or `red.async` of one lane begins: the accesses of the instruction from now on
    /// are the copy's, not the thread's.
    CopyBegun {
        /// The `mbarrier` that counts its bytes, as an address of shared memory; none if it is of a group.
        barrier: Option<u32>,
    },
    /// The bytes of the copy are where they belong, and its `mbarrier` has counted them.
    CopyCounted {
        /// The `mbarrier`, as an address of shared memory.
        barrier: u32,
    },
    /// `cp.async.bulk.commit_group`: the bulk copies of each lane since its last group are a group.
    BulkCommitted,
    /// `cp.async.bulk.wait_group`: they have waited for their groups of bulk copies.
    BulkAwaited {
        /// The number of latest groups that are not waited for.
        but: u32,
        /// `true` if only the reads of the sources are waited for.
        reads: bool,
    },
    /// They have ended.
    Ended,
}

impl<T: Host> Host for &T {
    const WATCHES_SHARED: bool = T::WATCHES_SHARED;

    fn bounds(&self) -> Bounds {
        T::bounds(self)
    }

    fn overrun(&self, access: &Access, kind: &TrapKind) {
        T::overrun(self, access, kind);
    }

    fn print(&self, text: &str) {
        T::print(self, text);
    }

    fn allocate(&self, access: &Access, bytes: u64) -> u64 {
        T::allocate(self, access, bytes)
    }

    fn free(&self, access: &Access, address: u64) -> Freed {
        T::free(self, access, address)
    }

    fn set_condition(&self, access: &Access, handle: u64, value: u32) -> bool {
        T::set_condition(self, access, handle, value)
    }

    fn device_value(&self, kind: u32, number: u32) -> Option<i64> {
        T::device_value(self, kind, number)
    }

    fn nanoseconds(&self, cycles: u64) -> u64 {
        T::nanoseconds(self, cycles)
    }

    fn clock(&self, cycles: u64) -> u64 {
        T::clock(self, cycles)
    }

    fn cycles(&self, nanoseconds: u64) -> u64 {
        T::cycles(self, nanoseconds)
    }

    fn shared(&self, access: &Access, place: [u32; 2], touch: Touch) {
        T::shared(self, access, place, touch);
    }

    fn event(&self, access: &Access, event: Event) {
        T::event(self, access, event);
    }
}

impl<T: Host> Host for std::sync::Arc<T> {
    const WATCHES_SHARED: bool = T::WATCHES_SHARED;

    fn bounds(&self) -> Bounds {
        T::bounds(self)
    }

    fn overrun(&self, access: &Access, kind: &TrapKind) {
        T::overrun(self, access, kind);
    }

    fn print(&self, text: &str) {
        T::print(self, text);
    }

    fn allocate(&self, access: &Access, bytes: u64) -> u64 {
        T::allocate(self, access, bytes)
    }

    fn free(&self, access: &Access, address: u64) -> Freed {
        T::free(self, access, address)
    }

    fn set_condition(&self, access: &Access, handle: u64, value: u32) -> bool {
        T::set_condition(self, access, handle, value)
    }

    fn device_value(&self, kind: u32, number: u32) -> Option<i64> {
        T::device_value(self, kind, number)
    }

    fn nanoseconds(&self, cycles: u64) -> u64 {
        T::nanoseconds(self, cycles)
    }

    fn clock(&self, cycles: u64) -> u64 {
        T::clock(self, cycles)
    }

    fn cycles(&self, nanoseconds: u64) -> u64 {
        T::cycles(self, nanoseconds)
    }

    fn shared(&self, access: &Access, place: [u32; 2], touch: Touch) {
        T::shared(self, access, place, touch);
    }

    fn event(&self, access: &Access, event: Event) {
        T::event(self, access, event);
    }
}
