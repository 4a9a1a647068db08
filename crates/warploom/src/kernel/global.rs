//! Global variables of a library.
#![expect(unsafe_code, reason = "asks the driver for the address of a variable")]

use std::ffi::CString;

use warploom_driver::sys::types::{CUdeviceptr, CUresult};

use super::Library;
use crate::device::same_driver;
use crate::{Buffer, Context, DeviceCopy, Error, LibraryError, MemoryError, Result};

impl Library {
    /// A variable, as a buffer: its memory in a context, which the library is held for. In other contexts,
    /// the variable is other memory.
    ///
    /// # Errors
    ///
    /// [`LibraryError::NoSuchGlobal`], [`MemoryError::Cast`] if it is no whole number of such values,
    /// [`DeviceError::DriverMismatch`](crate::DeviceError::DriverMismatch) for a context of another driver,
    /// and the driver's error.
    ///
    /// # Safety
    ///
    /// Kernels use the variable without being passed it, and each call here gives another buffer of the same
    /// memory: the caller that writes it makes sure that nothing else uses it then.
    #[doc(alias = "cuLibraryGetGlobal")]
    pub unsafe fn global<T: DeviceCopy>(&self, name: &str, context: &Context) -> Result<Buffer<T>> {
        let (address, bytes) = self.find(name, context, |name, address, bytes| {
            // SAFETY: both are writable, the name is terminated, the library is loaded, and a context is
            // current.
            unsafe { self.driver().cuLibraryGetGlobal(address, bytes, self.as_raw(), name.as_ptr()) }
        })?;
        // SAFETY: the caller vouches for its use.
        unsafe { self.buffer((address, bytes), context) }
    }

    /// A managed variable, as [`Library::global`]; it is the same memory in all contexts.
    ///
    /// # Errors
    ///
    /// As [`Library::global`].
    ///
    /// # Safety
    ///
    /// As [`Library::global`].
    #[doc(alias = "cuLibraryGetManaged")]
    pub unsafe fn managed_global<T: DeviceCopy>(&self, name: &str, context: &Context) -> Result<Buffer<T>> {
        let (address, bytes) = self.find(name, context, |name, address, bytes| {
            // SAFETY: both are writable, the name is terminated, and the library is loaded.
            unsafe { self.driver().cuLibraryGetManaged(address, bytes, self.as_raw(), name.as_ptr()) }
        })?;
        // SAFETY: the caller vouches for its use.
        unsafe { self.buffer((address, bytes), context) }
    }

    fn find(
        &self,
        name: &str,
        context: &Context,
        ask: impl FnOnce(CString, *mut CUdeviceptr, *mut usize) -> warploom_driver::Result<()>,
    ) -> Result<(CUdeviceptr, usize)> {
        same_driver(self.driver(), context.driver())?;
        let missing = || Error::Library(LibraryError::NoSuchGlobal { name: name.into() });
        let terminated = CString::new(self.lowered(name)).map_err(|_| missing())?;
        let _current = context.current()?;
        let (mut address, mut bytes) = (0, 0);
        match ask(terminated, &raw mut address, &raw mut bytes) {
            Ok(()) => {}
            Err(error) if error.code() == Some(CUresult::CUDA_ERROR_NOT_FOUND) => return Err(missing()),
            Err(error) => return Err(error.into()),
        }
        self.note(context);
        Ok((address, bytes))
    }

    /// # Safety
    ///
    /// The memory is there, on the context's device, while the library is loaded; and as [`Library::global`].
    unsafe fn buffer<T: DeviceCopy>(
        &self,
        (address, bytes): (CUdeviceptr, usize),
        context: &Context,
    ) -> Result<Buffer<T>> {
        let (size, align) = (size_of::<T>(), align_of::<T>());
        if size == 0 || !bytes.is_multiple_of(size) || !address.is_multiple_of(align as CUdeviceptr) {
            return Err(MemoryError::Cast { bytes, address, size, align }.into());
        }
        // SAFETY: the caller vouches for it; the library goes with the buffer.
        unsafe { Buffer::from_owner(address, bytes / size, context, self.clone()) }
    }
}
