//! References to an allocation, held by buffers and by enqueued work.
//!
//! An `Arc` would do. But nearly all allocations have one holder all their lives, and an `Arc` takes two
//! locked instructions to find that out; right after a call of the driver, which has just written to the
//! device, each of these has to wait for the write. Here the *other* holders are counted, so that a load
//! tells the last one that there are none. And the memory that this takes on the host is kept for the next
//! allocation on the same thread.
#![expect(unsafe_code, reason = "counts references")]

use std::cell::RefCell;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::allocation::Allocation;
use super::uses::Access;
use crate::{Result, Stream, callback, capture, reclaimer};

/// One holder of an allocation; a clone is another.
pub(crate) struct AllocationRef(NonNull<Counted>);

struct Counted {
    /// The holders but one.
    others: AtomicUsize,
    allocation: Allocation,
}

// SAFETY: it gives out shared references to an `Allocation`, which may be used from any thread, and the last
// holder drops it, on whichever thread that is; an `Allocation` may go to another thread.
unsafe impl Send for AllocationRef where Allocation: Send + Sync {}
// SAFETY: as above.
unsafe impl Sync for AllocationRef where Allocation: Send + Sync {}

/// The most that a thread keeps for the next allocations.
const KEPT: usize = 16;

thread_local! {
    /// Boxes of freed allocations, for reuse.
    #[expect(clippy::vec_box, reason = "a box is handed out as it is")]
    static SPARE: RefCell<Vec<Box<MaybeUninit<Counted>>>> = const { RefCell::new(Vec::new()) };
}

/// Room for another; a thread that is ending may have lost its spares.
#[inline]
fn room() -> Box<MaybeUninit<Counted>> {
    let spare = SPARE.try_with(|spare| spare.borrow_mut().pop()).ok().flatten();
    spare.unwrap_or_else(Box::new_uninit)
}

/// Keeps the box of a freed allocation.
///
/// # Safety
///
/// It came from [`room`], and is not used again.
#[inline]
unsafe fn keep(gone: NonNull<Counted>) {
    // SAFETY: it came from a box of the same layout, which nobody else has.
    let room = unsafe { Box::from_raw(gone.as_ptr().cast::<MaybeUninit<Counted>>()) };
    // A box that does not fit into the list, or comes after the thread's list is gone, is dropped.
    let _ = SPARE.try_with(|spare| {
        let mut spare = spare.borrow_mut();
        if spare.len() < KEPT {
            spare.push(room);
        }
    });
}

impl AllocationRef {
    /// Holds the allocation of `make`, built in place: moved there right after it was written piece by piece,
    /// it would be read before the pieces have arrived.
    #[inline]
    pub(super) fn new(make: impl FnOnce() -> Allocation) -> AllocationRef {
        let room = room();
        let counted = Box::write(room, Counted { others: AtomicUsize::new(0), allocation: make() });
        AllocationRef(NonNull::from(Box::leak(counted)))
    }

    #[inline]
    fn counted(&self) -> &Counted {
        // SAFETY: it came from a box, which is emptied by the last holder; this is one.
        unsafe { self.0.as_ref() }
    }

    /// Tells the allocation from others, while it is held.
    pub(crate) fn identity(&self) -> usize {
        self.0.addr().get()
    }

    /// Lets a stream use the memory: after its allocation, and before its end. Called before anything is
    /// enqueued. A stream that is captured does not use it, and its graph keeps it.
    #[inline]
    pub(crate) fn meet(&self, stream: &Stream) -> Result<()> {
        if self.is_captured_by(stream)? { Ok(()) } else { self.counted().allocation.meet(stream) }
    }

    /// Lets a stream launch graphs that use the memory, from now on and as often as it likes.
    pub(crate) fn meet_launches(&self, stream: &Stream) -> Result<()> {
        self.counted().allocation.meet_launches(stream)
    }

    /// Records the access that was enqueued on a stream that has met the memory.
    #[inline]
    pub(crate) fn did(&self, stream: &Stream, access: Access) {
        if !(capture::any() && capture::did(self, stream, access)) {
            self.counted().allocation.did(stream, access);
        }
    }

    /// `true` if the stream is captured, whose graph keeps the memory then.
    #[inline]
    fn is_captured_by(&self, stream: &Stream) -> Result<bool> {
        if !capture::any() {
            return Ok(false);
        }
        self.note_accessor(stream.device());
        capture::keep(self, stream)
    }

    /// The allocation, to be changed, if it is the only reference.
    pub(super) fn get_mut(&mut self) -> Option<&mut Allocation> {
        // As in `leave`; and this holder is borrowed for as long, so that it makes no other.
        if self.counted().others.load(Ordering::Acquire) > 0 {
            return None;
        }
        // SAFETY: it came from a box, and it has no other owner or a reference into it.
        Some(unsafe { &mut self.0.as_mut().allocation })
    }

    /// The allocation itself, if it is the only reference.
    pub(super) fn into_inner(self) -> Option<Allocation> {
        let held = ManuallyDrop::new(self);
        // SAFETY: this holder is gone with the call.
        let last = unsafe { held.leave() }?;
        // SAFETY: the last holder has it to itself, and takes it out once.
        let Counted { allocation, .. } = unsafe { last.read() };
        // SAFETY: as above; it is empty now.
        unsafe { keep(last) };
        Some(allocation)
    }

    /// Gives up a share; the last holder gets everything.
    ///
    /// # Safety
    ///
    /// Called once for each holder, which is not used afterwards.
    #[inline]
    unsafe fn leave(&self) -> Option<NonNull<Counted>> {
        let others = &self.counted().others;
        // Only a holder makes another one, so that who is alone stays alone. What those who left did before
        // has to be seen here. If the last two leave at once, both see each other, and the count says who was
        // later.
        let is_last = others.load(Ordering::Acquire) == 0 || others.fetch_sub(1, Ordering::AcqRel) == 0;
        is_last.then_some(self.0)
    }
}

impl Clone for AllocationRef {
    fn clone(&self) -> AllocationRef {
        let others = self.counted().others.fetch_add(1, Ordering::Relaxed);
        // Each holder takes space, so that there cannot be as many unless they are forgotten in a loop.
        if others > usize::MAX / 2 {
            std::process::abort();
        }
        AllocationRef(self.0)
    }
}

impl Deref for AllocationRef {
    type Target = Allocation;

    #[inline]
    fn deref(&self) -> &Allocation {
        &self.counted().allocation
    }
}

impl Drop for AllocationRef {
    fn drop(&mut self) {
        // SAFETY: the holder is gone afterwards.
        let Some(last) = (unsafe { self.leave() }) else { return };
        if callback::is_running() {
            // SAFETY: the last holder has it to itself, and takes it out once.
            reclaimer::defer(unsafe { last.read() }.allocation);
        } else {
            // SAFETY: the last holder has it to itself.
            unsafe { last.drop_in_place() };
        }
        // SAFETY: as above; it is empty now.
        unsafe { keep(last) };
    }
}
