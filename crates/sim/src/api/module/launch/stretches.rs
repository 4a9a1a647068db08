//! The memory that kernels of a context reach, as it was when somebody last looked.
#![expect(
    unsafe_code,
    reason = "reads and writes simulated memory that other work and the program may touch meanwhile"
)]

use std::ops::Range;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

use warploom_ptx::Direct;

use crate::api::pool::AccessLevel;
use crate::ffi::handle::ContextHandle;
use crate::machine::code::MARGINS;
use crate::machine::world::World;
use crate::memory::{Allocation, Backing, Side};

/// Memory that a kernel may read, or write as well.
///
/// Its bytes stay mapped while the kernel runs, freed or not (see `memory`).
#[derive(Clone, Copy, Debug)]
pub(super) struct Stretch {
    start: u64,
    end: u64,
    host: usize,
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
            let Allocation { base, host, id, .. } = *allocation;
            let [before, behind] = match &allocation.backing {
                Backing::Variable(variable) => variable.margins,
                _ => [0; 2],
            };
            let (start, host) = (base - before, host - before as usize);
            Some(Stretch { start, end: allocation.end() + behind, host, is_writable, id })
        });
        let mut sorted: Vec<_> = reachable.collect();
        let freed = self.freed_blocks(context).map(|block| {
            let Range { start, end } = block.room();
            Stretch { start, end, host: block.host - MARGINS[0] as usize, is_writable: true, id: 0 }
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
        // SAFETY: as many bytes, which stay mapped while the kernel runs and are reached as raw memory only. That kernels do not
        // race is what every launch of one is asked to see to, here and on hardware.
        Some(unsafe { Direct::new(stretch.start..stretch.end, host, stretch.is_writable) })
    }

    /// Calls `part` with every piece of a range: where it is, and which of the range's bytes it has. The first address that
    /// is not there, or may not be written, is an error.
    pub(super) fn each(
        &self,
        address: u64,
        bytes: usize,
        writes: bool,
        mut part: impl FnMut(*mut u8, std::ops::Range<usize>),
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
            part(std::ptr::with_exposed_provenance_mut(host), done..done + here);
            done += here;
        }
        Ok(())
    }
}

/// A word that is read and written in one go, whoever else does so.
macro_rules! words {
    ($from:ident, $bytes:ident, $each:ident) => {
        match ($bytes.len(), $from.addr()) {
            (1, _) => $each!(AtomicU8, u8),
            (2, at) if at % 2 == 0 => $each!(AtomicU16, u16),
            (4, at) if at % 4 == 0 => $each!(AtomicU32, u32),
            (8, at) if at % 8 == 0 => $each!(AtomicU64, u64),
            _ => {}
        }
    };
}

/// Reads bytes of a stretch; words in one go.
pub(super) fn read(from: *mut u8, bytes: &mut [u8]) {
    macro_rules! word {
        ($atomic:ty, $word:ty) => {{
            // SAFETY: an aligned word of a stretch, which stays mapped; others reach it only as raw memory.
            let word = unsafe { <$atomic>::from_ptr(from.cast::<$word>()) }.load(Ordering::Relaxed);
            bytes.copy_from_slice(&word.to_le_bytes());
            return;
        }};
    }
    words!(from, bytes, word);
    // SAFETY: as many bytes of a stretch, which stays mapped. Other work may write them meanwhile if the program forgot to
    // order the two: the simulated machine's race, on memory that no Rust reference points to.
    unsafe { from.copy_to(bytes.as_mut_ptr(), bytes.len()) };
}

/// Writes bytes of a stretch; words in one go.
pub(super) fn write(to: *mut u8, bytes: &[u8]) {
    macro_rules! word {
        ($atomic:ty, $word:ty) => {{
            let word = bytes.try_into().map(<$word>::from_le_bytes).unwrap_or_default();
            // SAFETY: as in `read`.
            unsafe { <$atomic>::from_ptr(to.cast::<$word>()) }.store(word, Ordering::Relaxed);
            return;
        }};
    }
    words!(to, bytes, word);
    // SAFETY: as in `read`.
    unsafe { to.copy_from(bytes.as_ptr(), bytes.len()) };
}

/// Changes an aligned word of 2, 4 or 8 bytes, and returns what it was.
pub(super) fn update(at: *mut u8, bytes: usize, change: &mut dyn FnMut(u64) -> u64) -> u64 {
    macro_rules! change {
        ($atomic:ty, $word:ty) => {{
            // SAFETY: as in `read`; the interpreter has seen that the address is a multiple of the size.
            let word = unsafe { <$atomic>::from_ptr(at.cast::<$word>()) };
            let changed = |old: $word| Some(change(old.into()) as $word);
            // What is always changed is never refused.
            let (Ok(old) | Err(old)) = word.fetch_update(Ordering::AcqRel, Ordering::Acquire, changed);
            old.into()
        }};
    }
    match bytes {
        2 => change!(AtomicU16, u16),
        4 => change!(AtomicU32, u32),
        _ => change!(AtomicU64, u64),
    }
}
