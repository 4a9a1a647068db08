//! Groups of operations that NCCL launches together.
#![expect(unsafe_code, reason = "begins and ends NCCL's groups")]

use std::fmt;

use super::join::accepted;
use super::operation::{Operation, issue};
use super::{Nccl, NcclError};
use crate::Result;

/// Operations that are enqueued together, and need not wait for each other: those of several ranks that one
/// thread has, messages in both directions, or many small ones that would cost more one by one.
///
/// Nothing is enqueued before [`Group::run`]; until then the group borrows the memory, the streams and the
/// communicators, so that none can be used otherwise or dropped. A group that is dropped without being run
/// did nothing.
///
/// ```no_run
/// # use warploom::nccl::{Communicator, Nccl};
/// # use warploom::{Buffer, Result, Stream};
/// /// Sends to the right neighbour, and receives from the left one.
/// fn shift(ring: &Communicator, here: &Buffer<f32>, left: &mut Buffer<f32>, stream: &Stream) -> Result<()> {
///     let (rank, size) = (ring.rank(), ring.size());
///     let mut group = ring.nccl().group();
///     group.send(ring, here, (rank + 1) % size, stream)?;
///     group.receive(ring, left, (rank + size - 1) % size, stream)?;
///     group.run()
/// }
/// ```
///
/// The destinations of a group cannot be used before it ends:
///
/// ```compile_fail,E0502
/// # use warploom::nccl::{Communicator, Reduction};
/// # use warploom::{Buffer, Result, Stream};
/// fn early(communicator: &Communicator, sum: &mut Buffer<f32>, stream: &Stream) -> Result<Vec<f32>> {
///     let mut group = communicator.nccl().group();
///     group.all_reduce_in_place(communicator, sum.as_slice_mut(), Reduction::Sum, stream)?;
///     let values = sum.download(stream)?;
///     group.run()?;
///     Ok(values)
/// }
/// ```
///
/// Nor can it be dropped:
///
/// ```compile_fail,E0505
/// # use warploom::nccl::{Communicator, Reduction};
/// # use warploom::{Buffer, Result, Stream};
/// fn gone(communicator: &Communicator, mut sum: Buffer<f32>, stream: &Stream) -> Result<()> {
///     let mut group = communicator.nccl().group();
///     group.all_reduce_in_place(communicator, &mut sum, Reduction::Sum, stream)?;
///     drop(sum);
///     group.run()
/// }
/// ```
#[doc(alias = "ncclGroupStart")]
#[doc(alias = "ncclGroupEnd")]
#[must_use = "nothing is enqueued before `run`"]
pub struct Group<'a> {
    nccl: Nccl,
    operations: Vec<Operation<'a>>,
}

impl<'a> Group<'a> {
    pub(super) fn new(nccl: &Nccl) -> Group<'a> {
        Group { nccl: nccl.clone(), operations: Vec::new() }
    }

    pub(super) fn add(&mut self, operation: Operation<'a>) -> Result<()> {
        if !operation.communicator().nccl().is(&self.nccl) {
            return Err(NcclError::OtherLibrary.into());
        }
        self.operations.push(operation);
        Ok(())
    }

    /// The number of operations.
    #[must_use]
    pub fn len(&self) -> usize {
        self.operations.len()
    }

    /// `true` if it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    /// Enqueues everything, each on its stream. With no operations, NCCL is not called.
    ///
    /// # Errors
    ///
    /// [`NcclError::Mismatch`] if ranks of this process do different operations, [`NcclError::Broken`], and
    /// the driver's and NCCL's errors. Then some operations may have been enqueued, and the communicators are
    /// to be aborted.
    pub fn run(self) -> Result<()> {
        issue(&self.operations, |operations| self.enqueue(operations))
    }

    fn enqueue(&self, operations: &[Operation<'a>]) -> Result<()> {
        // SAFETY: the group is ended below on every path.
        self.nccl.answer("ncclGroupStart", unsafe { (self.nccl.table().ncclGroupStart)() })?;
        let called = operations.iter().try_for_each(Operation::call_in_group);
        // SAFETY: ends the group that was begun above.
        let mut ended = unsafe { (self.nccl.table().ncclGroupEnd)() };
        if accepted(ended).is_none() {
            // A non-blocking communicator has a result of its own.
            let outcomes = operations.iter().map(|operation| {
                // SAFETY: the communicator is borrowed, and so alive.
                unsafe { self.nccl.outcome(operation.communicator().as_raw(), ended) }
            });
            ended = outcomes.fold(0, |worst, code| if worst == 0 { code } else { worst });
        }
        called.and(self.nccl.answer("ncclGroupEnd", ended))
    }
}

impl fmt::Debug for Group<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Group").field("len", &self.len()).finish_non_exhaustive()
    }
}
