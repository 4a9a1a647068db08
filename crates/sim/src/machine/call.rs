//! A driver call in progress: its machine, its log, the current context, and waiting.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use warploom_engine::{Mode, OpId, QueueId};
use warploom_sys::Function;
use warploom_sys::types::CUresult;

use crate::ffi::handle::ContextHandle;
use crate::ffi::status::{CONTEXT_IS_DESTROYED, INVALID_CONTEXT, NOT_PERMITTED, NOT_SUPPORTED, Status};
use crate::machine::core::{Core, Guard};
use crate::machine::log::{LogEntry, LogKind};
use crate::machine::objects::{HandleTo, Object, Objects};
use crate::process::thread;

/// A call in progress, as its body sees it.
pub(crate) struct Call<'a> {
    core: &'a Arc<Core>,
    function: Function,
    per_thread: bool,
    /// The stream of the call is captured.
    feeds_graph: Cell<bool>,
    /// Reasons of a refusal, for the error log.
    reasons: RefCell<Vec<String>>,
}

const IN_HOST_FUNCTION: &str = "a host function may only use streams and events, by their handles";

impl<'a> Call<'a> {
    /// A call of a machine's function, or of its variant in which stream 0 is the per-thread default stream.
    #[inline]
    pub(crate) fn new(core: &'a Arc<Core>, function: Function, per_thread: bool) -> Self {
        Self { core, function, per_thread, feeds_graph: Cell::new(false), reasons: RefCell::default() }
    }

    #[inline]
    pub(crate) fn core(&self) -> &'a Arc<Core> {
        self.core
    }

    #[inline]
    pub(crate) fn function(&self) -> Function {
        self.function
    }

    #[inline]
    pub(crate) fn world(&self) -> Guard<'a> {
        self.core.world()
    }

    /// Logs the reason of a failed call. Returns the status code for `Err`.
    pub(crate) fn refuse(&self, code: CUresult, reason: impl Into<String>) -> CUresult {
        self.log(code, reason, LogKind::Refused)
    }

    /// Logs the reason of a failed call with advice, unless that has been given already.
    pub(crate) fn refuse_with_advice(&self, code: CUresult, reason: String, advice: Option<&'static str>) -> CUresult {
        match advice.filter(|advice| self.core.log.add_advice(advice)) {
            Some(advice) => self.refuse(code, format!("{reason}\n{advice}")),
            None => self.refuse(code, reason),
        }
    }

    /// Refuses a function that is not permitted inside a host function.
    pub(crate) fn refuse_in_host_function(&self) -> CUresult {
        self.refuse(NOT_PERMITTED, IN_HOST_FUNCTION)
    }

    /// Logs a panic of the simulator. Returns the status code of the call.
    pub(crate) fn panicked(&self) -> CUresult {
        self.log(CUresult::CUDA_ERROR_UNKNOWN, "the simulator panicked: a bug in warploom", LogKind::Internal)
    }

    /// Logs an injected fault. Returns the status code for `Err`.
    pub(crate) fn injected(&self, code: CUresult, reason: impl Into<String>) -> CUresult {
        self.log(code, reason, LogKind::Injected)
    }

    /// The status of a function that is not simulated.
    pub(crate) fn unsupported(&self) -> Status {
        Err(self.log(NOT_SUPPORTED, format!("{} is not simulated", self.function), LogKind::Unsupported))
    }

    fn log(&self, code: CUresult, reason: impl Into<String>, kind: LogKind) -> CUresult {
        let reason = reason.into();
        self.reasons.borrow_mut().push(reason.clone());
        self.core.log.add(LogEntry { function: self.function, code, reason, kind });
        code
    }

    /// Tells the driver's error log that the call failed. The machine's lock is not held: callbacks are
    /// called.
    pub(crate) fn report_failure(&self, code: CUresult) {
        self.core.log.errors.report(self.function, code, self.reasons.take());
    }

    /// An object by the handle that a C caller passed; `otherwise` is the status for an invalid handle.
    #[inline]
    pub(crate) fn object<'o, T: Object>(
        &self,
        objects: &'o Objects<T>,
        handle: HandleTo<T>,
        otherwise: CUresult,
    ) -> Status<&'o T> {
        objects.get(handle).ok_or_else(|| {
            let code = if objects.is_orphan(handle) { T::ORPHANED } else { otherwise };
            self.refuse(code, self.found_misuse(objects, handle))
        })
    }

    /// The current context of this thread, dead or alive.
    #[inline]
    pub(crate) fn current(&self) -> Status<ContextHandle> {
        if thread::is_in_host_function(self.core.id) {
            return Err(self.refuse_in_host_function());
        }
        let current = thread::with_contexts(self.core.id, |stack| stack.last().copied());
        current.ok_or_else(|| self.refuse(INVALID_CONTEXT, "no context is current on this thread"))
    }

    /// The thread's current context, alive, possibly with a sticky error.
    pub(crate) fn live_context(&self, world: &Guard<'_>) -> Status<ContextHandle> {
        let current = self.current()?;
        match world.contexts.get(current) {
            Some(_) => Ok(current),
            None => Err(self.refuse(CONTEXT_IS_DESTROYED, "the current context has been destroyed")),
        }
    }

    /// The thread's current context, alive and without a sticky error.
    pub(crate) fn context(&self, world: &Guard<'_>) -> Status<ContextHandle> {
        let current = self.live_context(world)?;
        world.healthy(current)?;
        Ok(current)
    }

    /// Fails with the fault of the current context's device, if the host knows of it.
    pub(crate) fn check_current(&self) -> Status {
        let current = thread::with_contexts(self.core.id, |stack| stack.last().copied());
        current.map_or(Ok(()), |context| self.world().healthy(context))
    }

    /// Notes that the stream of the call is captured, or that it is not.
    pub(crate) fn set_feeds_graph(&self, feeds_graph: bool) {
        self.feeds_graph.set(feeds_graph);
    }

    /// `true` if the stream of the call is captured.
    pub(crate) fn feeds_graph(&self) -> bool {
        self.feeds_graph.get()
    }

    /// `true` if stream 0 means the per-thread default stream in this call.
    pub(crate) fn is_per_thread(&self) -> bool {
        self.per_thread
    }

    /// Lets the machine start on newly enqueued work.
    #[inline]
    pub(crate) fn get_going(&self, world: &mut Guard<'_>, queue: QueueId) -> Status {
        self.core.pump(world);
        if self.core.mode == Mode::Sync {
            let newest = world.newest_op(queue);
            self.wait(world, newest.as_slice())?;
        }
        self.run_destructors(world);
        Ok(())
    }

    /// Waits until ops are done. The lock is released meanwhile, so handles must be looked up again.
    #[inline]
    pub(crate) fn wait(&self, world: &mut Guard<'_>, targets: &[OpId]) -> Status {
        world.clock.host_is_back();
        if world.are_done(targets) {
            self.run_destructors(world);
            return Ok(());
        }
        let waited = self.core.wait(self.function, world, targets);
        world.clock.host_leaves();
        self.run_destructors(world);
        waited
    }

    /// Runs the destructors of user objects that have ended, with the machine's lock released. No driver call
    /// is permitted inside them.
    pub(crate) fn run_destructors(&self, world: &mut Guard<'_>) {
        if world.graphs().ended.is_empty() {
            return;
        }
        let ended = std::mem::take(&mut world.graphs_mut().ended);
        Guard::unlocked(world, || {
            for destructor in ended {
                thread::in_host_function(self.core.id, || destructor.run());
            }
        });
    }

    /// Waits for all work of a context.
    pub(crate) fn wait_for_context(&self, world: &mut Guard<'_>, context: ContextHandle) -> Status {
        let (pending, known) = (world.pending(context), world.known_of(context));
        self.wait(world, &pending)?;
        world.host_learns(&known);
        world.host_saw_context(context);
        world.look(context)
    }
}
