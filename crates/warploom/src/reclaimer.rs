//! The reclaimer: drops values where CUDA can be called.
//!
//! CUDA must not be called in a callback of the driver: in a host function, in a waker, or in the destructor
//! of a user object, which the driver runs on the thread that lets go of the last reference. Dropping a
//! buffer or a library there would call it. So such a value is pushed on a stack, and a thread is woken that
//! drops it:
//!
//! ```text
//!   cuGraphDestroy ──▶ destructor: push ──┐
//!                                         ├──▶ stack ──▶ reclaimer thread, or reclaim(): drop the values
//!   host function  ──▶ drop: push ────────┘
//! ```
//!
//! An item is allocated with its value, so that the destructor of a user object allocates nothing, and it
//! takes no lock. The thread starts with the first item. Items that are left when the process ends are
//! leaked.
#![expect(unsafe_code, reason = "hands items to a C destructor and takes them back")]

use std::cell::Cell;
use std::ffi::c_void;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread::{self, Thread};

use warploom_driver::user_code;

use crate::callback;

/// A value that is dropped later, such as the owners that a user object of the driver keeps.
#[repr(C)]
pub(crate) struct Item<T> {
    /// The first field: a pointer to an item is one to its link.
    link: Link,
    value: T,
}

/// An item on the stack, whose type is forgotten.
struct Link {
    /// The item below.
    next: *mut Link,
    /// Drops the item, once.
    release: unsafe fn(NonNull<Link>),
}

impl<T: Send + 'static> Item<T> {
    /// An item for a user object, whose destructor is [`destroy`]. It is freed by that, or by [`Item::take`].
    pub(crate) fn leak(value: T) -> NonNull<Item<T>> {
        start();
        let link = Link { next: null_mut(), release: Item::<T>::release };
        NonNull::from(Box::leak(Box::new(Item { link, value })))
    }

    /// The value of an item that no user object keeps.
    ///
    /// # Safety
    ///
    /// The item comes from [`Item::leak`], and this is its only use from now on.
    pub(crate) unsafe fn take(item: NonNull<Item<T>>) -> T {
        // SAFETY: it came from a box, and the caller gives it up.
        unsafe { Box::from_raw(item.as_ptr()) }.value
    }

    /// # Safety
    ///
    /// The link is that of an item of this type, which is not used again.
    unsafe fn release(link: NonNull<Link>) {
        // SAFETY: the caller's promise; the link is the first field, and the pointer is that of the item.
        drop(unsafe { Item::<T>::take(link.cast()) });
    }
}

/// The items that wait to be dropped; the last is on top.
static STACK: AtomicPtr<Link> = AtomicPtr::new(null_mut());

/// Held while items are dropped, so that [`reclaim`] returns after those that the thread has taken.
static DRAINING: Mutex<()> = Mutex::new(());

/// The thread; `None` if there can be none.
static CONSUMER: OnceLock<Option<Thread>> = OnceLock::new();

thread_local! {
    /// `true` while this thread drops items: an owner's drop may come here again.
    static IS_DRAINING: Cell<bool> = const { Cell::new(false) };
}

/// Drops a value later, where CUDA can be called.
#[cold]
pub(crate) fn defer<T: Send + 'static>(value: T) {
    push(Item::leak(value).cast());
}

/// The destructor of user objects: only pushes and wakes.
///
/// # Safety
///
/// `data` comes from [`Item::leak`], and no user object keeps it any more.
pub(crate) unsafe extern "C" fn destroy(data: *mut c_void) {
    if let Some(link) = NonNull::new(data.cast()) {
        push(link);
    }
}

/// Puts an item that nothing else uses on the stack.
fn push(link: NonNull<Link>) {
    let link = link.as_ptr();
    let mut below = STACK.load(Ordering::Relaxed);
    loop {
        // SAFETY: the item is this thread's alone until it is on the stack.
        unsafe { (*link).next = below };
        match STACK.compare_exchange_weak(below, link, Ordering::Release, Ordering::Relaxed) {
            Ok(_) => break,
            Err(now) => below = now,
        }
    }
    if let Some(Some(consumer)) = CONSUMER.get() {
        consumer.unpark();
    }
}

/// Starts the thread; if there can be none, items wait for [`reclaim`].
fn start() {
    let consume = || {
        loop {
            thread::park();
            reclaim();
        }
    };
    CONSUMER.get_or_init(|| {
        let started = thread::Builder::new().name("warploom-reclaimer".to_owned()).spawn(consume).ok()?;
        Some(started.thread().clone())
    });
}

/// Drops the values that were pushed so far, and waits for such drops on other threads. Does nothing in a callback of
/// the driver.
pub(crate) fn reclaim() {
    if IS_DRAINING.get() || callback::is_running() {
        return; // the drop of an owner, whose caller above goes on with the rest; or CUDA cannot be called
    }
    let _draining = DRAINING.lock().unwrap_or_else(PoisonError::into_inner);
    IS_DRAINING.set(true);
    loop {
        let mut top = STACK.swap(null_mut(), Ordering::Acquire);
        if top.is_null() {
            break;
        }
        // Oldest first.
        let mut oldest = null_mut::<Link>();
        while let Some(link) = NonNull::new(top) {
            // SAFETY: what was on the stack is this thread's alone.
            unsafe {
                top = (*link.as_ptr()).next;
                (*link.as_ptr()).next = oldest;
            }
            oldest = link.as_ptr();
        }
        while let Some(link) = NonNull::new(oldest) {
            // SAFETY: as above; each is taken once.
            let Link { next, release } = unsafe { link.read() };
            oldest = next;
            // The rest is released although one panics.
            // SAFETY: as above; the function is that of the item's type.
            user_code::run(|| unsafe { release(link) });
        }
    }
    IS_DRAINING.set(false);
}
