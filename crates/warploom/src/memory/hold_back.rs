//! Streams that wait for the work of others on the same memory.

use super::allocation_ref::AllocationRef;
use super::uses::{Access, order, order_captured};
use crate::capture::{self, Turn};
use crate::device::same_driver;
use crate::{DeviceCopy, Queue, Result, Slice, SliceMut, Stream};

impl<T: DeviceCopy> Slice<'_, T> {
    /// Makes later work on `queue` wait for the work of other streams that writes this memory; the host does not
    /// wait. Work counts if it was enqueued by calls of this crate that were given the memory, or was
    /// [declared](Slice::used_by), on any part of the allocation.
    ///
    /// Kernels, fills and most copies are ordered by the program, which may know its streams better. Where it does
    /// not, this finds out which of them are to be waited for:
    ///
    /// ```
    /// use warploom::{DevicePool, Driver};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
    /// let context = driver.device(0)?.context()?;
    /// let (one, other) = (context.stream()?, context.stream()?);
    /// let pool = DevicePool::new(&context)?;
    /// let (mut from, mut to) = (pool.zeroed::<u8>(100, &one)?, pool.allocate::<u8>(100, &other)?);
    ///
    /// from.fill(7, &one)?;
    /// from.as_slice().hold_back(&other)?; // the copy reads it
    /// from.copy_to(&mut to, &other)?;
    /// from.as_slice_mut().hold_back(&one)?; // the fill writes it
    /// from.fill(8, &one)?;
    /// assert_eq!(to.download(&other)?, [7; 100]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Two driver calls for each stream that has to be waited for, and none if there is none.
    ///
    /// # Errors
    ///
    /// [`DeviceError::DriverMismatch`](crate::DeviceError::DriverMismatch) if the queue belongs to another driver,
    /// [`ContextError::Stale`](crate::ContextError::Stale),
    /// [`CaptureError::Conflict`](crate::CaptureError::Conflict) on a captured queue for work outside of the
    /// capture, and the driver's error.
    pub fn hold_back(self, queue: &impl Queue) -> Result<()> {
        hold_back(self.span.allocation, Access::Read, queue.stream())
    }
}

impl<T: DeviceCopy> SliceMut<'_, T> {
    /// Makes later work on `queue` wait for the work of other streams that reads or writes this memory; see
    /// [`Slice::hold_back`].
    ///
    /// # Errors
    ///
    /// As [`Slice::hold_back`].
    pub fn hold_back(self, queue: &impl Queue) -> Result<()> {
        hold_back(self.span.allocation, Access::Write, queue.stream())
    }
}

fn hold_back(allocation: &AllocationRef, access: Access, stream: &Stream) -> Result<()> {
    same_driver(allocation.context().driver(), stream.driver())?;
    allocation.context().check_generation()?;
    stream.context().check_generation()?;
    let turn = stream.turn();
    wait_for_conflicts(stream, &turn, &[(allocation, access)])
}

/// Makes a stream wait for all work of other streams that conflicts with its next accesses. It counts as a user of
/// the memory from then on.
#[inline]
pub(super) fn wait_for_conflicts<const N: usize>(
    stream: &Stream,
    turn: &Turn,
    operands: &[(&AllocationRef, Access); N],
) -> Result<()> {
    if capture::any() || operands.iter().any(|(held, _)| held.capture().is_some()) {
        return wait_among_captures(stream, turn, operands);
    }
    order(stream, operands)
}

/// The same while a stream is captured. A stream that is captured waits for the others of its capture that
/// conflict; there must be no conflict outside.
#[cold]
fn wait_among_captures<const N: usize>(
    stream: &Stream,
    turn: &Turn,
    operands: &[(&AllocationRef, Access); N],
) -> Result<()> {
    let Some(capture) = turn.sequence() else {
        // Memory of a graph is refused there.
        operands.iter().filter(|(held, _)| held.capture().is_some()).try_for_each(|(held, _)| held.meet(stream))?;
        return order(stream, operands);
    };
    operands.iter().try_for_each(|operand| order_captured(stream, *operand))?;
    operands.iter().try_for_each(|(held, _)| capture.keep(held, stream))?;
    for other in operands.iter().flat_map(|(held, access)| capture.conflicts(held, stream, *access)) {
        stream.wait_for(&other)?;
    }
    Ok(())
}
