//! Call frames of a warp.

use crate::exec::registers::Registers;
use crate::lanes::{Words, lanes as each};

/// One function that lanes have entered together, until the last of them has left it.
#[derive(Debug, Default)]
pub(crate) struct Frame {
    pub(crate) function: u32,
    /// Depth of calls: functions entered to get here.
    pub(crate) depth: u32,
    pub(crate) registers: Registers,
    /// The start of its part of local memory.
    pub(crate) base: u32,
    /// Bytes of the stack that it and those that called it take.
    pub(crate) stack: u32,
    /// The end of each lane's stack, once the function has allocated memory on it.
    pub(crate) ends: Option<Box<Words>>,
    /// The frame that called, the call, and where that one goes on.
    pub(crate) caller: Option<Caller>,
    /// The lanes that are in it, or in functions it called.
    pub(crate) lanes: u32,
}

impl Frame {
    /// The most bytes that one of some lanes has allocated on the stack, behind `start`.
    pub(crate) fn allocated(&self, start: u32, lanes: u32) -> u32 {
        let Some(ends) = &self.ends else { return 0 };
        each(lanes).map(|lane| ends[lane].saturating_sub(start)).max().unwrap_or(0)
    }
}

/// The return address of a frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caller {
    pub(crate) frame: usize,
    pub(crate) call: u32,
    pub(crate) pc: u32,
}

/// All frames of a warp; those that were left are used again.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    all: Vec<Frame>,
    free: Vec<usize>,
}

impl Frames {
    pub(crate) fn clear(&mut self) {
        self.free.clear();
        self.free.extend((0..self.all.len()).rev());
    }

    /// A frame to fill; its registers keep their old values.
    pub(crate) fn take(&mut self) -> usize {
        self.free.pop().unwrap_or_else(|| {
            self.all.push(Frame::default());
            self.all.len() - 1
        })
    }

    pub(crate) fn give_back(&mut self, index: usize) {
        self.free.push(index);
    }

    pub(crate) fn get(&mut self, index: usize) -> &mut Frame {
        &mut self.all[index]
    }

    pub(crate) fn depth(&self, index: usize) -> u32 {
        self.all[index].depth
    }
}
