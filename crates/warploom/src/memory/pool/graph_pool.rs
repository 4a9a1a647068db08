//! `GraphPool`: memory that a graph allocates and frees itself.
#![expect(unsafe_code, reason = "has nodes allocate and free")]

use std::fmt;

use warploom_driver::sys::types::{CUdeviceptr, CUgraphMem_attribute};

use crate::capture::{CaptureId, GraphMemoryId};
use crate::memory::allocation::Allocation;
use crate::memory::resource::nonzero_size;
use crate::{Buffer, CaptureError, Context, DeviceCopy, PoolStatistics, Queue, Result, Stream};

/// Memory of a device that graphs allocate for themselves, when they are launched.
///
/// A buffer of it stands for memory of the graph: it can be allocated and used on streams of one
/// [capture](crate::capture) alone. Dropping it leaves the memory to the graph, and [`Buffer::close`] has the
/// graph free it at that point.
///
/// Every use comes after the allocation, and the free after every use, on whichever streams of the capture: a
/// stream that is in no order with the one that allocates is made to wait for it by the first use, and that one
/// for all that used the memory by the free. Where there is an order, this makes no call.
///
/// ```
/// use warploom::capture::Relaxed;
/// use warploom::{Driver, GraphPool};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
/// let context = driver.device(0)?.context()?;
/// let stream = context.stream()?;
/// let pool = GraphPool::new(&context);
///
/// let capture = stream.capture(Relaxed)?;
/// let mut scratch = pool.allocate::<f32>(1024, &capture)?;
/// scratch.fill(1.0, &capture)?;
/// scratch.close()?;
/// assert_eq!(capture.end()?.node_count()?, 3);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct GraphPool {
    context: Context,
}

impl GraphPool {
    /// The memory that graphs have of the context's device. No driver call.
    #[must_use]
    pub fn new(context: &Context) -> GraphPool {
        GraphPool { context: context.clone() }
    }

    /// The context that it allocates in.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// A buffer of `len` uninitialised values.
    ///
    /// # Errors
    ///
    /// [`CaptureError::NotCaptured`] if the queue is not being captured,
    /// [`MemoryError::EmptyBuffer`](crate::MemoryError::EmptyBuffer) for no bytes,
    /// [`MemoryError::TooLarge`](crate::MemoryError::TooLarge) for more than a size can say,
    /// [`ContextError::Mismatch`](crate::ContextError::Mismatch) if the queue belongs to another context, and
    /// the driver's error.
    #[doc(alias = "cuMemAllocAsync")]
    pub fn allocate<T: DeviceCopy>(&self, len: usize, queue: &impl Queue) -> Result<Buffer<T>> {
        let (bytes, stream) = (nonzero_size::<T>(len)?, queue.stream());
        self.context.serves(stream)?;
        let allocation = allocate(bytes, stream)?;
        // SAFETY: it has as many bytes as these values.
        Ok(unsafe { Buffer::over(allocation, len) })
    }

    /// A buffer of `len` values whose bytes are all 0.
    ///
    /// # Errors
    ///
    /// As [`GraphPool::allocate`].
    pub fn zeroed<T: DeviceCopy>(&self, len: usize, queue: &impl Queue) -> Result<Buffer<T>> {
        let mut buffer = self.allocate(len, queue)?;
        buffer.zero(queue)?;
        Ok(buffer)
    }

    /// Statistics of the device memory that launched graphs hold; those of the whole process.
    ///
    /// # Errors
    ///
    /// The driver's error.
    #[doc(alias = "cuDeviceGetGraphMemAttribute")]
    pub fn statistics(&self) -> Result<PoolStatistics> {
        let bytes = |attribute| {
            let (driver, device, mut value) = (self.context.driver(), self.context.device().as_raw(), 0_u64);
            // SAFETY: `value` is writable, and as wide as the attribute.
            unsafe { driver.cuDeviceGetGraphMemAttribute(device, attribute, (&raw mut value).cast()) }?;
            Ok::<u64, crate::Error>(value)
        };
        Ok(PoolStatistics {
            reserved: bytes(CUgraphMem_attribute::CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT)?,
            reserved_high: bytes(CUgraphMem_attribute::CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH)?,
            used: bytes(CUgraphMem_attribute::CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT)?,
            used_high: bytes(CUgraphMem_attribute::CU_GRAPH_MEM_ATTR_USED_MEM_HIGH)?,
        })
    }

    /// Has [`PoolStatistics::reserved_high`] and [`PoolStatistics::used_high`] start again from the current
    /// value.
    ///
    /// # Errors
    ///
    /// The driver's error.
    #[doc(alias = "cuDeviceSetGraphMemAttribute")]
    pub fn reset_high_marks(&self) -> Result<()> {
        for mark in [
            CUgraphMem_attribute::CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH,
            CUgraphMem_attribute::CU_GRAPH_MEM_ATTR_USED_MEM_HIGH,
        ] {
            let (driver, device, mut zero) = (self.context.driver(), self.context.device().as_raw(), 0_u64);
            // SAFETY: the value is readable, and as wide as the attribute.
            unsafe { driver.cuDeviceSetGraphMemAttribute(device, mark, (&raw mut zero).cast()) }?;
        }
        Ok(())
    }

    /// Gives memory that no graph uses back to the device.
    ///
    /// # Errors
    ///
    /// The driver's error.
    #[doc(alias = "cuDeviceGraphMemTrim")]
    pub fn trim(&self) -> Result<()> {
        // SAFETY: a device of the driver.
        Ok(unsafe { self.context.driver().cuDeviceGraphMemTrim(self.context.device().as_raw()) }?)
    }
}

/// Has the capture that a stream is part of allocate.
pub(in crate::memory) fn allocate(bytes: usize, stream: &Stream) -> Result<Allocation> {
    let turn = stream.turn();
    let capture = turn.sequence().ok_or(CaptureError::NotCaptured)?;
    let (driver, mut address) = (stream.driver(), 0);
    // SAFETY: `address` is writable, and the stream alive.
    stream.enqueue(|raw| unsafe { driver.cuMemAllocAsync(&raw mut address, bytes, raw) })?;
    capture.note_memory_node();
    let memory = capture.allocated(stream);
    // SAFETY: a node of this capture allocates it, and it has no other owner.
    Ok(unsafe { Allocation::of_graph((address, bytes), (capture.id(), memory), stream.clone()) })
}

/// Has the capture that allocated the memory free it, on the stream that it was allocated on, after all streams
/// that used it.
///
/// # Safety
///
/// A node of this capture has allocated the memory, no node has freed it, and it is not used again.
pub(in crate::memory) unsafe fn free(
    address: CUdeviceptr,
    (capture, memory): (CaptureId, GraphMemoryId),
    stream: &Stream,
) -> Result<()> {
    let turn = stream.turn();
    let Some(current) = turn.sequence().filter(|current| current.id() == capture) else {
        return Err(CaptureError::GraphMemory.into());
    };
    current.order_free(memory, stream)?;
    // SAFETY: the caller vouches for the memory, and the stream is part of that capture.
    stream.enqueue(|raw| unsafe { stream.driver().cuMemFreeAsync(address, raw) })
}

impl fmt::Debug for GraphPool {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("GraphPool").field("device", self.context.device()).finish()
    }
}
