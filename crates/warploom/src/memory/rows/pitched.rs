//! Pitched allocations: rows aligned as the device prefers.
#![expect(unsafe_code, reason = "allocates device memory")]

use std::ffi::c_uint;

use crate::memory::allocation::Allocation;
use crate::memory::device_copy::bytes_of;
use crate::{Buffer, DeviceCopy, DeviceMemory, Error, MemoryError, Result, SynchronousResource as _};

impl DeviceMemory {
    /// A buffer for `height` rows of `width` uninitialised values, and the pitch that the driver chose so
    /// that accesses to a row are aligned: the first argument of [`Buffer::rows`].
    ///
    /// ```
    /// use warploom::{DeviceMemory, Driver};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
    /// let context = driver.device(0)?.context()?;
    /// let stream = context.stream()?;
    /// let (mut image, pitch) = DeviceMemory::new(&context).pitched::<f32>(100, 80)?;
    /// image.rows_mut(pitch, 100, 80)?.fill(0.5, &stream)?;
    /// assert_eq!(image.len(), pitch * 80);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`MemoryError::EmptyBuffer`] for no bytes, [`MemoryError::TooLarge`] for more than a size can say,
    /// [`MemoryError::Pitch`] for values whose size is not a power of two, and the driver's error:
    /// `CUDA_ERROR_OUT_OF_MEMORY` for more than there is.
    #[doc(alias = "cuMemAllocPitch")]
    pub fn pitched<T: DeviceCopy>(&self, width: usize, height: usize) -> Result<(Buffer<T>, usize)> {
        let element = size_of::<T>();
        let too_large = Error::Memory(MemoryError::TooLarge { len: width.saturating_mul(height), element });
        let values = width.checked_mul(height).ok_or(too_large.clone())?;
        match bytes_of::<T>(values) {
            None => return Err(too_large),
            Some(0) => return Err(MemoryError::EmptyBuffer.into()),
            Some(_) => {}
        }
        if !element.is_power_of_two() {
            return Err(MemoryError::Pitch { element }.into());
        }
        let _current = self.context().current()?;
        let (mut address, mut pitch, row) = (0, 0, width * element);
        let driver = self.context().driver();
        // The widest access that is likely for such values; the driver knows three.
        let access: c_uint = if element <= 4 {
            4
        } else if element == 8 {
            8
        } else {
            16
        };
        // SAFETY: both answers are writable, and `_current` keeps the context current.
        unsafe { driver.cuMemAllocPitch_v2(&raw mut address, &raw mut pitch, row, height, access) }?;
        // SAFETY: the driver has allocated them just now, so that they can be counted, and the resource frees
        // memory of the driver.
        let allocation = unsafe { Allocation::synchronous((address, pitch * height), self.resource()) };
        if !pitch.is_multiple_of(element) {
            return Err(MemoryError::Pitch { element }.into());
        }
        let pitch = pitch / element;
        // SAFETY: the allocation has these rows.
        Ok((unsafe { Buffer::over(allocation, pitch * height) }, pitch))
    }
}
