//! Faults of kernels: when work stops, and when the host learns of it.
//!
//! ```text
//!   kernel faults ─▶ its context's work is skipped ─┬─▶ a call that waits or asks answers the fault ─┬─▶ all do
//!                                                   └─▶ 300 ms pass, in mode `Threads` ──────────────┘
//! ```
//!
//! Until then calls that only enqueue or create succeed, as on an H200: its driver learns of a fault 0.3 to
//! 0.4 s after the kernel's end. Afterwards all contexts of the device are lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use warploom_engine::Mode;
use warploom_sys::types::CUresult;

use crate::ffi::handle::ContextHandle;
use crate::ffi::status::Status;
use crate::machine::device::DeviceFault;
use crate::machine::world::World;

/// The time after which the host learns of a fault without asking.
const NOTICE: Duration = Duration::from_millis(300);

impl World {
    /// Fails with the sticky error of a context's device, if the host has learnt of it.
    #[inline]
    pub(crate) fn healthy(&self, context: ContextHandle) -> Status {
        let known = self.contexts.get(context).and_then(|context| self.known_fault(usize::from(context.device)));
        known.map_or(Ok(()), Err)
    }

    /// Fails with the sticky error of a context, of which the host learns with this call at the latest.
    pub(crate) fn look(&mut self, context: ContextHandle) -> Status {
        if let Some(context) = self.contexts.get(context)
            && context.poison.is_some()
            && let Some(fault) = &mut self.devices[usize::from(context.device)].fault
        {
            fault.is_known = true;
        }
        self.healthy(context)
    }

    /// The fault of a device that the host knows of.
    #[inline]
    pub(super) fn known_fault(&self, device: usize) -> Option<CUresult> {
        let fault = self.devices[device].fault?;
        let is_noticed = || self.engine.mode() == Mode::Threads && fault.at.elapsed() >= NOTICE;
        (fault.is_known || is_noticed()).then_some(fault.code)
    }

    /// Set when the first fault happens.
    pub(super) fn fault_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.has_faulted)
    }

    /// The fault of a context's work, known to the host or not.
    pub(crate) fn fault_of(&self, context: ContextHandle) -> Option<CUresult> {
        self.contexts.get(context)?.poison
    }

    /// Ends the work of a context with a fault, of which the host learns later.
    pub(super) fn fail(&mut self, context: ContextHandle, code: CUresult) {
        if let Some(context) = self.contexts.get_mut(context) {
            context.poison.get_or_insert(code);
            let fault = DeviceFault { code, at: Instant::now(), is_known: false };
            self.devices[usize::from(context.device)].fault.get_or_insert(fault);
            self.has_faulted.store(true, Ordering::Relaxed);
        }
    }

    /// Sets the sticky error of a context at once, as a fault plan does.
    pub(crate) fn poison(&mut self, context: ContextHandle, code: CUresult) {
        self.fail(context, code);
        self.look(context).unwrap_or_default();
    }
}
