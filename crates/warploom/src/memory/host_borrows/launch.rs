//! Launches of graphs that use memory which the host can borrow.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use crate::memory::{Access, AllocationRef};
use crate::{MemoryError, Result, Stream};

/// The allocations of a graph that the host can borrow. A graph that uses device memory only has none, and
/// its launches cost nothing here.
#[derive(Clone, Default)]
pub(crate) struct HostUses {
    all: Vec<(AllocationRef, Access)>,
    /// The indices of the allocations, by their identities.
    indices: BTreeMap<usize, usize>,
}

impl HostUses {
    /// Adds memory that the graph uses, unless it is known to be device memory.
    pub(crate) fn add(&mut self, held: &AllocationRef, access: Access) {
        if held.is_device() {
            return;
        }
        match self.indices.entry(held.identity()) {
            Entry::Occupied(index) if access == Access::Write => self.all[*index.get()].1 = access,
            Entry::Occupied(_) => {}
            Entry::Vacant(index) => {
                index.insert(self.all.len());
                self.all.push((held.clone(), access));
            }
        }
    }

    /// `true` if the graph uses none.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Begins a launch on a stream, before it is enqueued: from here on, host borrows wait for the stream.
    ///
    /// Makes no heap allocation unless the memory meets the stream for the first time.
    ///
    /// # Errors
    ///
    /// [`MemoryError::HostBorrowed`] if the host borrows any of the memory, and the driver's error of a wait
    /// for its allocation. Then nothing has begun.
    #[inline]
    pub(crate) fn begin_launch<'a>(&'a self, stream: &'a Stream) -> Result<Launching<'a>> {
        let mut launching = Launching { begun: &[], stream };
        for (index, (held, _)) in self.all.iter().enumerate() {
            if !held.host_borrows().begin_launch() {
                let (address, bytes) = (held.address(), held.bytes());
                return Err(MemoryError::HostBorrowed { address, bytes }.into());
            }
            launching.begun = &self.all[..=index];
            held.meet(stream)?;
        }
        Ok(launching)
    }
}

/// A launch that is being enqueued. Dropping it ends the enqueuing, also after a failure.
pub(crate) struct Launching<'a> {
    begun: &'a [(AllocationRef, Access)],
    stream: &'a Stream,
}

impl Launching<'_> {
    /// Records the accesses of the launch, which is enqueued.
    #[inline]
    pub(crate) fn enqueued(self) {
        self.begun.iter().for_each(|(held, access)| held.did(self.stream, *access));
    }
}

impl Drop for Launching<'_> {
    #[inline]
    fn drop(&mut self) {
        self.begun.iter().for_each(|(held, _)| held.host_borrows().end_launch());
    }
}
