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

use std::collections::{BTreeMap, BTreeSet};

use smallvec::SmallVec;
use warploom_sys::types::{CUctx_flags, CUctx_st, CUfunc_cache, CUresult};

use crate::machine::context::Context;
use crate::machine::limits::Limits;

pub(crate) use self::create::{cuCtxCreate_v2, cuCtxCreate_v3, cuCtxCreate_v4};
pub(crate) use self::current::{
    cuCtxAttach, cuCtxDetach, cuCtxGetCurrent, cuCtxPopCurrent_v2, cuCtxPushCurrent_v2, cuCtxSetCurrent,
};
pub(crate) use self::describe::{
    cuCtxGetApiVersion, cuCtxGetCacheConfig, cuCtxGetDevice, cuCtxGetDevice_v2, cuCtxGetExecAffinity, cuCtxGetFlags,
    cuCtxGetId, cuCtxGetSharedMemConfig, cuCtxGetStreamPriorityRange, cuCtxResetPersistingL2Cache, cuCtxSetCacheConfig,
    cuCtxSetFlags, cuCtxSetSharedMemConfig,
};
pub(crate) use self::end::{cuCtxDestroy_v2, destroy, drain};
pub(crate) use self::limits::{cuCtxGetLimit, cuCtxSetLimit, stack_for};
pub(crate) use self::order::{cuCtxRecordEvent, cuCtxSynchronize, cuCtxSynchronize_v2, cuCtxWaitEvent};

use warploom_engine::Known;

use crate::ffi::Ptr;
use crate::ffi::handle::{ContextHandle, Handle};
use crate::ffi::status::{INVALID_CONTEXT, OUT_OF_MEMORY, Status};
use crate::machine::call::Call;
use crate::machine::core::Guard;

impl Context {
    /// Creates a context without a handle, and charges the device for it.
    pub(crate) fn new(
        call: &Call<'_>,
        world: &mut Guard<'_>,
        device: usize,
        flags: u32,
        is_primary: bool,
    ) -> Status<Self> {
        // A fault concerns the whole process: new contexts on the device fail, too.
        if let Some(code) = world.devices[device].fault {
            return Err(call.refuse(code, format!("device {device} has faulted; only a new process can use it")));
        }
        let device = device as u16;
        let spec = &call.core().topology.devices[usize::from(device)];
        let memory = &mut world.devices[usize::from(device)].memory;
        if !memory.charge(spec.context_memory) {
            let (bytes, free) = (spec.context_memory, memory.free_bytes());
            return Err(
                call.refuse(OUT_OF_MEMORY, format!("a context takes {bytes} bytes of its device; {free} are free"))
            );
        }
        Ok(Self {
            device,
            id: world.next_context_id(),
            is_primary,
            flags,
            api_version: 3020,
            attached: 0,
            limits: Limits::of(spec),
            heap: None,
            cache: CUfunc_cache::CU_FUNC_CACHE_PREFER_NONE,
            overhead: spec.context_memory,
            poison: None,
            legacy: None,
            per_thread: BTreeMap::new(),
            streams: BTreeSet::new(),
            blocking: SmallVec::new(),
            independent: SmallVec::new(),
            peers: BTreeSet::new(),
            marks: None,
            gates: SmallVec::new(),
            gate_clock: None,
            gone: Known::default(),
            gone_blocking: Known::default(),
        })
    }
}

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
fn named(call: &Call<'_>, world: &Guard<'_>, context: Ptr<CUctx_st>, past: CUresult) -> Status<ContextHandle> {
    let handle = if context.is_null() { call.current()? } else { Handle::from_bits(context.address()) };
    let code = if world.contexts.is_past(handle) { past } else { INVALID_CONTEXT };
    call.object(&world.contexts, handle, code)?;
    Ok(handle)
}
