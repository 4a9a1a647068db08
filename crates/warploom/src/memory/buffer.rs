//! Buffers: owned device memory.
//!
//! A buffer remembers the stream it was allocated on and every other stream that used it. On the first use by another
//! stream, that stream is made to wait for what the first has enqueued so far, the allocation included. When the buffer is
//! dropped, the first stream is made to wait for what the others have enqueued so far, and then frees. So no stream can reach
//! the memory before it is there or after it is gone, and a buffer that stays on its stream costs one free and no event.
#![expect(unsafe_code, reason = "owns device memory")]

use std::fmt;
use std::sync::{Mutex, PoisonError};

use warploom_driver::Driver;
use warploom_driver::sys::types::CUdeviceptr;

use crate::device::same_driver;
use crate::error::report;
use crate::{Context, DevicePool, Error, Result, Stream};

/// Bytes on a device, owned the way a boxed slice owns bytes on the host.
///
/// It may be used on any stream of its context. Dropping it frees the memory when everything enqueued with it until then is
/// done, on whichever streams; the host does not wait, unless the driver fails to order the streams. Between its creation
/// and its end, the order of *contents* between streams is the caller's: record an [`Event`](crate::Event) and wait for it.
///
/// ```
/// use warploom::{DevicePool, Devices, Driver};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
/// let context = driver.device(0)?.context()?;
/// let stream = context.stream()?;
/// let mut buffer = DevicePool::new(&context)?.allocate(4, &stream)?;
/// buffer.fill(7, &stream)?;
/// assert_eq!(buffer.download(&stream)?, [7, 7, 7, 7]);
/// # Ok(())
/// # }
/// ```
pub struct Buffer {
    raw: CUdeviceptr,
    len: usize,
    pool: DevicePool,
    /// Where it was allocated and will be freed.
    stream: Stream,
    /// Other streams that used it.
    others: Mutex<Vec<Stream>>,
}

impl Buffer {
    /// Takes over an allocation of `len` bytes that was made from `pool` on `stream`.
    pub(super) fn new(raw: CUdeviceptr, len: usize, pool: &DevicePool, stream: &Stream) -> Buffer {
        Buffer { raw, len, pool: pool.clone(), stream: stream.clone(), others: Mutex::default() }
    }

    /// How many bytes it has.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "no buffer is empty")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// The pool it came from.
    #[must_use]
    pub fn pool(&self) -> &DevicePool {
        &self.pool
    }

    /// The address of its first byte on the device; valid while this value is held, in the order of its stream.
    #[must_use]
    pub fn as_raw(&self) -> CUdeviceptr {
        self.raw
    }

    fn context(&self) -> &Context {
        self.pool.context()
    }

    fn driver(&self) -> &Driver {
        self.context().driver()
    }

    /// Sets every byte.
    ///
    /// # Errors
    ///
    /// [`Error::ContextMismatch`] if the stream belongs to another context, and what the driver answers.
    #[doc(alias = "cuMemsetD8Async")]
    pub fn fill(&mut self, byte: u8, stream: &Stream) -> Result<()> {
        self.context().serves(stream)?;
        self.meet(stream)?;
        // SAFETY: the memory is `len` bytes long and, since `meet`, there in the order of the stream; the stream is alive.
        Ok(unsafe { self.driver().cuMemsetD8Async(self.raw, byte, self.len, stream.as_raw()) }?)
    }

    /// Copies everything to a buffer of the same length, which may be on another device.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if the lengths differ, [`Error::ContextMismatch`] if the stream belongs to the context of
    /// neither, [`Error::DriverMismatch`] if the buffers belong to different drivers, and what the driver answers.
    #[doc(alias = "cuMemcpyDtoDAsync")]
    #[doc(alias = "cuMemcpyPeerAsync")]
    pub fn copy_to(&self, destination: &mut Buffer, stream: &Stream) -> Result<()> {
        same_length(self.len, destination.len)?;
        same_driver(self.driver(), destination.driver())?;
        let (from, to) = (self.context(), destination.context());
        to.serves(stream).or_else(|_| from.serves(stream))?;
        self.meet(stream)?;
        destination.meet(stream)?;
        let (driver, raw) = (self.driver(), stream.as_raw());
        if from == to {
            // SAFETY: both are `len` bytes long, do not overlap, and are there in the order of the stream, which is alive.
            return Ok(unsafe { driver.cuMemcpyDtoDAsync_v2(destination.raw, self.raw, self.len, raw) }?);
        }
        // SAFETY: as above; each address belongs to the context given with it, which is alive.
        Ok(unsafe { driver.cuMemcpyPeerAsync(destination.raw, to.as_raw(), self.raw, from.as_raw(), self.len, raw) }?)
    }

    /// Copies everything from the host, in the order of the stream. Returns when the bytes are on the device.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if the lengths differ, [`Error::ContextMismatch`] if the stream belongs to another context,
    /// and what the driver answers.
    #[doc(alias = "cuMemcpyHtoDAsync")]
    pub fn copy_from_host(&mut self, bytes: &[u8], stream: &Stream) -> Result<()> {
        same_length(bytes.len(), self.len)?;
        self.context().serves(stream)?;
        self.meet(stream)?;
        let lent = bytes.to_vec();
        let driver = self.driver();
        // SAFETY: both are `len` bytes long; the device's are there in the order of the stream, the host's until `finish` knows
        // that they are no longer needed.
        let enqueued =
            unsafe { driver.cuMemcpyHtoDAsync_v2(self.raw, lent.as_ptr().cast(), self.len, stream.as_raw()) };
        stream.finish(lent, enqueued).map(drop)
    }

    /// Everything, on the host, when what is enqueued on the stream so far is done.
    ///
    /// # Errors
    ///
    /// [`Error::ContextMismatch`] if the stream belongs to another context, and what the driver answers.
    #[doc(alias = "cuMemcpyDtoHAsync")]
    pub fn download(&self, stream: &Stream) -> Result<Vec<u8>> {
        self.context().serves(stream)?;
        self.meet(stream)?;
        let mut lent = vec![0; self.len];
        let driver = self.driver();
        let to = lent.as_mut_ptr().cast();
        // SAFETY: both are `len` bytes long; the device's are there in the order of the stream, and the host's are nobody
        // else's until `finish` knows that they are no longer needed.
        let enqueued = unsafe { driver.cuMemcpyDtoHAsync_v2(to, self.raw, self.len, stream.as_raw()) };
        stream.finish(lent, enqueued)
    }

    /// Lets a stream use the memory: after its allocation, and before its end.
    fn meet(&self, stream: &Stream) -> Result<()> {
        if *stream == self.stream {
            return Ok(());
        }
        let mut others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        if !others.contains(stream) {
            stream.wait(&self.stream.record()?)?;
            others.push(stream.clone());
        }
        Ok(())
    }

    /// Lets the end of the memory come after every use. Where the streams cannot be ordered, the host waits.
    fn part(&mut self) -> Result<()> {
        for other in self.others.get_mut().unwrap_or_else(PoisonError::into_inner).drain(..) {
            let ordered = other.record().and_then(|event| self.stream.wait(&event));
            ordered.or_else(|_| other.synchronize())?;
        }
        Ok(())
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if let Err(error) = self.part() {
            // A stream may still use the memory, so it must not be freed: it is lost until the pool goes.
            return report(Err(error));
        }
        // SAFETY: the memory came from `cuMemAllocFromPoolAsync`, nothing else owns it, and, since `part`, every use of it
        // comes before this in the order of the stream, which is alive.
        report(unsafe { self.driver().cuMemFreeAsync(self.raw, self.stream.as_raw()) });
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let address = format_args!("{:#x}", self.raw);
        let device = self.context().device();
        formatter.debug_struct("Buffer").field("raw", &address).field("len", &self.len).field("device", device).finish()
    }
}

fn same_length(source_len: usize, destination_len: usize) -> Result<()> {
    if source_len == destination_len { Ok(()) } else { Err(Error::LengthMismatch { source_len, destination_len }) }
}
