//! How running work stops.

use warploom_sys::types::CUresult;

/// What became of a piece of work that was run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Done,
    /// Used up its share and has more to do.
    #[cfg_attr(not(test), expect(dead_code, reason = "kernels yield, and there are none yet"))]
    Yield,
    /// Cannot go on until somebody changes memory.
    Park,
    /// Failed in a way that poisons its context.
    Fail(CUresult),
}

/// Work whose state is plain data, run in slices: a kernel.
pub(crate) trait Task: Send {
    /// Goes on for about `fuel` steps.
    fn advance(&mut self, fuel: u64) -> Step;
}

/// Stands in for a task while it runs.
pub(super) struct Away;

impl Task for Away {
    fn advance(&mut self, _fuel: u64) -> Step {
        Step::Done
    }
}
