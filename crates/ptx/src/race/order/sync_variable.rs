//! Synchronisation variables: words whose value passes a vector clock from writer to reader.

use std::collections::HashMap;
use std::sync::Arc;

use super::vector_clock::{VectorClock, join};

/// By word of eight bytes: an access of four meets one of eight.
#[derive(Debug, Default)]
pub(crate) struct SyncVariables(HashMap<u64, SyncVariable>);

/// The clocks that a word passes on.
#[derive(Clone, Debug, Default)]
struct SyncVariable {
    /// To everyone.
    wide: Option<Arc<VectorClock>>,
    /// To threads of one block.
    narrow: Option<Arc<VectorClock>>,
    block: u32,
}

/// The clocks that a write passes on: to the device, to the block.
pub(crate) type Passed = [Option<Arc<VectorClock>>; 2];

fn word(address: u64) -> u64 {
    address >> 3
}

impl SyncVariables {
    /// Joins the clocks that a thread of a block finds in a word.
    pub(crate) fn read(&self, address: u64, block: u32, into: &mut Option<Arc<VectorClock>>) {
        if let Some(variable) = self.0.get(&word(address)) {
            join(into, &variable.wide);
            if variable.block == block {
                join(into, &variable.narrow);
            }
        }
    }

    /// A thread writes a word; an atomic update keeps the clocks that the word had.
    pub(crate) fn write(&mut self, address: u64, block: u32, [wide, narrow]: Passed, updates: bool) {
        if wide.is_none() && narrow.is_none() {
            if !updates {
                self.0.remove(&word(address));
            }
            return;
        }
        let variable = self.0.entry(word(address)).or_default();
        if !updates || variable.block != block {
            variable.narrow = None;
        }
        if !updates {
            variable.wide = None;
        }
        variable.block = block;
        join(&mut variable.wide, &wide);
        join(&mut variable.narrow, &narrow);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::race::order::vector_clock::Unit;

    fn clock(block: u32) -> Option<Arc<VectorClock>> {
        let mut clock = VectorClock::default();
        clock.raise(Unit::block(block), 5);
        Some(Arc::new(clock))
    }

    fn read(sync_variables: &SyncVariables, address: u64, block: u32) -> Option<Arc<VectorClock>> {
        let mut into = None;
        sync_variables.read(address, block, &mut into);
        into
    }

    #[test]
    fn a_clock_for_the_block_does_not_reach_another() {
        let mut sync_variables = SyncVariables::default();
        sync_variables.write(16, 1, [None, clock(1)], false);
        assert_eq!(
            (read(&sync_variables, 20, 1), read(&sync_variables, 20, 2), read(&sync_variables, 24, 1)),
            (clock(1), None, None)
        );
    }

    #[test]
    fn an_atomic_update_keeps_earlier_clocks_and_a_write_does_not() {
        let mut sync_variables = SyncVariables::default();
        sync_variables.write(16, 1, [clock(1), clock(1)], true);
        sync_variables.write(16, 2, [None, None], true);
        assert_eq!(read(&sync_variables, 16, 2), clock(1));
        sync_variables.write(16, 2, [clock(2), clock(2)], false);
        assert_eq!(read(&sync_variables, 16, 1), clock(2));
        sync_variables.write(16, 3, [None, None], false);
        assert_eq!(read(&sync_variables, 16, 1), None);
    }
}
