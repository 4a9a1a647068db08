//! A host borrow of an allocation.

use crate::Result;
use crate::memory::allocation::Allocation;

/// A borrow of an allocation by the host: launches of graphs that use the memory are refused while it exists.
///
/// A forgotten borrow refuses launches for good, and nothing worse.
pub(in crate::memory) struct HostBorrow<'a>(&'a Allocation);

impl<'a> HostBorrow<'a> {
    /// For reading: waits for everything that uses the memory. Others may enqueue reads meanwhile.
    pub(in crate::memory) fn shared(allocation: &'a Allocation) -> Result<HostBorrow<'a>> {
        allocation.host_borrows().begin();
        let borrow = HostBorrow(allocation);
        allocation.wait()?;
        Ok(borrow)
    }

    /// For reading and writing: waits for everything that uses the memory, and nothing else can.
    pub(in crate::memory) fn exclusive(allocation: &'a Allocation) -> Result<HostBorrow<'a>> {
        allocation.host_borrows().begin();
        let borrow = HostBorrow(allocation);
        allocation.settle()?;
        Ok(borrow)
    }

    /// Counts the borrow without a guard; [`HostBorrow::end`] ends it.
    pub(in crate::memory) fn begin(allocation: &Allocation) {
        allocation.host_borrows().begin();
    }

    /// Ends a borrow that [`HostBorrow::begin`] began.
    pub(in crate::memory) fn end(allocation: &Allocation) {
        allocation.host_borrows().end();
    }
}

impl Drop for HostBorrow<'_> {
    fn drop(&mut self) {
        self.0.host_borrows().end();
    }
}
