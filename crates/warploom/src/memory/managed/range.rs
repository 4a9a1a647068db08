//! Ranges of managed memory.

use std::fmt;

use warploom_driver::sys::types::CUdeviceptr;

use super::ManagedBuffer;
use crate::device::same_driver;
use crate::memory::allocation_ref::AllocationRef;
use crate::memory::slice::Span;
use crate::{Buffer, Context, DeviceCopy, Driver, ManagedError, Result, Slice, SliceMut, Stream};

/// A range of managed memory, borrowed, for advice and prefetches.
///
/// It is made from a [`ManagedBuffer`], or from a [`Slice`] of one, of any type; so a batch may have buffers
/// of several types. The driver's unit is the page: ranges that share a page share advice and location.
///
/// ```
/// use warploom::{Driver, Host, Location, ManagedMemory, ManagedRange};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
/// let context = driver.device(0)?.context()?;
/// let buffer = ManagedMemory::new(&context)?.allocate::<f64>(1 << 20)?;
/// let half = ManagedRange::from(buffer.slice(1 << 19..)?);
/// half.set_preferred_location(Host::Any)?;
/// assert_eq!(half.preferred_location()?, Some(Location::Host(Host::Any)));
/// assert_eq!(buffer.preferred_location()?, None); // not all of it
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy)]
pub struct ManagedRange<'a> {
    pub(super) allocation: &'a AllocationRef,
    pub(super) address: CUdeviceptr,
    pub(super) bytes: usize,
}

/// A range of managed memory, borrowed mutably, for discards.
#[derive(Debug)]
pub struct ManagedRangeMut<'a> {
    pub(super) range: ManagedRange<'a>,
}

impl<'a> ManagedRange<'a> {
    fn over<T>(span: Span<'a>) -> ManagedRange<'a> {
        let Span { allocation, address, len } = span;
        ManagedRange { allocation, address, bytes: len * size_of::<T>() }
    }

    /// The number of bytes.
    #[must_use]
    pub fn size_in_bytes(&self) -> usize {
        self.bytes
    }

    /// The address of its first byte, for the host and every device.
    #[must_use]
    pub fn as_raw(&self) -> CUdeviceptr {
        self.address
    }

    /// The context of the memory.
    #[must_use]
    pub fn context(&self) -> &'a Context {
        self.allocation.context()
    }

    pub(super) fn driver(&self) -> &'a Driver {
        self.context().driver()
    }

    /// Refuses memory that is not managed; the error has the operation and the index in a batch.
    pub(super) fn check_managed(&self, what: &'static str, index: Option<usize>) -> Result<()> {
        if self.allocation.is_managed()? { Ok(()) } else { Err(ManagedError::NotManaged { what, index }.into()) }
    }

    /// Refuses a stream of another driver, and memory whose context is over. Which context the stream is of
    /// makes no difference: every device may use managed memory.
    pub(super) fn check_reached_by(&self, stream: &Stream) -> Result<()> {
        same_driver(self.driver(), stream.driver())?;
        self.context().check_generation()
    }
}

impl<'a, T: DeviceCopy> From<Slice<'a, T>> for ManagedRange<'a> {
    fn from(slice: Slice<'a, T>) -> Self {
        ManagedRange::over::<T>(slice.span)
    }
}

impl<'a, T: DeviceCopy> From<&'a Buffer<T>> for ManagedRange<'a> {
    fn from(buffer: &'a Buffer<T>) -> Self {
        buffer.as_slice().into()
    }
}

impl<'a, T: DeviceCopy> From<&'a ManagedBuffer<T>> for ManagedRange<'a> {
    fn from(buffer: &'a ManagedBuffer<T>) -> Self {
        buffer.as_slice().into()
    }
}

impl<'a, T: DeviceCopy> From<SliceMut<'a, T>> for ManagedRangeMut<'a> {
    fn from(slice: SliceMut<'a, T>) -> Self {
        ManagedRangeMut { range: ManagedRange::over::<T>(slice.span) }
    }
}

impl<'a, T: DeviceCopy> From<&'a mut Buffer<T>> for ManagedRangeMut<'a> {
    fn from(buffer: &'a mut Buffer<T>) -> Self {
        buffer.as_slice_mut().into()
    }
}

impl<'a, T: DeviceCopy> From<&'a mut ManagedBuffer<T>> for ManagedRangeMut<'a> {
    fn from(buffer: &'a mut ManagedBuffer<T>) -> Self {
        buffer.as_slice_mut().into()
    }
}

impl fmt::Debug for ManagedRange<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (address, device) = (format_args!("{:#x}", self.address), self.context().device());
        let mut text = formatter.debug_struct("ManagedRange");
        text.field("address", &address).field("bytes", &self.bytes).field("device", device).finish()
    }
}
