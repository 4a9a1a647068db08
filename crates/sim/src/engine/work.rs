//! What an op does when it runs.
#![expect(unsafe_code, reason = "moves bytes between addresses that were checked when the op was made")]

use std::ffi::c_void;

use warploom_sys::types::{CUhostFn, CUresult, CUstream, CUstreamCallback};

use super::{Step, Task};
use crate::api::pool::Freed;
use crate::check::Known;
use crate::ffi::handle::EventHandle;
use crate::memory::Migration;
use crate::memory::SimAddress;
use crate::memory::shadow::{DISCARD_FILL, DISCARD_LIMIT};

/// A box of rows and slices, copied between two pitched layouts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockCopy {
    pub(crate) to: SimAddress,
    pub(crate) to_pitch: u64,
    pub(crate) to_slice: u64,
    pub(crate) from: SimAddress,
    pub(crate) from_pitch: u64,
    pub(crate) from_slice: u64,
    pub(crate) width: u64,
    pub(crate) height: u64,
    pub(crate) depth: u64,
}

impl BlockCopy {
    /// How many bytes it moves.
    pub(crate) fn bytes(&self) -> u64 {
        self.width * self.height * self.depth
    }

    /// Takes the source bytes as they are now, so that the source may change before the op runs.
    pub(crate) fn staged(self) -> StagedBlock {
        let mut bytes = Vec::with_capacity(self.bytes() as usize);
        for slice in 0..self.depth {
            for row in 0..self.height {
                let from = self.from.offset(slice * self.from_slice + row * self.from_pitch);
                bytes.extend_from_slice(&from.take(self.width));
            }
        }
        StagedBlock { block: self, bytes: bytes.into_boxed_slice() }
    }
}

impl BlockCopy {
    fn copy(&self) {
        for slice in 0..self.depth {
            for row in 0..self.height {
                let to = self.to.offset(slice * self.to_slice + row * self.to_pitch);
                to.copy_from(self.from.offset(slice * self.from_slice + row * self.from_pitch), self.width);
            }
        }
    }
}

/// A block whose source was taken, row after row, when the call was made.
#[derive(Debug)]
pub(crate) struct StagedBlock {
    pub(crate) block: BlockCopy,
    pub(crate) bytes: Box<[u8]>,
}

impl StagedBlock {
    fn put(&self) {
        let block = &self.block;
        let starts = (0..block.depth)
            .flat_map(|slice| (0..block.height).map(move |row| slice * block.to_slice + row * block.to_pitch));
        for (start, row) in starts.zip(self.bytes.chunks_exact(block.width as usize)) {
            block.to.offset(start).put(row);
        }
    }
}

/// Rows of a repeated element.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowFill {
    pub(crate) to: SimAddress,
    pub(crate) pitch: u64,
    pub(crate) pattern: u32,
    pub(crate) element: u8,
    pub(crate) columns: u64,
    pub(crate) rows: u64,
}

/// How a wait-value op compares memory with its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compare {
    /// The difference, taken as signed, is not negative.
    AtLeast,
    Equal,
    /// They share a bit.
    And,
    /// The complement of their "or" is not zero.
    Nor,
}

impl Compare {
    /// Whether a word of memory satisfies a wait for `value`.
    fn holds(self, found: u64, value: u64, wide: bool) -> bool {
        match (self, wide) {
            (Compare::AtLeast, true) => found.wrapping_sub(value).cast_signed() >= 0,
            (Compare::AtLeast, false) => (found as u32).wrapping_sub(value as u32).cast_signed() >= 0,
            (Compare::Equal, true) => found == value,
            (Compare::Equal, false) => found as u32 == value as u32,
            (Compare::And, true) => found & value != 0,
            (Compare::And, false) => found as u32 & value as u32 != 0,
            (Compare::Nor, true) => !(found | value) != 0,
            (Compare::Nor, false) => !(found as u32 | value as u32) != 0,
        }
    }
}

pub(crate) enum Work {
    /// Nothing; a point that others are ordered around.
    Join,
    Record {
        event: EventHandle,
        serial: u64,
    },
    Copy {
        to: SimAddress,
        from: SimAddress,
        bytes: u64,
    },
    CopyBlock(Box<BlockCopy>),
    /// Host bytes that were taken when the call was made.
    Staged {
        to: SimAddress,
        bytes: Box<[u8]>,
    },
    StagedBlock(Box<StagedBlock>),
    Fill {
        to: SimAddress,
        pattern: u32,
        element: u8,
        count: u64,
    },
    FillRows(Box<RowFill>),
    /// One aligned word, seen by wait-value ops at once.
    WriteValue {
        to: SimAddress,
        value: u64,
        wide: bool,
    },
    WaitValue {
        at: SimAddress,
        value: u64,
        wide: bool,
        compare: Compare,
    },
    HostFunction {
        function: CUhostFn,
        data: *mut c_void,
        /// What is over when it runs, for the checks.
        known: Known,
    },
    Callback {
        function: CUstreamCallback,
        stream: CUstream,
        status: CUresult,
        data: *mut c_void,
        known: Known,
    },
    /// Managed pages go elsewhere, or lose what is in them.
    Migrate(Box<Migration>),
    /// Gives freed memory back to where it came from.
    Release(Freed),
    /// Work that runs in slices.
    Task(Box<dyn Task>),
}

// SAFETY: the raw pointers are a host function's data, which the C caller hands over to the driver to pass to the
// function on whichever thread runs it, and a stream handle, which is a number.
unsafe impl Send for Work {}

/// Steps a task gets before others have a turn.
const FUEL: u64 = 100_000;

impl Work {
    /// Whether it only changes bookkeeping, in no time.
    pub(crate) fn is_instant(&self) -> bool {
        matches!(self, Work::Join | Work::Record { .. } | Work::Release { .. })
    }

    /// Whether it moves or sets bytes, and does nothing else.
    pub(crate) fn moves_bytes(&self) -> bool {
        match self {
            Work::Copy { .. }
            | Work::CopyBlock(_)
            | Work::Staged { .. }
            | Work::StagedBlock(_)
            | Work::Fill { .. }
            | Work::FillRows(_)
            | Work::WriteValue { .. } => true,
            Work::Join
            | Work::Record { .. }
            | Work::WaitValue { .. }
            | Work::HostFunction { .. }
            | Work::Callback { .. }
            | Work::Migrate(_)
            | Work::Release(_)
            | Work::Task(_) => false,
        }
    }

    /// Whether it is the program's own code.
    pub(crate) fn runs_on_host(&self) -> bool {
        matches!(self, Work::HostFunction { .. } | Work::Callback { .. })
    }

    /// What the program's own code knows to be over when it runs.
    pub(crate) fn known(&self) -> Option<&Known> {
        match self {
            Work::HostFunction { known, .. } | Work::Callback { known, .. } => Some(known),
            _ => None,
        }
    }

    /// Notes what the program's own code will know to be over: all that comes before it in its queue.
    pub(crate) fn remember(&mut self, before: &Known) {
        if let Work::HostFunction { known, .. } | Work::Callback { known, .. } = self {
            known.copy_from(before);
        }
    }

    /// Does it. Bookkeeping that an end entails is the caller's.
    pub(crate) fn run(&mut self) -> Step {
        match self {
            Work::Join | Work::Record { .. } | Work::Release { .. } => {}
            Work::Copy { to, from, bytes } => to.copy_from(*from, *bytes),
            Work::CopyBlock(block) => block.copy(),
            Work::Staged { to, bytes } => to.put(bytes),
            Work::StagedBlock(staged) => staged.put(),
            Work::Fill { to, pattern, element, count } => to.fill(*pattern, *element, *count),
            Work::FillRows(rows) => {
                for row in 0..rows.rows {
                    rows.to.offset(row * rows.pitch).fill(rows.pattern, rows.element, rows.columns);
                }
            }
            Work::WriteValue { to, value, wide } => to.write_value(*value, *wide),
            Work::WaitValue { at, value, wide, compare } => {
                if !compare.holds(at.read_value(*wide), *value, *wide) {
                    return Step::Park;
                }
            }
            Work::HostFunction { function, data, .. } => {
                let (function, data) = (*function, *data);
                if let Some(function) = function {
                    // SAFETY: a function and its data that a C caller passed to be called once, now.
                    unsafe { function(data) };
                }
            }
            Work::Callback { function, stream, status, data, .. } => {
                let (function, stream, status, data) = (*function, *stream, *status, *data);
                if let Some(function) = function {
                    // SAFETY: as above.
                    unsafe { function(stream, status, data) };
                }
            }
            Work::Migrate(migration) if migration.discards => {
                migration.at.fill(DISCARD_FILL.into(), 1, migration.bytes.min(DISCARD_LIMIT));
            }
            Work::Migrate(_) => {}
            Work::Task(task) => return task.advance(FUEL),
        }
        Step::Done
    }

    /// What it is, for reports.
    pub(crate) fn describe(&self) -> String {
        match self {
            Work::Join => "a wait for another stream".to_owned(),
            Work::Record { event, .. } => format!("the record of event {event:?}"),
            Work::Copy { to, from, bytes } => {
                format!("a copy of {bytes} bytes from {:#x} to {:#x}", from.address(), to.address())
            }
            Work::CopyBlock(block) => format!(
                "a copy of {}×{}×{} bytes from {:#x} to {:#x}",
                block.width,
                block.height,
                block.depth,
                block.from.address(),
                block.to.address()
            ),
            Work::Staged { to, bytes } => format!("a copy of {} host bytes to {:#x}", bytes.len(), to.address()),
            Work::StagedBlock(staged) => {
                format!("a copy of {} host bytes to {:#x}", staged.bytes.len(), staged.block.to.address())
            }
            Work::Fill { to, element, count, .. } => {
                format!("a fill of {} bytes at {:#x}", count * u64::from(*element), to.address())
            }
            Work::FillRows(rows) => format!("a fill of {} rows at {:#x}", rows.rows, rows.to.address()),
            Work::WriteValue { to, value, .. } => format!("a write of {value} to {:#x}", to.address()),
            Work::WaitValue { at, value, compare, .. } => {
                format!("a wait until the value at {:#x} is {compare:?} {value}", at.address())
            }
            Work::HostFunction { .. } | Work::Callback { .. } => "a host function".to_owned(),
            Work::Migrate(migration) => {
                let Migration { at, bytes, .. } = &**migration;
                format!("a move of {bytes} managed bytes at {:#x}", at.address())
            }
            Work::Release(freed) => format!("the free of {:#x}", freed.address()),
            Work::Task(task) => task.describe(),
        }
    }
}
