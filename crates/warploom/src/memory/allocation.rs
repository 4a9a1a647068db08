//! Allocations: memory, who used it, and who frees it.
//!
//! An allocation remembers *streams*, not events ([`uses`](super::uses)). Memory that is allocated in the order of a stream has
//! that stream as its *home*. On the first use by another stream, that stream is made to wait for what the home stream has so
//! far, the allocation included. When the allocation ends, the stream that frees it is made to wait for what the others have so
//! far. So no stream reaches the memory before it is there or after it is gone; and memory that stays on its stream costs one
//! comparison a use, and no event.

use std::any::Any;
use std::sync::Arc;

use warploom_driver::sys::types::CUdeviceptr;

use super::managed::{ManagedState, asks_managed};
use super::resource::{StreamOrdered as _, Synchronous};
use super::source::Source;
use super::uses::{Access, Uses};
use crate::context::Current;
use crate::diagnostics::{Subject, report};
use crate::leaks::{Kind, Mark, mark};
use crate::{Context, Device, Error, Result, Stream};

/// Memory, and what its end depends on.
pub(crate) struct Allocation {
    address: CUdeviceptr,
    bytes: usize,
    /// Whether it is page-locked host memory, which every copy asks.
    is_pinned: bool,
    /// Whether it was made larger, and so may be several pieces of memory side by side.
    is_pieced: bool,
    owner: Owner,
    uses: Uses,
    managed: ManagedState,
    _mark: Mark,
}

/// Who frees the memory. A stream-ordered resource without a stream cannot be written.
enum Owner {
    Ordered {
        resource: Source,
        home: Stream,
    },
    Synchronous {
        resource: Arc<dyn Synchronous>,
    },
    /// Someone else, who is kept until nobody uses the memory any more; `None` if that is the caller's promise.
    Other {
        context: Context,
        keeps: Option<Box<dyn Any + Send + Sync>>,
    },
}

impl Allocation {
    #[inline(always)]
    pub(super) fn ordered(
        (address, bytes): (CUdeviceptr, usize),
        is_pinned: bool,
        resource: Source,
        home: Stream,
    ) -> Allocation {
        let mark = mark(home.context(), || (Kind::Memory { resource: resource.name() }, address, bytes));
        let owner = Owner::Ordered { resource, home };
        Allocation {
            address,
            bytes,
            is_pinned,
            is_pieced: false,
            owner,
            uses: Uses::default(),
            managed: ManagedState::default(),
            _mark: mark,
        }
    }

    pub(super) fn synchronous((address, bytes): (CUdeviceptr, usize), resource: Arc<dyn Synchronous>) -> Allocation {
        let is_pinned = resource.is_pinned();
        let mark = mark(resource.context(), || (Kind::Memory { resource: resource.name() }, address, bytes));
        let owner = Owner::Synchronous { resource };
        Allocation {
            address,
            bytes,
            is_pinned,
            is_pieced: false,
            owner,
            uses: Uses::default(),
            managed: ManagedState::default(),
            _mark: mark,
        }
    }

    pub(super) fn foreign(
        (address, bytes): (CUdeviceptr, usize),
        context: &Context,
        keeps: Option<Box<dyn Any + Send + Sync>>,
    ) -> Allocation {
        let owner = Owner::Other { context: context.clone(), keeps };
        Allocation {
            address,
            bytes,
            is_pinned: false,
            is_pieced: false,
            owner,
            uses: Uses::default(),
            managed: ManagedState::default(),
            _mark: Mark::default(),
        }
    }

    #[inline]
    pub(super) fn address(&self) -> CUdeviceptr {
        self.address
    }

    #[inline]
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    #[inline]
    pub(super) fn context(&self) -> &Context {
        match &self.owner {
            // The resource's own, or it would not have been allocated there.
            Owner::Ordered { home, .. } => home.context(),
            Owner::Synchronous { resource } => resource.context(),
            Owner::Other { context, .. } => context,
        }
    }

    #[inline]
    pub(super) fn home(&self) -> Option<&Stream> {
        match &self.owner {
            Owner::Ordered { home, .. } => Some(home),
            Owner::Synchronous { .. } | Owner::Other { .. } => None,
        }
    }

    /// Whether it is page-locked host memory, which the host uses at the same address.
    pub(super) fn is_pinned(&self) -> bool {
        self.is_pinned
    }

    /// Whether this resource, and none that stands on it, has allocated the memory.
    pub(super) fn is_from<R: Synchronous>(&self, this: &Arc<R>) -> bool {
        match &self.owner {
            Owner::Synchronous { resource } => std::ptr::addr_eq(Arc::as_ptr(resource), Arc::as_ptr(this)),
            Owner::Ordered { .. } | Owner::Other { .. } => false,
        }
    }

    /// Takes note that its resource has it elsewhere now, or has made it larger. Its users stay.
    pub(super) fn resize(&mut self, address: CUdeviceptr, bytes: usize) {
        (self.address, self.bytes, self.is_pieced) = (address, bytes, true);
    }

    /// Whether its resource has made it of several pieces: a driver takes copies across them only where a context is current.
    #[inline]
    pub(super) fn is_pieced(&self) -> bool {
        self.is_pieced
    }

    /// Makes a context current if a copy needs one.
    pub(super) fn current_for<'s>(&self, stream: &'s Stream) -> Result<Option<Current<'s>>> {
        if self.is_pieced { stream.context().current().map(Some) } else { Ok(None) }
    }

    /// Whether it is managed memory: its resource says so, or else the driver, which is asked once.
    pub(super) fn is_managed(&self) -> Result<bool> {
        let is_known = match &self.owner {
            Owner::Ordered { resource, .. } => resource.is_managed(),
            Owner::Synchronous { resource } => resource.is_managed(),
            Owner::Other { .. } => false,
        };
        if is_known { Ok(true) } else { self.managed.or_ask(|| asks_managed(self.context(), self.address)) }
    }

    /// Whether it is known to be memory of a device, and nothing else.
    pub(super) fn is_device(&self) -> bool {
        match &self.owner {
            Owner::Ordered { resource, .. } => !self.is_pinned && !resource.is_managed(),
            Owner::Synchronous { resource } => !self.is_pinned && !resource.is_managed(),
            Owner::Other { .. } => false,
        }
    }

    /// What is known of it as managed memory.
    pub(super) fn managed(&self) -> &ManagedState {
        &self.managed
    }

    /// Waits for what streams have with the memory so far, and until it is there. Others may enqueue more meanwhile.
    pub(super) fn wait(&self) -> Result<()> {
        self.context().check_generation()?;
        self.uses.wait(self.home())
    }

    /// Whether a device other than the context's may use the memory; `None` if whoever has peer access to the context may.
    pub(super) fn is_open_to(&self, device: &Device) -> Result<Option<bool>> {
        match &self.owner {
            Owner::Ordered { resource, .. } => resource.is_open_to(device),
            Owner::Synchronous { resource } => resource.is_open_to(device),
            Owner::Other { .. } => Ok(None),
        }
    }

    /// Waits until no stream uses the memory any more, and it is there.
    pub(super) fn settle(&self) -> Result<()> {
        self.context().check_generation()?;
        self.uses.settle(self.home())
    }

    /// Forgets the streams that used the memory; the caller knows that they are done with it.
    pub(super) fn forget_users(&self) {
        self.uses.forget();
    }

    pub(super) fn uses(&self) -> &Uses {
        &self.uses
    }

    /// Whether the stream is the home, and no other has met the memory.
    #[inline]
    pub(super) fn is_at_home(&self, stream: &Stream) -> bool {
        self.home() == Some(stream) && !self.uses.is_counted()
    }

    /// Lets a stream use the memory: after its allocation, and before its end. Comes before whatever is enqueued.
    #[inline]
    pub(super) fn meet(&self, stream: &Stream) -> Result<()> {
        match self.home() {
            Some(home) if home == stream => Ok(()),
            home => self.uses.meet(stream, home),
        }
    }

    /// Takes note of what was enqueued on a stream that has met the memory.
    #[inline]
    pub(super) fn did(&self, stream: &Stream, access: Access) {
        if self.uses.is_counted() {
            self.uses.note(stream, access);
        }
    }

    /// As much memory from the same resource; `None` for memory that came from none.
    pub(super) fn another(&self, stream: &Stream) -> Option<Result<Allocation>> {
        let bytes = self.bytes;
        match &self.owner {
            Owner::Ordered { resource, .. } => Some(resource.allocate_raw(bytes, stream).map(|address| {
                Allocation::ordered((address, bytes), self.is_pinned, resource.clone(), stream.clone())
            })),
            Owner::Synchronous { resource } => Some(
                resource
                    .allocate_raw(bytes)
                    .map(|address| Allocation::synchronous((address, bytes), Arc::clone(resource))),
            ),
            Owner::Other { .. } => None,
        }
    }

    /// Frees in the order of another stream than before. False if the memory is not freed in the order of a stream.
    pub(super) fn set_order(&self, stream: &Stream) -> bool {
        match &self.owner {
            Owner::Ordered { .. } => {
                self.uses.set_order(stream);
                true
            }
            Owner::Synchronous { .. } | Owner::Other { .. } => false,
        }
    }

    /// Frees it now, and says what went wrong.
    pub(super) fn close(mut self) -> Result<()> {
        let ended = self.end();
        // What has ended must not end again; the parts go on their own.
        let context = self.context().clone();
        self.owner = Owner::Other { context, keeps: None };
        ended
    }

    #[cold]
    #[inline(never)]
    fn report(&self, error: Error) {
        let (address, bytes, device) = (self.address, self.bytes, self.context().device().ordinal());
        report(|| Subject::Memory { address, bytes, device }, Err::<(), _>(error));
    }

    fn outlives_context(&self) -> bool {
        matches!(&self.owner, Owner::Synchronous { resource } if resource.outlives_context())
    }

    /// Frees it. Most memory has met no stream but its own, and then this is the call that frees it and little else; the rest is kept
    /// out of the way, because after a call of the driver each line of code has to be fetched anew.
    #[inline]
    fn end(&mut self) -> Result<()> {
        match &self.owner {
            Owner::Ordered { resource, home }
                if !self.uses.is_counted() && home.is_here() && home.context().is_current_generation() =>
            {
                free_ordered(resource, (self.address, self.bytes), home)
            }
            _ => self.end_after_others(),
        }
    }

    #[cold]
    #[inline(never)]
    fn end_after_others(&mut self) -> Result<()> {
        // What was allocated in a life of a context that is over went with it; the memory of a pool stays with the pool, for the
        // stream that it would be freed on is gone.
        if self.context().check_generation().is_err() && !self.outlives_context() {
            return Ok(());
        }
        let memory = (self.address, self.bytes);
        match &mut self.owner {
            Owner::Ordered { resource, home } => {
                let (users, replaced) = self.uses.end(Some(home));
                let order = replaced.as_ref().unwrap_or(home).for_teardown();
                for other in users.iter().chain(Some(&*home)).map(Stream::for_teardown) {
                    // Where no event can be had, waiting is dear and right.
                    order.wait_for(&other).or_else(|_| other.synchronize())?;
                }
                free_ordered(resource, memory, &order)
            }
            Owner::Synchronous { resource } => {
                let (waits, users) = (resource.free_waits_for_context(), self.uses.end(None).0);
                for other in users.iter().filter(|other| !waits || other.context() != resource.context()) {
                    // A wait that failed may have been the only thing to fail; another one tells.
                    other.for_teardown().synchronize().or_else(|_| other.context().synchronize())?;
                }
                free_synchronous(&**resource, memory)
            }
            Owner::Other { keeps, .. } => {
                let Some(keeps) = keeps.take() else { return Ok(()) };
                let (users, _) = self.uses.end(None);
                let waited = users.iter().try_for_each(|other| other.for_teardown().synchronize());
                if waited.is_err() {
                    // A stream may still use the memory, so its owner must not go.
                    std::mem::forget(keeps);
                }
                waited
            }
        }
    }
}

#[expect(unsafe_code, reason = "gives memory back to where it came from")]
#[inline]
fn free_ordered(resource: &Source, (address, bytes): (CUdeviceptr, usize), order: &Stream) -> Result<()> {
    // SAFETY: the memory came from this resource with this size and is given back once, by the end of its allocation; every
    // use of it comes before this in the order of the stream.
    unsafe {
        match resource {
            Source::Pool(pool) => pool.deallocate_raw(address, bytes, order),
            Source::Other(resource) => resource.deallocate_raw(address, bytes, order),
        }
    }
}

#[expect(unsafe_code, reason = "gives memory back to where it came from")]
fn free_synchronous(resource: &dyn Synchronous, (address, bytes): (CUdeviceptr, usize)) -> Result<()> {
    // SAFETY: the memory came from this resource with this size and is given back once, by the end of its allocation; every
    // use of it is over, or is waited for by the call that frees it.
    unsafe { resource.deallocate_raw(address, bytes) }
}

impl Drop for Allocation {
    #[inline]
    fn drop(&mut self) {
        if let Err(error) = self.end() {
            self.report(error);
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
