//! Tasks: work that runs in slices.

use warploom_engine::Step;
use warploom_ptx::Cost;
use warploom_sys::types::CUresult;

use super::Demand;
use crate::check::Watched;
use crate::machine::launch::Shape;

/// A launch of a kernel, in numbers.
pub(crate) struct KernelRun<'a> {
    pub(crate) name: &'a str,
    pub(crate) shape: Shape,
    pub(crate) cost: Cost,
}

/// Work whose state is plain data, run in slices: a kernel. `S` is the state of the machine.
pub(crate) trait Task<S>: Send {
    /// Goes on for about `fuel` steps.
    fn advance(&mut self, fuel: u64) -> Step<CUresult>;

    /// Tells the virtual time at which it starts.
    fn starts_at(&mut self, nanoseconds: u64) {
        let _ = nanoseconds;
    }

    /// The part of the device that it takes, and the virtual time so far.
    fn demand(&self) -> Demand {
        Demand::default()
    }

    /// The task in words, for reports.
    fn describe(&self) -> String {
        "a kernel".to_owned()
    }

    /// Its work in numbers, for the trace; `None` for tasks other than kernels.
    fn run(&self) -> Option<KernelRun<'_>> {
        None
    }

    /// Takes its place among all other ops, on a machine that checks.
    fn watch(&mut self, watched: Watched) {
        drop(watched);
    }

    /// It has ended, or never ran because its context had failed.
    fn ended(&mut self, state: &mut S) {
        let _ = state;
    }
}
