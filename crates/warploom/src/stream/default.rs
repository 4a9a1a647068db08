//! The default streams of a context: legacy and per-thread.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::ptr::without_provenance_mut;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::info::StreamInfo;
use super::{Origin, Stream};
use crate::Context;

/// `CU_STREAM_LEGACY`.
pub(super) const LEGACY: usize = 1;
/// `CU_STREAM_PER_THREAD`.
pub(super) const PER_THREAD: usize = 2;

impl Context {
    /// The legacy default stream of this context: it waits for every blocking stream of the context, and they
    /// wait for it.
    ///
    /// Nothing uses it unless it is named. Its calls make the context current, and restore the previous one:
    /// up to three driver calls more than those of a stream that was made.
    #[doc(alias = "CU_STREAM_LEGACY")]
    #[must_use]
    pub fn legacy_stream(&self) -> Stream {
        // SAFETY: every context has this stream, under this handle.
        unsafe { Stream::new(without_provenance_mut(LEGACY), Origin::Legacy, self, StreamInfo::default()) }
    }

    /// The default stream of this context for the calling thread, which is a blocking stream.
    ///
    /// It belongs to the thread that asked for it: on another thread its calls are
    /// [`StreamError::OtherThread`](crate::StreamError::OtherThread), since there the driver would take
    /// another stream. The value itself may go anywhere, as it must, since buffers that are freed in its
    /// order hold it; see [`Stream::for_teardown`].
    ///
    /// ```
    /// use warploom::{Driver, StreamError};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
    /// let stream = driver.device(0)?.context()?.per_thread_stream();
    /// stream.synchronize()?;
    /// let elsewhere = std::thread::spawn(move || stream.synchronize()).join();
    /// assert_eq!(elsewhere.expect("it does not panic"), Err(StreamError::OtherThread.into()));
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "CU_STREAM_PER_THREAD")]
    #[must_use]
    pub fn per_thread_stream(&self) -> Stream {
        let (raw, origin) = (without_provenance_mut(PER_THREAD), Origin::PerThread(ThreadKey::this()));
        // SAFETY: every context has such a stream for each thread, under this handle.
        unsafe { Stream::new(raw, origin, self, StreamInfo::default()) }
    }
}

impl Stream {
    /// `true` if it is the legacy default stream, by either of its handles.
    pub(crate) fn is_legacy(&self) -> bool {
        self.as_raw().addr() <= LEGACY
    }

    /// `true` if this thread may use it.
    #[inline]
    pub(crate) fn is_here(&self) -> bool {
        match &self.shared.origin {
            Origin::PerThread(thread) => thread.is_this(),
            _ => true,
        }
    }

    /// `true` if it is the per-thread default stream of a thread that has ended.
    pub(super) fn is_of_ended_thread(&self) -> bool {
        matches!(&self.shared.origin, Origin::PerThread(thread) if thread.has_ended())
    }

    /// The stream on which this thread may free memory that was ordered by this one.
    ///
    /// It is the stream itself, unless that is the per-thread default stream of another thread: such a stream
    /// cannot be reached from here, and its thread may have ended. Then it is the legacy default stream of
    /// the same context. That one waits for all blocking streams, the per-thread ones included, so the free
    /// still comes after everything that was enqueued before.
    #[must_use]
    pub fn for_teardown(&self) -> Cow<'_, Stream> {
        if self.is_here() { Cow::Borrowed(self) } else { Cow::Owned(self.context().legacy_stream()) }
    }
}

/// A thread, by a number that no other thread of the process ever has.
///
/// Not the standard library's, which cannot be asked for while a thread's locals are being dropped.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct ThreadKey(u64);

/// The threads that have a number and have not ended.
static RUNNING: Mutex<BTreeSet<u64>> = Mutex::new(BTreeSet::new());

fn running() -> MutexGuard<'static, BTreeSet<u64>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

thread_local! {
    /// 0 until the thread is first asked for its number.
    static KEY: Cell<u64> = const { Cell::new(0) };
    /// Dropped when the thread ends.
    static END: ThreadEnd = const { ThreadEnd };
}

/// The end of a thread: it gives its number up.
struct ThreadEnd;

impl Drop for ThreadEnd {
    fn drop(&mut self) {
        running().remove(&KEY.replace(0));
    }
}

impl ThreadKey {
    /// The calling thread.
    pub(super) fn this() -> ThreadKey {
        let known = KEY.get();
        ThreadKey(if known == 0 { ThreadKey::number() } else { known })
    }

    /// A number for the calling thread. While the locals of a thread are being dropped, the number is even, and
    /// its end is not seen.
    #[cold]
    fn number() -> u64 {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let number = NEXT.fetch_add(1, Ordering::Relaxed) << 1;
        let number = END.try_with(|_| number | 1).unwrap_or(number);
        if number & 1 == 1 {
            running().insert(number);
        }
        KEY.set(number);
        number
    }

    /// `true` if it is the calling thread.
    pub(super) fn is_this(self) -> bool {
        self == ThreadKey::this()
    }

    /// `true` if the thread has ended, as far as that is seen.
    fn has_ended(self) -> bool {
        self.0 & 1 == 1 && !running().contains(&self.0)
    }
}
