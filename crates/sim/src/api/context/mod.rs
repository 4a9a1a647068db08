//! Contexts of devices, and the stack of current contexts of each thread.
//!
//! Each thread has a stack of contexts; the last one is current. The stack holds only handles: a context may
//! be destroyed while it is in a stack, and calls then fail with `CONTEXT_IS_DESTROYED`. Every context has an
//! id that is never reused. A primary context that is retained again after its last release keeps its handle
//! and gets a new id.

mod create;
mod current;
mod describe;
mod end;
mod limits;
mod order;

use warploom_sys::types::{CUctx_flags, CUctx_st, CUresult};

pub(crate) use self::create::{cuCtxCreate, cuCtxCreate_v2, cuCtxCreate_v3, cuCtxCreate_v4};
pub(crate) use self::current::{
    cuCtxAttach, cuCtxDetach, cuCtxGetCurrent, cuCtxPopCurrent_v2, cuCtxPushCurrent, cuCtxPushCurrent_v2,
    cuCtxSetCurrent,
};
pub(crate) use self::describe::{
    check_banks, cuCtxGetApiVersion, cuCtxGetCacheConfig, cuCtxGetDevice, cuCtxGetDevice_v2, cuCtxGetExecAffinity,
    cuCtxGetFlags, cuCtxGetId, cuCtxGetSharedMemConfig, cuCtxGetStreamPriorityRange, cuCtxResetPersistingL2Cache,
    cuCtxSetCacheConfig, cuCtxSetFlags, cuCtxSetSharedMemConfig,
};
pub(crate) use self::end::{cuCtxDestroy_v2, destroy, drain};
pub(crate) use self::limits::{cuCtxGetLimit, cuCtxSetLimit, stack_for, stack_of};
pub(crate) use self::order::{cuCtxRecordEvent, cuCtxSynchronize, cuCtxSynchronize_v2, cuCtxWaitEvent};

use crate::ffi::Ptr;
use crate::ffi::handle::{ContextHandle, Handle};
use crate::ffi::status::{INVALID_CONTEXT, Status};
use crate::machine::call::Call;
use crate::machine::context::Context;
use crate::machine::objects::Objects;

/// The flags of a context, as the driver reports them.
#[derive(Clone, Copy)]
pub(crate) struct Flags(pub(crate) u32);

impl Flags {
    pub(crate) const MAP_HOST: u32 = CUctx_flags::CU_CTX_MAP_HOST.0;
    const COREDUMP: u32 = CUctx_flags::CU_CTX_COREDUMP_ENABLE.0;
    const USER_COREDUMP: u32 = CUctx_flags::CU_CTX_USER_COREDUMP_ENABLE.0;

    /// Refuses unknown flags, and more than one scheduling flag.
    pub(crate) fn check(self, call: &Call<'_>, known: u32) -> Status {
        let Flags(flags) = self;
        if flags & !known != 0 {
            return Err(
                call.refuse(CUresult::CUDA_ERROR_INVALID_VALUE, format!("flags {flags:#x}: known are {known:#x}"))
            );
        }
        match flags & CUctx_flags::CU_CTX_SCHED_MASK.0 {
            0 | 1 | 2 | 4 => Ok(()),
            waits => Err(call.refuse(CUresult::CUDA_ERROR_INVALID_VALUE, format!("{waits:#x} is no way to wait"))),
        }
    }

    /// The flags that the driver reports: `USER_COREDUMP_ENABLE` is reported as `COREDUMP_ENABLE`.
    pub(crate) fn shown(self) -> u32 {
        let dumps = if self.0 & Self::USER_COREDUMP != 0 { Self::COREDUMP } else { 0 };
        self.0 & !Self::USER_COREDUMP | dumps
    }
}

/// All flags.
pub(crate) const ALL_FLAGS: u32 = CUctx_flags::CU_CTX_FLAGS_MASK.0;

/// The context of an argument, or the current one for null. A destroyed context is refused with `past`.
fn named(
    call: &Call<'_>,
    contexts: &Objects<Context>,
    context: Ptr<CUctx_st>,
    past: CUresult,
) -> Status<ContextHandle> {
    let handle = if context.is_null() { call.current()? } else { Handle::from_bits(context.address()) };
    let code = if contexts.is_past(handle) { past } else { INVALID_CONTEXT };
    call.object(contexts, handle, code)?;
    Ok(handle)
}
