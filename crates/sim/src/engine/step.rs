//! How running work stops.

use warploom_sys::types::CUresult;

use crate::check::Watched;
use crate::machine::world::World;

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

    /// What it is, for reports.
    fn describe(&self) -> String {
        "a kernel".to_owned()
    }

    /// Takes its place among everything else, on a machine that checks.
    fn watch(&mut self, watched: Watched) {
        drop(watched);
    }

    /// It has ended, or never ran because its context had failed.
    fn ended(&mut self, world: &mut World) {
        let _ = world;
    }
}

/// Stands in for a task while it runs.
pub(super) struct Away;

impl Task for Away {
    fn advance(&mut self, _fuel: u64) -> Step {
        Step::Done
    }
}
