//! Words that threads meet in: what was passed on with what is in them.

use std::collections::HashMap;
use std::sync::Arc;

use super::clock::{Clock, join};

/// By word of eight bytes: an access of four meets one of eight.
#[derive(Debug, Default)]
pub(super) struct Meetings(HashMap<u64, Meeting>);

/// What a word passes on.
#[derive(Clone, Debug, Default)]
struct Meeting {
    /// To everyone.
    wide: Option<Arc<Clock>>,
    /// To threads of one block.
    narrow: Option<Arc<Clock>>,
    block: u32,
}

/// What a thread passes on with a write: to everyone, to its block.
pub(super) type Passed = [Option<Arc<Clock>>; 2];

fn word(address: u64) -> u64 {
    address >> 3
}

impl Meetings {
    /// What a thread of a block learns from reading a word.
    pub(super) fn read(&self, address: u64, block: u32, into: &mut Option<Arc<Clock>>) {
        if let Some(meeting) = self.0.get(&word(address)) {
            join(into, &meeting.wide);
            if meeting.block == block {
                join(into, &meeting.narrow);
            }
        }
    }

    /// A thread writes a word; where it has read it in one go, what was passed on before is, still.
    pub(super) fn write(&mut self, address: u64, block: u32, [wide, narrow]: Passed, updates: bool) {
        if wide.is_none() && narrow.is_none() {
            if !updates {
                self.0.remove(&word(address));
            }
            return;
        }
        let meeting = self.0.entry(word(address)).or_default();
        if !updates || meeting.block != block {
            meeting.narrow = None;
        }
        if !updates {
            meeting.wide = None;
        }
        meeting.block = block;
        join(&mut meeting.wide, &wide);
        join(&mut meeting.narrow, &narrow);
    }
}

#[cfg(test)]
mod tests {
    use super::super::clock::Unit;
    use super::*;

    fn clock(block: u32) -> Option<Arc<Clock>> {
        let mut clock = Clock::default();
        clock.raise(Unit::block(block), 5);
        Some(Arc::new(clock))
    }

    fn read(meetings: &Meetings, address: u64, block: u32) -> Option<Arc<Clock>> {
        let mut into = None;
        meetings.read(address, block, &mut into);
        into
    }

    #[test]
    fn what_is_for_a_block_stays_in_it() {
        let mut meetings = Meetings::default();
        meetings.write(16, 1, [None, clock(1)], false);
        assert_eq!((read(&meetings, 20, 1), read(&meetings, 20, 2), read(&meetings, 24, 1)), (clock(1), None, None));
    }

    #[test]
    fn an_update_passes_on_what_came_before_and_a_write_does_not() {
        let mut meetings = Meetings::default();
        meetings.write(16, 1, [clock(1), clock(1)], true);
        meetings.write(16, 2, [None, None], true);
        assert_eq!(read(&meetings, 16, 2), clock(1));
        meetings.write(16, 2, [clock(2), clock(2)], false);
        assert_eq!(read(&meetings, 16, 1), clock(2));
        meetings.write(16, 3, [None, None], false);
        assert_eq!(read(&meetings, 16, 1), None);
    }
}
