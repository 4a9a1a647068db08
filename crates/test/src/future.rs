//! Futures of tests, run to their end on the calling thread.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake};
use std::thread::Thread;
use std::time::{Duration, Instant};

/// The longest sleep between two polls. A machine in a deterministic order runs work only inside driver calls,
/// so a future has to ask again where hardware would wake it.
const NAP: Duration = Duration::from_millis(1);
/// The time after which a future counts as stuck.
const LIMIT: Duration = Duration::from_secs(60);

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs a future to its end; the thread sleeps while there is nothing to do. This is how `async` tests run.
///
/// ```
/// assert_eq!(warploom_test::block_on(async { 6 * 7 }), 42);
/// ```
///
/// # Panics
///
/// If the future is not ready after a minute.
#[track_caller]
pub fn block_on<F: IntoFuture>(future: F) -> F::Output {
    let mut future = pin!(future.into_future());
    let waker = Arc::new(Unpark(std::thread::current())).into();
    let began = Instant::now();
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        assert!(began.elapsed() < LIMIT, "the future is not ready after {LIMIT:?}; no work of a stream wakes it");
        std::thread::park_timeout(NAP);
    }
}
