//! How running work stops.

use warploom_sys::types::CUresult;

/// What became of a piece of work that was run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Done,
    /// Used up its share and has more to do.
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
