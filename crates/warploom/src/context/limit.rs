//! Context limits: stack size, heap size, printf buffer and others.
#![expect(unsafe_code, reason = "asks the driver about the current context")]

use std::fmt;

use warploom_driver::sys::types::{CUlimit, CUresult};

use super::Context;
use crate::{ContextError, Result};

/// A limit of a context, in bytes or as a count.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Limit {
    /// Bytes of stack of every thread of a kernel.
    StackSize,
    /// Bytes that kernels can print before the host has to read them.
    PrintfBuffer,
    /// Bytes that kernels can allocate.
    MallocHeap,
    /// The nesting depth at which kernels can wait for kernels they launched; not since compute capability
    /// 9.0.
    LaunchSyncDepth,
    /// The number of pending launches by kernels.
    PendingLaunches,
    /// Bytes that level 2 cache fetches at once, as a hint.
    L2FetchGranularity,
    /// Bytes of level 2 cache set apart for lines that stay.
    PersistingL2Cache,
    /// Bytes of shared memory that a block can have; cannot be set.
    SharedMemory,
    /// `true` if the context shares the device with a graphics interface; cannot be set.
    GraphicsSharing,
    /// `true` if such a context falls back to less shared memory.
    GraphicsSharedMemoryFallback,
    /// Bytes of memory of every block.
    BlockMemory,
}

impl Limit {
    fn as_raw(self) -> CUlimit {
        match self {
            Limit::StackSize => CUlimit::CU_LIMIT_STACK_SIZE,
            Limit::PrintfBuffer => CUlimit::CU_LIMIT_PRINTF_FIFO_SIZE,
            Limit::MallocHeap => CUlimit::CU_LIMIT_MALLOC_HEAP_SIZE,
            Limit::LaunchSyncDepth => CUlimit::CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH,
            Limit::PendingLaunches => CUlimit::CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT,
            Limit::L2FetchGranularity => CUlimit::CU_LIMIT_MAX_L2_FETCH_GRANULARITY,
            Limit::PersistingL2Cache => CUlimit::CU_LIMIT_PERSISTING_L2_CACHE_SIZE,
            Limit::SharedMemory => CUlimit::CU_LIMIT_SHMEM_SIZE,
            Limit::GraphicsSharing => CUlimit::CU_LIMIT_CIG_ENABLED,
            Limit::GraphicsSharedMemoryFallback => CUlimit::CU_LIMIT_CIG_SHMEM_FALLBACK_ENABLED,
            Limit::BlockMemory => CUlimit::CU_LIMIT_PER_BLOCK_MEMORY_SIZE,
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Limit::StackSize => "the stack size",
            Limit::PrintfBuffer => "the printf buffer",
            Limit::MallocHeap => "the malloc heap",
            Limit::LaunchSyncDepth => "the depth of waits for launches by kernels",
            Limit::PendingLaunches => "the number of pending launches by kernels",
            Limit::L2FetchGranularity => "the granularity of level 2 fetches",
            Limit::PersistingL2Cache => "the persisting level 2 cache",
            Limit::SharedMemory => "the shared memory of a block",
            Limit::GraphicsSharing => "sharing with a graphics interface",
            Limit::GraphicsSharedMemoryFallback => "the shared memory fallback for graphics",
            Limit::BlockMemory => "the memory of a block",
        })
    }
}

impl Context {
    /// The current value of a limit.
    ///
    /// ```
    /// use warploom::{Driver, Limit};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
    /// let context = driver.device(0)?.context()?;
    /// context.set_limit(Limit::StackSize, 4096)?;
    /// assert_eq!(context.limit(Limit::StackSize)?, 4096);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`ContextError::UnsupportedLimit`] if the device has no such limit, and the driver's error.
    #[doc(alias = "cuCtxGetLimit")]
    pub fn limit(&self, limit: Limit) -> Result<usize> {
        let _current = self.current()?;
        let mut value = 0;
        // SAFETY: `value` is writable, and `_current` keeps the context current.
        let asked = unsafe { self.driver().cuCtxGetLimit(&raw mut value, limit.as_raw()) };
        asked.map(|()| value).map_err(|error| match error.code() {
            // A driver does not know the numbers of limits that came after it.
            Some(CUresult::CUDA_ERROR_UNSUPPORTED_LIMIT | CUresult::CUDA_ERROR_INVALID_VALUE) => {
                ContextError::UnsupportedLimit { limit, device: self.device().ordinal() }.into()
            }
            _ => error.into(),
        })
    }

    /// Sets a limit. The driver may round it, up or down: [`Context::limit`] has the actual value.
    ///
    /// It holds for all users of the context, and may wait for work that is running.
    ///
    /// # Errors
    ///
    /// [`ContextError::UnsupportedLimit`] if the device has no such limit, [`ContextError::FixedLimit`] for one
    /// that cannot be set, [`ContextError::LimitRefused`] for a value that the driver does not take, and the
    /// driver's error. Then it is as it was.
    #[doc(alias = "cuCtxSetLimit")]
    pub fn set_limit(&self, limit: Limit, value: usize) -> Result<()> {
        let _current = self.current()?;
        // SAFETY: passes numbers; `_current` keeps the context current.
        let Err(error) = (unsafe { self.driver().cuCtxSetLimit(limit.as_raw(), value) }) else { return Ok(()) };
        let device = self.device().ordinal();
        Err(match error.code() {
            Some(CUresult::CUDA_ERROR_UNSUPPORTED_LIMIT) => ContextError::UnsupportedLimit { limit, device }.into(),
            Some(CUresult::CUDA_ERROR_NOT_PERMITTED) => ContextError::FixedLimit { limit, value, device }.into(),
            Some(CUresult::CUDA_ERROR_INVALID_VALUE) => match self.limit(limit) {
                Ok(current) => ContextError::LimitRefused { limit, value, current, device }.into(),
                Err(unsupported) => unsupported,
            },
            _ => error.into(),
        })
    }
}
