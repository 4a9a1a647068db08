//! Reachable memory of a context's kernels, as a versioned snapshot.
#![expect(unsafe_code, reason = "vouches for the mapped bytes of allocations")]

use std::ops::Range;

use warploom_ptx::Direct;

use crate::api::pool::AccessLevel;
use crate::ffi::handle::ContextHandle;
use crate::machine::code::MARGINS;
use crate::machine::world::World;
use crate::memory::{Allocation, Backing, Side, SimAddress};

/// Memory that a kernel may read, or write as well.
///
/// Its bytes stay mapped while the kernel runs, freed or not (see `memory`).
#[derive(Clone, Copy, Debug)]
pub(super) struct Stretch {
    start: u64,
    end: u64,
    host: usize,
    side: Side,
    is_writable: bool,
    /// Which allocation it is of.
    id: u64,
}

/// All of it, by address.
#[derive(Debug, Default)]
pub(super) struct Stretches {
    sorted: Vec<Stretch>,
    /// The version of the registry that it was made from.
    version: u64,
}

impl World {
    /// What kernels of a context reach now.
    pub(super) fn stretches(&self, context: ContextHandle, device: u16) -> Stretches {
        self.stretches_of(context, device, |_| true)
    }

    /// What kernels of a context reach now, of memory that may be freed before a kernel that is launched now has run: in the
    /// order of its stream, it is freed after that.
    pub(super) fn pool_stretches(&self, context: ContextHandle, device: u16) -> Stretches {
        self.stretches_of(context, device, |allocation| matches!(allocation.backing, Backing::Pool(_)))
    }

    fn stretches_of(&self, context: ContextHandle, device: u16, is_wanted: impl Fn(&Allocation) -> bool) -> Stretches {
        let reachable = self.memory.iter().filter(|allocation| is_wanted(allocation)).filter_map(|allocation| {
            let is_writable = self.kernel_access(allocation, context, device)?;
            let Allocation { base, host, side, id, .. } = *allocation;
            let [before, behind] = match &allocation.backing {
                Backing::Variable(variable) => variable.margins,
                _ => [0; 2],
            };
            let (start, host) = (base - before, host - before as usize);
            Some(Stretch { start, end: allocation.end() + behind, host, side, is_writable, id })
        });
        let mut sorted: Vec<_> = reachable.collect();
        let freed = self.freed_blocks(context).map(|block| {
            let Range { start, end } = block.room();
            let host = block.host - MARGINS[0] as usize;
            Stretch { start, end, host, side: Side::Device(device), is_writable: true, id: 0 }
        });
        sorted.extend(freed);
        sorted.sort_by_key(|stretch| stretch.start);
        Stretches { sorted, version: self.memory.version() }
    }

    /// Whether kernels may write memory; nothing, if they may not even read it.
    fn kernel_access(&self, allocation: &Allocation, context: ContextHandle, device: u16) -> Option<bool> {
        match &allocation.backing {
            Backing::PageLocked(_) | Backing::Registered { .. } | Backing::Managed(_) => Some(true),
            Backing::Device | Backing::Variable(_) => {
                let is_own = allocation.side == Side::Device(device) || allocation.is_managed();
                let peers = &self.contexts.get(context)?.peers;
                (is_own || allocation.context.is_some_and(|owner| peers.contains(&owner))).then_some(true)
            }
            Backing::Pool(block) => (self.pool_access(block.pool, device) != AccessLevel::None).then_some(true),
            Backing::Mapped(_) => {
                let may = |write| self.mapped_access(allocation.base, allocation.size, device, write).is_ok();
                may(false).then(|| may(true))
            }
        }
    }
}

impl Stretches {
    pub(super) fn is_of(&self, version: u64) -> bool {
        self.version == version
    }

    /// The addresses of those that have been freed since.
    pub(super) fn freed<'a>(&'a self, world: &'a World) -> impl Iterator<Item = std::ops::Range<u64>> + 'a {
        let is_there = |stretch: &&Stretch| world.memory.at(stretch.start).is_some_and(|found| found.id == stretch.id);
        self.sorted.iter().filter(move |stretch| !is_there(stretch)).map(|stretch| stretch.start..stretch.end)
    }

    /// The stretch around an address, for kernels to reach without asking again.
    pub(super) fn direct(&self, address: u64) -> Option<Direct> {
        let index = self.sorted.partition_point(|stretch| stretch.end <= address);
        let stretch = self.sorted.get(index).filter(|stretch| stretch.start <= address)?;
        let host = std::ptr::with_exposed_provenance_mut(stretch.host);
        // SAFETY: as many bytes, which stay mapped while the kernel runs (see `Stretch`); no Rust reference points
        // to them.
        Some(unsafe { Direct::new(stretch.start..stretch.end, host, stretch.is_writable) })
    }

    /// Calls `part` with every piece of a range: where it is, and which of the range's bytes it has. The first address that
    /// is not there, or may not be written, is an error.
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
            let index = self.sorted.partition_point(|stretch| stretch.end <= at);
            let stretch = self.sorted.get(index).filter(|stretch| stretch.start <= at).ok_or(at)?;
            if writes && !stretch.is_writable {
                return Err(at);
            }
            let here = (bytes - done).min(usize::try_from(stretch.end - at).unwrap_or(usize::MAX));
            let host = stretch.host + (at - stretch.start) as usize;
            // SAFETY: `here` bytes at most are left of the stretch, which stays mapped while the kernel runs (see
            // `Stretch`); no Rust reference points to them.
            let piece = unsafe { SimAddress::new(at, host, stretch.side) };
            part(piece, done..done + here);
            done += here;
        }
        Ok(())
    }
}
