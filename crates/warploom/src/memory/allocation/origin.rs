//! Origins of allocations: resources, caches, graphs and other code.

use std::any::Any;
use std::sync::Arc;

use warploom_driver::sys::types::CUdeviceptr;

use super::{Allocation, Owner};
use crate::capture::{CaptureId, GraphMemoryId};
use crate::leaks::{Kind, Mark, mark};
use crate::memory::adaptor::Lease;
use crate::memory::host_borrows::HostBorrows;
use crate::memory::managed::ManagedState;
use crate::memory::resource::{AnyOrdered, Synchronous};
use crate::memory::uses::Uses;
use crate::{Context, Stream};

impl Allocation {
    /// Memory that no stream has used yet. Inlined, so that an allocation is built in its place.
    #[inline(always)]
    fn new((address, bytes): (CUdeviceptr, usize), is_pinned: bool, owner: Owner, mark: Mark) -> Allocation {
        Allocation {
            address,
            bytes,
            is_pinned,
            is_pieced: false,
            owner,
            uses: Uses::default(),
            managed: ManagedState::default(),
            host_borrows: HostBorrows::default(),
            _mark: mark,
        }
    }

    /// Memory of a stream-ordered resource, which gets it back.
    ///
    /// # Safety
    ///
    /// The resource has allocated these bytes in the order of `home`, and nothing else gives them back.
    /// `is_pinned` is the resource's answer.
    #[inline(always)]
    pub(in crate::memory) unsafe fn ordered(
        (address, bytes): (CUdeviceptr, usize),
        is_pinned: bool,
        resource: AnyOrdered,
        home: Stream,
    ) -> Allocation {
        let mark = mark(home.context(), || (Kind::Memory { resource: resource.name() }, address, bytes));
        let owner = Owner::Ordered { resource, home };
        Allocation::new((address, bytes), is_pinned, owner, mark)
    }

    /// Memory of a cache, which gets it back.
    ///
    /// # Safety
    ///
    /// The lease is that of a block at this address, which has as many bytes. `is_pinned` is the answer of
    /// the cache.
    #[inline(always)]
    pub(in crate::memory) unsafe fn leased(
        (address, bytes): (CUdeviceptr, usize),
        is_pinned: bool,
        lease: Lease,
    ) -> Allocation {
        let mark = mark(lease.home().context(), || (Kind::Memory { resource: lease.below().name() }, address, bytes));
        Allocation::new((address, bytes), is_pinned, Owner::Leased(lease), mark)
    }

    /// Memory of a resource that allocates at once, which gets it back.
    ///
    /// # Safety
    ///
    /// The resource has allocated these bytes, and nothing else gives them back.
    pub(in crate::memory) unsafe fn synchronous(
        (address, bytes): (CUdeviceptr, usize),
        resource: Arc<dyn Synchronous>,
    ) -> Allocation {
        let is_pinned = resource.is_pinned();
        let mark = mark(resource.context(), || (Kind::Memory { resource: resource.name() }, address, bytes));
        let owner = Owner::Synchronous { resource };
        Allocation::new((address, bytes), is_pinned, owner, mark)
    }

    /// Memory that a node of a graph allocates.
    ///
    /// # Safety
    ///
    /// A node of this capture allocates these bytes in the order of `home`, and nothing else frees them.
    pub(in crate::memory) unsafe fn of_graph(
        (address, bytes): (CUdeviceptr, usize),
        (capture, memory): (CaptureId, GraphMemoryId),
        home: Stream,
    ) -> Allocation {
        let mark = mark(home.context(), || (Kind::Memory { resource: "GraphPool" }, address, bytes));
        Allocation::new((address, bytes), false, Owner::Graph { capture, memory, home }, mark)
    }

    /// Memory that other code owns.
    ///
    /// # Safety
    ///
    /// The bytes are there, in the context, for as long as `keeps` lives; without it, for as long as the
    /// value and the work enqueued with it.
    pub(in crate::memory) unsafe fn foreign(
        memory: (CUdeviceptr, usize),
        context: &Context,
        keeps: Option<Box<dyn Any + Send + Sync>>,
    ) -> Allocation {
        let owner = Owner::Other { context: context.clone(), keeps };
        Allocation::new(memory, false, owner, Mark::default())
    }

    /// Memory of the host that the program has registered with the driver, and unregisters itself.
    ///
    /// # Safety
    ///
    /// The bytes are there, and registered in the context, for as long as the value and the work enqueued
    /// with it.
    pub(in crate::memory) unsafe fn registered(memory: (CUdeviceptr, usize), context: &Context) -> Allocation {
        // SAFETY: the caller's promise is the one that is asked for.
        let mut allocation = unsafe { Allocation::foreign(memory, context, None) };
        allocation.is_pinned = true;
        allocation
    }
}
