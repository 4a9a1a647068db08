//! Watching a driver's calls: counts, records, and `tracing` events.
//!
//! Counters and recorders watch one driver on the thread that made them. They are kept in a list of that
//! thread; the driver itself only knows how many there are on all threads, and the tracing flag, so that an
//! unobserved call costs one load.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use warploom_sys::Function;
use warploom_sys::types::CUresult;

use crate::driver::Inner;
use crate::{Driver, user_code};

/// The watchers of a driver: bit 0 is set while it is traced, the bits above count watches on all threads.
///
/// A relaxed load is enough. A watch concerns the thread that made it, and a thread sees its own changes;
/// another thread may notice late that tracing was switched.
#[derive(Debug, Default)]
pub(crate) struct Observers(AtomicU32);

const TRACED: u32 = 1;
const WATCH: u32 = 2;

impl Observers {
    #[inline]
    pub(crate) fn any(&self) -> bool {
        self.0.load(Ordering::Relaxed) != 0
    }

    fn traced(&self) -> bool {
        self.0.load(Ordering::Relaxed) & TRACED != 0
    }
}

impl Inner {
    /// Makes a call and reports it to the watchers.
    #[cold]
    #[inline(never)]
    pub(crate) fn observe(&self, function: Function, call: &mut dyn FnMut() -> CUresult) -> CUresult {
        let started = self.observers.traced().then(Instant::now);
        // Not under a borrow of the list: a callback that runs inside the call may call the driver in its
        // turn.
        let status = call();
        let duration = started.map(|started| u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX));
        // A thread that is ending may have lost its list; then nothing on it watches.
        let _ = WATCHES.try_with(|watches| {
            for (_, sink) in watches.borrow().iter().filter(|(watched, _)| std::ptr::eq(*watched, self)) {
                sink.record(function, status);
            }
        });
        if let Some(duration_ns) = duration {
            user_code::emit(move || emit(function, status, duration_ns));
        }
        status
    }
}

fn emit(function: Function, status: CUresult, duration_ns: u64) {
    let function = function.name();
    match status {
        CUresult::CUDA_SUCCESS | CUresult::CUDA_ERROR_NOT_READY => {
            tracing::trace!(target: "warploom::driver", function, status = %status, duration_ns);
        }
        _ => tracing::debug!(target: "warploom::driver", function, status = %status, duration_ns),
    }
}

thread_local! {
    static WATCHES: RefCell<Vec<(*const Inner, Rc<dyn Sink>)>> = const { RefCell::new(Vec::new()) };
}

trait Sink {
    fn record(&self, function: Function, status: CUresult);
}

/// One entry in the list of this thread, for as long as it lives.
struct Watch<S> {
    driver: Driver,
    // Keeps the watch on its thread, too.
    sink: Rc<S>,
}

impl<S: Sink + 'static> Watch<S> {
    fn new(driver: &Driver, sink: S) -> Watch<S> {
        let (driver, sink) = (driver.clone(), Rc::new(sink));
        let inner = driver.inner();
        inner.observers.0.fetch_add(WATCH, Ordering::Relaxed);
        // As above.
        let _ = WATCHES.try_with(|watches| {
            watches.borrow_mut().push((Arc::as_ptr(inner), Rc::clone(&sink) as Rc<dyn Sink>));
        });
        Watch { driver, sink }
    }
}

impl<S> Drop for Watch<S> {
    fn drop(&mut self) {
        let this = Rc::as_ptr(&self.sink).cast::<()>();
        // If the list is gone already, so is the entry.
        let _ = WATCHES.try_with(|watches| {
            watches.borrow_mut().retain(|(_, sink)| Rc::as_ptr(sink).cast::<()>() != this);
        });
        self.driver.inner().observers.0.fetch_sub(WATCH, Ordering::Relaxed);
    }
}

struct Counts(Box<[Cell<u64>]>);

impl Sink for Counts {
    fn record(&self, function: Function, _status: CUresult) {
        let count = &self.0[function.index()];
        count.set(count.get() + 1);
    }
}

#[derive(Default)]
struct Calls(RefCell<Vec<(Function, CUresult)>>);

impl Sink for Calls {
    fn record(&self, function: Function, status: CUresult) {
        self.0.borrow_mut().push((function, status));
    }
}

/// Counts the calls of one driver on one thread; see [`Driver::count_calls`].
pub struct CallCounter(Watch<Counts>);

impl CallCounter {
    /// The number of calls of `function`.
    #[must_use]
    pub fn count(&self, function: Function) -> u64 {
        self.0.sink.0[function.index()].get()
    }

    /// The number of calls.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.sink.0.iter().map(Cell::get).sum()
    }

    /// The functions that were called and how often, in the order of [`Function::ALL`].
    #[must_use]
    pub fn by_function(&self) -> Vec<(Function, u64)> {
        let counts = Function::ALL.iter().map(|&function| (function, self.count(function)));
        counts.filter(|&(_, count)| count > 0).collect()
    }

    /// Starts again from zero.
    pub fn reset(&self) {
        self.0.sink.0.iter().for_each(|count| count.set(0));
    }
}

impl fmt::Debug for CallCounter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_map().entries(self.by_function()).finish()
    }
}

/// Records the calls of one driver on one thread; see [`Driver::record_calls`].
pub struct CallRecorder(Watch<Calls>);

impl CallRecorder {
    /// The calls so far, in the order in which they returned.
    #[must_use]
    pub fn calls(&self) -> Vec<(Function, CUresult)> {
        self.0.sink.0.borrow().clone()
    }

    /// As [`CallRecorder::calls`], and forgets them.
    #[must_use]
    pub fn take(&self) -> Vec<(Function, CUresult)> {
        self.0.sink.0.take()
    }
}

impl fmt::Debug for CallRecorder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A copy: the program's writer may make calls.
        formatter.debug_list().entries(self.calls()).finish()
    }
}

/// Observation.
impl Driver {
    /// Counts the calls of this driver on this thread until the counter is dropped.
    ///
    /// Calls of other drivers and on other threads are not counted. Counters may overlap; each counts for
    /// itself. Only calls that reach the driver count: a function it lacks, or one called through
    /// [`Driver::table`], does not.
    ///
    /// ```no_run
    /// # fn main() -> warploom_driver::Result<()> {
    /// use warploom_driver::{Driver, Function};
    ///
    /// let driver = Driver::load()?;
    /// let calls = driver.count_calls();
    /// driver.initialize()?;
    /// assert_eq!((calls.count(Function::cuInit), calls.total()), (1, 1));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// A counter belongs to its thread:
    ///
    /// ```compile_fail,E0277
    /// fn send<T: Send>() {}
    /// send::<warploom_driver::CallCounter>();
    /// ```
    #[must_use]
    pub fn count_calls(&self) -> CallCounter {
        let counts = Function::ALL.iter().map(|_| Cell::new(0)).collect();
        CallCounter(Watch::new(self, Counts(counts)))
    }

    /// Records each call of this driver on this thread, with its status, until the recorder is dropped.
    ///
    /// It sees the same calls as a counter; see [`Driver::count_calls`]. A recorder belongs to its thread,
    /// too:
    ///
    /// ```compile_fail,E0277
    /// fn send<T: Send>() {}
    /// send::<warploom_driver::CallRecorder>();
    /// ```
    #[must_use]
    pub fn record_calls(&self) -> CallRecorder {
        CallRecorder(Watch::new(self, Calls::default()))
    }

    /// Reports every call of this driver, on all threads, as a [`tracing`] event, or stops doing so.
    ///
    /// Off at first. Events have the target `warploom::driver` and the fields `function`, `status` and
    /// `duration_ns`. Failures are at level `DEBUG`; success, and work that is not ready yet, are at level
    /// `TRACE`.
    ///
    /// A subscriber may use the library: an event waits until its thread holds no mutex of the library
    /// ([`user_code`]). Calls that it makes itself are not reported. A panic of a subscriber ends there.
    pub fn set_tracing(&self, on: bool) {
        let observers = &self.inner().observers.0;
        if on {
            observers.fetch_or(TRACED, Ordering::Relaxed);
        } else {
            observers.fetch_and(!TRACED, Ordering::Relaxed);
        }
    }

    /// `true` if calls are reported as [`tracing`] events.
    #[must_use]
    pub fn is_traced(&self) -> bool {
        self.inner().observers.traced()
    }
}
