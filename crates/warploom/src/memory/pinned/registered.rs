//! Memory of the program, registered with the driver for a scope.
//!
//! `cuMemHostRegister` locks the pages of memory that the program has already, so that devices use it at the
//! host's address. A registration must end before the memory is used otherwise, and after every stream that
//! uses it. A guard cannot see to that, because it can be forgotten; a function that calls a closure can:
//!
//! ```text
//!   register ─▶ closure: work is enqueued ─▶ wait for the streams that used the memory ─▶ unregister
//! ```
//!
//! A graph that uses the memory and outlives the scope keeps a record of it that counts as borrowed by the
//! host for good ([`host_borrows`](crate::memory::host_borrows)): its launches are refused.
#![expect(unsafe_code, reason = "registers memory of the program, which it borrows for as long")]

use std::ptr::with_exposed_provenance_mut;

use warploom_driver::sys::types::{
    CU_MEMHOSTREGISTER_DEVICEMAP, CU_MEMHOSTREGISTER_PORTABLE, CU_MEMHOSTREGISTER_READ_ONLY, CUdeviceptr,
};

use crate::capture::RelaxedMode;
use crate::diagnostics::{Subject, report};
use crate::memory::allocation::Allocation;
use crate::memory::host_borrows::HostBorrow;
use crate::{Buffer, Context, DeviceAttribute, DeviceCopy, MemoryError, Result, Slice, SliceMut};

impl Context {
    /// Registers memory of the program with the driver while `body` runs: its pages are locked, and every
    /// device uses it at the host's address, so that copies from and to it need no staging buffer.
    ///
    /// `body` enqueues work on it as on any other memory. The call returns when the streams that used the
    /// memory are done, also if `body` panics, so that nothing but the caller uses it afterwards. A graph
    /// that uses it cannot be launched after that ([`MemoryError::HostBorrowed`]).
    ///
    /// Locking pages is dear: for memory that is used again and again, take
    /// [`PinnedMemory`](crate::PinnedMemory).
    ///
    /// ```
    /// use warploom::{DevicePool, Driver};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
    /// let context = driver.device(0)?.context()?;
    /// let (stream, pool) = (context.stream()?, DevicePool::new(&context)?);
    /// let squares = pool.upload(&[1_u32, 4, 9, 16], &stream)?;
    ///
    /// let mut values = vec![0_u32; 4];
    /// context.with_registered(&mut values, |host| squares.copy_to(host, &stream))??;
    /// assert_eq!(values, [1, 4, 9, 16]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// The memory is lent to `body`, and cannot leave it:
    ///
    /// ```compile_fail
    /// # fn escapes(context: &warploom::Context, values: &mut [u32]) -> warploom::Result<()> {
    /// let kept = context.with_registered(values, |host| host)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Before `body`: [`MemoryError::EmptyBuffer`] for no bytes, and the driver's error:
    /// `CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED` if some of the memory is registered. After it: the
    /// driver's error of the wait, which may be a failure of that work, or of ending the registration. Then
    /// the value that `body` returned is dropped.
    ///
    /// # Aborts
    ///
    /// If the driver fails to wait for the streams by any means, in a context that is not lost: a device may
    /// still write the memory, which therefore cannot be given back.
    #[doc(alias = "cuMemHostRegister")]
    #[doc(alias = "cuMemHostUnregister")]
    pub fn with_registered<T: DeviceCopy, R>(
        &self,
        values: &mut [T],
        body: impl for<'a> FnOnce(SliceMut<'a, T>) -> R,
    ) -> Result<R> {
        let address = values.as_mut_ptr().expose_provenance() as CUdeviceptr;
        // SAFETY: the values are borrowed exclusively until the scope has ended.
        let mut scope = unsafe { Scope::<T>::begin((address, values.len()), 0, self) }?;
        let returned = body(scope.buffer.as_slice_mut());
        scope.end().map(|()| returned)
    }

    /// As [`Context::with_registered`], for memory that is only read.
    ///
    /// The pages may be read-only to the program, too, such as those of a mapped file, where the device has
    /// [`DeviceAttribute::ReadOnlyHostRegisterSupported`].
    ///
    /// ```
    /// use warploom::{DevicePool, Driver};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
    /// let context = driver.device(0)?.context()?;
    /// let stream = context.stream()?;
    /// let mut device = DevicePool::new(&context)?.allocate::<u32>(3, &stream)?;
    /// let table = [2_u32, 3, 5];
    /// context.with_registered_ref(&table, |host| host.copy_to(&mut device, &stream))??;
    /// assert_eq!(device.download(&stream)?, table);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Context::with_registered`].
    ///
    /// # Aborts
    ///
    /// As [`Context::with_registered`].
    pub fn with_registered_ref<T: DeviceCopy, R>(
        &self,
        values: &[T],
        body: impl for<'a> FnOnce(Slice<'a, T>) -> R,
    ) -> Result<R> {
        let can_read_only = self.device().attribute(DeviceAttribute::ReadOnlyHostRegisterSupported)?;
        let flags = if can_read_only == 0 { 0 } else { CU_MEMHOSTREGISTER_READ_ONLY };
        let address = values.as_ptr().expose_provenance() as CUdeviceptr;
        // SAFETY: the values are borrowed until the scope has ended, and only read, because `body` gets a
        // slice that cannot be written.
        let mut scope = unsafe { Scope::<T>::begin((address, values.len()), flags, self) }?;
        let returned = body(scope.buffer.as_slice());
        scope.end().map(|()| returned)
    }
}

/// Registered memory. Its end waits for the streams that used it.
struct Scope<T: DeviceCopy> {
    buffer: Buffer<T>,
    has_ended: bool,
}

impl<T: DeviceCopy> Scope<T> {
    /// Registers the values.
    ///
    /// # Safety
    ///
    /// They are at the address until the scope has ended, and nothing else writes them. If they may be read
    /// by others, the buffer is not written.
    unsafe fn begin((address, len): (CUdeviceptr, usize), flags: u32, context: &Context) -> Result<Scope<T>> {
        let bytes = len * size_of::<T>(); // of a slice that exists
        if bytes == 0 {
            return Err(MemoryError::EmptyBuffer.into());
        }
        let flags = flags | CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP;
        let memory = with_exposed_provenance_mut(address as usize);
        // In another mode, a capture on this thread or any other would be invalidated.
        let _relaxed = RelaxedMode::new(context.driver());
        let _current = context.current()?;
        // SAFETY: the memory is there, and `_current` keeps the context current.
        unsafe { context.driver().cuMemHostRegister_v2(memory, bytes, flags) }?;
        // SAFETY: it is registered until the scope ends, which waits for all work.
        let buffer = unsafe { Buffer::over(Allocation::registered((address, bytes), context), len) };
        Ok(Scope { buffer, has_ended: false })
    }

    /// Waits for the streams that used the memory, and ends the registration.
    fn end(&mut self) -> Result<()> {
        let allocation = self.buffer.allocation();
        // For good: a graph that has the memory cannot be launched any more.
        HostBorrow::begin(allocation);
        let (settled, is_used) = allocation.settle_by_all_means();
        if is_used {
            report(|| self.subject(), settled);
            // Memory that a device may write cannot be given back.
            std::process::abort();
        }
        // Not before: if the wait unwinds, the drop of the scope waits again.
        self.has_ended = true;
        settled.and(self.unregister())
    }

    fn unregister(&self) -> Result<()> {
        let context = self.buffer.context();
        if !context.is_current_generation() {
            return Ok(()); // it went with the context's last generation
        }
        let _relaxed = RelaxedMode::new(context.driver());
        // If no context can be made current, a driver may do without.
        let current = context.current();
        let memory = with_exposed_provenance_mut(self.buffer.as_raw() as usize);
        // SAFETY: `begin` has registered it, and this is called once; no stream uses it.
        let unregistered = unsafe { context.driver().cuMemHostUnregister(memory) };
        current.map(drop).and(Ok(unregistered?))
    }

    fn subject(&self) -> Subject {
        let device = self.buffer.context().device().ordinal();
        Subject::Memory { address: self.buffer.as_raw(), bytes: self.buffer.size_in_bytes(), device }
    }
}

impl<T: DeviceCopy> Drop for Scope<T> {
    /// Ends a scope whose closure has panicked.
    fn drop(&mut self) {
        if !self.has_ended {
            let ended = self.end();
            report(|| self.subject(), ended);
        }
    }
}
