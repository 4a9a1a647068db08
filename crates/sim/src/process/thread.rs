//! Host threads: their keys, their names, and the call that each of them is in.

use std::cell::Cell;
use std::collections::HashSet;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use super::fork::lock_briefly_held;

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
    static CALL: Cell<u64> = const { Cell::new(0) };
}

/// This thread. While the thread's storage is being torn down every thread looks the same.
pub(crate) fn key() -> ThreadKey {
    KEY.try_with(|life| life.0).unwrap_or(ThreadKey::NONE)
}

/// Whether a thread that had a key has not ended.
pub(crate) fn is_living(key: ThreadKey) -> bool {
    lock_briefly_held(&LIVING).is_none_or(|living| living.contains(&key))
}

/// Whether this thread has a name. Rust knows the names it gave; of other threads the system knows the first 15 bytes.
pub(crate) fn is_called(name: &str) -> bool {
    if let Some(known) = std::thread::current().name() {
        return known == name;
    }
    let known = std::fs::read_to_string("/proc/thread-self/comm").unwrap_or_default();
    !name.is_empty() && known.trim_end_matches('\n') == &name[..name.floor_char_boundary(15)]
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
