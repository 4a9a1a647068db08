//! Memory that a function allocates on the stack of its thread.
//!
//! It lies behind the function's variables, up to an end that each lane has for itself, and functions that are
//! called lie behind it. On hardware stacks grow downwards; nothing but addresses shows that.

use crate::device::host::Host;
use crate::device::launch::MAX_LOCAL;
use crate::device::memory::Memory;
use crate::device::trap::TrapKind;
use crate::exec::warp::Warp;
use crate::exec::warp::executor::{Current, Executor, Stop, stop};
use crate::lanes::{LANES, Words, lanes as each};
use crate::program::slot::Slot;

impl<M: Memory + Host> Executor<'_, M> {
    /// The end of the function's variables, and the end of each lane's stack.
    fn stack_ends(&self, warp: &mut Warp, at: Current) -> (u32, Words) {
        let frame = warp.frames.get(at.frame);
        let start = frame.base + self.context.program.code.functions[frame.function as usize].frame;
        (start, frame.ends.as_deref().copied().unwrap_or([start; LANES]))
    }

    /// Addresses or sizes, of 64 bits or of 32.
    fn stack_operand(&self, warp: &mut Warp, at: Current, long: bool, slot: Slot) -> [u64; LANES] {
        let file = self.file(warp, at);
        if long { *file.longs(slot) } else { file.words(slot).map(u64::from) }
    }

    fn set_stack_result(&self, warp: &mut Warp, at: Current, lanes: u32, long: bool, (slot, values): (Slot, &Words)) {
        let mut file = self.file(warp, at);
        if long { file.set_longs(slot, lanes, &values.map(u64::from)) } else { file.set_words(slot, lanes, values) }
    }

    /// The trap of a stack that has become too large.
    fn overflow(&self, warp: &Warp, at: Current, lane: usize) -> Stop {
        stop(warp, at, 1 << lane, TrapKind::Stack { limit: self.context.stack.min(MAX_LOCAL) })
    }

    /// `alloca`
    pub(crate) fn stack_allocate(
        &self,
        warp: &mut Warp,
        at: Current,
        lanes: u32,
        long: bool,
        [d, bytes, alignment]: [Slot; 3],
    ) -> Result<(), Stop> {
        let bytes = self.stack_operand(warp, at, long, bytes);
        let (start, mut ends) = self.stack_ends(warp, at);
        let room = u64::from(self.context.stack.saturating_sub(warp.frames.get(at.frame).stack));
        let mut addresses = [0; LANES];
        for lane in each(lanes) {
            let address = u64::from(ends[lane]).next_multiple_of(alignment.value().into());
            let end = address.saturating_add(bytes[lane]);
            if end - u64::from(start) > room || end > MAX_LOCAL.into() {
                return Err(self.overflow(warp, at, lane));
            }
            (addresses[lane], ends[lane]) = (address as u32, end as u32);
        }
        warp.local.reserve(each(lanes).map(|lane| ends[lane]).max().unwrap_or(start));
        warp.frames.get(at.frame).ends = Some(Box::new(ends));
        self.set_stack_result(warp, at, lanes, long, (d, &addresses));
        Ok(())
    }

    /// `stacksave`
    pub(crate) fn stack_save(&self, warp: &mut Warp, at: Current, lanes: u32, long: bool, d: Slot) {
        let (_, ends) = self.stack_ends(warp, at);
        self.set_stack_result(warp, at, lanes, long, (d, &ends));
    }

    /// `stackrestore`: to an end that `stacksave` gave, in this function.
    pub(crate) fn stack_restore(
        &self,
        warp: &mut Warp,
        at: Current,
        lanes: u32,
        long: bool,
        end: Slot,
    ) -> Result<(), Stop> {
        let wanted = self.stack_operand(warp, at, long, end);
        let (start, mut ends) = self.stack_ends(warp, at);
        for lane in each(lanes) {
            let range = u64::from(start)..=warp.local.end().min(MAX_LOCAL.into());
            if !range.contains(&wanted[lane]) {
                return Err(stop(warp, at, 1 << lane, TrapKind::Local(wanted[lane])));
            }
            ends[lane] = wanted[lane] as u32;
        }
        warp.frames.get(at.frame).ends = Some(Box::new(ends));
        Ok(())
    }
}
