//! The memory that an executable uses, and the stream that it was last launched on.

use std::collections::HashSet;
use std::hash::BuildHasherDefault;

use super::bundle::Bundle;
use super::hierarchy::{GraphId, Locked};
use super::raw::HandleHasher;
use crate::memory::{AllocationRef, HostUses};
use crate::{Result, Stream};

/// All allocations that nodes of an executable refer to, each once.
#[derive(Default)]
pub(super) struct GraphUses {
    memory: Vec<AllocationRef>,
    known: HashSet<usize, BuildHasherDefault<HandleHasher>>,
    /// Those that the host can borrow.
    host: HostUses,
    /// The stream that has met all of the memory.
    met: Option<Stream>,
}

impl GraphUses {
    /// The memory of a graph and of all graphs below.
    pub(super) fn of(locked: &Locked<'_>, id: GraphId) -> GraphUses {
        let mut uses = GraphUses::default();
        locked.each_bundle(id, &mut |bundle| uses.add(bundle));
        uses
    }

    /// Adds the memory of a node that has other parameters now.
    pub(super) fn add(&mut self, bundle: &Bundle) {
        for (allocation, access) in bundle.memory() {
            self.host.add(allocation, access);
            if self.known.insert(allocation.identity()) {
                self.memory.push(allocation.clone());
                self.met = None;
            }
        }
    }

    /// Lets a stream launch the executable: all memory is freed after the stream's work from now on. Nothing
    /// is done for the stream of the launch before.
    #[inline]
    pub(super) fn meet(&mut self, stream: &Stream) -> Result<()> {
        if self.met.as_ref() == Some(stream) { Ok(()) } else { self.meet_other(stream) }
    }

    #[cold]
    fn meet_other(&mut self, stream: &Stream) -> Result<()> {
        self.met = None;
        self.memory.iter().try_for_each(|allocation| allocation.meet_launches(stream))?;
        self.met = Some(stream.clone());
        Ok(())
    }

    /// The memory that the host can borrow.
    pub(super) fn host(&self) -> &HostUses {
        &self.host
    }
}
