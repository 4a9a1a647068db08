//! Memory that a function allocates on the stack of its thread.
//!
//! It lies behind the function's variables, up to an end that each lane has for itself, and functions that
//! are called lie behind it. On hardware stacks grow downwards; nothing but addresses shows that. Any size is
//! granted, as on an H200; an access beyond the stack faults.

use crate::device::host::Host;
use crate::device::launch::MAX_LOCAL;
use crate::device::memory::Memory;
use crate::exec::warp::Warp;
use crate::exec::warp::executor::{Current, Executor};
use crate::lanes::{LANES, Words, lanes as each, map_row};
use crate::program::slot::Slot;

/// Sizes are multiples of this many bytes.
const STEP: u64 = 8;

impl<M: Memory + Host> Executor<'_, M> {
    /// The end of each lane's stack: that of the function's variables, at first.
    fn stack_ends(&self, warp: &mut Warp, at: Current) -> Words {
        let frame = warp.frames.get(at.frame);
        let start = frame.base + self.context.program.code.functions[frame.function as usize].frame;
        frame.ends.as_deref().copied().unwrap_or([start; LANES])
    }

    /// Addresses or sizes, of 64 bits or of 32.
    fn stack_operand(&self, warp: &mut Warp, at: Current, long: bool, slot: Slot) -> [u64; LANES] {
        let file = self.file(warp, at);
        if long { *file.longs(slot) } else { map_row(file.words(slot), u64::from) }
    }

    fn set_stack_result(&self, warp: &mut Warp, at: Current, lanes: u32, long: bool, (slot, values): (Slot, &Words)) {
        let mut file = self.file(warp, at);
        if long {
            file.set_longs(slot, lanes, &map_row(values, u64::from))
        } else {
            file.set_words(slot, lanes, values)
        }
    }

    /// `alloca`
    pub(crate) fn stack_allocate(
        &self,
        warp: &mut Warp,
        at: Current,
        lanes: u32,
        long: bool,
        [d, bytes, alignment]: [Slot; 3],
    ) {
        let bytes = self.stack_operand(warp, at, long, bytes);
        let mut ends = self.stack_ends(warp, at);
        let mut addresses = [0; LANES];
        for lane in each(lanes) {
            let start = u64::from(ends[lane]).next_multiple_of(alignment.value().into());
            let end = bytes[lane].checked_next_multiple_of(STEP).and_then(|bytes| start.checked_add(bytes));
            addresses[lane] = start as u32;
            ends[lane] = end.and_then(|end| u32::try_from(end).ok()).unwrap_or(u32::MAX);
        }
        let end = each(lanes).map(|lane| ends[lane]).max().unwrap_or(0);
        warp.local.reserve(end.min(self.context.stack).min(MAX_LOCAL));
        warp.frames.get(at.frame).ends = Some(Box::new(ends));
        self.set_stack_result(warp, at, lanes, long, (d, &addresses));
    }

    /// `stacksave`
    pub(crate) fn stack_save(&self, warp: &mut Warp, at: Current, lanes: u32, long: bool, d: Slot) {
        let ends = self.stack_ends(warp, at);
        self.set_stack_result(warp, at, lanes, long, (d, &ends));
    }

    /// `stackrestore`: to an end that `stacksave` gave, in this function.
    pub(crate) fn stack_restore(&self, warp: &mut Warp, at: Current, lanes: u32, long: bool, end: Slot) {
        let wanted = self.stack_operand(warp, at, long, end);
        let mut ends = self.stack_ends(warp, at);
        for lane in each(lanes) {
            ends[lane] = wanted[lane] as u32;
        }
        warp.frames.get(at.frame).ends = Some(Box::new(ends));
    }
}
