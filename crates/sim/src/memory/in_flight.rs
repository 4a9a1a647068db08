//! Operations in flight, as far as memory has to know them: freed pages stay mapped until these are done.

use warploom_engine::OpId;

/// The operations that may still touch memory.
pub(crate) trait InFlight<Op = OpId> {
    /// The newest operation of each queue, if it has not ended.
    fn newest(&self) -> impl Iterator<Item = Op>;

    fn is_done(&self, op: Op) -> bool;
}
