//! Host functions in the order of a stream.
#![expect(unsafe_code, reason = "has the driver call a C function")]

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use super::Stream;
use crate::callback::{self, Callback, panicked};
use crate::event::EventOptions;
use crate::{Error, Event, Result, StreamError};

impl Stream {
    /// Calls a function when everything enqueued so far is done; later work waits for it.
    ///
    /// It runs once, on a thread of the driver's, and not at all if work before it has failed: then it is
    /// dropped, at the latest with the context. A panic in it stays there: it is reported like a failure in a
    /// `drop`, and the task's result is [`StreamError::HostFunctionPanicked`].
    ///
    /// The function must not call CUDA; the driver answers `CUDA_ERROR_NOT_PERMITTED`. It may drop or close
    /// anything: buffers, streams, graphs and the like are freed by a thread of the library's own, soon
    /// after, and a failure is reported like one in a `drop`; see [`reclaim`](crate::graph::reclaim).
    /// Functions of all streams may have to share one thread, so that one that waits holds up others.
    ///
    /// ```
    /// use warploom::Driver;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
    /// let stream = driver.device(0)?.context()?.stream()?;
    /// let task = stream.host(|| 6 * 7)?;
    /// assert_eq!(task.wait()?, 42);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The driver's error. Then the function has been dropped, unless the driver called it all the same.
    #[doc(alias = "cuLaunchHostFunc")]
    pub fn host<T, F>(&self, function: F) -> Result<HostTask<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        self.check_thread()?;
        self.refuse_captured("a host function")?;
        let mut done = Event::unrecorded(self.context(), EventOptions::untimed())?;
        let outcome = Arc::new(Mutex::new(None));
        let callback = Callback::new(self.context(), {
            let outcome = Arc::clone(&outcome);
            move || {
                let returned = catch_unwind(AssertUnwindSafe(function)).map_err(panicked);
                *outcome.lock().unwrap_or_else(PoisonError::into_inner) = Some(returned);
            }
        });
        let driver = self.driver();
        // SAFETY: `host_function` takes any number for an argument, and finds nothing under one that is not
        // waiting.
        let launch = |raw| unsafe { driver.cuLaunchHostFunc(raw, Some(callback::host_function), callback.data()) };
        let launched =
            self.outside_captures(launch).and_then(|answer| Ok(answer?)).and_then(|()| self.record_into(&mut done));
        match launched {
            Ok(()) => Ok(HostTask { done, outcome }),
            Err(error) => {
                callback.take_back();
                Err(error)
            }
        }
    }
}

/// A host function in a stream, and its return value; see [`Stream::host`].
///
/// Dropping it changes nothing for the function.
#[must_use = "a failure of the function is only told to those who ask"]
pub struct HostTask<T> {
    /// Recorded right behind the function.
    done: Event,
    outcome: Outcome<T>,
}

/// The result of a host function; `None` before it has run.
type Outcome<T> = Arc<Mutex<Option<Result<T>>>>;

impl<T> HostTask<T> {
    /// Waits until the function has returned; gives its return value.
    ///
    /// # Errors
    ///
    /// [`StreamError::HostFunctionPanicked`], and the driver's error, which may be a failure of the work
    /// before the function.
    pub fn wait(self) -> Result<T> {
        self.done.synchronize()?;
        self.take()
    }

    /// `true` if the function has returned.
    ///
    /// # Errors
    ///
    /// The driver's error, which may be a failure of the work before the function.
    pub fn is_finished(&self) -> Result<bool> {
        self.done.is_complete()
    }

    /// The point in the stream right behind the function, for other streams to wait for. It cannot be moved:
    ///
    /// ```compile_fail,E0308
    /// # fn moved(stream: &warploom::Stream, task: &warploom::HostTask<()>) -> warploom::Result<()> {
    /// stream.record_into(task.event())?;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn event(&self) -> &Event {
        &self.done
    }

    /// The function's return value, once.
    pub(crate) fn take(&self) -> Result<T> {
        let outcome = self.outcome.lock().unwrap_or_else(PoisonError::into_inner).take();
        outcome.unwrap_or(Err(Error::Stream(StreamError::HostFunctionNotRun)))
    }
}

impl<T> fmt::Debug for HostTask<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("HostTask").field("done", &self.done).finish_non_exhaustive()
    }
}
