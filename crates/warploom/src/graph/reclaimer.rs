//! Deferred release of the values that graphs keep.
//!
//! The driver destroys a user object on the thread that lets go of the last reference, inside of its own
//! call, where CUDA must not be called. Dropping a buffer or a library there would call it. So the destructor
//! only pushes the item on a stack and wakes a thread, which drops it:
//!
//! ```text
//!   cuGraphDestroy ──▶ destructor: push ──▶ stack ──▶ reclaimer thread, or reclaim(): drop the owners
//! ```
//!
//! An item is allocated with its owners, so that the destructor allocates nothing, and it takes no lock. The
//! thread starts with the first item that is given to a driver. Items that are left when the process ends are
//! leaked.
#![expect(unsafe_code, reason = "hands items to a C destructor and takes them back")]

use std::cell::Cell;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread::{self, Thread};

use super::bundle::Bundle;

/// A bundle of owners that a user object of the driver keeps.
pub(super) struct Item {
    /// The item below on the stack.
    next: *mut Item,
    bundle: Bundle,
}

impl Item {
    /// An item for a user object, whose destructor is [`destroy`]. It is freed by that, or by [`Item::take`].
    pub(super) fn leak(bundle: Bundle) -> NonNull<Item> {
        start();
        NonNull::from(Box::leak(Box::new(Item { next: null_mut(), bundle })))
    }

    /// # Safety
    ///
    /// A user object keeps the item, or will.
    pub(super) unsafe fn bundle<'a>(item: NonNull<Item>) -> &'a Bundle {
        // SAFETY: the item is there while a user object keeps it, and is not written meanwhile.
        unsafe { &item.as_ref().bundle }
    }

    /// The bundle of an item that no user object keeps.
    ///
    /// # Safety
    ///
    /// The item comes from [`Item::leak`], and this is its only use from now on.
    pub(super) unsafe fn take(item: NonNull<Item>) -> Bundle {
        // SAFETY: it came from a box, and the caller gives it up.
        unsafe { Box::from_raw(item.as_ptr()) }.bundle
    }
}

/// The items that wait to be dropped; the last is on top.
static STACK: AtomicPtr<Item> = AtomicPtr::new(null_mut());

/// Held while items are dropped, so that [`reclaim`] returns after those that the thread has taken.
static DRAINING: Mutex<()> = Mutex::new(());

static CONSUMER: OnceLock<Thread> = OnceLock::new();

thread_local! {
    /// `true` while this thread drops items: an owner's drop may come here again.
    static IS_DRAINING: Cell<bool> = const { Cell::new(false) };
}

/// The destructor of user objects: only pushes and wakes.
///
/// # Safety
///
/// `data` comes from [`Item::leak`], and no user object keeps it any more.
pub(super) unsafe extern "C" fn destroy(data: *mut c_void) {
    let item = data.cast::<Item>();
    let mut below = STACK.load(Ordering::Relaxed);
    loop {
        // SAFETY: the item is this thread's alone until it is on the stack.
        unsafe { (*item).next = below };
        match STACK.compare_exchange_weak(below, item, Ordering::Release, Ordering::Relaxed) {
            Ok(_) => break,
            Err(now) => below = now,
        }
    }
    if let Some(consumer) = CONSUMER.get() {
        consumer.unpark();
    }
}

/// Starts the thread; if there can be none, items wait for [`reclaim`].
fn start() {
    if CONSUMER.get().is_some() {
        return;
    }
    let _starting = DRAINING.lock().unwrap_or_else(PoisonError::into_inner);
    if CONSUMER.get().is_some() {
        return;
    }
    let consume = || {
        loop {
            thread::park();
            reclaim();
        }
    };
    if let Ok(started) = thread::Builder::new().name("warploom-reclaimer".to_owned()).spawn(consume) {
        CONSUMER.get_or_init(|| started.thread().clone());
        // An item may have been pushed before there was a thread to wake.
        started.thread().unpark();
    }
}

/// Drops the values that destroyed graphs have kept so far, and waits for drops on other threads.
///
/// Graphs release the memory, code and closures that they keep on a thread of their own, soon after the last
/// of definition, executables and launches is gone. A program that wants to see the effect, such as a test
/// that counts memory, calls this. It must not be called in a host function or another callback of the
/// driver.
pub fn reclaim() {
    if IS_DRAINING.get() {
        return; // the drop of an owner; the caller above goes on with the rest
    }
    let _draining = DRAINING.lock().unwrap_or_else(PoisonError::into_inner);
    IS_DRAINING.set(true);
    loop {
        let mut top = STACK.swap(null_mut(), Ordering::Acquire);
        if top.is_null() {
            break;
        }
        // Oldest first.
        let mut oldest = null_mut::<Item>();
        while let Some(item) = NonNull::new(top) {
            // SAFETY: what was on the stack is this thread's alone.
            unsafe {
                top = (*item.as_ptr()).next;
                (*item.as_ptr()).next = oldest;
            }
            oldest = item.as_ptr();
        }
        while let Some(item) = NonNull::new(oldest) {
            // SAFETY: as above; each is taken once.
            oldest = unsafe { item.as_ref() }.next;
            // SAFETY: as above.
            let bundle = unsafe { Item::take(item) };
            if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(bundle))) {
                // The payload may panic when it is dropped. The rest is still to be released.
                std::mem::forget(payload);
            }
        }
    }
    IS_DRAINING.set(false);
}
