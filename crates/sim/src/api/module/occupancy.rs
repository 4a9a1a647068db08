//! Occupancy: blocks of a kernel that fit on a multiprocessor.
//!
//! The limits are the number of blocks, threads, registers and shared memory. The register count is the
//! estimate of [`Facts::registers`], so the results may differ from those of hardware as far as that does.
#![expect(non_snake_case, reason = "the functions have C's names")]
#![expect(unsafe_code, reason = "calls the function by which a program tells what blocks need")]

use std::ffi::{c_int, c_uint};

use warploom_sys::types::{CUfunc_st, CUoccupancyB2DSize};

use super::attributes::Limits;
use super::functions::found;
use crate::ffi::Ptr;
use crate::ffi::status::{INVALID_HANDLE, INVALID_VALUE, Status};
use crate::machine::call::Call;
use crate::machine::code::{Facts, Settings};
use crate::topology::number;

/// Allocation unit of shared memory, in bytes per block.
const SHARED_PIECE: u32 = 128;
/// `CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE`, the only flag.
const FLAGS: u32 = 1;

/// Possible shared memory sizes of a multiprocessor, in KiB, by architecture; the rest is L1 cache.
fn divisions(architecture: u32) -> &'static [u32] {
    match architecture {
        ..75 => &[0, 8, 16, 32, 64, 96],
        75..80 => &[32, 64],
        80 | 87 => &[0, 8, 16, 32, 64, 100, 132, 164],
        81..90 | 120.. => &[0, 8, 16, 32, 64, 100],
        _ => &[0, 8, 16, 32, 64, 100, 132, 164, 196, 228],
    }
}

impl Limits<'_> {
    /// Shared memory of a multiprocessor, in bytes, for blocks that need so much each.
    ///
    /// The maximum, unless the kernel sets a carveout: then the smallest size that satisfies it and holds a
    /// block.
    fn shared_of_multiprocessor(&self, settings: &Settings, block: u32) -> u32 {
        let most = self.of(number::MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
        let Some(percent) = settings.carveout() else { return most };
        let wanted = (u64::from(most) * u64::from(percent)).div_ceil(100).max(block.into());
        let capability = [number::COMPUTE_CAPABILITY_MAJOR, number::COMPUTE_CAPABILITY_MINOR].map(|of| self.of(of));
        let divisions = divisions(capability[0] * 10 + capability[1]).iter().map(|kibibytes| kibibytes << 10);
        divisions.filter(|bytes| u64::from(*bytes) >= wanted).min().unwrap_or(most).min(most)
    }

    /// Number of blocks of so many threads that a multiprocessor holds at once.
    pub(super) fn active_blocks(&self, facts: &Facts<'_>, settings: &Settings, threads: u32, dynamic: u64) -> u32 {
        let warp = self.of(number::WARP_SIZE).max(1);
        let warps = threads.div_ceil(warp);
        if threads == 0 || threads > self.threads(facts) || dynamic > self.any_dynamic_shared(facts, settings).into() {
            return 0;
        }
        let reserved = self.of(number::RESERVED_SHARED_MEMORY_PER_BLOCK);
        let shared = (facts.shared() + dynamic as u32).next_multiple_of(SHARED_PIECE) + reserved;
        let limits = [
            self.of(number::MAX_BLOCKS_PER_MULTIPROCESSOR),
            self.of(number::MAX_THREADS_PER_MULTIPROCESSOR) / warp / warps,
            self.warps_by_registers(facts) / warps,
            self.shared_of_multiprocessor(settings, shared).checked_div(shared).unwrap_or(u32::MAX),
        ];
        limits.into_iter().min().unwrap_or(0)
    }

    /// Dynamic shared memory, in bytes, for each of `blocks` blocks on one multiprocessor.
    ///
    /// The reserved shared memory per block is not subtracted, so one block fewer may fit if all of them ask
    /// for this much.
    fn shared_of_each(&self, facts: &Facts<'_>, settings: &Settings, blocks: u32) -> u32 {
        let most = self.dynamic_shared(facts, settings);
        if blocks == 1 {
            return most;
        }
        let reserved = self.of(number::RESERVED_SHARED_MEMORY_PER_BLOCK);
        let all = self.shared_of_multiprocessor(settings, facts.shared().next_multiple_of(SHARED_PIECE) + reserved);
        (all / blocks / SHARED_PIECE * SHARED_PIECE).saturating_sub(facts.shared()).min(most)
    }

    /// Number of blocks that the whole device holds at once.
    pub(super) fn resident_blocks(&self, facts: &Facts<'_>, settings: &Settings, threads: u32, dynamic: u64) -> u64 {
        let each = self.active_blocks(facts, settings, threads, dynamic);
        u64::from(each) * u64::from(self.of(number::MULTIPROCESSOR_COUNT))
    }
}

fn check_flags(call: &Call<'_>, flags: c_uint) -> Status {
    if flags & !FLAGS != 0 {
        return Err(call.refuse(INVALID_VALUE, format!("flags {flags:#x}; known is {FLAGS:#x}")));
    }
    Ok(())
}

fn block_size(call: &Call<'_>, size: c_int) -> Status<u32> {
    let size = u32::try_from(size).ok().filter(|size| *size > 0);
    size.ok_or_else(|| call.refuse(INVALID_VALUE, "a block has at least one thread"))
}

pub(crate) fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
    call: &Call<'_>,
    blocks: Ptr<c_int>,
    function: Ptr<CUfunc_st>,
    threads: c_int,
    dynamic: usize,
) -> Status {
    cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(call, blocks, function, threads, dynamic, 0)
}

pub(crate) fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    call: &Call<'_>,
    blocks: Ptr<c_int>,
    function: Ptr<CUfunc_st>,
    threads: c_int,
    dynamic: usize,
    flags: c_uint,
) -> Status {
    blocks.required()?;
    check_flags(call, flags)?;
    let threads = block_size(call, threads)?;
    let found = found(call, &mut call.world(), function)?;
    let facts = found.binary.facts(found.index).ok_or(INVALID_HANDLE)?;
    let limits = Limits::new(call, found.device);
    blocks.write(limits.active_blocks(&facts, &found.settings, threads, dynamic as u64) as c_int)
}

pub(crate) fn cuOccupancyMaxPotentialBlockSize(
    call: &Call<'_>,
    grid: Ptr<c_int>,
    block: Ptr<c_int>,
    function: Ptr<CUfunc_st>,
    needs: CUoccupancyB2DSize,
    dynamic: usize,
    limit: c_int,
) -> Status {
    cuOccupancyMaxPotentialBlockSizeWithFlags(call, grid, block, function, needs, dynamic, limit, 0)
}

/// The block size, in whole warps, with the most threads on a multiprocessor; the largest such size.
#[expect(clippy::too_many_arguments, reason = "as many as the C function has")]
pub(crate) fn cuOccupancyMaxPotentialBlockSizeWithFlags(
    call: &Call<'_>,
    grid: Ptr<c_int>,
    block: Ptr<c_int>,
    function: Ptr<CUfunc_st>,
    needs: CUoccupancyB2DSize,
    dynamic: usize,
    limit: c_int,
    flags: c_uint,
) -> Status {
    grid.required()?;
    block.required()?;
    check_flags(call, flags)?;
    // The lock is released first, because a function of the program is called below.
    let found = found(call, &mut call.world(), function)?;
    let facts = found.binary.facts(found.index).ok_or(INVALID_HANDLE)?;
    let limits = Limits::new(call, found.device);
    let most = match u32::try_from(limit) {
        Ok(0) => limits.threads(&facts),
        Ok(limit) => limit.min(limits.threads(&facts)),
        Err(_) => return Err(call.refuse(INVALID_VALUE, format!("blocks of at most {limit} threads"))),
    };
    let warp = limits.of(number::WARP_SIZE).max(1);
    let sizes = std::iter::once(most).chain((1..most.div_ceil(warp)).rev().map(|warps| warps * warp));
    let (mut best, mut best_threads) = ((0, 0), 0);
    for threads in sizes {
        let dynamic = match needs {
            // SAFETY: the C caller's function, passed for calls with a block size.
            Some(needs) => unsafe { needs(threads as c_int) },
            None => dynamic,
        };
        let blocks = limits.active_blocks(&facts, &found.settings, threads, dynamic as u64);
        if blocks * threads > best_threads {
            (best, best_threads) = ((blocks, threads), blocks * threads);
        }
    }
    let (blocks, threads) = best;
    grid.write((blocks * limits.of(number::MULTIPROCESSOR_COUNT)) as c_int)?;
    block.write(threads as c_int)
}

pub(crate) fn cuOccupancyAvailableDynamicSMemPerBlock(
    call: &Call<'_>,
    bytes: Ptr<usize>,
    function: Ptr<CUfunc_st>,
    blocks: c_int,
    threads: c_int,
) -> Status {
    bytes.required()?;
    let threads = block_size(call, threads)?;
    let blocks = u32::try_from(blocks).ok().filter(|blocks| *blocks > 0);
    let blocks = blocks.ok_or_else(|| call.refuse(INVALID_VALUE, "at least one block is asked about"))?;
    let found = found(call, &mut call.world(), function)?;
    let facts = found.binary.facts(found.index).ok_or(INVALID_HANDLE)?;
    let limits = Limits::new(call, found.device);
    if limits.active_blocks(&facts, &found.settings, threads, 0) < blocks {
        let reason = format!("a multiprocessor does not hold {blocks} blocks of {threads} threads");
        return Err(call.refuse(INVALID_VALUE, reason));
    }
    bytes.write(limits.shared_of_each(&facts, &found.settings, blocks) as usize)
}
