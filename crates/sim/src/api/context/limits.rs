//! Limits: what a context keeps ready for kernels.
//!
//! | limit | at first | what a request becomes |
//! |---|---|---|
//! | stack size of a thread | 1024 | a multiple of 16; all threads' stacks must fit the device; a kernel that needs more raises it |
//! | printf buffer | 8650752 | a multiple of 256 between 512 KiB and 2 GiB |
//! | malloc heap | 8 MiB | a multiple of 64 KiB between 4 MiB and an eighth of the device |
//! | depth of device-side waits | 2 | as asked, up to 24; none since compute capability 9.0 |
//! | pending device-side launches | 2048 | between 32 and 599186 |
//! | granularity of L2 fetches | 64 | as asked, up to 128 |
//! | L2 for persisting lines | three tenths of the most | a multiple of a tenth of the most |
//! | shared memory, graphics sharing | fixed | cannot be set |
#![expect(non_snake_case, reason = "the functions have C's names")]

use warploom_sys::types::{CUlimit, CUresult};

use super::end::drain;
use crate::ffi::Ptr;
use crate::ffi::handle::ContextHandle;
use crate::ffi::status::{INVALID_CONTEXT, INVALID_VALUE, NOT_PERMITTED, OUT_OF_MEMORY, Status};
use crate::machine::call::Call;
use crate::machine::core::Guard;
use crate::topology::{DeviceSpec, number};

const UNSUPPORTED_LIMIT: CUresult = CUresult::CUDA_ERROR_UNSUPPORTED_LIMIT;

const STACK_STEP: u64 = 16;
const FIRST_STACK: u64 = 1024;
/// The local memory a thread can address.
const MOST_STACK: u64 = 512 << 10;
const PRINTF_STEP: u64 = 256;
const HEAP_STEP: u64 = 64 << 10;
const MOST_SYNC_DEPTH: u64 = 24;
const MOST_FETCH: u64 = 128;

/// What a context's limits are.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    stack: u64,
    printf: u64,
    heap: u64,
    sync_depth: u64,
    launches: u64,
    fetch: u64,
    persisting: u64,
}

/// What the device allows.
struct Bounds {
    /// Threads that can be resident at once.
    threads: u64,
    memory: u64,
    persisting: u64,
    shared: u64,
    has_sync_depth: bool,
}

fn attribute(spec: &DeviceSpec, number: i32) -> u64 {
    spec.attributes.get(number).map_or(0, |value| u64::from(value.unsigned_abs()))
}

impl Bounds {
    fn of(spec: &DeviceSpec) -> Self {
        Self {
            threads: attribute(spec, number::MULTIPROCESSOR_COUNT)
                * attribute(spec, number::MAX_THREADS_PER_MULTIPROCESSOR),
            memory: spec.total_memory,
            persisting: attribute(spec, number::MAX_PERSISTING_L2_CACHE_SIZE),
            shared: attribute(spec, number::MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
            has_sync_depth: attribute(spec, number::COMPUTE_CAPABILITY_MAJOR) < 9,
        }
    }

    /// Bytes that stacks of this size take beyond what every context has.
    fn stacks(&self, size: u64) -> u64 {
        size.saturating_sub(FIRST_STACK) * self.threads
    }
}

impl Limits {
    pub(super) fn of(spec: &DeviceSpec) -> Self {
        Self {
            stack: FIRST_STACK,
            printf: 8_650_752,
            heap: 8 << 20,
            sync_depth: 2,
            launches: 2048,
            fetch: 64,
            persisting: Bounds::of(spec).persisting / 10 * 3,
        }
    }

    pub(super) fn heap(&self) -> u64 {
        self.heap
    }

    fn get(&self, limit: CUlimit, bounds: &Bounds) -> Status<u64> {
        match limit {
            CUlimit::CU_LIMIT_STACK_SIZE => Ok(self.stack),
            CUlimit::CU_LIMIT_PRINTF_FIFO_SIZE => Ok(self.printf),
            CUlimit::CU_LIMIT_MALLOC_HEAP_SIZE => Ok(self.heap),
            CUlimit::CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH if bounds.has_sync_depth => Ok(self.sync_depth),
            CUlimit::CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT => Ok(self.launches),
            CUlimit::CU_LIMIT_MAX_L2_FETCH_GRANULARITY => Ok(self.fetch),
            CUlimit::CU_LIMIT_PERSISTING_L2_CACHE_SIZE if bounds.persisting > 0 => Ok(self.persisting),
            CUlimit::CU_LIMIT_SHMEM_SIZE => Ok(bounds.shared),
            CUlimit::CU_LIMIT_CIG_ENABLED => Ok(0),
            _ => Err(UNSUPPORTED_LIMIT),
        }
    }

    /// The limits with one of them changed.
    fn with(mut self, limit: CUlimit, value: u64, bounds: &Bounds) -> Status<Self> {
        match limit {
            CUlimit::CU_LIMIT_STACK_SIZE => {
                let size = value.checked_next_multiple_of(STACK_STEP).filter(|size| *size < MOST_STACK);
                let size = size.filter(|size| size * bounds.threads <= bounds.memory).ok_or(INVALID_VALUE)?;
                // A request that changes nothing is remembered as it was made.
                let as_is = size == self.stack.next_multiple_of(STACK_STEP);
                self.stack = if as_is { value } else { size };
            }
            CUlimit::CU_LIMIT_PRINTF_FIFO_SIZE => {
                self.printf = value.clamp(512 << 10, 2 << 30).next_multiple_of(PRINTF_STEP);
            }
            CUlimit::CU_LIMIT_MALLOC_HEAP_SIZE => {
                let most = (bounds.memory / 8).max(4 << 20);
                self.heap = value.clamp(4 << 20, most).next_multiple_of(HEAP_STEP);
            }
            CUlimit::CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH if bounds.has_sync_depth => {
                if value > MOST_SYNC_DEPTH {
                    return Err(INVALID_VALUE);
                }
                self.sync_depth = value;
            }
            CUlimit::CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT => self.launches = value.clamp(32, 599_186),
            CUlimit::CU_LIMIT_MAX_L2_FETCH_GRANULARITY => {
                if value > MOST_FETCH {
                    return Err(INVALID_VALUE);
                }
                self.fetch = value;
            }
            CUlimit::CU_LIMIT_PERSISTING_L2_CACHE_SIZE if bounds.persisting > 0 => {
                if value > bounds.persisting {
                    return Err(INVALID_VALUE);
                }
                self.persisting = value.next_multiple_of((bounds.persisting / 10).max(1)).min(bounds.persisting);
            }
            CUlimit::CU_LIMIT_SHMEM_SIZE | CUlimit::CU_LIMIT_CIG_ENABLED => return Err(NOT_PERMITTED),
            _ => return Err(UNSUPPORTED_LIMIT),
        }
        Ok(self)
    }
}

/// Refuses a limit that the driver is too old, or not new enough, to know.
fn check(call: &Call<'_>, limit: CUlimit) -> Status {
    let known = match call.core().topology.driver_version {
        ..12050 => CUlimit::CU_LIMIT_PERSISTING_L2_CACHE_SIZE,
        12050..12080 => CUlimit::CU_LIMIT_CIG_ENABLED,
        _ => CUlimit::CU_LIMIT_CIG_SHMEM_FALLBACK_ENABLED,
    };
    if limit.0 > known.0 {
        return Err(call.refuse(INVALID_VALUE, format!("limit {}: the driver knows 0 to {}", limit.0, known.0)));
    }
    Ok(())
}

pub(crate) fn cuCtxGetLimit(call: &Call<'_>, value: Ptr<usize>, limit: CUlimit) -> Status {
    value.required()?;
    let world = call.world();
    let current = call.context(&world)?;
    check(call, limit)?;
    let context = call.object(&world.contexts, current, INVALID_CONTEXT)?;
    let bounds = Bounds::of(&call.core().topology.devices[usize::from(context.device)]);
    let found = context.limits.get(limit, &bounds);
    value.write(found.map_err(|code| call.refuse(code, format!("the device has no limit {}", limit.0)))? as usize)
}

pub(crate) fn cuCtxSetLimit(call: &Call<'_>, limit: CUlimit, value: usize) -> Status {
    let mut world = call.world();
    let current = call.context(&world)?;
    check(call, limit)?;
    let context = call.object(&world.contexts, current, INVALID_CONTEXT)?;
    let bounds = Bounds::of(&call.core().topology.devices[usize::from(context.device)]);
    if limit == CUlimit::CU_LIMIT_MALLOC_HEAP_SIZE && context.heap.is_some() {
        return Err(
            call.refuse(INVALID_VALUE, "kernels have taken memory of the heap, which keeps its size from then on")
        );
    }
    let after = context.limits.with(limit, value as u64, &bounds);
    let after = after.map_err(|code| call.refuse(code, format!("limit {} cannot be {value}", limit.0)))?;
    change(call, &mut world, current, after)
}

/// The stack that a thread of a kernel has; a kernel that needs more than the context has makes all stacks larger first.
pub(crate) fn stack_for(call: &Call<'_>, world: &mut Guard<'_>, context: ContextHandle, needed: u32) -> Status<u32> {
    let mut limits = call.object(&world.contexts, context, INVALID_CONTEXT)?.limits;
    if u64::from(needed) > limits.stack {
        limits.stack = u64::from(needed).next_multiple_of(STACK_STEP);
        change(call, world, context, limits)?;
    }
    // A limit is below what a thread can address.
    Ok(limits.stack as u32)
}

/// Gives a context other limits, and its stacks the memory they take.
fn change(call: &Call<'_>, world: &mut Guard<'_>, handle: ContextHandle, after: Limits) -> Status {
    let context = call.object(&world.contexts, handle, INVALID_CONTEXT)?;
    if after.stack != context.limits.stack {
        // Stacks are not moved under running kernels.
        drain(call, world, handle)?;
    }
    let Some(context) = world.contexts.get(handle) else { return Err(INVALID_CONTEXT) };
    let device = usize::from(context.device);
    let spec = &call.core().topology.devices[device];
    let (before, now) = (context.overhead, spec.context_memory + Bounds::of(spec).stacks(after.stack));
    let memory = &mut world.devices[device].memory;
    if !memory.charge(now.saturating_sub(before)) {
        let (stack, free) = (after.stack, memory.free_bytes());
        let why = format!("stacks of {stack} bytes take {} more of the device; {free} are free", now - before);
        return Err(call.refuse(OUT_OF_MEMORY, why));
    }
    memory.refund(before.saturating_sub(now));
    if let Some(context) = world.contexts.get_mut(handle) {
        (context.overhead, context.limits) = (now, after);
    }
    Ok(())
}
