//! Hooks: ops that change the state of the machine when their turn comes.

use warploom_engine::{OpId, QueueId};

/// An op whose work is a change of the machine's state: a part of a graph's launch. `S` is that state.
pub(crate) trait Hook<S>: Send {
    /// Its turn has come. More work that it enqueues can take the op's place.
    fn reached(&mut self, state: &mut S, at: Reached);

    /// `true` if it ends at once and enqueues nothing, so that it costs no turn of an executor.
    fn is_instant(&self) -> bool {
        true
    }

    /// The hook in words, for reports.
    fn describe(&self) -> String;
}

/// The op of a hook whose turn has come.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reached {
    pub(crate) op: OpId,
    pub(crate) queue: QueueId,
    /// False if the op was passed over, because its context has failed.
    pub(crate) ran: bool,
    /// Virtual time.
    pub(crate) time: u64,
}
