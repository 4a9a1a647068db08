//! Entering a driver call: from the C function to its body, and back with an answer.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;

use warploom_engine::Mode;
use warploom_sys::Function;
use warploom_sys::types::CUresult;

use super::faults;
use super::invocation::Invocation;
use crate::ffi::pointer_check;
use crate::ffi::status::{INVALID_CONTEXT, Status};
use crate::machine::call::Call;
use crate::machine::slots;
use crate::memory::shadow::InCall;
use crate::process::sleep::Visit;
use crate::process::thread;
use crate::rules::{self, width};

/// Runs the body of an entry point: finds the machine, applies the function's rules and fault plans, records
/// the call, and catches panics.
pub(super) fn enter(slot: usize, per_thread: bool, function: Function, invocation: &dyn Invocation) -> CUresult {
    let core = slots::machine(slot);
    let Some(core) = core.as_ref() else { return CUresult::CUDA_ERROR_DEINITIALIZED };
    if !core.home.is_here() {
        return CUresult::CUDA_ERROR_NOT_INITIALIZED;
    }
    let _visit = (core.mode == Mode::Threads).then(Visit::begin);
    // A call has a number only where calls are checked or recorded.
    let is_numbered = (core.trace.is_some() || core.findings.is_on()) && !rules::of(function).finds_functions;
    let number = if is_numbered { core.next_call() } else { 0 };
    let call = Call::new(core, function, per_thread);
    let Some(trace) = &core.trace else { return answer(&call, number, invocation) };
    let called = trace.called(function, number);
    let code = answer(&call, number, invocation);
    called.returns(code);
    let may_change_memory = code == CUresult::CUDA_SUCCESS && rules::may_change_memory(function);
    if trace.samples_memory() && may_change_memory {
        core.world().trace_memory();
    }
    code
}

/// The answer to a call, with the faults that plans ask for.
#[inline]
fn answer(call: &Call<'_>, number: u64, invocation: &dyn Invocation) -> CUresult {
    let afterwards = match call.core().faults.is_active().then(|| faults::before(call, invocation)) {
        Some(Err(code)) => return code,
        Some(Ok(afterwards)) => afterwards,
        None => None,
    };
    let answer = perform(call, number, invocation);
    let answer = match afterwards {
        Some(afterwards) => afterwards.finish(call, answer),
        None => answer,
    };
    if !matches!(answer, CUresult::CUDA_SUCCESS | CUresult::CUDA_ERROR_NOT_READY | CUresult::CUDA_ERROR_NOT_INITIALIZED)
    {
        call.report_failure(answer);
    }
    answer
}

/// Runs the body if the function's row permits the call now.
#[inline]
fn perform(call: &Call<'_>, number: u64, invocation: &dyn Invocation) -> CUresult {
    let (core, function) = (call.core(), call.function());
    let rule = rules::of(function);
    if !rule.before_init && !core.initialized.load(Ordering::Acquire) {
        return CUresult::CUDA_ERROR_NOT_INITIALIZED;
    }
    let _in_call = (core.findings.is_on() && number != 0)
        .then(|| InCall::new(number, function, core.findings.remembers_callers()));
    if !rule.in_host_function && thread::is_in_host_function(core.id) {
        return call.refuse_in_host_function();
    }
    if core.has_faulted()
        && rules::fails_after_fault(function)
        && let Err(code) = call.check_current()
    {
        return code;
    }
    let body = |call: &Call<'_>| {
        if !rule.in_capture {
            call.check_unsafe(&mut call.world())?;
        }
        if core.has_narrow_contexts.load(Ordering::Relaxed) {
            check_width(call)?;
        }
        invocation.run(call)
    };
    let attempt = || catch_unwind(AssertUnwindSafe(|| body(call)));
    let outcome = if core.findings.checks_pointers() {
        let (outcome, reason) = pointer_check::checking(attempt);
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
        Err(_) => call.panicked(),
    };
    core.findings.tell();
    answer
}

/// Refuses 64-bit device addresses while a context of 32-bit ones is current.
fn check_width(call: &Call<'_>) -> Status {
    let world = call.world();
    let current = call.current().ok().and_then(|context| world.contexts().get(context));
    let is_narrow = current.is_some_and(|context| width::is_narrow_version(context.api_version));
    if is_narrow && width::is_wide(call.function()) {
        let reason = "device addresses of the current context have 32 bits: cuCtxCreate, not cuCtxCreate_v2, made it";
        return Err(call.refuse(INVALID_CONTEXT, reason));
    }
    Ok(())
}
