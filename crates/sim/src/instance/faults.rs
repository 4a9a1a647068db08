//! Fault plans of a running machine.

use super::machine::Machine;
use crate::fault::{FaultError, FaultScope, Fired, Plan};
use crate::process::thread;

impl Machine {
    /// Puts a fault plan into force on every thread until the scope is dropped.
    ///
    /// # Errors
    ///
    /// [`FaultError::TooLate`] for a plan that hides symbols or lowers the driver's version, and the errors
    /// of a plan that does not fit the machine.
    pub fn inject(&self, plan: Plan) -> Result<FaultScope, FaultError> {
        self.put_into_force(&plan, None)
    }

    /// As [`Machine::inject`], for the calls of this thread alone.
    ///
    /// # Errors
    ///
    /// As [`Machine::inject`].
    pub fn inject_on_this_thread(&self, plan: Plan) -> Result<FaultScope, FaultError> {
        self.put_into_force(&plan, Some(thread::key()))
    }

    fn put_into_force(&self, plan: &Plan, thread: Option<thread::ThreadKey>) -> Result<FaultScope, FaultError> {
        if plan.has_static_parts() {
            return Err(FaultError::TooLate);
        }
        plan.check(self.topology().devices.len())?;
        Ok(FaultScope::begin(&self.core().faults, plan, thread))
    }

    /// Actions so far of the plan that the machine was started with; see [`FaultScope::fired`].
    #[must_use]
    pub fn fired(&self) -> Vec<Fired> {
        self.first_plan().map(FaultScope::fired).unwrap_or_default()
    }
}
