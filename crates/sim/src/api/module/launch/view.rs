//! Memory view of a running kernel: loads, stores, atomics, heap, conditions and clock.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::{Mutex, RwLock};
use smallvec::SmallVec;
use warploom_engine::Mode;
use warploom_ptx::{Access, Bounds, Direct, Fault, Freed, HeapProblem, Host, Memory, TrapKind};
use warploom_sys::types::CUlimit;

use super::overruns::{Overrun, Overruns};
use super::pace::Pace;
use super::reachable::{LaunchedMemory, ReachableMemory};
use crate::ffi::handle::ContextHandle;
use crate::machine::code::{MARGINS, room, runtime};
use crate::machine::conditions::Conditions;
use crate::machine::core::Core;
use crate::machine::limits::LimitBounds;
use crate::machine::world::World;
use crate::memory::SimAddress;
use crate::memory::shadow::Touched;

/// Global memory and the rest of the machine, for the kernels of one launch.
pub(super) struct View {
    /// Weak, because an op is part of its machine and must not keep it alive.
    core: Weak<Core>,
    context: ContextHandle,
    device: u16,
    reachable: RwLock<ReachableMemory>,
    /// Pool memory as it was at the launch, as far as the device still has access to the pool. In a correct
    /// program it is freed after the kernel in stream order; otherwise the checks report it.
    launched: RwLock<ReachableMemory>,
    /// The kernel's reads and writes, if the machine checks or has pages that migrate.
    touched: Option<Mutex<Touched>>,
    /// Declared bounds where a finding fails calls; otherwise those of hardware.
    bounds: Bounds,
    overruns: Mutex<Overruns>,
    /// An address range that covers the heap blocks that the kernel can know.
    heap: [AtomicU64; 2],
    /// The conditions of the graph that the kernel is launched in.
    conditions: Option<Arc<Conditions>>,
    /// The speed of the kernel.
    pace: Pace,
    /// Virtual time at which the kernel starts, in nanoseconds.
    start: AtomicU64,
    /// `true` if blocks run in a fixed order.
    is_ordered: bool,
}

impl View {
    pub(super) fn new(
        core: &Arc<Core>,
        world: &World,
        (context, device): (ContextHandle, u16),
        launched: Option<&LaunchedMemory>,
        conditions: Option<Arc<Conditions>>,
        pace: Pace,
    ) -> Arc<Self> {
        let is_watched = core.findings.is_on() || world.managed_memory().is_used();
        let launched = launched.and_then(|launched| launched.of(context)).cloned();
        let launched = launched.unwrap_or_else(|| world.reachable_pool_memory(context, device));
        let hull = world.heap_hull(context).map_or([u64::MAX, 0], |hull| [hull.start, hull.end]);
        Arc::new(Self {
            core: Arc::downgrade(core),
            context,
            device,
            reachable: RwLock::default(),
            launched: RwLock::new(launched),
            touched: is_watched.then(Mutex::default),
            bounds: match (core.findings.is_on(), core.findings.fails_calls()) {
                (_, true) => Bounds::Declared,
                (true, false) => Bounds::Reported,
                (false, false) => Bounds::Hardware,
            },
            overruns: Mutex::default(),
            heap: hull.map(AtomicU64::new),
            conditions,
            pace,
            start: AtomicU64::default(),
            is_ordered: core.mode != Mode::Threads,
        })
    }

    /// Extends the heap's address range.
    fn widen_heap(&self, room: &std::ops::Range<u64>) {
        let [low, high] = &self.heap;
        low.fetch_min(room.start, Ordering::Relaxed);
        high.fetch_max(room.end, Ordering::Relaxed);
    }

    /// The record for an access; `None` for heap addresses outside a live block.
    fn touched_by(&self, address: u64, bytes: usize) -> Option<&Mutex<Touched>> {
        self.touched.as_ref().filter(|_| self.heap_problem(address, bytes as u64).is_none())
    }

    pub(super) fn core(&self) -> Option<Arc<Core>> {
        self.core.upgrade()
    }

    /// `true` if blocks may run on several threads: no accesses are recorded, and no fixed order is required.
    pub(super) fn is_free(&self) -> bool {
        self.touched.is_none() && !self.is_ordered
    }

    /// The speed of the kernel.
    pub(super) fn pace(&self) -> &Pace {
        &self.pace
    }

    /// Sets the virtual time at which the kernel starts.
    pub(super) fn starts_at(&self, nanoseconds: u64) {
        self.start.store(nanoseconds, Ordering::Relaxed);
    }

    pub(super) fn device(&self) -> u16 {
        self.device
    }

    /// Updates the snapshot of reachable memory, if the registry's version has changed or `again` is set.
    /// Returns the reason if the kernel has to end because host memory has run out.
    pub(super) fn look(&self, again: bool) -> Option<String> {
        let core = self.core()?;
        let mut world = core.world();
        let is_known = self.reachable.read().is_of(world.memory().version());
        if again || !is_known {
            let reachable = world.reachable_memory(self.context, self.device);
            *self.reachable.write() = reachable;
            self.launched.write().forget_closed(&world, self.device);
        }
        world.over_host_limit(0)
    }

    /// Takes the recorded accesses.
    pub(super) fn take_touched(&self) -> Touched {
        self.touched.as_ref().map(|touched| std::mem::take(&mut *touched.lock())).unwrap_or_default()
    }

    /// Takes the accesses beyond memory that hardware let pass.
    pub(super) fn take_overruns(&self) -> Vec<Overrun> {
        self.overruns.lock().take()
    }

    /// Drops accesses to memory that was freed since the launch and may have been allocated again.
    pub(super) fn forget_freed(&self, world: &World, touched: &mut Touched) {
        self.launched.read().freed(world).for_each(|range| touched.forget(&range));
    }

    /// Calls `part` for each piece of a range. If an address is missing, updates the snapshot and tries
    /// again.
    fn each(
        &self,
        address: u64,
        bytes: usize,
        writes: bool,
        mut part: impl FnMut(SimAddress, std::ops::Range<usize>),
    ) -> Result<(), Fault> {
        let known = self.reachable.read().each(address, bytes, writes, &mut part);
        if known.is_ok() {
            return Ok(());
        }
        if self.launched.read().each(address, bytes, writes, &mut part).is_ok() {
            return Ok(());
        }
        // A kernel that has to end for another reason is ended behind this slice.
        drop(self.look(true));
        let known = self.reachable.read().each(address, bytes, writes, &mut part);
        known.map_err(|address| Fault { address })
    }
}

/// A part of an access: where its bytes lie, and which of the access's they are.
struct Piece {
    at: SimAddress,
    range: Range<usize>,
    /// `true` if they belong to an allocation.
    is_allocated: bool,
}

impl View {
    /// The pieces of an access that goes beyond allocations and stays inside of mapped memory.
    #[cold]
    fn beyond(
        &self,
        access: &Access,
        address: u64,
        bytes: usize,
        writes: bool,
        fault: Fault,
    ) -> Result<SmallVec<[Piece; 4]>, Fault> {
        let core = self.core().filter(|_| self.bounds != Bounds::Declared).ok_or(fault)?;
        let world = core.world();
        let (reachable, launched) = (self.reachable.read(), self.launched.read());
        let mut pieces = SmallVec::new();
        let (mut done, mut first) = (0, None);
        while done < bytes {
            let at = address.checked_add(done as u64).ok_or(fault)?;
            let allocated =
                [&*reachable, &*launched].into_iter().find_map(|known| known.piece(at, bytes - done, writes));
            let is_allocated = allocated.is_some();
            let (place, here) = match allocated {
                Some(found) => found,
                None => {
                    first.get_or_insert(at);
                    let range = world.unallocated_memory(self.context, self.device, at);
                    range.ok_or(Fault { address: at })?.piece(at, bytes - done)
                }
            };
            pieces.push(Piece { at: place, range: done..done + here, is_allocated });
            done += here;
        }
        if let Some(first) = first.filter(|_| self.bounds == Bounds::Reported) {
            let share = (bytes as u64 / u64::from(access.lanes.count_ones().max(1))).max(1);
            let below = (first - address) / share;
            let lanes = (0..below).fold(access.lanes, |lanes, _| lanes & lanes.wrapping_sub(1));
            let lanes = if lanes == 0 { access.lanes } else { lanes };
            self.overruns.lock().add(&Access { lanes, ..*access }, &TrapKind::Global(first));
        }
        Ok(pieces)
    }

    /// Remembers bytes that a kernel has read or written.
    fn note(&self, access: &Access, address: u64, bytes: usize, writes: bool) {
        let Some(touched) = self.touched_by(address, bytes) else { return };
        let range = address..address + bytes as u64;
        match writes {
            true => touched.lock().write(range, access.strong),
            false => touched.lock().read(range, access.strong),
        }
    }

    /// Reads or writes bytes, piece by piece.
    fn transfer(
        &self,
        access: &Access,
        address: u64,
        bytes: usize,
        writes: bool,
        mut part: impl FnMut(SimAddress, Range<usize>),
    ) -> Result<(), Fault> {
        let Err(fault) = self.each(address, bytes, writes, &mut part) else {
            self.note(access, address, bytes, writes);
            return Ok(());
        };
        for Piece { at, range, is_allocated } in self.beyond(access, address, bytes, writes, fault)? {
            if is_allocated {
                self.note(access, at.address(), range.len(), writes);
            }
            part(at, range);
        }
        Ok(())
    }
}

impl Memory for View {
    fn load(&self, access: &Access, address: u64, into: &mut [u8]) -> Result<(), Fault> {
        self.transfer(access, address, into.len(), false, |from, range| from.get(&mut into[range]))
    }

    fn store(&self, access: &Access, address: u64, from: &[u8]) -> Result<(), Fault> {
        self.transfer(access, address, from.len(), true, |to, range| to.put(&from[range]))
    }

    fn update(
        &self,
        access: &Access,
        address: u64,
        bytes: usize,
        change: &mut dyn FnMut(u64) -> u64,
    ) -> Result<u64, Fault> {
        let mut place = None;
        if let Err(fault) = self.each(address, bytes, true, |at, range| place = Some((at, range.len()))) {
            // Where a word sticks out of an allocation, its bytes lie side by side all the same: it is
            // aligned, so all of it is in one block, and a block's bytes have one distance.
            let pieces = self.beyond(access, address, bytes, true, fault)?;
            let word = pieces.first().and_then(|first| first.at.update(bytes, change));
            return word.ok_or(Fault { address });
        }
        // An atomic access must lie within one range; ranges are aligned to more than a word.
        let (at, _) = place.filter(|(_, length)| *length == bytes).ok_or(Fault { address })?;
        if let Some(touched) = self.touched_by(address, bytes) {
            let range = address..address + bytes as u64;
            let mut touched = touched.lock();
            touched.read(range.clone(), true);
            touched.write(range, true);
        }
        at.update(bytes, change).ok_or(Fault { address })
    }

    /// The reachable range, unless every access is recorded.
    fn direct(&self, address: u64) -> Option<Direct> {
        if self.touched.is_some() {
            return None;
        }
        let known = self.reachable.read().direct(address);
        known.or_else(|| self.launched.read().direct(address))
    }

    fn heap_problem(&self, address: u64, bytes: u64) -> Option<HeapProblem> {
        let [low, high] = &self.heap;
        if address >= high.load(Ordering::Relaxed) || address + bytes <= low.load(Ordering::Relaxed) {
            return None;
        }
        self.core()?.world().heap_problem(self.context, address..address + bytes)
    }

    fn holds(&self, address: u64, bytes: &[u8]) -> bool {
        let mut there = vec![0; bytes.len()];
        self.each(address, bytes.len(), false, |from, range| from.get(&mut there[range])).is_ok() && there == bytes
    }
}

impl Host for View {
    fn bounds(&self) -> Bounds {
        self.bounds
    }

    fn overrun(&self, access: &Access, kind: &TrapKind) {
        self.overruns.lock().add(access, kind);
    }

    fn print(&self, text: &str) {
        if let Some(core) = self.core() {
            core.print(text);
        }
    }

    fn allocate(&self, _access: &Access, bytes: u64) -> u64 {
        let taken = self.core().and_then(|core| core.world().take_heap(self.context, self.device, bytes));
        if let Some(address) = taken {
            self.widen_heap(&room(&(address..address + bytes)));
        }
        taken.unwrap_or(0)
    }

    fn free(&self, _access: &Access, address: u64) -> Freed {
        let Some(core) = self.core() else { return Freed::Done };
        let outcome = core.world().give_heap(self.context, self.device, address);
        // Hardware reads the header before a block; an unmapped header is an illegal access.
        let books = address.saturating_sub(MARGINS[0]);
        match outcome {
            Freed::Stray if address >> 48 == 0 => self
                .each(books, MARGINS[0] as usize, false, |_, _| {})
                .map_or_else(Freed::Unreachable, |()| Freed::Stray),
            outcome => outcome,
        }
    }

    fn set_condition(&self, _access: &Access, handle: u64, value: u32) -> bool {
        self.conditions.as_ref().is_some_and(|conditions| conditions.set(handle, value))
    }

    fn device_value(&self, kind: u32, number: u32) -> Option<i64> {
        let core = self.core()?;
        let topology = &core.topology;
        match kind {
            runtime::ORDINAL => Some(self.device.into()),
            runtime::COUNT => i64::try_from(topology.devices.len()).ok(),
            runtime::ATTRIBUTE => {
                let number = i32::try_from(number).ok()?;
                topology.attribute(self.device.into(), number).map(i64::from)
            }
            runtime::LIMIT => {
                let bounds = LimitBounds::of(topology.devices.get(usize::from(self.device))?);
                let world = core.world();
                let limits = world.contexts().get(self.context)?.limits;
                limits.get(CUlimit(number), &bounds).ok().and_then(|limit| i64::try_from(limit).ok())
            }
            _ => None,
        }
    }

    fn nanoseconds(&self, cycles: u64) -> u64 {
        self.start.load(Ordering::Relaxed).saturating_add(self.pace.nanoseconds(cycles))
    }

    fn clock(&self, cycles: u64) -> u64 {
        self.pace.cycles(self.start.load(Ordering::Relaxed)).saturating_add(cycles)
    }

    fn cycles(&self, nanoseconds: u64) -> u64 {
        self.pace.cycles(nanoseconds)
    }
}
