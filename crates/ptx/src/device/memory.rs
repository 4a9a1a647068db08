//! Global memory, as kernels access it.

use std::ops::Range;

use super::access::{Access, Fault};
use super::direct::Direct;

/// Global memory: the target of global addresses, and of generic addresses outside of the block.
///
/// Blocks may run on several threads at once, so an implementation is shared between them; two accesses to
/// the same bytes at the same time are the kernel's business, and must not be the implementation's undoing.
pub trait Memory: Sync {
    /// Reads bytes: one lane's, or those of several lanes side by side.
    fn load(&self, access: &Access, address: u64, into: &mut [u8]) -> Result<(), Fault>;

    /// Writes bytes: one lane's, or those of several lanes side by side.
    fn store(&self, access: &Access, address: u64, from: &[u8]) -> Result<(), Fault>;

    /// Updates 2, 4 or 8 bytes atomically and returns their old value.
    ///
    /// `change` may be called several times; the address is a multiple of the size.
    fn update(
        &self,
        access: &Access,
        address: u64,
        bytes: usize,
        change: &mut dyn FnMut(u64) -> u64,
    ) -> Result<u64, Fault>;

    /// The range around an address that kernels may reach without [`load`](Self::load) and
    /// [`store`](Self::store) being called, until the step that asks for it ends; none where every access is
    /// to be seen.
    fn direct(&self, address: u64) -> Option<Direct> {
        let _ = address;
        None
    }

    /// The problem with an access to memory of the kernels' heap, if there is one; called by the race
    /// detector.
    fn heap_problem(&self, address: u64, bytes: u64) -> Option<HeapProblem> {
        let _ = (address, bytes);
        None
    }

    /// `true` if bytes hold this value already; called by the race detector. The default is false.
    fn holds(&self, address: u64, bytes: &[u8]) -> bool {
        let _ = (address, bytes);
        false
    }
}

/// An access to the kernels' heap that is not to a block of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeapProblem {
    /// The first byte that cannot be accessed.
    pub address: u64,
    /// The block that it is in, or is near to.
    pub block: Range<u64>,
    /// `true` if it is in the block, and the block was freed.
    pub freed: bool,
}

impl<T: Memory + ?Sized> Memory for &T {
    fn load(&self, access: &Access, address: u64, into: &mut [u8]) -> Result<(), Fault> {
        T::load(self, access, address, into)
    }

    fn store(&self, access: &Access, address: u64, from: &[u8]) -> Result<(), Fault> {
        T::store(self, access, address, from)
    }

    fn update(
        &self,
        access: &Access,
        address: u64,
        bytes: usize,
        change: &mut dyn FnMut(u64) -> u64,
    ) -> Result<u64, Fault> {
        T::update(self, access, address, bytes, change)
    }

    fn direct(&self, address: u64) -> Option<Direct> {
        T::direct(self, address)
    }

    fn heap_problem(&self, address: u64, bytes: u64) -> Option<HeapProblem> {
        T::heap_problem(self, address, bytes)
    }

    fn holds(&self, address: u64, bytes: &[u8]) -> bool {
        T::holds(self, address, bytes)
    }
}

impl<T: Memory + Send + ?Sized> Memory for std::sync::Arc<T> {
    fn load(&self, access: &Access, address: u64, into: &mut [u8]) -> Result<(), Fault> {
        T::load(self, access, address, into)
    }

    fn store(&self, access: &Access, address: u64, from: &[u8]) -> Result<(), Fault> {
        T::store(self, access, address, from)
    }

    fn update(
        &self,
        access: &Access,
        address: u64,
        bytes: usize,
        change: &mut dyn FnMut(u64) -> u64,
    ) -> Result<u64, Fault> {
        T::update(self, access, address, bytes, change)
    }

    fn direct(&self, address: u64) -> Option<Direct> {
        T::direct(self, address)
    }

    fn heap_problem(&self, address: u64, bytes: u64) -> Option<HeapProblem> {
        T::heap_problem(self, address, bytes)
    }

    fn holds(&self, address: u64, bytes: &[u8]) -> bool {
        T::holds(self, address, bytes)
    }
}
