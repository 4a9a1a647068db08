//! Limits of a context: resources that it keeps ready for kernels.
//!
//! | limit | default | value after a request |
//! |---|---|---|
//! | stack size of a thread | 1024 | a multiple of 16, for all threads; kernels may raise it |
//! | printf buffer | 8650752 | a multiple of 256 between 512 KiB and 2 GiB |
//! | malloc heap | 8 MiB | a multiple of 64 KiB between 4 MiB and an eighth of the device |
//! | depth of device-side waits | 2 | as asked, up to 24; none since compute capability 9.0 |
//! | pending device-side launches | 2048 | between 32 and 599186 |
//! | granularity of L2 fetches | 64 | as asked, up to 128 |
//! | L2 for persisting lines | three tenths of the most | a multiple of a tenth of the most |
//! | shared memory, graphics sharing | fixed | cannot be set |

use warploom_sys::types::{CUlimit, CUresult};

use crate::ffi::status::{INVALID_VALUE, NOT_PERMITTED, Status};
use crate::topology::{DeviceSpec, number};

pub(crate) const UNSUPPORTED_LIMIT: CUresult = CUresult::CUDA_ERROR_UNSUPPORTED_LIMIT;

pub(crate) const STACK_STEP: u64 = 16;
pub(crate) const FIRST_STACK: u64 = 1024;
/// Maximum local memory of a thread.
pub(crate) const MOST_STACK: u64 = 512 << 10;
pub(crate) const PRINTF_STEP: u64 = 256;
pub(crate) const HEAP_STEP: u64 = 64 << 10;
pub(crate) const MOST_SYNC_DEPTH: u64 = 24;
pub(crate) const MOST_FETCH: u64 = 128;

/// The limits of a context.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) stack: u64,
    pub(crate) printf: u64,
    pub(crate) heap: u64,
    pub(crate) sync_depth: u64,
    pub(crate) launches: u64,
    pub(crate) fetch: u64,
    pub(crate) persisting: u64,
}

/// The bounds that a device sets on limits.
pub(crate) struct LimitBounds {
    /// Maximum number of resident threads.
    pub(crate) threads: u64,
    pub(crate) memory: u64,
    pub(crate) persisting: u64,
    pub(crate) shared: u64,
    pub(crate) has_sync_depth: bool,
}

pub(crate) fn attribute(spec: &DeviceSpec, number: i32) -> u64 {
    spec.attributes.get(number).map_or(0, |value| u64::from(value.unsigned_abs()))
}

impl LimitBounds {
    pub(crate) fn of(spec: &DeviceSpec) -> Self {
        Self {
            threads: attribute(spec, number::MULTIPROCESSOR_COUNT)
                * attribute(spec, number::MAX_THREADS_PER_MULTIPROCESSOR),
            memory: spec.total_memory,
            persisting: attribute(spec, number::MAX_PERSISTING_L2_CACHE_SIZE),
            shared: attribute(spec, number::MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
            has_sync_depth: attribute(spec, number::COMPUTE_CAPABILITY_MAJOR) < 9,
        }
    }

    /// Bytes that stacks of this size take beyond the default.
    pub(crate) fn stacks(&self, size: u64) -> u64 {
        size.saturating_sub(FIRST_STACK) * self.threads
    }
}

impl Limits {
    pub(crate) fn of(spec: &DeviceSpec) -> Self {
        Self {
            stack: FIRST_STACK,
            printf: 8_650_752,
            heap: 8 << 20,
            sync_depth: 2,
            launches: 2048,
            fetch: 64,
            persisting: LimitBounds::of(spec).persisting / 10 * 3,
        }
    }

    pub(crate) fn heap(&self) -> u64 {
        self.heap
    }

    pub(crate) fn get(&self, limit: CUlimit, bounds: &LimitBounds) -> Status<u64> {
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
    pub(crate) fn with(mut self, limit: CUlimit, value: u64, bounds: &LimitBounds) -> Status<Self> {
        match limit {
            CUlimit::CU_LIMIT_STACK_SIZE => {
                let size = value.checked_next_multiple_of(STACK_STEP).filter(|size| *size < MOST_STACK);
                let size = size.filter(|size| size * bounds.threads <= bounds.memory).ok_or(INVALID_VALUE)?;
                // A request without an effect is stored as it was made.
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
