//! Pending copies as futures.

use std::fmt;
use std::pin::Pin;
use std::task::{Context as Task, Poll, ready};

use super::Pending;
use crate::memory::pinned::PinnedBuffer;
use crate::{Completion, DeviceCopy, Event, Result};

/// A future that is ready when a copy is done, with the page-locked memory that the copy had taken along; see
/// [`Pending::wait`] for the meaning of a failure.
///
/// Dropping it before that is as good as dropping the [`Pending`] copy: the memory is freed when the copy is
/// done, for which the drop waits.
///
/// ```
/// use warploom::{DevicePool, Driver, PinnedBuffer, PinnedMemory, Result, Stream};
///
/// async fn there_and_back(words: &[u8], pool: &DevicePool, stream: &Stream) -> Result<PinnedBuffer> {
///     let memory = PinnedMemory::new(stream.context());
///     let mut device = pool.allocate(words.len(), stream)?;
///     let sent = device.as_slice_mut().copy_from_pinned(memory.buffer_of(words)?, stream)?.await?;
///     device.as_slice().copy_to_pinned(sent, stream)?.await
/// }
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
/// # let context = driver.device(0)?.context()?;
/// # let (stream, pool) = (context.stream()?, DevicePool::new(&context)?);
/// # let mut task = std::pin::pin!(there_and_back(b"again", &pool, &stream));
/// # struct Unpark(std::thread::Thread);
/// # impl std::task::Wake for Unpark { fn wake(self: std::sync::Arc<Self>) { self.0.unpark() } }
/// # let waker = std::sync::Arc::new(Unpark(std::thread::current())).into();
/// # let back = loop {
/// #     match task.as_mut().poll(&mut std::task::Context::from_waker(&waker)) {
/// #         std::task::Poll::Ready(result) => break result?,
/// #         std::task::Poll::Pending => std::thread::park(),
/// #     }
/// # };
/// # assert_eq!(back.as_slice(), b"again");
/// # Ok(())
/// # }
/// ```
#[must_use = "futures do nothing unless they are awaited"]
pub struct PinnedReturn<T: DeviceCopy> {
    /// `None` when it has been returned.
    taken: Option<PinnedBuffer<T>>,
    done: Completion<Event>,
}

impl<T: DeviceCopy> IntoFuture for Pending<PinnedBuffer<T>> {
    type Output = Result<PinnedBuffer<T>>;
    type IntoFuture = PinnedReturn<T>;

    /// As [`Pending::wait`], for tasks.
    fn into_future(self) -> PinnedReturn<T> {
        let (taken, done) = self.into_parts();
        PinnedReturn { taken: Some(taken), done: done.into_future() }
    }
}

/// The values are elsewhere, and nothing here points to itself.
impl<T: DeviceCopy> Unpin for PinnedReturn<T> {}

impl<T: DeviceCopy> Future for PinnedReturn<T> {
    type Output = Result<PinnedBuffer<T>>;

    /// Once it has been ready, it never is again.
    fn poll(self: Pin<&mut Self>, task: &mut Task<'_>) -> Poll<Result<PinnedBuffer<T>>> {
        let this = self.get_mut();
        if this.taken.is_none() {
            return Poll::Pending;
        }
        let done = ready!(Pin::new(&mut this.done).poll(task));
        match this.taken.take() {
            // With an error, the memory is dropped, which waits in its own way.
            Some(taken) => Poll::Ready(done.map(|()| taken.given_back())),
            None => Poll::Pending,
        }
    }
}

impl<T: DeviceCopy> fmt::Debug for PinnedReturn<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("PinnedReturn").field("taken", &self.taken).finish_non_exhaustive()
    }
}
