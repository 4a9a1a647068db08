//! State that a machine keeps per host thread: current contexts, a running host function, the capture mode.

use std::cell::{Cell, RefCell};

use warploom_sys::types::CUstreamCaptureMode;

use crate::api::context::Context;
use crate::machine::handles::Handle;

pub(crate) use crate::process::thread::{ThreadKey, current_call, key};

/// The contexts of one machine on one thread; the last is current.
struct Stack {
    machine: u64,
    contexts: Vec<Handle<Context>>,
}

thread_local! {
    static STACKS: RefCell<Vec<Stack>> = const { RefCell::new(Vec::new()) };
    static IN_HOST_FUNCTION: Cell<Option<u64>> = const { Cell::new(None) };
    static CAPTURE_MODES: RefCell<Vec<(u64, CUstreamCaptureMode)>> = const { RefCell::new(Vec::new()) };
}

/// Works on this thread's contexts of a machine; the last is the current one. On a thread that is ending there are none.
pub(crate) fn with_contexts<R: Default>(machine: u64, work: impl FnOnce(&mut Vec<Handle<Context>>) -> R) -> R {
    STACKS
        .try_with(|stacks| {
            let mut stacks = stacks.borrow_mut();
            let at = stacks.iter().position(|stack| stack.machine == machine).unwrap_or_else(|| {
                stacks.push(Stack { machine, contexts: Vec::new() });
                stacks.len() - 1
            });
            let result = work(&mut stacks[at].contexts);
            if stacks[at].contexts.is_empty() {
                stacks.swap_remove(at);
            }
            result
        })
        .unwrap_or_default()
}

/// Whether a context of a machine is current on this thread.
pub(crate) fn has_context(machine: u64) -> bool {
    with_contexts(machine, |stack| !stack.is_empty())
}

/// Whether this thread is running a host function of a machine; few driver calls are permitted there.
pub(crate) fn is_in_host_function(machine: u64) -> bool {
    IN_HOST_FUNCTION.try_with(|flag| flag.get() == Some(machine)).unwrap_or(false)
}

/// Runs a program's host function on behalf of a machine.
pub(crate) fn in_host_function<R>(machine: u64, function: impl FnOnce() -> R) -> R {
    let before = IN_HOST_FUNCTION.try_with(|flag| flag.replace(Some(machine))).unwrap_or(None);
    let result = function();
    // A thread that is ending has no flag left to restore.
    IN_HOST_FUNCTION.try_with(|flag| flag.set(before)).unwrap_or_default();
    result
}

/// How careful this thread is about unsafe calls while a stream of a machine is captured.
pub(crate) fn capture_mode(machine: u64) -> CUstreamCaptureMode {
    let initial = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL;
    let find = |modes: &RefCell<Vec<(u64, CUstreamCaptureMode)>>| {
        modes.borrow().iter().find(|(owner, _)| *owner == machine).map_or(initial, |(_, mode)| *mode)
    };
    CAPTURE_MODES.try_with(find).unwrap_or(initial)
}

/// Swaps how careful this thread is about unsafe calls while a stream of a machine is captured.
pub(crate) fn exchange_capture_mode(machine: u64, mode: CUstreamCaptureMode) -> CUstreamCaptureMode {
    let initial = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL;
    let exchange = |modes: &RefCell<Vec<(u64, CUstreamCaptureMode)>>| {
        let mut modes = modes.borrow_mut();
        match modes.iter().position(|(owner, _)| *owner == machine) {
            Some(at) if mode == initial => modes.swap_remove(at).1,
            Some(at) => std::mem::replace(&mut modes[at].1, mode),
            None if mode == initial => initial,
            None => {
                modes.push((machine, mode));
                initial
            }
        }
    };
    CAPTURE_MODES.try_with(exchange).unwrap_or(initial)
}
