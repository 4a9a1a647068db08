//! Work of ops: what streams are given to do.
//!
//! `S` is the state of the machine, which only a [`Task`] sees when it has ended; nothing here depends on it.
#![expect(unsafe_code, reason = "calls the program's host functions, which travel between threads")]

mod activity;
mod demand;
mod hook;
mod task;

use std::ffi::c_void;

use warploom_engine::{Known, Step};
use warploom_sys::types::{CUhostFn, CUresult, CUstream, CUstreamCallback};

pub(crate) use demand::{Demand, WHOLE};
pub(crate) use hook::{Hook, Reached};
pub(crate) use task::{KernelRun, Task};

use crate::ffi::handle::{ContextHandle, EventHandle};
use crate::machine::destructor::Destructor;
use crate::machine::pool::Freed;
use crate::machine::stream::Traits;
use crate::memory::shadow::{DISCARD_FILL, DISCARD_LIMIT};
use crate::memory::{
    AwaitedRecords, MemoryOp, Migration, PendingRecord, Recorder, Side, SimAddress, StagedBlock, Touch, Transfer,
};
use crate::process::program_function;
use crate::process::sleep::Mark;

/// The stream that a queue belongs to.
#[derive(Debug)]
pub(crate) struct Owner {
    pub(crate) context: ContextHandle,
    pub(crate) device: u16,
    /// Properties that a program can query of its stream.
    pub(crate) traits: Traits,
}

impl Owner {
    pub(crate) fn new(context: ContextHandle, device: u16, traits: Traits) -> Self {
        Self { context, device, traits }
    }
}

/// Notes beside an op.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Note {
    /// The number of the call that enqueued it, on a machine that numbers them.
    pub(crate) call: u64,
    /// The place of its call among all that enqueued work.
    pub(crate) number: u64,
    /// The code it fails with instead of running, where a fault plan asks for that.
    pub(crate) fails: Option<CUresult>,
}

pub(crate) enum Work<S> {
    /// Nothing; a point that others are ordered around.
    Join,
    Record {
        event: EventHandle,
        serial: u64,
        /// Tells other processes when the record is reached, of an event for several processes.
        shared: Option<Box<PendingRecord>>,
    },
    /// Waits for records of other processes.
    AwaitRecords {
        event: EventHandle,
        records: Box<AwaitedRecords>,
    },
    Memory(MemoryOp),
    /// Host bytes that were taken when the call was made.
    Staged {
        to: SimAddress,
        bytes: Box<[u8]>,
    },
    StagedBlock(Box<StagedBlock>),
    HostFunction {
        function: CUhostFn,
        data: *mut c_void,
        /// Work that is complete when it runs, for the checks.
        known: Known,
        /// Nanoseconds that it slept.
        slept: u64,
    },
    Callback {
        function: CUstreamCallback,
        stream: CUstream,
        status: CUresult,
        data: *mut c_void,
        known: Known,
    },
    /// Managed pages move, or lose their contents.
    Migrate(Box<Migration>),
    /// Gives freed memory back to where it came from.
    Release(Freed),
    /// Work that runs in slices: a kernel.
    Task(Box<dyn Task<S>>),
    /// A change of the machine's state.
    Hook(Box<dyn Hook<S>>),
    /// Destructors of user objects that nothing refers to any more.
    Destructors(Vec<Destructor>),
    /// A task while it runs.
    Away,
}

// SAFETY: the raw pointers are a host function's data, which the C caller hands over to the driver to pass to
// the function on whichever thread runs it, and a stream handle, which is a number.
unsafe impl<S> Send for Work<S> {}

// A program may have a million of them waiting.
const _: () = assert!(size_of::<warploom_engine::Op<Work<()>>>() <= 168, "an op is small");

impl<S> From<MemoryOp> for Work<S> {
    fn from(op: MemoryOp) -> Self {
        Work::Memory(op)
    }
}

/// Steps a task gets before others have a turn.
const FUEL: u64 = 100_000;

impl<S> Work<S> {
    /// Work that the program's own code knows to be complete when it runs.
    pub(crate) fn known(&self) -> Option<&Known> {
        match self {
            Work::HostFunction { known, .. } | Work::Callback { known, .. } => Some(known),
            _ => None,
        }
    }

    /// The bytes that it copies or fills, if that is known before it runs.
    #[inline]
    pub(crate) fn transfer(&self) -> Option<Transfer> {
        let staged = |to: SimAddress, bytes: &[u8]| {
            Some(Transfer { from: Some(Side::Host), to: to.side(), bytes: bytes.len() as u64 })
        };
        match self {
            Work::Memory(op) => op.transfer(),
            Work::Staged { to, bytes } => staged(*to, bytes),
            Work::StagedBlock(block) => staged(block.block.to, &block.bytes),
            Work::Join
            | Work::Record { .. }
            | Work::AwaitRecords { .. }
            | Work::HostFunction { .. }
            | Work::Callback { .. }
            | Work::Migrate(_)
            | Work::Release(_)
            | Work::Task(_)
            | Work::Hook(_)
            | Work::Destructors(_)
            | Work::Away => None,
        }
    }

    /// `true` if it takes a part of its device that other work may want at the same time.
    pub(crate) fn takes_device(&self) -> bool {
        matches!(self, Work::Task(_) | Work::Away | Work::Migrate(_)) || self.transfer().is_some()
    }

    /// Notes what the program's own code will know to be over: all that comes before it in its queue.
    pub(crate) fn remember(&mut self, before: &Known) {
        if let Work::HostFunction { known, .. } | Work::Callback { known, .. } = self {
            known.copy_from(before);
        }
    }
}

impl<S: 'static> warploom_engine::Work for Work<S> {
    type Owner = Owner;
    type Note = Note;
    type Failure = CUresult;
    type Touch = Touch;

    fn run(&mut self) -> Step<CUresult> {
        match self {
            Work::Join | Work::Record { .. } | Work::Release(_) | Work::Hook(_) | Work::Away => {}
            Work::Destructors(destructors) => destructors.drain(..).for_each(Destructor::run),
            Work::Memory(op) => {
                if !op.run() {
                    return Step::Park;
                }
            }
            Work::AwaitRecords { records, .. } => {
                if !records.is_over() {
                    return Step::Park;
                }
            }
            Work::Staged { to, bytes } => to.put(bytes),
            Work::StagedBlock(staged) => staged.put(),
            Work::HostFunction { function, data, slept, .. } => {
                let (function, data) = (*function, *data);
                if let Some(function) = function {
                    let mark = Mark::set();
                    // SAFETY: a function and its data that a C caller passed to be called once, now.
                    unsafe { program_function::call(function, data) };
                    *slept = mark.slept();
                }
            }
            Work::Callback { function, stream, status, data, .. } => {
                let (function, stream, status, data) = (*function, *stream, *status, *data);
                if let Some(function) = function {
                    // SAFETY: as above.
                    unsafe { program_function::call_back(function, stream, status, data) };
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

    fn touches(&self, mut touch: impl FnMut(Touch)) {
        match self {
            Work::Join
            | Work::Record { .. }
            | Work::AwaitRecords { .. }
            | Work::Release(_)
            | Work::HostFunction { .. }
            | Work::Callback { .. }
            | Work::Task(_)
            | Work::Hook(_)
            | Work::Destructors(_)
            | Work::Away => {}
            Work::Memory(op) => op.touches(touch),
            Work::Staged { to, bytes } => touch(Touch::Write { to: *to, bytes: bytes.len() as u64 }),
            Work::StagedBlock(staged) => staged.touches(touch),
            Work::Migrate(migration) => {
                let Migration { at, bytes, to, discards, .. } = **migration;
                if discards {
                    touch(Touch::Discard { at, bytes });
                }
                if to.is_some() {
                    touch(Touch::Prefetch { at, bytes });
                }
            }
        }
    }

    #[inline]
    fn is_instant(&self) -> bool {
        match self {
            Work::Join | Work::Record { .. } | Work::Release(_) => true,
            Work::Hook(hook) => hook.is_instant(),
            _ => false,
        }
    }

    fn runs_on_host(&self) -> bool {
        matches!(self, Work::HostFunction { .. } | Work::Callback { .. } | Work::Destructors(_))
    }

    fn polls(&self) -> bool {
        matches!(self, Work::Memory(MemoryOp::WaitValue { .. }) | Work::AwaitRecords { .. })
    }

    fn waits_for_process(&self) -> bool {
        let Work::AwaitRecords { records, .. } = self else { return false };
        records.recorders().any(|recorder| matches!(recorder, Recorder::Living(_)))
    }

    fn is_short(&self) -> bool {
        match self {
            Work::Memory(op) => op.moves_bytes(),
            Work::Staged { .. } | Work::StagedBlock(_) => true,
            _ => false,
        }
    }

    #[inline]
    fn take(&mut self) -> Self {
        match self {
            // Other threads ask what it waits for while someone looks.
            Work::Memory(op @ MemoryOp::WaitValue { .. }) => Work::Memory(op.clone()),
            Work::AwaitRecords { event, records } => Work::AwaitRecords { event: *event, records: records.clone() },
            Work::Task(_) => std::mem::replace(self, Work::Away),
            _ => std::mem::replace(self, Work::Join),
        }
    }

    fn describe(&self) -> String {
        match self {
            Work::Join => "a wait for another stream".to_owned(),
            Work::Record { event, .. } => format!("the record of event {event:?}"),
            Work::AwaitRecords { event, records } => {
                let recorder = match records.recorders().next() {
                    Some(Recorder::Living(pid)) => format!("process {pid}"),
                    Some(Recorder::Ended(pid)) => format!("process {pid}, which ended before it was reached"),
                    Some(Recorder::Own) | None => "another handle of this process".to_owned(),
                };
                format!("the record of event {event:?} by {recorder}")
            }
            Work::Memory(op) => op.describe(),
            Work::Staged { to, bytes } => format!("a copy of {} host bytes to {:#x}", bytes.len(), to.address()),
            Work::StagedBlock(staged) => {
                format!("a copy of {} host bytes to {:#x}", staged.bytes.len(), staged.block.to.address())
            }
            Work::HostFunction { .. } | Work::Callback { .. } => "a host function".to_owned(),
            Work::Migrate(migration) => {
                let Migration { at, bytes, .. } = &**migration;
                format!("a move of {bytes} managed bytes at {:#x}", at.address())
            }
            Work::Release(freed) => format!("the free of {:#x}", freed.address()),
            Work::Task(task) => task.describe(),
            Work::Hook(hook) => hook.describe(),
            Work::Destructors(_) => "destructors of user objects".to_owned(),
            Work::Away => "a kernel".to_owned(),
        }
    }
}
