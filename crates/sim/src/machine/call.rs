//! One driver call, from the C function to its body.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use warploom_engine::{Mode, OpId, QueueId};
use warploom_sys::Function;
use warploom_sys::types::{CUresult, CUstream_st};

use crate::api::capture;
use crate::fault::{self, Naming};
use crate::ffi::handle::ContextHandle;
use crate::ffi::status::{CONTEXT_IS_DESTROYED, INVALID_CONTEXT, NOT_PERMITTED, NOT_SUPPORTED, Status};
use crate::ffi::{Ptr, vet};
use crate::machine::core::{Core, Guard};
use crate::machine::log::{LogEntry, LogKind};
use crate::machine::objects::{HandleTo, Object, Objects};
use crate::machine::slots;
use crate::machine::world::Work;
use crate::memory::shadow::InCall;
use crate::process::thread;

/// A call in progress, as its body sees it.
pub(crate) struct Call<'a> {
    core: &'a Arc<Core>,
    function: Function,
    per_thread: bool,
    /// The stream that it works on is captured.
    feeds_graph: Cell<bool>,
}

/// Every entry point comes through here: finds the machine, keeps the rules all functions share, and keeps panics in.
pub(crate) fn enter(
    slot: usize,
    per_thread: bool,
    function: Function,
    naming: Naming<'_>,
    body: impl FnOnce(&Call<'_>) -> Status,
) -> CUresult {
    let core = slots::machine(slot);
    let Some(core) = core.as_ref() else { return CUresult::CUDA_ERROR_DEINITIALIZED };
    if !core.home.is_here() {
        return CUresult::CUDA_ERROR_NOT_INITIALIZED;
    }
    // Where nothing is checked or recorded, nobody needs to know which call this is.
    let is_numbered = (core.trace.is_some() || core.findings.is_on()) && !is_lookup(function);
    let number = if is_numbered { core.next_call() } else { 0 };
    let call = Call { core, function, per_thread, feeds_graph: Cell::new(false) };
    let Some(trace) = &core.trace else { return answer(&call, number, naming, body) };
    let called = trace.called(function, number);
    let code = answer(&call, number, naming, body);
    called.returns(code);
    code
}

/// What a machine answers to a call, with whatever goes wrong on purpose.
#[inline]
fn answer(call: &Call<'_>, number: u64, naming: Naming<'_>, body: impl FnOnce(&Call<'_>) -> Status) -> CUresult {
    let afterwards = match call.core.faults.is_active().then(|| fault::before(call, naming)) {
        Some(Err(code)) => return code,
        Some(Ok(afterwards)) => afterwards,
        None => None,
    };
    let answer = perform(call, number, body);
    match afterwards {
        Some(afterwards) => afterwards.finish(call, answer),
        None => answer,
    }
}

#[inline]
fn perform(call: &Call<'_>, number: u64, body: impl FnOnce(&Call<'_>) -> Status) -> CUresult {
    let Call { core, function, .. } = *call;
    if !core.initialized.load(Ordering::Acquire) && !works_uninitialized(function) {
        return CUresult::CUDA_ERROR_NOT_INITIALIZED;
    }
    let _in_call = (core.findings.is_on() && number != 0)
        .then(|| InCall::new(number, function, core.findings.remembers_callers()));
    if thread::is_in_host_function(core.id) && !works_in_host_function(function) {
        return call.refuse(NOT_PERMITTED, IN_HOST_FUNCTION);
    }
    let body = |call: &Call<'_>| capture::check_safety(call).and_then(|()| body(call));
    let attempt = || catch_unwind(AssertUnwindSafe(|| body(call)));
    let outcome = if core.findings.checks_pointers() {
        let (outcome, reason) = vet::checking(attempt);
        if let (Ok(Err(code)), Some(reason)) = (&outcome, reason) {
            call.refuse(*code, reason);
        }
        outcome
    } else {
        attempt()
    };
    let answer = match outcome {
        Ok(Ok(())) => CUresult::CUDA_SUCCESS,
        Ok(Err(code)) => code,
        Err(_) => {
            call.log(CUresult::CUDA_ERROR_UNKNOWN, "the simulator panicked: a bug in warploom", LogKind::Internal)
        }
    };
    core.findings.tell();
    answer
}

const IN_HOST_FUNCTION: &str = "a host function may only use streams and events, by their handles";

/// Whether a call only finds functions. Loaders make hundreds of these before a program's first call, so they do not count.
pub(crate) fn is_lookup(function: Function) -> bool {
    use Function::*;
    matches!(function, cuGetProcAddress | cuGetProcAddress_v2 | cuGetExportTable)
}

/// The destroyers among these look at their handle first, and before `cuInit` there is nothing to destroy.
fn works_uninitialized(function: Function) -> bool {
    use Function::*;
    matches!(
        function,
        cuInit
            | cuDriverGetVersion
            | cuGetErrorName
            | cuGetErrorString
            | cuGetProcAddress
            | cuGetProcAddress_v2
            | cuGetExportTable
            | cuCtxDestroy_v2
            | cuEventDestroy_v2
            | cuStreamDestroy_v2
    )
}

/// Inside a host function the driver works on what is named by a handle; whatever needs the current context (see
/// [`Call::current`]) or an allocator is not permitted.
fn works_in_host_function(function: Function) -> bool {
    use Function::*;
    match function.family() {
        "stream" | "event" => true,
        "copy" | "fill" => function.name().contains("Async"),
        _ => matches!(
            function,
            cuInit
                | cuDriverGetVersion
                | cuGetErrorName
                | cuGetErrorString
                | cuGetProcAddress
                | cuGetProcAddress_v2
                | cuStreamIsCapturing
        ),
    }
}

impl<'a> Call<'a> {
    /// A call that nobody made, for tests of what is below the entry points.
    #[cfg(test)]
    pub(crate) fn pretend(core: &'a Arc<Core>, function: Function, per_thread: bool) -> Self {
        Self { core, function, per_thread, feeds_graph: Cell::new(false) }
    }

    pub(crate) fn core(&self) -> &'a Arc<Core> {
        self.core
    }

    pub(crate) fn function(&self) -> Function {
        self.function
    }

    pub(crate) fn world(&self) -> Guard<'a> {
        self.core.world()
    }

    /// Logs why a call fails, and gives the code back for `Err`.
    pub(crate) fn refuse(&self, code: CUresult, reason: impl Into<String>) -> CUresult {
        self.log(code, reason, LogKind::Refused)
    }

    /// Logs a fault that a plan asked for, and gives the code back for `Err`.
    pub(crate) fn injected(&self, code: CUresult, reason: impl Into<String>) -> CUresult {
        self.log(code, reason, LogKind::Injected)
    }

    /// The answer of a function that the simulator does not have.
    pub(crate) fn unsupported(&self) -> Status {
        Err(self.log(NOT_SUPPORTED, format!("{} is not simulated", self.function), LogKind::Unsupported))
    }

    fn log(&self, code: CUresult, reason: impl Into<String>, kind: LogKind) -> CUresult {
        self.core.log.add(LogEntry { function: self.function, code, reason: reason.into(), kind });
        code
    }

    /// An object by the handle a C caller passed; `otherwise` is the answer for a handle that names none.
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

    /// What is current on this thread, dead or alive.
    pub(crate) fn current(&self) -> Status<ContextHandle> {
        if thread::is_in_host_function(self.core.id) {
            return Err(self.refuse(NOT_PERMITTED, IN_HOST_FUNCTION));
        }
        let current = thread::with_contexts(self.core.id, |stack| stack.last().copied());
        current.ok_or_else(|| self.refuse(INVALID_CONTEXT, "no context is current on this thread"))
    }

    /// The thread's current context, alive but perhaps poisoned.
    pub(crate) fn live_context(&self, world: &Guard<'_>) -> Status<ContextHandle> {
        let current = self.current()?;
        match world.contexts.get(current) {
            Some(_) => Ok(current),
            None => Err(self.refuse(CONTEXT_IS_DESTROYED, "the current context has been destroyed")),
        }
    }

    /// The thread's current context, alive and healthy.
    pub(crate) fn context(&self, world: &Guard<'_>) -> Status<ContextHandle> {
        let current = self.live_context(world)?;
        world.healthy(current)?;
        Ok(current)
    }

    /// The queue of a stream argument; null, legacy and per-thread handles mean a default stream of the current context.
    pub(crate) fn queue(&self, world: &mut Guard<'_>, stream: Ptr<CUstream_st>) -> Status<QueueId> {
        let queue = crate::api::stream::queue_of(self, world, stream.address())?;
        self.feeds_graph.set(world.captures.hold(queue));
        Ok(queue)
    }

    /// Whether the stream that it works on is captured.
    pub(crate) fn feeds_graph(&self) -> bool {
        self.feeds_graph.get()
    }

    /// The queue of calls that take no stream: the default stream this call's variant means.
    pub(crate) fn default_queue(&self, world: &mut Guard<'_>) -> Status<QueueId> {
        self.queue(world, Ptr::null())
    }

    /// Whether stream 0 means the per-thread default stream in this call.
    pub(crate) fn is_per_thread(&self) -> bool {
        self.per_thread
    }

    /// Enqueues work and lets the machine run it when it likes; work for a captured stream becomes a node.
    pub(crate) fn submit(&self, world: &mut Guard<'_>, queue: QueueId, work: Work) -> Status {
        self.submit_after(world, queue, &[], work)
    }

    /// Enqueues work behind other ops, too.
    pub(crate) fn submit_after(&self, world: &mut Guard<'_>, queue: QueueId, others: &[OpId], work: Work) -> Status {
        if world.captures.hold(queue) {
            return self.capture(world, queue, work);
        }
        self.check_legacy(world, queue)?;
        world.enqueue_after(queue, others, work)?;
        self.get_going(world, queue)
    }

    /// Enqueues several pieces of work that no order holds between.
    pub(crate) fn submit_unordered(
        &self,
        world: &mut Guard<'_>,
        queue: QueueId,
        works: impl Iterator<Item = Work>,
    ) -> Status {
        self.check_legacy(world, queue)?;
        world.enqueue_unordered(queue, works)?;
        self.get_going(world, queue)
    }

    /// Lets the machine get on with what has just been enqueued.
    pub(crate) fn get_going(&self, world: &mut Guard<'_>, queue: QueueId) -> Status {
        self.core.pump(world);
        if self.core.mode == Mode::Sync {
            let newest = world.engine.tail(queue);
            self.wait(world, newest.as_slice())?;
        }
        Ok(())
    }

    /// Waits until ops are done. The world may change meanwhile: look handles up again.
    pub(crate) fn wait(&self, world: &mut Guard<'_>, targets: &[OpId]) -> Status {
        self.core.wait(self.function, world, targets)
    }

    /// Enqueues work, waits for it, and reports what went wrong in its context.
    pub(crate) fn submit_and_wait(&self, world: &mut Guard<'_>, queue: QueueId, work: Work) -> Status {
        if world.captures.hold(queue) {
            return self.capture(world, queue, work);
        }
        self.check_legacy(world, queue)?;
        let context = world.engine.queue(queue).owner.context;
        let id = world.enqueue(queue, work)?;
        // The wait tells the executors, if it cannot do the work itself.
        if self.core.mode != Mode::Threads {
            self.get_going(world, queue)?;
        }
        let known = world.engine.queue(queue).clock.known.clone();
        self.wait(world, &[id])?;
        world.engine.timelines.host_learns(&known);
        world.host_saw_idle(queue);
        world.healthy(context)
    }

    /// Waits for everything a context has to do.
    pub(crate) fn wait_for_context(&self, world: &mut Guard<'_>, context: ContextHandle) -> Status {
        let (pending, known) = (world.pending(context), world.known_of(context));
        self.wait(world, &pending)?;
        world.engine.timelines.host_learns(&known);
        world.host_saw_context(context);
        world.healthy(context)
    }
}
