//! Completion of work as a future, for any executor.
//!
//! A future asks its event first. If that is not done, a stream of its own, a *relay*, is made to wait for
//! the event and then to call back, and the call wakes the task. The program's own streams are not held up by
//! that, no thread waits, and nothing polls. The driver makes the call also when work has
//! failed, so that no task sleeps forever; the task then asks the event, and gets the failure.
//!
//! ```text
//!   stream  ──▶ work ──▶ event ──▶ more work
//!                          ┊
//!   relay                  └──▶ callback ──▶ waker
//! ```

mod later;
mod relay;

pub(crate) use later::{drop_after, drop_done};
pub(crate) use relay::Relays;

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as Task, Poll, Waker};

use self::relay::Call;
use crate::event::{Event, Timing};
use crate::{HostTask, Result, Stream};

/// A future that is ready when an event is done, with the driver's result of the work before it.
///
/// It may be dropped at any time; the work goes on. The waker is called on a thread of the driver's, and must
/// not call CUDA there. A simulated machine in a deterministic mode has no such thread, and work runs only in
/// calls: there a task is woken when the host queries or waits.
///
/// ```
/// use warploom::Driver;
///
/// async fn finish(stream: &warploom::Stream) -> warploom::Result<()> {
///     let half_way = stream.record()?;
///     stream.completion().await?; // everything enqueued so far
///     half_way.await // an event
/// }
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
/// # let stream = driver.device(0)?.context()?.stream()?;
/// # let mut task = std::pin::pin!(finish(&stream));
/// # struct Unpark(std::thread::Thread);
/// # impl std::task::Wake for Unpark { fn wake(self: std::sync::Arc<Self>) { self.0.unpark() } }
/// # let waker = std::sync::Arc::new(Unpark(std::thread::current())).into();
/// # loop {
/// #     match task.as_mut().poll(&mut std::task::Context::from_waker(&waker)) {
/// #         std::task::Poll::Ready(result) => break result?,
/// #         std::task::Poll::Pending => std::thread::park(),
/// #     }
/// # }
/// # Ok(())
/// # }
/// ```
#[must_use = "futures do nothing unless they are awaited"]
pub struct Completion<E> {
    /// The event that is waited for, or the error that prevents it.
    point: Result<E>,
    /// The call that was last asked for.
    call: Option<Arc<Call>>,
}

impl<E: Point> Completion<E> {
    pub(crate) fn new(point: Result<E>) -> Completion<E> {
        Completion { point, call: None }
    }

    /// `true` if it is done. If not, the waker will be called.
    fn advance(&self, waker: &Waker) -> Result<(bool, Option<Arc<Call>>)> {
        let event = self.point.as_ref().map_err(Clone::clone)?;
        let expected = self.call.as_ref().filter(|call| call.is_coming(waker));
        // Asked after the waker was handed over: a call that has been made meanwhile is not missed.
        if event.is_complete()? {
            return Ok((true, None));
        }
        match expected {
            Some(call) => Ok((false, Some(Arc::clone(call)))),
            // There was none yet, or the event has been moved on since.
            None => Ok((false, Some(event.call_when_done(waker)?))),
        }
    }
}

impl<E: Point> Future for Completion<E> {
    type Output = Result<()>;

    fn poll(self: Pin<&mut Self>, task: &mut Task<'_>) -> Poll<Result<()>> {
        let this = self.get_mut();
        match this.advance(task.waker()) {
            Ok((true, _)) => Poll::Ready(Ok(())),
            Ok((false, call)) => {
                this.call = call;
                Poll::Pending
            }
            Err(error) => Poll::Ready(Err(error)),
        }
    }
}

impl<E: fmt::Debug> fmt::Debug for Completion<E> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Completion").field("point", &self.point).finish_non_exhaustive()
    }
}

impl Stream {
    /// A future that is ready when everything enqueued so far is done.
    ///
    /// A failure to mark the point is the future's result.
    pub fn completion(&self) -> Completion<Event> {
        Completion::new(self.record())
    }
}

impl<T: Timing> Event<T> {
    /// A future that is ready when the event is done. The event cannot be [moved](Stream::record_into)
    /// meanwhile:
    ///
    /// ```compile_fail,E0502
    /// # use warploom::{Event, Result, Stream};
    /// # async fn moved(mut event: Event, stream: &Stream) -> Result<()> {
    /// let completion = event.completion();
    /// stream.record_into(&mut event)?;
    /// completion.await
    /// # }
    /// ```
    pub fn completion(&self) -> Completion<&Event<T>> {
        Completion::new(Ok(self))
    }
}

impl IntoFuture for &Stream {
    type Output = Result<()>;
    type IntoFuture = Completion<Event>;

    /// As [`Stream::completion`].
    fn into_future(self) -> Completion<Event> {
        self.completion()
    }
}

impl<T: Timing> IntoFuture for Event<T> {
    type Output = Result<()>;
    type IntoFuture = Completion<Event<T>>;

    /// As [`Event::completion`], with an event of its own.
    fn into_future(self) -> Completion<Event<T>> {
        Completion::new(Ok(self))
    }
}

impl<'a, T: Timing> IntoFuture for &'a Event<T> {
    type Output = Result<()>;
    type IntoFuture = Completion<&'a Event<T>>;

    /// As [`Event::completion`].
    fn into_future(self) -> Completion<&'a Event<T>> {
        self.completion()
    }
}

impl<T> IntoFuture for HostTask<T> {
    type Output = Result<T>;
    type IntoFuture = HostReturn<T>;

    /// As [`HostTask::wait`], for tasks.
    fn into_future(self) -> HostReturn<T> {
        HostReturn { call: None, task: self }
    }
}

/// A future of a host function's return value.
#[must_use = "futures do nothing unless they are awaited"]
pub struct HostReturn<T> {
    task: HostTask<T>,
    call: Option<Arc<Call>>,
}

impl<T> Future for HostReturn<T> {
    type Output = Result<T>;

    fn poll(self: Pin<&mut Self>, task: &mut Task<'_>) -> Poll<Result<T>> {
        let this = self.get_mut();
        let mut done = Completion { point: Ok(this.task.event()), call: this.call.take() };
        let poll = Pin::new(&mut done).poll(task);
        this.call = done.call;
        poll.map(|done| done.and_then(|()| this.task.take()))
    }
}

impl<T> fmt::Debug for HostReturn<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("HostReturn").field("task", &self.task).finish_non_exhaustive()
    }
}

/// The event that a [`Completion`] waits for, owned or borrowed.
pub trait Point: point::Point {}

impl<T: Timing> Point for Event<T> {}
impl<T: Timing> Point for &Event<T> {}

/// Keeps [`Point`] to events.
mod point {
    use super::{Arc, Call, Event, Result, Timing, Waker};

    pub trait Point: Unpin {
        fn is_complete(&self) -> Result<bool>;
        fn call_when_done(&self, waker: &Waker) -> Result<Arc<Call>>;
    }

    impl<T: Timing> Point for Event<T> {
        fn is_complete(&self) -> Result<bool> {
            Event::is_complete(self)
        }

        fn call_when_done(&self, waker: &Waker) -> Result<Arc<Call>> {
            self.context().cached().relays.call_when_done(self, waker)
        }
    }

    impl<T: Timing> Point for &Event<T> {
        fn is_complete(&self) -> Result<bool> {
            Event::is_complete(self)
        }

        fn call_when_done(&self, waker: &Waker) -> Result<Arc<Call>> {
            Point::call_when_done(*self, waker)
        }
    }
}
