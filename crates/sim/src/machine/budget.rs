//! Memory budgets of fault plans: allocations beyond one are refused.

use crate::ffi::status::{OUT_OF_MEMORY, Status};
use crate::machine::call::Call;
use crate::machine::world::World;
use crate::memory::Side;

impl World {
    /// Refuses an allocation beyond a budget, or when host memory has run out.
    pub(crate) fn afford(&mut self, call: &Call<'_>, side: Side, bytes: u64) -> Status {
        self.afford_host(call, bytes)?;
        let faults = &call.core().faults;
        if !faults.is_active() {
            return Ok(());
        }
        for (plan, budget) in faults.budgets().into_iter().filter(|(_, budget)| budget.covers(side)) {
            let held: u64 = self.held_bytes().filter(|(side, _)| budget.covers(*side)).map(|(_, bytes)| bytes).sum();
            if held.saturating_add(bytes) > budget.bytes() {
                let reason = format!("the budget is {budget}; {held} are allocated, and {bytes} more do not fit");
                faults.over_budget(plan, call.function());
                return Err(call.injected(OUT_OF_MEMORY, reason));
            }
        }
        Ok(())
    }

    /// Allocated bytes, by side.
    fn held_bytes(&self) -> impl Iterator<Item = (Side, u64)> {
        let physical = self.physical.iter().map(|(_, physical)| (physical.side, physical.size));
        self.memory.held().chain(physical)
    }
}
