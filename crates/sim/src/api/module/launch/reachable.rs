//! Reachable memory of a context's kernels, as a versioned snapshot.
#![expect(unsafe_code, reason = "vouches for the mapped bytes of allocations")]

use std::ops::Range;

use warploom_ptx::Direct;

use crate::api::pool::AccessLevel;
use crate::ffi::handle::{ContextHandle, PoolHandle};
use crate::machine::code::MARGINS;
use crate::machine::launch::KernelCall;
use crate::machine::mapped_memory::Mapped;
use crate::machine::world::World;
use crate::memory::{Allocation, Backing, Side, SimAddress};

/// A range of memory that a kernel may read, or write as well.
///
/// Its bytes stay mapped while the kernel runs, even after a free (see `memory`): those behind a window
/// always, those of an arena because the kernel is an op that was enqueued before the free.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReachableRange {
    start: u64,
    end: u64,
    host: usize,
    side: Side,
    is_writable: bool,
    /// The id of its allocation.
    id: u64,
    /// The pool whose memory it is.
    pool: Option<PoolHandle>,
}

impl ReachableRange {
    /// The bytes from an address of the range on: where they lie, and how many of `bytes` there are.
    pub(super) fn piece(&self, address: u64, bytes: usize) -> (SimAddress, usize) {
        let here = bytes.min(usize::try_from(self.end - address).unwrap_or(usize::MAX));
        let host = self.host + (address - self.start) as usize;
        // SAFETY: `here` bytes at most are left of the range, which stays mapped while the kernel runs (see
        // `ReachableRange`); no Rust reference points to them.
        (unsafe { SimAddress::new(address, host, self.side) }, here)
    }
}

/// All reachable ranges, by address.
#[derive(Clone, Debug, Default)]
pub(super) struct ReachableMemory {
    sorted: Vec<ReachableRange>,
    /// The version of the registry at the snapshot.
    version: u64,
}

/// The pool memory that kernels in bodies of a conditional node have access to, by their contexts.
#[derive(Debug, Default)]
pub(crate) struct LaunchedMemory(Vec<(ContextHandle, ReachableMemory)>);

impl LaunchedMemory {
    /// Adds the memory that a kernel has access to now.
    pub(crate) fn add(&mut self, world: &World, kernel: &KernelCall) {
        if self.of(kernel.context).is_none() {
            self.0.push((kernel.context, world.reachable_pool_memory(kernel.context, kernel.device)));
        }
    }

    /// The memory of a context's kernels.
    pub(super) fn of(&self, context: ContextHandle) -> Option<&ReachableMemory> {
        self.0.iter().find(|(found, _)| *found == context).map(|(_, memory)| memory)
    }
}

impl World {
    /// The memory that kernels of a context have access to now.
    pub(super) fn reachable_memory(&self, context: ContextHandle, device: u16) -> ReachableMemory {
        self.reachable_memory_of(context, device, |_| true)
    }

    /// The pool memory that kernels of a context have access to now. It may be freed at the call before a
    /// kernel launched now has run; in stream order, the free comes after the kernel.
    pub(super) fn reachable_pool_memory(&self, context: ContextHandle, device: u16) -> ReachableMemory {
        self.reachable_memory_of(context, device, |allocation| {
            matches!(allocation.backing, Backing::Pool(_) | Backing::Graph(_))
        })
    }

    fn reachable_memory_of(
        &self,
        context: ContextHandle,
        device: u16,
        is_wanted: impl Fn(&Allocation) -> bool,
    ) -> ReachableMemory {
        let reachable = self.memory().iter().filter(|allocation| is_wanted(allocation)).filter_map(|allocation| {
            let is_writable = self.kernel_access(allocation, context, device)?;
            let Allocation { base, host, side, id, .. } = *allocation;
            let [before, behind] = match &allocation.backing {
                Backing::Variable(variable) => variable.margins,
                _ => [0; 2],
            };
            let (start, host) = (base - before, host - before as usize);
            let pool = if let Backing::Pool(block) = &allocation.backing { Some(block.pool) } else { None };
            Some(ReachableRange { start, end: allocation.end() + behind, host, side, is_writable, id, pool })
        });
        let mut sorted: Vec<_> = reachable.collect();
        let freed = self.freed_blocks(context).map(|block| {
            let Range { start, end } = block.room();
            let host = block.host - MARGINS[0] as usize;
            ReachableRange { start, end, host, side: Side::Device(device), is_writable: true, id: 0, pool: None }
        });
        sorted.extend(freed);
        sorted.sort_by_key(|range| range.start);
        ReachableMemory { sorted, version: self.memory().version() }
    }

    /// Memory around an address that is mapped for kernels of a context, and that no allocation holds.
    pub(super) fn unallocated_memory(
        &self,
        context: ContextHandle,
        device: u16,
        address: u64,
    ) -> Option<ReachableRange> {
        let memory = self.memory();
        let mapped = self.mapped(address)?;
        let reaches = match mapped.pool {
            Some(pool) => self.pool_access(pool, device) != AccessLevel::None,
            None if mapped.side == Side::Device(device) => true,
            // As the allocations that share it. Without one, the pages may be closed at any time.
            None => memory
                .touching(mapped.range.start, mapped.range.end)
                .any(|allocation| self.kernel_access(allocation, context, device) == Some(true)),
        };
        let start = memory.before(address).map_or(0, Allocation::end);
        if !reaches || address < start {
            return None;
        }
        let Mapped { range, host, side, pool: mapped_pool } =
            mapped.part(start, memory.after(address).map_or(u64::MAX, |next| next.base));
        Some(ReachableRange {
            start: range.start,
            end: range.end,
            host,
            side,
            is_writable: true,
            id: 0,
            pool: mapped_pool,
        })
    }

    /// `Some(true)` if kernels may write the memory, `Some(false)` if they may only read it, `None` without
    /// access.
    fn kernel_access(&self, allocation: &Allocation, context: ContextHandle, device: u16) -> Option<bool> {
        match &allocation.backing {
            Backing::PageLocked(_) | Backing::Registered { .. } | Backing::Managed(_) => Some(true),
            Backing::Device | Backing::Variable(_) => {
                let is_own = allocation.side == Side::Device(device) || allocation.is_managed();
                let peers = &self.contexts().get(context)?.peers;
                (is_own || allocation.context.is_some_and(|owner| peers.contains(&owner))).then_some(true)
            }
            // Opening it enabled the peer access that it needs.
            Backing::Imported(_) => Some(true),
            Backing::Pool(block) => (self.pool_access(block.pool, device) != AccessLevel::None).then_some(true),
            Backing::Graph(block) => (block.device == device || block.peers.contains(&device)).then_some(true),
            Backing::Mapped(_) => {
                let may = |write| self.mapped_access(allocation.base, allocation.size, device, write).is_ok();
                may(false).then(|| may(true))
            }
        }
    }
}

impl ReachableMemory {
    /// Leaves out memory of pools that the device has no access to any more; a pool's pages are unmapped at
    /// once where access is taken away. Memory of a pool that is gone was freed in stream order.
    pub(super) fn forget_closed(&mut self, world: &World, device: u16) {
        let is_open = |pool: PoolHandle| {
            world.pools().get(pool).is_none() || world.pool_access(pool, device) != AccessLevel::None
        };
        self.sorted.retain(|range| range.pool.is_none_or(is_open));
    }

    pub(super) fn is_of(&self, version: u64) -> bool {
        self.version == version
    }

    /// The range that an address lies in.
    fn range(&self, address: u64) -> Option<&ReachableRange> {
        let index = self.sorted.partition_point(|range| range.end <= address);
        self.sorted.get(index).filter(|range| range.start <= address)
    }

    /// The bytes from an address on that a kernel may access.
    pub(super) fn piece(&self, address: u64, bytes: usize, writes: bool) -> Option<(SimAddress, usize)> {
        let range = self.range(address).filter(|range| range.is_writable || !writes)?;
        Some(range.piece(address, bytes))
    }

    /// The addresses of ranges that have been freed since.
    pub(super) fn freed<'a>(&'a self, world: &'a World) -> impl Iterator<Item = std::ops::Range<u64>> + 'a {
        let is_there =
            |range: &&ReachableRange| world.memory().at(range.start).is_some_and(|found| found.id == range.id);
        self.sorted.iter().filter(move |range| !is_there(range)).map(|range| range.start..range.end)
    }

    /// The range around an address, for direct access by kernels.
    pub(super) fn direct(&self, address: u64) -> Option<Direct> {
        let range = self.range(address)?;
        let host = std::ptr::with_exposed_provenance_mut(range.host);
        // SAFETY: as many bytes, which stay mapped while the kernel runs (see `ReachableRange`); no Rust
        // reference points to them.
        Some(unsafe { Direct::new(range.start..range.end, host, range.is_writable) })
    }

    /// Calls `part` with every piece of a range: its address, and the bytes of the range that it holds. Fails
    /// with the first address that is not allocated or not writable.
    pub(super) fn each(
        &self,
        address: u64,
        bytes: usize,
        writes: bool,
        mut part: impl FnMut(SimAddress, Range<usize>),
    ) -> Result<(), u64> {
        let mut done = 0;
        while done < bytes {
            let at = address.checked_add(done as u64).ok_or(address)?;
            let (piece, here) = self.piece(at, bytes - done, writes).ok_or(at)?;
            part(piece, done..done + here);
            done += here;
        }
        Ok(())
    }
}
