//! Optional checks of a C caller's pointers before they are followed.
//!
//! A machine that checks pointers refuses a wild one; the real driver would follow it and take the process
//! down. The check asks the kernel: the memory is mapped and can be read or written. It cannot tell the right
//! memory from other memory of the program, nor a buffer that is too short from one that other memory
//! follows. It costs a system call per pointer.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::host_memory::{Intent, is_own};
use super::status::{INVALID_VALUE, Status};

/// Number of started machines that check pointers; while it is 0, the thread's state is not looked at.
static CHECKING: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// A call of a machine that checks pointers is running on this thread.
    static IS_ON: Cell<bool> = const { Cell::new(false) };
    /// The pointer that passed last, with its length and intent; most are checked before the work and again
    /// after it.
    static LAST: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
    /// The reason why a pointer was refused.
    static REASON: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Notes that a machine that checks pointers was started.
pub(crate) fn enable() {
    CHECKING.fetch_add(1, Ordering::Relaxed);
}

/// Runs the body of a call with checks on; its answer, and the reason why a pointer of it was refused.
pub(crate) fn checking<R>(body: impl FnOnce() -> R) -> (R, Option<String>) {
    let outer = IS_ON.replace(true);
    LAST.set((0, 0));
    let answer = body();
    IS_ON.set(outer);
    LAST.set((0, 0));
    // A thread that is ending has lost its thread-local reason.
    (answer, REASON.try_with(RefCell::take).unwrap_or_default())
}

/// Refuses a pointer to fewer than `len` readable or writable bytes, if the machine checks pointers.
pub(super) fn check(address: u64, len: u64, intent: Intent) -> Status {
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
    let access = if intent == Intent::Write { "written" } else { "read" };
    let reason = format!(
        "{address:#x}, an argument, is not the address of memory that can be {access}; the real driver would crash here"
    );
    REASON.try_with(|noted| *noted.borrow_mut() = Some(reason)).unwrap_or_default();
    Err(INVALID_VALUE)
}
