//! Work that ops do, as the engine sees it.

/// Work of an op. Everything that the engine needs to know about it is asked here.
pub trait Work: Send + Sized + 'static {
    /// Data of the user's beside each queue.
    type Owner;
    /// Data of the user's beside each op.
    type Note;
    /// Reason for which work fails.
    type Failure;
    /// A range of memory that the work touches.
    type Touch;

    /// Does the work, or some of it. Runs with the state unlocked, on the thread of an executor or of a
    /// waiting caller.
    fn run(&mut self) -> Step<Self::Failure>;

    /// Calls `touch` with every range of memory that the work is known to touch before it runs.
    fn touches(&self, touch: impl FnMut(Self::Touch));

    /// `true` if the work only changes bookkeeping, in no time.
    fn is_instant(&self) -> bool;

    /// `true` if the work runs the program's own code, of which one piece runs at a time on each unit.
    fn runs_on_host(&self) -> bool;

    /// `true` if the work begins by looking at memory and parks until that changes. A look in vain is no
    /// progress.
    fn polls(&self) -> bool;

    /// `true` if another process can still end the wait of work that [polls](Self::polls), so that a long
    /// wait is no deadlock.
    fn waits_for_process(&self) -> bool {
        false
    }

    /// `true` if a waiting thread may do the work itself, which is quicker than waking an executor.
    fn is_short(&self) -> bool;

    /// Takes the work out for running; the op keeps a stand-in for which all of the questions above, but
    /// [`Work::is_instant`], are answered as for the work itself.
    fn take(&mut self) -> Self;

    /// The work in words, for reports.
    fn describe(&self) -> String;
}

/// Outcome of running a piece of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<F> {
    /// The work is done.
    Done,
    /// It used up its share and has more to do.
    Yield,
    /// It cannot go on until memory changes.
    Park,
    /// It failed.
    Fail(F),
}
