//! Freeing allocations, after every stream that used them.
//!
//! Most memory has met no stream but its own, and is freed by one call. Memory used by other streams is freed
//! after their work. Where the stream that it would be freed on is captured, it ends when the capture does: a
//! free would become part of the graph.

use std::mem::ManuallyDrop;
use std::sync::Arc;

use warploom_driver::sys::types::CUdeviceptr;

use super::{Allocation, Owner};
use crate::capture::{self, RelaxedMode, Sequence};
use crate::diagnostics::{Subject, report};
use crate::memory::host_borrows::HostBorrows;
use crate::memory::managed::ManagedState;
use crate::memory::pool::graph_pool;
use crate::memory::resource::{AnyOrdered, StreamOrdered};
use crate::memory::uses::Uses;
use crate::stream::WeakStream;
use crate::{Context, Error, Result, Stream};

/// An allocation that is freed by a call, which may unwind, and not by its drop.
struct Closing {
    allocation: Allocation,
    context: Context,
}

impl Drop for Closing {
    fn drop(&mut self) {
        // The allocation must not be freed again; its parts are dropped on their own.
        self.allocation.owner = Owner::Other { context: self.context.clone(), keeps: None };
    }
}

impl Allocation {
    /// Frees it now, and returns the error. Memory of a graph is freed by a node.
    pub(in crate::memory) fn close(self) -> Result<()> {
        // Before the end, with which the stream of a lease may go.
        let context = self.context().clone();
        let this = &mut Closing { allocation: self, context }.allocation;
        match &this.owner {
            // SAFETY: a node of that capture has allocated it for this value, which is given up.
            Owner::Graph { capture, memory, home } => unsafe {
                graph_pool::free(this.address, (*capture, *memory), home)
            },
            _ => this.end(),
        }
    }

    #[cold]
    #[inline(never)]
    fn end_later_or_report(&mut self, error: Error) {
        // Another thread may have begun to capture the stream at that moment.
        if capture::any()
            && let Ok(Some(capture)) = self.obstacle()
        {
            return capture.defer(Box::new(self.take()));
        }
        let (address, bytes, device) = (self.address, self.bytes, self.context().device().ordinal());
        report(|| Subject::Memory { address, bytes, device }, Err::<(), _>(error));
    }

    fn outlives_context(&self) -> bool {
        matches!(&self.owner, Owner::Synchronous { resource } if resource.outlives_context())
    }

    /// Frees it. Most memory has met no stream but its own, and then this is the call that frees it and
    /// little else; the rest is kept out of the way, because after a call of the driver each line of code has
    /// to be fetched anew.
    #[inline]
    fn end(&mut self) -> Result<()> {
        let is_simple = |home: &Stream| {
            !self.uses.is_counted() && home.is_here() && home.context().is_current_generation() && !capture::any()
        };
        match &mut self.owner {
            Owner::Leased(lease) if is_simple(lease.home()) => {
                // SAFETY: as in `end_now`; no stream but the home has used it.
                unsafe { lease.end(self.address, None) }
            }
            Owner::Ordered { resource, home } if self.bytes != 0 && is_simple(home) => {
                // SAFETY: as in `end_now`; no stream but `home` has used it.
                unsafe { free_ordered(resource, (self.address, self.bytes), home) }
            }
            _ => self.end_after_others(),
        }
    }

    #[cold]
    #[inline(never)]
    fn end_after_others(&mut self) -> Result<()> {
        // Memory of a past generation of a context went with it; the memory of a pool stays
        // with the pool, for the stream that it would be freed on is gone.
        if self.context().check_generation().is_err() && !self.outlives_context() {
            return Ok(());
        }
        if capture::any() { self.end_among_captures() } else { self.end_now() }
    }

    /// Frees it while a stream is captured. If that is the stream that it would be freed on, it ends when the
    /// capture does.
    #[cold]
    fn end_among_captures(&mut self) -> Result<()> {
        if let Some(capture) = self.obstacle()? {
            capture.defer(Box::new(self.take()));
            return Ok(());
        }
        let frees = !matches!(self.owner, Owner::Graph { .. } | Owner::Other { keeps: None, .. });
        let _relaxed = if frees { RelaxedMode::new(self.context().driver()) } else { None };
        self.end_now()
    }

    /// The capture that keeps it from being freed in the order of its stream.
    fn obstacle(&self) -> Result<Option<Arc<Sequence>>> {
        let Some(home) = self.home() else { return Ok(None) };
        let order = self.uses.order();
        let order = order.as_ref().unwrap_or(home).for_teardown();
        Ok(capture::of(&order).or(capture::shadowed(&order)?))
    }

    /// Everything but the shell.
    fn take(&mut self) -> Allocation {
        let context = self.context().clone();
        Allocation {
            address: self.address,
            bytes: self.bytes,
            is_pinned: self.is_pinned,
            is_pieced: self.is_pieced,
            owner: std::mem::replace(&mut self.owner, Owner::Other { context, keeps: None }),
            uses: std::mem::take(&mut self.uses),
            managed: ManagedState::default(),
            host_borrows: HostBorrows::default(),
            _mark: std::mem::take(&mut self._mark),
        }
    }

    fn end_now(&mut self) -> Result<()> {
        let memory = (self.address, self.bytes);
        if self.bytes == 0 && !matches!(self.owner, Owner::Other { .. }) {
            return Ok(()); // no resource was asked for it
        }
        match &mut self.owner {
            Owner::Ordered { resource, home } => {
                // SAFETY: the memory came from this resource with this size and is given back once, by the
                // end of its allocation; every use of it comes before this in the order of the stream.
                after_users(&mut self.uses, home, |order| unsafe { free_ordered(resource, memory, order) })
            }
            Owner::Leased(lease) => {
                // The lease may take its stream with it.
                let home = lease.home().clone();
                // SAFETY: as above; the lease is not used after its end, which ends the allocation.
                after_users(&mut self.uses, &home, |order| unsafe { lease.end(self.address, Some(order)) })
            }
            Owner::Synchronous { resource } => {
                let (waits, users) = (resource.free_waits_for_context(), self.uses.end(None).0);
                for other in users.iter().filter(|other| !waits || other.context() != resource.context()) {
                    // A wait that failed may have been the only thing to fail; another one tells.
                    other.drain().or_else(|_| other.context().synchronize())?;
                }
                // SAFETY: the memory came from this resource with this size and is given back once, by the
                // end of its allocation; every use of it is over, or is waited for by the call that frees it.
                unsafe { resource.deallocate_raw(self.address, self.bytes) }
            }
            // Its graph has it.
            Owner::Graph { .. } => Ok(()),
            Owner::Other { keeps, .. } => {
                // Without a wait, a stream may still use the memory, and its owner must not go.
                let Some(keeps) = keeps.take().map(ManuallyDrop::new) else { return Ok(()) };
                let (users, _) = self.uses.end(None);
                users.iter().try_for_each(WeakStream::drain)?;
                drop(ManuallyDrop::into_inner(keeps));
                Ok(())
            }
        }
    }
}

/// Frees in the order of a stream that comes after all that used the memory.
fn after_users(uses: &mut Uses, home: &Stream, free: impl FnOnce(&Stream) -> Result<()>) -> Result<()> {
    let (users, replaced) = uses.end(Some(home));
    let order = replaced.as_ref().unwrap_or(home).for_teardown();
    // Without an event, waiting on the host is slow and correct.
    for other in &users {
        order.follow_weak(other).or_else(|_| other.drain())?;
    }
    let home = home.for_teardown();
    order.follow(&home).or_else(|_| home.drain())?;
    free(&order)
}

/// Gives memory back to a stream-ordered resource. Pools are called directly.
///
/// # Safety
///
/// As for [`StreamOrdered::deallocate_raw`] of the resource.
#[inline]
unsafe fn free_ordered(resource: &AnyOrdered, (address, bytes): (CUdeviceptr, usize), order: &Stream) -> Result<()> {
    // SAFETY: the caller's promise is the one that is asked for.
    unsafe {
        match resource {
            AnyOrdered::Pool(pool) => pool.deallocate_raw(address, bytes, order),
            #[cfg(target_os = "linux")]
            AnyOrdered::Imported(imported) => imported.deallocate_raw(address, bytes, order),
            AnyOrdered::Other(resource) => resource.deallocate_raw(address, bytes, order),
        }
    }
}

impl Drop for Allocation {
    #[inline]
    fn drop(&mut self) {
        if let Err(error) = self.end() {
            self.end_later_or_report(error);
        }
    }
}
