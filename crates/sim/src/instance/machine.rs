//! The handle of a simulated machine.

use std::any::Any;
use std::sync::Arc;

use crate::fault::FaultScope;
use crate::machine::core::Core;
use crate::machine::slots;
use crate::topology::Topology;

/// A simulated machine: any number of GPUs behind a CUDA driver of its own.
///
/// Cheap to clone; it lives until the last clone, and the last driver opened on it, are gone. Machines never
/// see each other: a handle or a pointer of one means nothing to another.
///
/// A machine lives in one process. In a child of `fork`, every function of a machine that was initialised
/// before answers `NOT_INITIALIZED`, as the real driver's do, and the machine reports nothing; one that was
/// not is the child's own. A child of a process whose machines had threads should start none before it has
/// called `exec`: its locks may be held by threads that it does not have.
#[derive(Clone)]
pub struct Machine {
    running: Arc<Running>,
}

/// A machine in its slot, until the last user is gone.
struct Running {
    core: Arc<Core>,
    /// The plan that it was started with.
    faults: Option<FaultScope>,
}

impl Drop for Running {
    fn drop(&mut self) {
        // In a child of `fork` there are no executors to end, and what other threads were doing with the
        // machine is left half done: it stays as it is, in its slot.
        if !self.core.home.is_here() {
            return;
        }
        self.core.stop();
        self.core.report_leaks();
        slots::give(self.core.slot);
    }
}

impl Machine {
    /// The machine in a slot that has just been filled.
    pub(super) fn new(core: Arc<Core>, faults: Option<FaultScope>) -> Self {
        Self { running: Arc::new(Running { core, faults }) }
    }

    /// The devices, links and driver version of the machine.
    #[must_use]
    pub fn topology(&self) -> &Topology {
        &self.running.core.topology
    }

    /// The machine, unless this is a child of the process that used it.
    pub(super) fn here(&self) -> Option<&Core> {
        Some(&*self.running.core).filter(|core| core.home.is_here())
    }

    /// `true` if this is the process in which the machine was started, or a child of it that was the first to
    /// use the machine. In any other child of `fork` the machine reports nothing.
    #[must_use]
    pub fn is_of_this_process(&self) -> bool {
        self.running.core.home.is_own()
    }

    /// The machine, in any process.
    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.running.core
    }

    /// The plan that the machine was started with.
    pub(super) fn first_plan(&self) -> Option<&FaultScope> {
        self.running.faults.as_ref()
    }

    /// Keeps the machine alive.
    pub(super) fn keep_alive(&self) -> Arc<dyn Any + Send + Sync> {
        Arc::clone(&self.running) as Arc<dyn Any + Send + Sync>
    }
}

impl std::fmt::Debug for Machine {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Machine").field("devices", &self.topology().devices.len()).finish_non_exhaustive()
    }
}
