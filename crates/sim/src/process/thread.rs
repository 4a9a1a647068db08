//! Host threads: their keys, and their state per machine (current contexts, host function, capture mode).

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use warploom_sys::types::CUstreamCaptureMode;

use crate::ffi::handle::ContextHandle;
use crate::process::home::lock_briefly_held;

/// Names a host thread for good; the operating system reuses its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ThreadKey(u64);

impl ThreadKey {
    /// No thread's.
    pub(crate) const NONE: ThreadKey = ThreadKey(0);

    pub(crate) fn number(self) -> u64 {
        self.0
    }
}

/// The contexts of one machine on one thread; the last is current.
struct Stack {
    machine: u64,
    contexts: Vec<ContextHandle>,
}

/// The threads that have a key and have not ended.
static LIVING: LazyLock<Mutex<HashSet<ThreadKey>>> = LazyLock::new(Mutex::default);

/// Strikes its thread off the living ones when the thread ends.
struct Life(ThreadKey);

impl Drop for Life {
    fn drop(&mut self) {
        if let Some(mut living) = lock_briefly_held(&LIVING) {
            living.remove(&self.0);
        }
    }
}

thread_local! {
    static KEY: Life = {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let key = ThreadKey(NEXT.fetch_add(1, Ordering::Relaxed));
        if let Some(mut living) = lock_briefly_held(&LIVING) {
            living.insert(key);
        }
        Life(key)
    };
    static STACKS: RefCell<Vec<Stack>> = const { RefCell::new(Vec::new()) };
    static IN_HOST_FUNCTION: Cell<Option<u64>> = const { Cell::new(None) };
    static CALL: Cell<u64> = const { Cell::new(0) };
    static CAPTURE_MODES: RefCell<Vec<(u64, CUstreamCaptureMode)>> = const { RefCell::new(Vec::new()) };
}

/// This thread. While the thread's storage is being torn down every thread looks the same.
pub(crate) fn key() -> ThreadKey {
    KEY.try_with(|life| life.0).unwrap_or(ThreadKey::NONE)
}

/// `true` if a thread that had a key has not ended.
pub(crate) fn is_living(key: ThreadKey) -> bool {
    lock_briefly_held(&LIVING).is_none_or(|living| living.contains(&key))
}

/// `true` if this thread has a name. Rust knows the names it gave; of other threads the system knows the
/// first 15 bytes.
pub(crate) fn is_called(name: &str) -> bool {
    if let Some(known) = std::thread::current().name() {
        return known == name;
    }
    let known = std::fs::read_to_string("/proc/thread-self/comm").unwrap_or_default();
    !name.is_empty() && known.trim_end_matches('\n') == &name[..name.floor_char_boundary(15)]
}

/// Works on this thread's contexts of a machine; the last is the current one. On a thread that is ending
/// there are none.
pub(crate) fn with_contexts<R: Default>(machine: u64, work: impl FnOnce(&mut Vec<ContextHandle>) -> R) -> R {
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

/// `true` if a context of a machine is current on this thread.
pub(crate) fn has_context(machine: u64) -> bool {
    with_contexts(machine, |stack| !stack.is_empty())
}

/// `true` if this thread is running a host function of a machine; few driver calls are permitted there.
pub(crate) fn is_in_host_function(machine: u64) -> bool {
    IN_HOST_FUNCTION.try_with(|flag| flag.get() == Some(machine)).unwrap_or(false)
}

/// Runs a program's host function on behalf of a machine.
pub(crate) fn in_host_function<R>(machine: u64, function: impl FnOnce() -> R) -> R {
    let before = IN_HOST_FUNCTION.try_with(|flag| flag.replace(Some(machine))).unwrap_or(None);
    let result = function();
    // A thread that is ending has no flag left to restore.
    IN_HOST_FUNCTION.try_with(|flag| flag.set(before)).unwrap_or_default();
    result
}

/// The number of the call that this thread is in; 0 outside of calls, and where calls have no numbers.
pub(crate) fn current_call() -> u64 {
    CALL.get()
}

/// This thread is in a call; the number of the one that it was in already, for [`leave_call`].
pub(crate) fn enter_call(number: u64) -> u64 {
    CALL.replace(number)
}

/// This thread leaves a call.
pub(crate) fn leave_call(outer: u64) {
    CALL.set(outer);
}

/// This thread's capture mode, which decides the unsafe calls it may make while a stream of a machine is
/// captured.
pub(crate) fn capture_mode(machine: u64) -> CUstreamCaptureMode {
    let initial = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL;
    let find = |modes: &RefCell<Vec<(u64, CUstreamCaptureMode)>>| {
        modes.borrow().iter().find(|(owner, _)| *owner == machine).map_or(initial, |(_, mode)| *mode)
    };
    CAPTURE_MODES.try_with(find).unwrap_or(initial)
}

/// Swaps how careful this thread is about unsafe calls while a stream of a machine is captured.
pub(crate) fn exchange_capture_mode(machine: u64, mode: CUstreamCaptureMode) -> CUstreamCaptureMode {
    let initial = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL;
    let exchange = |modes: &RefCell<Vec<(u64, CUstreamCaptureMode)>>| {
        let mut modes = modes.borrow_mut();
        match modes.iter().position(|(owner, _)| *owner == machine) {
            Some(at) if mode == initial => modes.swap_remove(at).1,
            Some(at) => std::mem::replace(&mut modes[at].1, mode),
            None if mode == initial => initial,
            None => {
                modes.push((machine, mode));
                initial
            }
        }
    };
    CAPTURE_MODES.try_with(exchange).unwrap_or(initial)
}
