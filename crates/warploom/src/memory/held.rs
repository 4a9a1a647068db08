//! An allocation, held by whoever needs it to stay: a buffer, and what was enqueued with it and may outlive the buffer.
//!
//! An `Arc` would do. But nearly all allocations have one holder all their lives, and an `Arc` takes two locked instructions to
//! find that out; right after a call of the driver, which has just written to the device, each of these has to wait for the
//! write. Here the *other* holders are counted, so that a load tells the last one that there are none.
#![expect(unsafe_code, reason = "counts references")]

use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::allocation::Allocation;

/// One holder of an allocation; a clone is another.
pub(crate) struct Held(NonNull<Counted>);

struct Counted {
    /// The holders but one.
    others: AtomicUsize,
    allocation: Allocation,
}

// SAFETY: it gives out shared references to an `Allocation`, which may be used from any thread, and the last holder drops it,
// on whichever thread that is; an `Allocation` may go to another thread.
unsafe impl Send for Held where Allocation: Send + Sync {}
// SAFETY: as above.
unsafe impl Sync for Held where Allocation: Send + Sync {}

impl Held {
    #[inline]
    pub(super) fn new(allocation: Allocation) -> Held {
        let counted = Box::new(Counted { others: AtomicUsize::new(0), allocation });
        Held(NonNull::from(Box::leak(counted)))
    }

    fn counted(&self) -> &Counted {
        // SAFETY: it came from a box, which is dropped by the last holder; this is one.
        unsafe { self.0.as_ref() }
    }

    /// The allocation itself, if nobody else holds it.
    pub(super) fn into_inner(self) -> Option<Allocation> {
        let held = std::mem::ManuallyDrop::new(self);
        // SAFETY: this holder is gone with the call.
        unsafe { held.leave() }.map(|counted| counted.allocation)
    }

    /// Gives up a share, and hands out everything if it was the last.
    ///
    /// # Safety
    ///
    /// Called once for each holder, which is not used afterwards.
    unsafe fn leave(&self) -> Option<Box<Counted>> {
        let others = &self.counted().others;
        // Only a holder makes another one, so that who is alone stays alone. What those who left did before has to be seen here.
        // If the last two leave at once, both see each other, and the count says who was later.
        let is_last = others.load(Ordering::Acquire) == 0 || others.fetch_sub(1, Ordering::AcqRel) == 0;
        // SAFETY: it came from a box, and nobody has it any more.
        is_last.then(|| unsafe { Box::from_raw(self.0.as_ptr()) })
    }
}

impl Clone for Held {
    fn clone(&self) -> Held {
        let others = self.counted().others.fetch_add(1, Ordering::Relaxed);
        // Each holder takes space, so that there cannot be as many unless they are forgotten in a loop.
        if others > usize::MAX / 2 {
            std::process::abort();
        }
        Held(self.0)
    }
}

impl Deref for Held {
    type Target = Allocation;

    #[inline]
    fn deref(&self) -> &Allocation {
        &self.counted().allocation
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // SAFETY: the holder is gone afterwards.
        drop(unsafe { self.leave() });
    }
}
