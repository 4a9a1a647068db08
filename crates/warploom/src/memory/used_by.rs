//! Uses of memory that this crate does not see: by its raw address.

use super::operand::Operand;
use crate::{Buffer, DeviceCopy, Queue, Result, Slice};

impl<T: DeviceCopy> Buffer<T> {
    /// Declares that work on `queue` uses the memory by its raw address; see [`Slice::used_by`].
    ///
    /// # Errors
    ///
    /// As [`Slice::used_by`].
    pub fn used_by(&self, queue: &impl Queue) -> Result<()> {
        self.as_slice().used_by(queue)
    }
}

impl<T: DeviceCopy> Slice<'_, T> {
    /// Declares that work on `queue` uses the memory by its [raw address](Slice::as_raw): a kernel that finds
    /// the address in a struct or a table, or a library that enqueues work of its own.
    ///
    /// Work enqueued on the queue from now on comes after the allocation of the memory. The memory is freed
    /// after everything that was enqueued on the queue until then, and copies that order themselves
    /// ([`Mesh::copy`](crate::Mesh::copy)) wait for it as for a write. That ends with the last handle to the
    /// queue's stream: of a stream of other code, later work is not known. If the queue is captured, its graph
    /// keeps the memory. Calls of this crate that are given the memory itself need no such declaration, nor
    /// do launches with [`Arguments::using`](crate::Arguments::using).
    ///
    /// No driver call on the stream that the memory was allocated on; on another one, two for the first time.
    ///
    /// ```
    /// use warploom::{DevicePool, Driver};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
    /// let context = driver.device(0)?.context()?;
    /// let (stream, other) = (context.stream()?, context.stream()?);
    /// let buffer = DevicePool::new(&context)?.zeroed::<u8>(100, &stream)?;
    ///
    /// buffer.used_by(&other)?;
    /// // SAFETY: the buffer has 100 bytes, which nothing else uses, and stays until `other` is done.
    /// other.with_raw(|raw| unsafe { driver.cuMemsetD8Async(buffer.as_raw(), 7, 100, raw) })??;
    /// drop(buffer); // freed when `other` has come that far; the host does not wait
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`PeerError::NotEnabled`](crate::PeerError::NotEnabled) for memory of a pool that was not opened to
    /// the queue's device, [`DeviceError::DriverMismatch`](crate::DeviceError::DriverMismatch) if the queue
    /// belongs to another driver, [`ContextError::Stale`](crate::ContextError::Stale), and the driver's
    /// error. Then nothing is declared.
    pub fn used_by(self, queue: &impl Queue) -> Result<()> {
        let (operand, stream) = (Operand::read(self).and_written(), queue.stream());
        stream.context().check_generation()?;
        if operand.context() != stream.context() {
            operand.reach(stream.context())?;
        }
        let _turn = stream.turn();
        operand.meet(stream)?;
        operand.declare_use(stream);
        Ok(())
    }
}
