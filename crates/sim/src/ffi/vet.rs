//! Asking the kernel about a C caller's pointer before it is followed.
//!
//! A machine that checks pointers refuses a wild one; the real driver would follow it and take the process down. Only
//! what the kernel knows can be checked: that memory is there and can be read or written, not that it is the right memory
//! or that as much of it is meant as the call needs. It costs a system call for each pointer.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::api::copy::{Intent, is_own};
use crate::ffi::status::{INVALID_VALUE, Status};

/// Machines that check pointers, or have; while there are none, nobody looks further.
static CHECKING: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static IS_ON: Cell<bool> = const { Cell::new(false) };
    /// What was found in order last; most pointers are looked at once before the work and once after it.
    static LAST: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
    static REASON: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// There is a machine that checks pointers.
pub(crate) fn enable() {
    CHECKING.fetch_add(1, Ordering::Relaxed);
}

/// Runs the body of a call of a machine that checks pointers; what it answers, and why a pointer of it was refused.
pub(crate) fn checking<R>(body: impl FnOnce() -> R) -> (R, Option<String>) {
    let outer = IS_ON.replace(true);
    LAST.set((0, 0));
    let answer = body();
    IS_ON.set(outer);
    LAST.set((0, 0));
    // A thread that is ending has no place for a reason left.
    (answer, REASON.try_with(RefCell::take).unwrap_or_default())
}

/// Refuses a pointer that is no good for `len` bytes, if the machine checks pointers.
pub(super) fn vet(address: u64, len: u64, intent: Intent) -> Status {
    if CHECKING.load(Ordering::Relaxed) == 0 || !IS_ON.get() || len == 0 {
        return Ok(());
    }
    let wanted = (address, len << 1 | u64::from(intent == Intent::Write));
    if LAST.get() == wanted {
        return Ok(());
    }
    if is_own(address, len, intent) {
        LAST.set(wanted);
        return Ok(());
    }
    let what = if intent == Intent::Write { "written" } else { "read" };
    let reason = format!(
        "{address:#x}, an argument, is not the address of memory that can be {what}; the real driver would crash here"
    );
    REASON.try_with(|noted| *noted.borrow_mut() = Some(reason)).unwrap_or_default();
    Err(INVALID_VALUE)
}
