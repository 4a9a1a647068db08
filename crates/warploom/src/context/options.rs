//! Options of a new context.
#![expect(unsafe_code, reason = "asks the driver about the current context")]

use warploom_driver::sys::types::CUctx_flags;

use super::Context;
use crate::Result;

/// The way that a host thread waits for the device.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Scheduling {
    /// As the driver thinks best: it spins while there are fewer contexts than processors, and yields
    /// otherwise.
    #[default]
    Auto,
    /// It polls (spins), which is quickest and takes a processor.
    Spin,
    /// It polls, and yields to other threads in between.
    Yield,
    /// It sleeps until the device is done.
    Block,
    /// A way that a newer driver invented.
    Unknown(u32),
}

impl Scheduling {
    fn from_raw(raw: u32) -> Scheduling {
        match CUctx_flags(raw) {
            CUctx_flags::CU_CTX_SCHED_AUTO => Scheduling::Auto,
            CUctx_flags::CU_CTX_SCHED_SPIN => Scheduling::Spin,
            CUctx_flags::CU_CTX_SCHED_YIELD => Scheduling::Yield,
            CUctx_flags::CU_CTX_SCHED_BLOCKING_SYNC => Scheduling::Block,
            _ => Scheduling::Unknown(raw),
        }
    }

    fn to_raw(self) -> u32 {
        match self {
            Scheduling::Auto => CUctx_flags::CU_CTX_SCHED_AUTO.0,
            Scheduling::Spin => CUctx_flags::CU_CTX_SCHED_SPIN.0,
            Scheduling::Yield => CUctx_flags::CU_CTX_SCHED_YIELD.0,
            Scheduling::Block => CUctx_flags::CU_CTX_SCHED_BLOCKING_SYNC.0,
            Scheduling::Unknown(raw) => raw & CUctx_flags::CU_CTX_SCHED_MASK.0,
        }
    }
}

/// Options of a new context.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ContextOptions {
    /// The way that a host thread waits for the device.
    pub scheduling: Scheduling,
    /// `true` if local memory stays as large as a kernel once needed it, so that later launches need not wait
    /// for it.
    pub keep_local_memory: bool,
    /// `true` if synchronous copies and fills never return before they are done. Needs driver 12.1.
    pub synchronous_memory: bool,
}

impl ContextOptions {
    /// As the driver does it.
    #[must_use]
    pub fn new() -> ContextOptions {
        ContextOptions::default()
    }

    /// With another [`scheduling`](ContextOptions::scheduling).
    #[must_use]
    pub fn scheduling(self, scheduling: Scheduling) -> ContextOptions {
        ContextOptions { scheduling, ..self }
    }

    /// With or without [`keep_local_memory`](ContextOptions::keep_local_memory).
    #[must_use]
    pub fn keep_local_memory(self, keep_local_memory: bool) -> ContextOptions {
        ContextOptions { keep_local_memory, ..self }
    }

    /// With or without [`synchronous_memory`](ContextOptions::synchronous_memory).
    #[must_use]
    pub fn synchronous_memory(self, synchronous_memory: bool) -> ContextOptions {
        ContextOptions { synchronous_memory, ..self }
    }

    pub(super) fn to_raw(self) -> u32 {
        let flag = |is_set: bool, flag: CUctx_flags| if is_set { flag.0 } else { 0 };
        self.scheduling.to_raw()
            | flag(self.keep_local_memory, CUctx_flags::CU_CTX_LMEM_RESIZE_TO_MAX)
            | flag(self.synchronous_memory, CUctx_flags::CU_CTX_SYNC_MEMOPS)
    }

    /// Leaves out flags that are not options here: host memory can always be mapped, and core dumps are set
    /// elsewhere.
    pub(super) fn from_raw(raw: u32) -> ContextOptions {
        ContextOptions {
            scheduling: Scheduling::from_raw(raw & CUctx_flags::CU_CTX_SCHED_MASK.0),
            keep_local_memory: raw & CUctx_flags::CU_CTX_LMEM_RESIZE_TO_MAX.0 != 0,
            synchronous_memory: raw & CUctx_flags::CU_CTX_SYNC_MEMOPS.0 != 0,
        }
    }
}

impl Context {
    /// The options it was made with.
    ///
    /// # Errors
    ///
    /// The driver's error.
    #[doc(alias = "cuCtxGetFlags")]
    pub fn options(&self) -> Result<ContextOptions> {
        let _current = self.current()?;
        let mut flags = 0;
        // SAFETY: `flags` is writable, and `_current` keeps the context current.
        unsafe { self.driver().cuCtxGetFlags(&raw mut flags) }?;
        Ok(ContextOptions::from_raw(flags))
    }
}
