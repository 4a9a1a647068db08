//! `VirtualMemory`: buffers of mapped virtual memory.
#![expect(unsafe_code, reason = "answers for the memory that it hands out")]

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use warploom_driver::sys::types::{
    CUdeviceptr, CUmemAccess_flags, CUmemAccessDesc, CUmemAllocationHandleType, CUresult,
};

use super::VirtualOptions;
use super::range::Range;
use crate::memory::resource::{Synchronous, SynchronousResource};
use crate::{Buffer, Context, Device, DeviceAttribute, DeviceCopy, Queue, Result, VirtualMemoryError};

/// Device memory behind addresses of its own, which can [grow](VirtualMemory::grow) without being copied and
/// be used by chosen devices. Allocated without a stream, in multiples of a
/// [granularity](VirtualMemory::granularity) that is some megabytes: for large, long-lived memory.
///
/// Dropping a buffer of it waits for the streams that used the buffer.
///
/// ```
/// use warploom::{Driver, VirtualMemory};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
/// let context = driver.device(0)?.context()?;
/// let stream = context.stream()?;
/// let memory = VirtualMemory::new(&context)?;
/// let buffer = memory.upload(&[1_u32, 2, 3], &stream)?;
/// let buffer = memory.grow(buffer, 10_000_000)?;
/// assert_eq!(buffer.slice(..3)?.download(&stream)?, [1, 2, 3]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct VirtualMemory {
    pub(super) shared: Arc<Shared>,
}

pub(super) struct Shared {
    pub(super) context: Context,
    pub(super) granularity: usize,
    pub(super) access: Vec<CUmemAccessDesc>,
    pub(super) options: VirtualOptions,
    /// Allocated ranges, by their first address.
    ranges: Mutex<BTreeMap<CUdeviceptr, Range>>,
}

impl VirtualMemory {
    /// Virtual memory on a context's device, for that device alone.
    ///
    /// # Errors
    ///
    /// As [`VirtualMemory::with`].
    pub fn new(context: &Context) -> Result<VirtualMemory> {
        VirtualMemory::with(context, VirtualOptions::new())
    }

    /// Virtual memory on a context's device, as it is asked for.
    ///
    /// # Errors
    ///
    /// [`VirtualMemoryError::Unsupported`] if the device has none, or none of that kind;
    /// [`PeerError::Unsupported`](crate::PeerError::Unsupported) for devices that cannot access its memory,
    /// [`DeviceError::DriverMismatch`](crate::DeviceError::DriverMismatch) for those of another driver;
    /// [`VirtualMemoryError::Alignment`] and [`VirtualMemoryError::Misaligned`] for addresses that memory
    /// cannot have; and the driver's error.
    #[doc(alias = "cuMemGetAllocationGranularity")]
    pub fn with(context: &Context, options: VirtualOptions) -> Result<VirtualMemory> {
        options.check_alignment()?;
        let device = context.device();
        let needs = |attribute, what| -> Result<()> {
            match device.has(attribute)? {
                Some(false) => Err(VirtualMemoryError::Unsupported { device: device.ordinal(), what }.into()),
                Some(true) | None => Ok(()),
            }
        };
        needs(DeviceAttribute::VirtualMemoryManagementSupported, "virtual memory")?;
        if options.remote_access {
            needs(DeviceAttribute::GpuDirectRdmaWithCudaVmmSupported, "virtual memory for other hardware to access")?;
        }
        if options.handle_types != CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE {
            needs(
                DeviceAttribute::HandleTypePosixFileDescriptorSupported,
                "virtual memory for other processes to map",
            )?;
        }
        let (mut granularity, properties) = (0, options.properties(device));
        let flags = options.granularity.flags();
        // SAFETY: `granularity` is writable, `properties` readable.
        let asked = unsafe {
            context.driver().cuMemGetAllocationGranularity(&raw mut granularity, &raw const properties, flags)
        };
        asked?;
        options.check_address(granularity)?;
        let (context, access) = (context.clone(), options.access(device)?);
        Ok(VirtualMemory {
            shared: Arc::new(Shared { context, granularity, access, options, ranges: Mutex::default() }),
        })
    }

    /// The context it belongs to.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.shared.context
    }

    /// The granularity of its allocations, in bytes.
    #[must_use]
    pub fn granularity(&self) -> usize {
        self.shared.granularity
    }

    /// A buffer of `len` uninitialised values; see [`SynchronousResource::allocate`].
    ///
    /// # Errors
    ///
    /// As [`SynchronousResource::allocate`].
    #[doc(alias = "cuMemCreate")]
    #[doc(alias = "cuMemMap")]
    pub fn allocate<T: DeviceCopy>(&self, len: usize) -> Result<Buffer<T>> {
        SynchronousResource::allocate(self, len)
    }

    /// A buffer of `len` values whose bytes are all 0 in the order of `queue`.
    ///
    /// # Errors
    ///
    /// As [`SynchronousResource::zeroed`].
    pub fn zeroed<T: DeviceCopy>(&self, len: usize, queue: &impl Queue) -> Result<Buffer<T>> {
        SynchronousResource::zeroed(self, len, queue)
    }

    /// A buffer with these values. Returns when they are there.
    ///
    /// # Errors
    ///
    /// As [`SynchronousResource::zeroed`].
    pub fn upload<T: DeviceCopy>(&self, values: &[T], queue: &impl Queue) -> Result<Buffer<T>> {
        SynchronousResource::upload(self, values, queue)
    }
}

impl Shared {
    pub(super) fn ranges(&self) -> MutexGuard<'_, BTreeMap<CUdeviceptr, Range>> {
        self.ranges.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a range until it is taken by its first address.
    pub(super) fn keep(&self, range: Range) {
        self.ranges().insert(range.address(), range);
    }

    pub(super) fn take(&self, address: CUdeviceptr) -> Option<Range> {
        self.ranges().remove(&address)
    }

    /// The bytes that are mapped for so many.
    pub(super) fn whole(&self, bytes: usize) -> usize {
        // No sum of two sizes that an allocation can have is more than a number can say.
        bytes.next_multiple_of(self.granularity)
    }

    /// Addresses for a new allocation of so many bytes.
    pub(super) fn reserve(&self, bytes: usize) -> Result<Range> {
        let (alignment, granularity) = (self.options.alignment, self.granularity);
        Range::reserve(self.context.device(), bytes, alignment, self.options.address).map_err(|error| {
            match error.code() {
                Some(CUresult::CUDA_ERROR_INVALID_VALUE) if alignment > granularity => {
                    VirtualMemoryError::AlignmentRefused { alignment, bytes, granularity }.into()
                }
                _ => error,
            }
        })
    }

    /// Maps memory into the unmapped part, and sets the access of devices.
    pub(super) fn complete(&self, range: &mut Range) -> Result<()> {
        range.fill(&self.options.properties(self.context.device()))?;
        range.open(&self.access)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // Every allocation is gone, for each holds this. What has not been given back by then could not be
        // waited for, and may be in use: it must stay as it is.
        self.ranges().values_mut().for_each(Range::leave);
    }
}

impl SynchronousResource for VirtualMemory {
    fn resource(&self) -> Arc<dyn Synchronous> {
        Arc::<Shared>::clone(&self.shared)
    }
}

// SAFETY: each range has addresses and memory of its own, until it is closed.
unsafe impl Synchronous for Shared {
    fn context(&self) -> &Context {
        &self.context
    }

    fn allocate_raw(&self, bytes: usize) -> Result<CUdeviceptr> {
        self.context.check_generation()?;
        let mut range = self.reserve(self.whole(bytes))?;
        self.complete(&mut range)?;
        let address = range.address();
        self.keep(range);
        Ok(address)
    }

    unsafe fn deallocate_raw(&self, address: CUdeviceptr, _bytes: usize) -> Result<()> {
        self.take(address).map_or(Ok(()), |mut range| range.close())
    }

    fn outlives_context(&self) -> bool {
        true
    }

    fn is_open_to(&self, device: &Device) -> Result<Option<bool>> {
        let is_open = |access: &CUmemAccessDesc| {
            access.location.id() == device.as_raw()
                && access.flags == CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE
        };
        Ok(Some(self.access.iter().any(is_open)))
    }

    fn name(&self) -> &'static str {
        "VirtualMemory"
    }
}

impl fmt::Debug for VirtualMemory {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = formatter.debug_struct("VirtualMemory");
        text.field("device", self.context().device()).field("granularity", &self.granularity()).finish()
    }
}
