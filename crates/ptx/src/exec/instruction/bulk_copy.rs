//! Bulk copies, and stores that an `mbarrier` counts: each is done when it is asked for, which is one of the
//! moments it may be done at.
//!
//! As on an H200, a size is rounded down to a multiple of 16 bytes, and the barrier is that of the block that
//! gets the bytes: of its address only the offset counts.

use crate::device::host::{Event, Host, RANK_SHIFT, Touch};
use crate::device::memory::Memory;
use crate::device::trap::TrapKind;
use crate::exec::compute::atomic::changed;
use crate::exec::warp::Warp;
use crate::exec::warp::executor::{Current, Executor, Stop, stop};
use crate::lanes::lanes as each;
use crate::program::bulk_copy::{AsyncStore, BulkCopy, Reduction, Route};
use crate::program::slot::Slot;
use crate::program::space::Space;
use crate::program::window::Window;

/// Bulk copies are of so many bytes, aligned to it, or of several times as many.
const GRAIN: u64 = 16;

/// An address of shared memory, from a generic one or from one of shared memory itself.
fn shared_address(address: u64) -> u64 {
    match Window::of(address) {
        (Window::Shared, inside) => inside,
        _ => address,
    }
}

const INSIDE: u64 = (1 << RANK_SHIFT) - 1;

/// The same offset in the shared memory of another block of the cluster.
fn in_block(address: u64, rank: usize) -> u64 {
    address & INSIDE | (rank as u64 + 1) << RANK_SHIFT
}

/// The same offset in the shared memory of the block that another address names.
fn beside(address: u64, other: u64) -> u64 {
    address & INSIDE | other & !INSIDE
}

impl<M: Memory + Host> Executor<'_, M> {
    /// `cp.async.bulk` and `cp.reduce.async.bulk`, one lane after the other.
    pub(crate) fn copy_bulk(
        &mut self,
        warp: &mut Warp,
        at: Current,
        lanes: u32,
        form: BulkCopy,
        &[into, from, bytes, barrier, mask, _]: &[Slot; 6],
    ) -> Result<(), Stop> {
        let is_counted = form.route != Route::SharedToGlobal;
        let file = self.file(warp, at);
        let (targets, sources, sizes) = (*file.longs(into), *file.longs(from), *file.words(bytes));
        let barriers = if is_counted { *file.longs(barrier) } else { targets };
        let masks = if form.is_multicast { *file.words(mask) } else { sizes };
        for lane in each(lanes) {
            let size = sizes[lane] - sizes[lane] % GRAIN as u32;
            let [into, from] = match (form.route, targets[lane], sources[lane]) {
                (Route::GlobalToShared, into, from) => [shared_address(into), from],
                (Route::SharedToShared, into, from) => [shared_address(into), shared_address(from)],
                (Route::SharedToGlobal, into, from) => [into, shared_address(from)],
            };
            let barrier = is_counted.then(|| beside(shared_address(barriers[lane]), into));
            check_grain(warp, at, lane, [into, from])?;
            let space = if form.route == Route::GlobalToShared { Space::Global } else { Space::Shared };
            self.begin_copy(warp, at, lane, barrier);
            let mut moved = vec![0; size as usize];
            self.read(warp, at, 1 << lane, 1 << lane, space, from, &mut moved, false)?;
            if form.route != Route::SharedToShared {
                self.traffic.bytes += u64::from(size);
            }
            if form.is_multicast {
                for rank in each(masks[lane] & 0xffff) {
                    let barrier = barrier.map(|barrier| in_block(barrier, rank));
                    self.begin_copy(warp, at, lane, barrier);
                    self.put_shared(warp, at, lane, in_block(into, rank), &moved, None)?;
                    self.count_bytes(warp, at, lane, barrier, size)?;
                }
                continue;
            }
            match form.route {
                Route::SharedToGlobal => self.put_global(warp, at, lane, into, &moved, form.reduction)?,
                _ => self.put_shared(warp, at, lane, into, &moved, form.reduction)?,
            }
            self.count_bytes(warp, at, lane, barrier, size)?;
        }
        Ok(())
    }

    /// `st.async` and `red.async`, one lane after the other.
    pub(crate) fn store_async(
        &mut self,
        warp: &mut Warp,
        at: Current,
        lanes: u32,
        form: AsyncStore,
        slots: &[Slot; 6],
    ) -> Result<(), Stop> {
        let (bytes, count) = (usize::from(form.bytes), usize::from(form.count));
        let file = self.file(warp, at);
        let (addresses, barriers) = (*file.longs(slots[4]), *file.longs(slots[5]));
        let mut rows = [[0; 16]; 32];
        for (index, slot) in slots[..count].iter().enumerate() {
            for lane in each(lanes) {
                let value = if bytes == 8 { file.longs(*slot)[lane] } else { file.words(*slot)[lane].into() };
                rows[lane][index * bytes..(index + 1) * bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
            }
        }
        for lane in each(lanes) {
            let address = shared_address(addresses[lane]);
            let barrier = beside(shared_address(barriers[lane]), address);
            let size = bytes * count;
            if !address.is_multiple_of(size as u64) {
                let kind = TrapKind::Misaligned { address, alignment: size as u64 };
                return Err(stop(warp, at, 1 << lane, kind));
            }
            if (address & INSIDE) + size as u64 > self.shared.len() as u64 {
                let kind = TrapKind::ClusterShared { address: address & INSIDE, size: self.shared.len() as u64 };
                return Err(stop(warp, at, 1 << lane, kind));
            }
            self.begin_copy(warp, at, lane, Some(barrier));
            self.put_shared(warp, at, lane, address, &rows[lane][..size], form.reduction)?;
            self.count_bytes(warp, at, lane, Some(barrier), size as u32)?;
        }
        Ok(())
    }

    /// Tells the host that the accesses of a lane from now on are those of a copy.
    fn begin_copy(&self, warp: &Warp, at: Current, lane: usize, barrier: Option<u64>) {
        let barrier = barrier.map(|barrier| barrier as u32);
        self.tell(warp, at, 1 << lane, Event::CopyBegun { barrier });
    }

    /// Bytes of a copy are where they belong, which its barrier counts.
    fn count_bytes(
        &mut self,
        warp: &Warp,
        at: Current,
        lane: usize,
        barrier: Option<u64>,
        bytes: u32,
    ) -> Result<(), Stop> {
        let Some(barrier) = barrier else { return Ok(()) };
        self.complete_bytes(warp, at, lane, barrier, bytes)?;
        self.tell(warp, at, 1 << lane, Event::CopyCounted { barrier: barrier as u32 });
        Ok(())
    }

    /// Writes bytes to shared memory of the cluster, or combines them with those that are there.
    fn put_shared(
        &mut self,
        warp: &Warp,
        at: Current,
        lane: usize,
        address: u64,
        from: &[u8],
        reduction: Option<Reduction>,
    ) -> Result<(), Stop> {
        let there = self.shared_bytes(warp, at, 1 << lane, address, from.len())?;
        let bytes = from.len() as u32;
        let touch = match reduction {
            None => {
                let same = u32::from(M::WATCHES_SHARED && there == from);
                there.copy_from_slice(from);
                Touch::Write { bytes, same }
            }
            Some(Reduction { change, scalar }) => {
                let size = usize::from(scalar.bytes());
                for (old, new) in there.chunks_exact_mut(size).zip(from.chunks_exact(size)) {
                    let value = word(new);
                    let changed = changed(change, scalar, true, word(old), value, value);
                    old.copy_from_slice(&changed.to_le_bytes()[..size]);
                }
                Touch::Update(bytes)
            }
        };
        if M::WATCHES_SHARED {
            let access = self.access(warp, at, 1 << lane, reduction.is_some());
            self.watch_shared(&access, address, 0, touch);
        }
        Ok(())
    }

    /// Writes bytes to global memory, or combines them with those that are there.
    fn put_global(
        &mut self,
        warp: &Warp,
        at: Current,
        lane: usize,
        address: u64,
        from: &[u8],
        reduction: Option<Reduction>,
    ) -> Result<(), Stop> {
        let access = self.access(warp, at, 1 << lane, reduction.is_some());
        let memory = &self.context.memory;
        let outcome = match reduction {
            None => memory.store(&access, address, from),
            Some(Reduction { change, scalar }) => {
                let size = usize::from(scalar.bytes());
                let mut elements = (address..).step_by(size).zip(from.chunks_exact(size));
                elements.try_for_each(|(address, new)| {
                    let value = word(new);
                    let mut change = |old| changed(change, scalar, false, old, value, value);
                    memory.update(&access, address, size, &mut change).map(drop)
                })
            }
        };
        outcome.map_err(|fault| stop(warp, at, 1 << lane, TrapKind::Global(fault.address)))
    }
}

/// Up to eight bytes as a number.
fn word(bytes: &[u8]) -> u64 {
    let mut all = [0; 8];
    all[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(all)
}

/// Traps for addresses that are no multiples of 16.
fn check_grain(warp: &Warp, at: Current, lane: usize, addresses: [u64; 2]) -> Result<(), Stop> {
    let misaligned = addresses.into_iter().find(|address| !address.is_multiple_of(GRAIN));
    misaligned
        .map_or(Ok(()), |address| Err(stop(warp, at, 1 << lane, TrapKind::Misaligned { address, alignment: GRAIN })))
}
