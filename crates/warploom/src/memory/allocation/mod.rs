//! Allocations: memory, the streams that used it, and the resource that frees it.
//!
//! An allocation remembers *streams*, not events ([`uses`](super::uses)). Memory that is allocated in the
//! order of a stream has that stream as its *home*. On the first use by another stream, that stream is made
//! to wait for the home stream's work so far, the allocation included. When the allocation ends, the stream
//! that frees it is made to wait for the others' work so far, of which an event is left where the program has
//! dropped the stream. So no stream reaches the memory before it is
//! there or after it is gone; and memory that stays on its stream costs one comparison a use, and no event.
#![expect(unsafe_code, reason = "owns addresses, and gives them back to where they came from")]

mod end;
mod origin;
mod resource;

use std::any::Any;
use std::sync::Arc;

use warploom_driver::sys::types::CUdeviceptr;

use crate::capture::{CaptureId, GraphMemoryId};
use crate::context::Current;
use crate::leaks::Mark;
use crate::memory::adaptor::Lease;
use crate::memory::host_borrows::HostBorrows;
use crate::memory::managed::{ManagedState, asks_managed};
use crate::memory::pool::graph_pool;
use crate::memory::resource::{AnyOrdered, Synchronous, refuse_captured};
use crate::memory::uses::{Access, Uses};
use crate::{CaptureError, Context, Device, Error, MemoryKind, Result, Stream};

/// Memory, and the owner that frees it.
pub(crate) struct Allocation {
    address: CUdeviceptr,
    bytes: usize,
    /// `true` if it is page-locked host memory, which every copy asks.
    is_pinned: bool,
    /// `true` if it was made larger, and so may be several pieces of memory side by side.
    is_pieced: bool,
    owner: Owner,
    uses: Uses,
    managed: ManagedState,
    host_borrows: HostBorrows,
    _mark: Mark,
}

/// The owner that frees the memory. A stream-ordered resource always has a stream.
enum Owner {
    Ordered {
        resource: AnyOrdered,
        home: Stream,
    },
    /// A cache.
    Leased(Lease),
    Synchronous {
        resource: Arc<dyn Synchronous>,
    },
    /// A graph, by nodes of a capture that such a stream began.
    Graph {
        capture: CaptureId,
        memory: GraphMemoryId,
        home: Stream,
    },
    /// Other code, whose owner is kept until the memory is no longer used; `None` if that is the caller's
    /// promise.
    Other {
        context: Context,
        keeps: Option<Box<dyn Any + Send + Sync>>,
    },
}

impl Allocation {
    #[inline]
    pub(in crate::memory) fn address(&self) -> CUdeviceptr {
        self.address
    }

    #[inline]
    pub(in crate::memory) fn bytes(&self) -> usize {
        self.bytes
    }

    #[inline]
    pub(crate) fn context(&self) -> &Context {
        match &self.owner {
            // The resource's own, or it would not have been allocated there.
            Owner::Ordered { home, .. } | Owner::Graph { home, .. } => home.context(),
            Owner::Leased(lease) => lease.home().context(),
            Owner::Synchronous { resource } => resource.context(),
            Owner::Other { context, .. } => context,
        }
    }

    #[inline]
    pub(in crate::memory) fn home(&self) -> Option<&Stream> {
        match &self.owner {
            Owner::Ordered { home, .. } => Some(home),
            Owner::Leased(lease) => Some(lease.home()),
            Owner::Synchronous { .. } | Owner::Graph { .. } | Owner::Other { .. } => None,
        }
    }

    /// The resource that gets it back, if that is stream-ordered and has no cache above it.
    #[cfg(target_os = "linux")]
    pub(in crate::memory) fn ordered_resource(&self) -> Option<&AnyOrdered> {
        if let Owner::Ordered { resource, .. } = &self.owner { Some(resource) } else { None }
    }

    /// The name of its resource.
    #[cfg(target_os = "linux")]
    pub(in crate::memory) fn resource_name(&self) -> &'static str {
        match &self.owner {
            Owner::Ordered { resource, .. } => resource.name(),
            Owner::Leased(_) => "a cache",
            Owner::Synchronous { resource } => resource.name(),
            Owner::Graph { .. } => "a graph",
            Owner::Other { .. } => "other code",
        }
    }

    /// `true` if it is page-locked host memory, which the host uses at the same address.
    pub(in crate::memory) fn is_pinned(&self) -> bool {
        self.is_pinned
    }

    /// `true` if this resource, and none that stands on it, has allocated the memory.
    pub(in crate::memory) fn is_from<R: Synchronous>(&self, this: &Arc<R>) -> bool {
        match &self.owner {
            Owner::Synchronous { resource } => std::ptr::addr_eq(Arc::as_ptr(resource), Arc::as_ptr(this)),
            Owner::Ordered { .. } | Owner::Leased(_) | Owner::Graph { .. } | Owner::Other { .. } => false,
        }
    }

    /// The capture whose graph it belongs to, if it does.
    #[inline]
    pub(crate) fn capture(&self) -> Option<CaptureId> {
        match &self.owner {
            Owner::Graph { capture, .. } => Some(*capture),
            _ => None,
        }
    }

    /// The same, with the memory among that of the graph.
    pub(crate) fn graph_memory(&self) -> Option<(CaptureId, GraphMemoryId)> {
        match &self.owner {
            Owner::Graph { capture, memory, .. } => Some((*capture, *memory)),
            _ => None,
        }
    }

    /// Takes note that its resource has moved it or made it larger. Its users stay.
    ///
    /// # Safety
    ///
    /// The resource has these bytes in place of those before.
    pub(in crate::memory) unsafe fn resize(&mut self, address: CUdeviceptr, bytes: usize) {
        (self.address, self.bytes, self.is_pieced) = (address, bytes, true);
    }

    /// `true` if its resource has made it of several pieces: a driver takes copies across them only where a
    /// context is current.
    #[inline]
    pub(in crate::memory) fn is_pieced(&self) -> bool {
        self.is_pieced
    }

    /// Makes a context current if a copy needs one.
    pub(in crate::memory) fn current_for<'s>(&self, stream: &'s Stream) -> Result<Option<Current<'s>>> {
        if self.is_pieced { stream.context().current().map(Some) } else { Ok(None) }
    }

    /// `true` if it is managed memory: its resource says so, or else the driver, which is asked once.
    pub(in crate::memory) fn is_managed(&self) -> Result<bool> {
        let is_known = match &self.owner {
            Owner::Ordered { resource, .. } => resource.is_managed(),
            Owner::Leased(lease) => lease.below().is_managed(),
            Owner::Synchronous { resource } => resource.is_managed(),
            Owner::Graph { .. } => return Ok(false),
            Owner::Other { .. } => false,
        };
        if is_known { Ok(true) } else { self.managed.or_ask(|| asks_managed(self.context(), self.address)) }
    }

    /// `true` if its end never waits on the host: it is freed in the order of the streams that used it, or by others.
    pub(crate) fn is_freed_in_order(&self) -> bool {
        !matches!(&self.owner, Owner::Synchronous { .. } | Owner::Other { keeps: Some(_), .. })
    }

    /// `true` if it goes from one buffer to the next without a driver call.
    pub(in crate::memory) fn reuses_memory(&self) -> bool {
        match &self.owner {
            Owner::Ordered { resource, .. } => resource.reuses_memory(),
            Owner::Leased(_) => true,
            Owner::Synchronous { .. } | Owner::Graph { .. } | Owner::Other { .. } => false,
        }
    }

    /// The kind of the memory: its resource says it, or else the driver, which is asked once.
    pub(in crate::memory) fn kind(&self) -> Result<MemoryKind> {
        let is_managed = match &self.owner {
            Owner::Ordered { resource, .. } => resource.is_managed(),
            Owner::Leased(lease) => lease.below().is_managed(),
            Owner::Synchronous { resource } => resource.is_managed(),
            Owner::Graph { .. } => false,
            Owner::Other { .. } => return self.managed.kind_or_ask(|| MemoryKind::ask(self.context(), self.address)),
        };
        Ok(match (is_managed, self.is_pinned) {
            (true, _) => MemoryKind::Managed,
            (false, true) => MemoryKind::Pinned,
            (false, false) => MemoryKind::Device,
        })
    }

    /// `true` if it is known to be memory of a device, and nothing else.
    pub(crate) fn is_device(&self) -> bool {
        match &self.owner {
            Owner::Ordered { resource, .. } => !self.is_pinned && !resource.is_managed(),
            Owner::Leased(lease) => !self.is_pinned && !lease.below().is_managed(),
            Owner::Synchronous { resource } => !self.is_pinned && !resource.is_managed(),
            Owner::Graph { .. } => true,
            Owner::Other { .. } => false,
        }
    }

    /// Its state as managed memory.
    pub(in crate::memory) fn managed(&self) -> &ManagedState {
        &self.managed
    }

    /// Its borrows by the host, and launches of graphs that use it.
    #[inline]
    pub(in crate::memory) fn host_borrows(&self) -> &HostBorrows {
        &self.host_borrows
    }

    /// Waits for all uses of the memory so far, and for its allocation. Others may enqueue more meanwhile.
    pub(in crate::memory) fn wait(&self) -> Result<()> {
        self.context().check_generation()?;
        self.uses.wait(self.home())
    }

    /// `true` if a device other than the context's may use the memory; `None` if every context with peer
    /// access to the context may.
    pub(in crate::memory) fn is_open_to(&self, device: &Device) -> Result<Option<bool>> {
        match &self.owner {
            Owner::Ordered { resource, .. } => resource.is_open_to(device),
            Owner::Leased(lease) => lease.below().is_open_to(device),
            Owner::Synchronous { resource } => resource.is_open_to(device),
            Owner::Graph { .. } => Ok(Some(false)),
            Owner::Other { .. } => Ok(None),
        }
    }

    /// `true` if it is memory without a stream's order to which its resource gives the device no full access.
    pub(in crate::memory) fn is_closed_to(&self, device: &Device) -> bool {
        matches!(&self.owner, Owner::Synchronous { resource } if matches!(resource.is_open_to(device), Ok(Some(false))))
    }

    /// Waits until no stream uses the memory any more, and it is there.
    pub(in crate::memory) fn settle(&self) -> Result<()> {
        self.context().check_generation()?;
        self.uses.settle(self.home())
    }

    /// Waits until no stream uses the memory any more. A stream that cannot be waited for is waited for with
    /// everything else in its context. The first error, and `true` if a stream may still use the memory.
    pub(in crate::memory) fn settle_by_all_means(&self) -> (Result<()>, bool) {
        let (mut settled, mut is_used) = (Ok(()), false);
        for stream in self.uses.streams() {
            let Err(error) = stream.drain() else { continue };
            // Nothing runs any more in a context that is lost.
            let is_over = |error: &Error| error.is_context_fatal();
            is_used |= !is_over(&error) && stream.context().synchronize().is_err_and(|error| !is_over(&error));
            settled = settled.and(Err(error));
        }
        (settled, is_used)
    }

    /// Forgets the streams that used the memory; the caller knows that they are done with it.
    pub(in crate::memory) fn forget_users(&self) {
        self.uses.forget(self.home());
    }

    pub(in crate::memory) fn uses(&self) -> &Uses {
        &self.uses
    }

    /// `true` if the stream is the home, and no other has met the memory.
    #[inline]
    pub(in crate::memory) fn is_at_home(&self, stream: &Stream) -> bool {
        self.home() == Some(stream) && !self.uses.is_counted()
    }

    /// Lets a stream use the memory: after its allocation, and before its end. Called before anything is
    /// enqueued.
    #[inline]
    pub(in crate::memory) fn meet(&self, stream: &Stream) -> Result<()> {
        match &self.owner {
            Owner::Ordered { home, .. } if home == stream => Ok(()),
            Owner::Leased(lease) if lease.home() == stream => Ok(()),
            // A stream of the capture has been let in before.
            Owner::Graph { .. } => Err(CaptureError::GraphMemory.into()),
            _ => {
                self.note_accessor(stream.device());
                self.uses.meet(stream, self.home())
            }
        }
    }

    /// Lets a stream launch graphs that use the memory, from now on and as often as it likes. Called before
    /// the first launch.
    pub(in crate::memory) fn meet_launches(&self, stream: &Stream) -> Result<()> {
        match &self.owner {
            Owner::Graph { .. } => Err(CaptureError::GraphMemory.into()),
            _ => {
                self.note_accessor(stream.device());
                self.uses.meet_launches(stream, self.home())
            }
        }
    }

    /// Has the memory's device remember that work of a device is going to use it.
    #[inline]
    pub(in crate::memory) fn note_accessor(&self, accessor: &Device) {
        self.context().device().note_accessor(accessor);
    }

    /// Records the access that was enqueued on a stream that has met the memory.
    #[inline]
    pub(in crate::memory) fn did(&self, stream: &Stream, access: Access) {
        if self.uses.is_counted() {
            self.uses.note(stream, self.home(), access);
        }
    }

    /// As much memory from the same resource; `None` for memory that came from none.
    pub(in crate::memory) fn another(&self, stream: &Stream) -> Option<Result<Allocation>> {
        let bytes = self.bytes;
        match &self.owner {
            Owner::Ordered { resource, .. } => Some(
                refuse_captured(|| resource.name(), stream)
                    .and_then(|()| if bytes == 0 { Ok(0) } else { resource.allocate_raw(bytes, stream) })
                    .map(
                        // SAFETY: the resource has allocated it just now, in the order of the stream, unless
                        // there are no bytes.
                        |address| unsafe {
                            Allocation::ordered((address, bytes), self.is_pinned, resource.clone(), stream.clone())
                        },
                    ),
            ),
            Owner::Leased(lease) => Some(lease.another(bytes, stream).map(
                // SAFETY: the lease is that of the block at the address, which has as many bytes.
                |(address, lease)| unsafe { Allocation::leased((address, bytes), self.is_pinned, lease) },
            )),
            Owner::Synchronous { resource } => Some(
                (if bytes == 0 { Ok(0) } else { resource.allocate_raw(bytes) })
                    // SAFETY: the resource has allocated it just now, unless there are no bytes.
                    .map(|address| unsafe { Allocation::synchronous((address, bytes), Arc::clone(resource)) }),
            ),
            Owner::Graph { .. } => Some(graph_pool::allocate(bytes, stream)),
            Owner::Other { .. } => None,
        }
    }

    /// Frees in the order of another stream than before. False if the memory is not freed in the order of a
    /// stream.
    pub(in crate::memory) fn set_order(&self, stream: &Stream) -> bool {
        match &self.owner {
            Owner::Ordered { .. } | Owner::Leased(_) => {
                self.uses.set_order(stream);
                true
            }
            Owner::Synchronous { .. } | Owner::Graph { .. } | Owner::Other { .. } => false,
        }
    }
}

impl std::fmt::Debug for Allocation {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let address = format_args!("{:#x}", self.address);
        let device = self.context().device();
        formatter
            .debug_struct("Allocation")
            .field("address", &address)
            .field("bytes", &self.bytes)
            .field("device", device)
            .finish()
    }
}
