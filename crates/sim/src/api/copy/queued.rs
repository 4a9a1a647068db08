//! Submission of copies: the op of a copy, and the host's wait for it.

use warploom_engine::QueueId;

use super::access::{Memory, ResolvedOperand};
use crate::ffi::status::Status;
use crate::machine::call::Call;
use crate::machine::core::Guard;
use crate::machine::world::Work;
use crate::memory::{BlockCopy, MemoryOp};

/// The form of a function: synchronous or asynchronous.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Sync,
    Async,
}

/// The extent of a copy.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shape {
    Line(u64),
    Block(BlockCopy),
}

/// Largest asynchronous copy from pageable memory that is staged at the call, as observed with the real
/// driver.
const STAGED: u64 = 1 << 20;

/// The host's wait before the call of a copy returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Return {
    AtOnce,
    /// Until the source has been read, which is done at the call.
    Staged,
    Done,
}

fn when(form: Form, to: &ResolvedOperand, from: &ResolvedOperand, bytes: u64) -> Return {
    let sync_memops = to.sync_memops || from.sync_memops;
    match (form, from.memory, to.memory) {
        (Form::Sync, Memory::Device, Memory::Device) if !sync_memops => Return::AtOnce,
        (Form::Sync, _, _) => Return::Done,
        (Form::Async, Memory::Pageable, Memory::Device) if bytes <= STAGED => Return::Staged,
        (Form::Async, Memory::Device, Memory::Device | Memory::Shared) => Return::AtOnce,
        (Form::Async, Memory::Shared, Memory::Device) => Return::AtOnce,
        (Form::Async, _, _) => Return::Done,
    }
}

impl Shape {
    pub(super) fn bytes(&self) -> u64 {
        match self {
            Shape::Line(bytes) => *bytes,
            Shape::Block(block) => block.bytes(),
        }
    }

    /// The operation that reads the source when it runs.
    pub(super) fn op(self, to: &ResolvedOperand, from: &ResolvedOperand) -> MemoryOp {
        match self {
            Shape::Line(bytes) => MemoryOp::Copy { to: to.place, from: from.place, bytes },
            Shape::Block(block) => MemoryOp::CopyBlock(Box::new(block)),
        }
    }

    /// The op that reads the source when it runs.
    pub(super) fn work(self, to: &ResolvedOperand, from: &ResolvedOperand) -> Work {
        self.op(to, from).into()
    }

    /// The op that writes the source's present bytes, from a staging buffer.
    pub(super) fn staged(self, to: &ResolvedOperand, from: &ResolvedOperand) -> Work {
        match self {
            Shape::Line(bytes) => Work::Staged { to: to.place, bytes: from.place.take(bytes) },
            Shape::Block(block) => Work::StagedBlock(Box::new(block.staged())),
        }
    }
}

/// Enqueues a copy, and waits as the form of the function requires.
pub(super) fn copy(
    call: &Call<'_>,
    world: &mut Guard<'_>,
    queue: QueueId,
    form: Form,
    (to, from): (ResolvedOperand, ResolvedOperand),
    shape: Shape,
) -> Status {
    if world.captures().hold(queue) {
        // A node reads and writes when it is launched, for every kind of memory.
        return match form {
            Form::Sync => Err(call.uncapturable(world, queue, "a copy that is waited for")),
            Form::Async => call.submit(world, queue, shape.work(&to, &from)),
        };
    }
    match when(form, &to, &from, shape.bytes()) {
        Return::AtOnce => call.submit(world, queue, shape.work(&to, &from)),
        Return::Staged => call.submit(world, queue, shape.staged(&to, &from)),
        Return::Done => call.submit_and_wait(world, queue, shape.work(&to, &from)),
    }
}
