//! Pinned memory that holds a stream until it is opened.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use cudarc::driver::{CudaContext, CudaStream, DriverError, PinnedHostSlice, sys};

pub struct Latch {
    memory: PinnedHostSlice<u32>,
}

impl Latch {
    pub fn new(context: &Arc<CudaContext>) -> Result<Self, DriverError> {
        // SAFETY: written below, before anything reads it.
        let mut memory = unsafe { context.alloc_pinned_with_flags::<u32>(1, sys::CU_MEMHOSTALLOC_DEVICEMAP) }?;
        memory.as_mut_slice()?[0] = 0;
        Ok(Self { memory })
    }

    /// What is enqueued on the stream from now on waits for [`Latch::open`].
    pub fn hold(&self, stream: &CudaStream) -> Result<(), DriverError> {
        let address = self.memory.as_ptr()? as sys::CUdeviceptr;
        let at_least = sys::CUstreamWaitValue_flags::CU_STREAM_WAIT_VALUE_GEQ as u32;
        // SAFETY: pinned memory has the same address on the device, and every check opens its latch before it
        // drops it.
        unsafe { sys::cuStreamWaitValue32_v2(stream.cu_stream(), address, 1, at_least) }.result()
    }

    pub fn open(&self) -> Result<(), DriverError> {
        let word = self.memory.as_ptr()?.cast_mut();
        // SAFETY: the word is alive and aligned, and from here on only read by the driver.
        unsafe { AtomicU32::from_ptr(word) }.store(1, Ordering::SeqCst);
        Ok(())
    }
}
