//! What an op does when it runs.
#![expect(unsafe_code, reason = "moves bytes between addresses that were checked when the op was made")]

use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use warploom_sys::types::{CUhostFn, CUresult, CUstream, CUstreamCallback};

use super::{Step, Task};
use crate::api::event::Event;
use crate::api::managed::{LEFT, Migration, WATCHED};
use crate::api::pool::Freed;
use crate::check::Known;
use crate::machine::handles::Handle;

/// Where bytes are: for the virtual clock, and for the checkers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Side {
    Host,
    Device(u16),
}

/// A checked stretch of memory: the address a program knows, and the one the simulator reads and writes.
///
/// Made only from an allocation of the machine, or from a host address that a C caller vouched for. The simulator's
/// address of device memory stays mapped for as long as the machine lives, that of page-locked and managed memory until
/// every op is done that was enqueued when it was freed (`memory::Arena`); other host memory is the caller's to keep until
/// the op is done, as with the real driver.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) address: u64,
    pub(crate) host: usize,
    pub(crate) side: Side,
}

impl Place {
    pub(crate) fn offset(self, bytes: u64) -> Place {
        Place { address: self.address + bytes, host: self.host + bytes as usize, side: self.side }
    }

    fn pointer(self) -> *mut u8 {
        std::ptr::with_exposed_provenance_mut(self.host)
    }

    /// Puts bytes there, now.
    pub(crate) fn put(self, bytes: &[u8]) {
        put(self, bytes);
    }

    /// The bytes as they are now.
    pub(crate) fn take(self, bytes: u64) -> Box<[u8]> {
        let mut taken = vec![0; bytes as usize].into_boxed_slice();
        // SAFETY: `taken` has this many bytes, and so has the stretch: it was checked for them (see `Place`).
        unsafe { taken.as_mut_ptr().copy_from_nonoverlapping(self.pointer(), taken.len()) };
        taken
    }
}

/// A box of rows and slices, copied between two pitched layouts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockCopy {
    pub(crate) to: Place,
    pub(crate) to_pitch: u64,
    pub(crate) to_slice: u64,
    pub(crate) from: Place,
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

/// A block whose source was taken, row after row, when the call was made.
#[derive(Debug)]
pub(crate) struct StagedBlock {
    pub(crate) block: BlockCopy,
    pub(crate) bytes: Box<[u8]>,
}

/// Rows of a repeated element.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowFill {
    pub(crate) to: Place,
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

pub(crate) enum Work {
    /// Nothing; a point that others are ordered around.
    Join,
    Record {
        event: Handle<Event>,
        serial: u64,
    },
    Copy {
        to: Place,
        from: Place,
        bytes: u64,
    },
    CopyBlock(Box<BlockCopy>),
    /// Host bytes that were taken when the call was made.
    Staged {
        to: Place,
        bytes: Box<[u8]>,
    },
    StagedBlock(Box<StagedBlock>),
    Fill {
        to: Place,
        pattern: u32,
        element: u8,
        count: u64,
    },
    FillRows(Box<RowFill>),
    /// One aligned word, seen by wait-value ops at once.
    WriteValue {
        to: Place,
        value: u64,
        wide: bool,
    },
    WaitValue {
        at: Place,
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
            Work::Copy { to, from, bytes } => copy(*to, *from, *bytes),
            Work::CopyBlock(block) => copy_block(block),
            Work::Staged { to, bytes } => put(*to, bytes),
            Work::StagedBlock(staged) => put_block(staged),
            Work::Fill { to, pattern, element, count } => fill(*to, *pattern, *element, *count),
            Work::FillRows(rows) => {
                for row in 0..rows.rows {
                    fill(rows.to.offset(row * rows.pitch), rows.pattern, rows.element, rows.columns);
                }
            }
            Work::WriteValue { to, value, wide } => write_value(*to, *value, *wide),
            Work::WaitValue { at, value, wide, compare } => {
                if !satisfied(*at, *value, *wide, *compare) {
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
                fill(migration.at, LEFT.into(), 1, migration.bytes.min(WATCHED));
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
                format!("a copy of {bytes} bytes from {:#x} to {:#x}", from.address, to.address)
            }
            Work::CopyBlock(block) => format!(
                "a copy of {}×{}×{} bytes from {:#x} to {:#x}",
                block.width, block.height, block.depth, block.from.address, block.to.address
            ),
            Work::Staged { to, bytes } => format!("a copy of {} host bytes to {:#x}", bytes.len(), to.address),
            Work::StagedBlock(staged) => {
                format!("a copy of {} host bytes to {:#x}", staged.bytes.len(), staged.block.to.address)
            }
            Work::Fill { to, element, count, .. } => {
                format!("a fill of {} bytes at {:#x}", count * u64::from(*element), to.address)
            }
            Work::FillRows(rows) => format!("a fill of {} rows at {:#x}", rows.rows, rows.to.address),
            Work::WriteValue { to, value, .. } => format!("a write of {value} to {:#x}", to.address),
            Work::WaitValue { at, value, compare, .. } => {
                format!("a wait until the value at {:#x} is {compare:?} {value}", at.address)
            }
            Work::HostFunction { .. } | Work::Callback { .. } => "a host function".to_owned(),
            Work::Migrate(migration) => {
                let Migration { at, bytes, .. } = &**migration;
                format!("a move of {bytes} managed bytes at {:#x}", at.address)
            }
            Work::Release(freed) => format!("the free of {:#x}", freed.address()),
            Work::Task(task) => task.describe(),
        }
    }
}

fn copy(to: Place, from: Place, bytes: u64) {
    // SAFETY: both stretches were checked for this many bytes when the op was made, and stay mapped (see `Place`). They
    // may overlap: `copy` allows it. Another op may touch the same bytes at the same time if the program forgot to order
    // the two; that is the simulated machine's race, on memory that no Rust reference points to.
    unsafe { to.pointer().copy_from(from.pointer(), bytes as usize) };
}

fn copy_block(block: &BlockCopy) {
    for slice in 0..block.depth {
        for row in 0..block.height {
            let to = block.to.offset(slice * block.to_slice + row * block.to_pitch);
            let from = block.from.offset(slice * block.from_slice + row * block.from_pitch);
            copy(to, from, block.width);
        }
    }
}

fn put(to: Place, bytes: &[u8]) {
    // SAFETY: `to` was checked for this many bytes when the op was made, and stays mapped (see `Place`).
    unsafe { to.pointer().copy_from(bytes.as_ptr(), bytes.len()) };
}

fn put_block(staged: &StagedBlock) {
    let block = &staged.block;
    let starts = (0..block.depth)
        .flat_map(|slice| (0..block.height).map(move |row| slice * block.to_slice + row * block.to_pitch));
    for (start, row) in starts.zip(staged.bytes.chunks_exact(block.width as usize)) {
        put(block.to.offset(start), row);
    }
}

fn fill(to: Place, pattern: u32, element: u8, count: u64) {
    let count = count as usize;
    match element {
        // SAFETY: the stretch was checked for `count` bytes when the op was made; it stays mapped (see `Place`).
        1 => unsafe { to.pointer().write_bytes(pattern as u8, count) },
        2 => repeat(to.pointer().cast::<u16>(), pattern as u16, count),
        _ => repeat(to.pointer().cast::<u32>(), pattern, count),
    }
}

fn repeat<T: Copy>(to: *mut T, value: T, count: usize) {
    for index in 0..count {
        // SAFETY: the stretch was checked for `count` elements and their alignment when the op was made (see `Place`).
        unsafe { to.add(index).write(value) };
    }
}

fn write_value(to: Place, value: u64, wide: bool) {
    // SAFETY: a checked, aligned word of memory that stays mapped (see `Place`); others reach it only as raw memory.
    unsafe {
        if wide {
            AtomicU64::from_ptr(to.pointer().cast()).store(value, Ordering::Release);
        } else {
            AtomicU32::from_ptr(to.pointer().cast()).store(value as u32, Ordering::Release);
        }
    }
}

fn satisfied(at: Place, value: u64, wide: bool, compare: Compare) -> bool {
    // SAFETY: as in `write_value`.
    let found = unsafe {
        if wide {
            AtomicU64::from_ptr(at.pointer().cast()).load(Ordering::Acquire)
        } else {
            u64::from(AtomicU32::from_ptr(at.pointer().cast()).load(Ordering::Acquire))
        }
    };
    match (compare, wide) {
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
