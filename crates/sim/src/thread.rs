//! What the driver knows of a host thread: its current contexts, and whether it is inside a host function.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::context::Context;
use crate::handles::Handle;

/// Names a host thread for good; the operating system reuses its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ThreadKey(u64);

/// The contexts of one machine on one thread; the last is current.
struct Stack {
    machine: u64,
    contexts: Vec<Handle<Context>>,
}

thread_local! {
    static KEY: ThreadKey = {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        ThreadKey(NEXT.fetch_add(1, Ordering::Relaxed))
    };
    static STACKS: RefCell<Vec<Stack>> = const { RefCell::new(Vec::new()) };
    static IN_HOST_FUNCTION: Cell<bool> = const { Cell::new(false) };
}

/// This thread. While the thread's storage is being torn down every thread looks the same.
pub(crate) fn key() -> ThreadKey {
    KEY.try_with(|key| *key).unwrap_or(ThreadKey(0))
}

/// Works on this thread's contexts of a machine; the last is the current one. On a thread that is ending there are none.
pub(crate) fn with_contexts<R: Default>(machine: u64, work: impl FnOnce(&mut Vec<Handle<Context>>) -> R) -> R {
    STACKS
        .try_with(|stacks| {
            let mut stacks = stacks.borrow_mut();
            let at = stacks.iter().position(|stack| stack.machine == machine).unwrap_or_else(|| {
                stacks.push(Stack { machine, contexts: Vec::new() });
                stacks.len() - 1
            });
            let result = work(&mut stacks[at].contexts);
            if stacks[at].contexts.is_empty() {
                stacks.swap_remove(at);
            }
            result
        })
        .unwrap_or_default()
}

/// Whether this thread is running a host function for some machine; CUDA calls are not permitted there.
pub(crate) fn is_in_host_function() -> bool {
    IN_HOST_FUNCTION.try_with(Cell::get).unwrap_or(false)
}

/// Runs a program's host function.
pub(crate) fn in_host_function(function: impl FnOnce()) {
    let before = IN_HOST_FUNCTION.try_with(|flag| flag.replace(true)).unwrap_or(false);
    function();
    // A thread that is ending has no flag left to restore.
    IN_HOST_FUNCTION.try_with(|flag| flag.set(before)).unwrap_or_default();
}
