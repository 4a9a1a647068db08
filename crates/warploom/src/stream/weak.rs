//! Weak references to streams, for the lists of those that used memory, a word or an executable.
//!
//! Such a list must not keep a stream: a program may use a stream per request and the same memory for all of
//! them. So when the last handle to a stream goes that such lists refer to, an event is recorded on it, and
//! the stream is destroyed. From then on the event stands for the stream, whose work is all behind it; if the
//! stream is idle, nothing is left to wait for. The memory itself holds its home stream, on which it is freed.
//!
//! A default stream is not destroyed, and its handles are made as they are needed. It is held as it is; the
//! per-thread stream of a thread that has ended becomes an event like the others.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use super::{Shared, Stream};
use crate::capture::RelaxedMode;
use crate::device::same_driver;
use crate::{Context, Event, Result, callback, reclaimer};

/// A stream that is remembered and not kept.
#[derive(Clone)]
pub(crate) enum WeakStream {
    /// Of the program, and maybe gone.
    Weak(Arc<Remains>),
    /// A default stream.
    Default(Stream),
}

/// A stream until its last handle goes, and then its work.
pub(crate) struct Remains {
    context: Context,
    state: Mutex<State>,
    changed: Condvar,
}

enum State {
    Alive(Weak<Shared>),
    Ended(Work),
}

/// The work of a stream that others may have to wait for.
#[derive(Clone)]
pub(crate) enum Work {
    /// All that the stream has, at the time of the wait.
    Of(Stream),
    /// All of a stream that was destroyed.
    Before(Arc<Event>),
    None,
}

impl Stream {
    /// The stream, to be remembered.
    pub(crate) fn downgrade(&self) -> WeakStream {
        if self.is_default() {
            return WeakStream::Default(self.clone());
        }
        let remains = || {
            let alive = State::Alive(Arc::downgrade(&self.shared));
            Arc::new(Remains::new(self.context(), alive))
        };
        WeakStream::Weak(Arc::clone(self.shared.remains.get_or_init(remains)))
    }

    /// As [`Stream::follow`], for a stream that may have ended.
    pub(crate) fn follow_weak(&self, other: &WeakStream) -> Result<()> {
        match other.work() {
            Work::Of(stream) => self.follow(&stream.for_teardown()),
            Work::Before(event) => {
                same_driver(self.driver(), event.driver())?;
                self.check_thread()?;
                self.wait_outside(&event)
            }
            Work::None => Ok(()),
        }
    }

    /// The work so far, as it is remembered when the stream has ended; `None` if the driver gives no event.
    fn last_work(&self) -> Option<Work> {
        if !self.context().is_current_generation() {
            return Some(Work::None);
        }
        let stream = self.for_teardown();
        let _relaxed = RelaxedMode::new(self.driver());
        // The legacy stream in place of another thread's may be idle, and that thread's stream not.
        if self.is_here() && stream.is_idle() == Ok(true) {
            return Some(Work::None);
        }
        let recorded = stream.record_outside().ok()?;
        recorded.map(|event| Work::Before(Arc::new(event)))
    }
}

impl WeakStream {
    pub(crate) fn context(&self) -> &Context {
        match self {
            WeakStream::Weak(remains) => &remains.context,
            WeakStream::Default(stream) => stream.context(),
        }
    }

    /// `true` if this is a reference to the stream.
    #[inline]
    pub(crate) fn is(&self, stream: &Stream) -> bool {
        match self {
            WeakStream::Weak(remains) => stream.shared.remains.get().is_some_and(|known| Arc::ptr_eq(known, remains)),
            WeakStream::Default(known) => known == stream,
        }
    }

    /// `true` if nothing can be enqueued on the stream any more.
    pub(crate) fn has_ended(&self) -> bool {
        match self {
            WeakStream::Weak(remains) => match &*remains.state() {
                State::Alive(stream) => stream.strong_count() == 0,
                State::Ended(_) => true,
            },
            WeakStream::Default(stream) => stream.is_of_ended_thread(),
        }
    }

    /// `true` if it is known that no work is left, without a driver call.
    pub(crate) fn is_known_idle(&self) -> bool {
        let is_idle = |remains: &Remains| matches!(&*remains.state(), State::Ended(Work::None));
        !self.context().is_current_generation() || matches!(self, WeakStream::Weak(remains) if is_idle(remains))
    }

    /// For a stream that has ended: `None` if its work is done, and otherwise what is left of it.
    pub(crate) fn rest(&self) -> Option<WeakStream> {
        if self.is_known_idle() {
            return None;
        }
        let work = match self.work() {
            Work::Before(event) => {
                let _relaxed = RelaxedMode::new(event.driver());
                (event.is_complete() == Ok(true)).then_some(Work::None)
            }
            // The stream had to stay, or is a default stream.
            Work::Of(stream) if stream.shared.remains.get().is_none() => stream.last_work(),
            Work::Of(_) => None,
            Work::None => Some(Work::None),
        };
        let Some(work) = work else { return Some(self.clone()) };
        let is_left = !matches!(work, Work::None);
        let rest = match self {
            WeakStream::Weak(remains) => {
                remains.end(work);
                self.clone()
            }
            WeakStream::Default(stream) => {
                WeakStream::Weak(Arc::new(Remains::new(stream.context(), State::Ended(work))))
            }
        };
        is_left.then_some(rest)
    }

    /// Waits on the host for the work so far.
    pub(crate) fn drain(&self) -> Result<()> {
        match self.work() {
            Work::Of(stream) => stream.for_teardown().drain(),
            Work::Before(event) => {
                let _relaxed = RelaxedMode::new(event.driver());
                event.synchronize()
            }
            Work::None => Ok(()),
        }
    }

    /// `true` if the work so far is done, and well.
    #[cfg(feature = "nccl")]
    pub(crate) fn is_idle(&self) -> bool {
        match self.work() {
            Work::Of(stream) => stream.for_teardown().is_idle() == Ok(true),
            Work::Before(event) => event.is_complete() == Ok(true),
            Work::None => true,
        }
    }

    /// The work to wait for. The stream is held meanwhile, if there still is one.
    pub(crate) fn work(&self) -> Work {
        match self {
            WeakStream::Weak(remains) => remains.work(),
            WeakStream::Default(stream) => Work::Of(stream.clone()),
        }
    }
}

impl PartialEq for WeakStream {
    fn eq(&self, other: &WeakStream) -> bool {
        match (self, other) {
            (WeakStream::Weak(one), WeakStream::Weak(other)) => Arc::ptr_eq(one, other),
            (WeakStream::Default(one), WeakStream::Default(other)) => one == other,
            _ => false,
        }
    }
}

impl Remains {
    fn new(context: &Context, state: State) -> Remains {
        Remains { context: context.clone(), state: Mutex::new(state), changed: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self) -> Work {
        let mut state = self.state();
        loop {
            match &*state {
                State::Ended(work) => return work.clone(),
                State::Alive(stream) => match stream.upgrade() {
                    Some(shared) => return Work::Of(Stream { shared }),
                    // The last handle goes at this moment, and calls nothing before it has said so.
                    None => state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                },
            }
        }
    }

    fn end(&self, work: Work) {
        let before = std::mem::replace(&mut *self.state(), State::Ended(work));
        drop(before); // without the lock: an event goes with it, or a stream
    }

    /// Lets the stream be used once more by those that have to wait for it, until the handle goes.
    fn revive(&self, stream: &Stream) {
        *self.state() = State::Alive(Arc::downgrade(&stream.shared));
        self.changed.notify_all();
    }
}

impl Shared {
    /// `true` if lists refer to the stream.
    pub(super) fn is_remembered(&self) -> bool {
        self.remains.get().is_some_and(|remains| Arc::strong_count(remains) > 1)
    }

    /// Ends a stream that lists refer to and that has no handle any more: has them remember its work, and
    /// returns the stream, to be destroyed.
    ///
    /// `None` if one of them makes something wait for the stream at this moment, which ends it afterwards, or
    /// if the stream has to stay because there is no event.
    pub(super) fn leave(self) -> Option<Shared> {
        let remains = Arc::clone(self.remains.get()?);
        let stream = Stream { shared: Arc::new(self) };
        remains.revive(&stream);
        if callback::is_running() {
            reclaimer::defer(stream);
            return None;
        }
        let work = stream.last_work();
        let mut state = remains.state();
        // Under the lock, so that the stream is never found without a handle and without its work.
        let mut shared = Arc::into_inner(stream.shared)?;
        shared.remains = OnceLock::new();
        let (work, shared) = match work {
            Some(work) => (work, Some(shared)),
            None => (Work::Of(Stream { shared: Arc::new(shared) }), None),
        };
        *state = State::Ended(work);
        shared
    }
}
