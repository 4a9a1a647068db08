//! Reservations: addresses without memory.
#![expect(non_snake_case, reason = "the functions have C's names")]

use std::collections::BTreeMap;
use std::ffi::c_ulonglong;
use std::io;

use warploom_sys::types::CUdeviceptr;

use super::GRANULARITY;
use crate::ffi::Ptr;
use crate::ffi::status::{INVALID_VALUE, OUT_OF_MEMORY, Status};
use crate::machine::call::Call;
use crate::memory::shadow::{Site, current_site};
use crate::memory::{Heap, Window};

/// What a window holds unless a reservation needs more.
const WINDOW: u64 = 1 << 38;
/// Where addresses end that a program can have.
const ADDRESSES: u64 = 1 << 47;
/// The largest alignment that is worth looking for; asking for more is an error of another kind.
const ALIGNMENT: u64 = 1 << 57;

/// The reservations of a machine, and the windows they are stretches of. A window stays for as long as the machine, so
/// that what is behind it never goes away under work that is still running.
#[derive(Default)]
pub(super) struct Reservations {
    arenas: Vec<Arena>,
    /// Start → size.
    by_base: BTreeMap<u64, u64>,
    /// Start → who made it, while the machine checks.
    makers: BTreeMap<u64, Site>,
}

struct Arena {
    window: Window,
    heap: Heap,
}

impl Reservations {
    /// Reserves a stretch, at `hint` if that is in a window and free.
    fn reserve(&mut self, size: u64, align: u64, hint: u64) -> io::Result<u64> {
        let hinted = hint != 0 && self.arenas.iter_mut().any(|arena| arena.heap.take_at(hint, size));
        let found = if hinted { Some(hint) } else { self.take(size, align) };
        let base = match found {
            Some(base) => base,
            None => {
                let window = Window::aligned(size.max(WINDOW), align)?;
                let heap = Heap::new(window.base(), window.len());
                self.arenas.push(Arena { window, heap });
                self.take(size, align).ok_or(io::ErrorKind::OutOfMemory)?
            }
        };
        self.by_base.insert(base, size);
        self.makers.extend(current_site().map(|site| (base, site)));
        Ok(base)
    }

    fn take(&mut self, size: u64, align: u64) -> Option<u64> {
        self.arenas.iter_mut().find_map(|arena| arena.heap.take(size, align))
    }

    fn free(&mut self, base: u64) {
        let Some(size) = self.by_base.remove(&base) else { return };
        self.makers.remove(&base);
        if let Some(arena) = self.arenas.iter_mut().find(|arena| arena.window.contains(base)) {
            arena.heap.give(base, size);
        }
    }

    pub(super) fn count(&self) -> usize {
        self.by_base.len()
    }

    /// The reservation an address is in, as start and size.
    pub(super) fn holding(&self, address: u64) -> Option<(u64, u64)> {
        let (base, size) = self.by_base.range(..=address).next_back()?;
        (address - base < *size).then_some((*base, *size))
    }

    /// Every reservation whose maker is known: start, size and maker.
    pub(super) fn made(&self) -> impl Iterator<Item = (u64, u64, &Site)> {
        let sizes = self.by_base.iter();
        sizes.filter_map(|(base, size)| self.makers.get(base).map(|maker| (*base, *size, maker)))
    }

    /// The window of a stretch that is reserved without a gap, by one reservation or several.
    pub(super) fn window_of(&self, address: u64, end: u64) -> Option<&Window> {
        let mut reserved = address;
        while reserved < end {
            let (base, size) = self.holding(reserved)?;
            reserved = base + size;
        }
        self.window_at(address).filter(|window| end - window.base() <= window.len())
    }

    /// The window an address is in.
    pub(super) fn window_at(&self, address: u64) -> Option<&Window> {
        self.windows().find(|window| window.contains(address))
    }

    pub(super) fn windows(&self) -> impl Iterator<Item = &Window> {
        self.arenas.iter().map(|arena| &arena.window)
    }
}

pub(crate) fn cuMemAddressReserve(
    call: &Call<'_>,
    out: Ptr<CUdeviceptr>,
    size: usize,
    alignment: usize,
    hint: CUdeviceptr,
    flags: c_ulonglong,
) -> Status {
    out.required()?;
    let (size, alignment) = (size as u64, alignment as u64);
    let refuse = |reason: String| call.refuse(INVALID_VALUE, reason);
    if flags != 0 {
        return Err(refuse(format!("flags are {flags:#x} and must be 0")));
    }
    if size == 0 || !size.is_multiple_of(GRANULARITY) {
        return Err(refuse(format!("{size} bytes are no multiple of the granularity {GRANULARITY}")));
    }
    if alignment > ALIGNMENT || !(alignment == 0 || alignment.is_power_of_two()) {
        return Err(refuse(format!("the alignment is {alignment:#x}, which is no power of two up to {ALIGNMENT:#x}")));
    }
    let align = alignment.max(GRANULARITY);
    if !hint.is_multiple_of(align) {
        return Err(refuse(format!("the hint {hint:#x} is no multiple of {align:#x}")));
    }
    if hint >= ADDRESSES || size >= ADDRESSES || align >= ADDRESSES {
        return Err(call.refuse(OUT_OF_MEMORY, format!("addresses end at {ADDRESSES:#x}")));
    }
    let mut world = call.world();
    let reserved = world.virtual_memory.reservations.reserve(size, align, hint);
    let base = reserved.map_err(|error| {
        call.refuse(OUT_OF_MEMORY, format!("no {size} bytes of address space, aligned to {align:#x}: {error}"))
    })?;
    out.write(base)
}

pub(crate) fn cuMemAddressFree(call: &Call<'_>, address: CUdeviceptr, size: usize) -> Status {
    let mut guard = call.world();
    let world = &mut *guard;
    let (memory, reservations) = (&world.memory, &mut world.virtual_memory.reservations);
    let size = size as u64;
    if reservations.by_base.get(&address) != Some(&size) {
        let reason = match reservations.holding(address) {
            Some((base, whole)) => format!("{size} bytes at {address:#x} are not the whole {whole} at {base:#x}"),
            None => format!("{address:#x} is in no reservation"),
        };
        return Err(call.refuse(INVALID_VALUE, reason));
    }
    if memory.overlaps(address, size) {
        return Err(call.refuse(INVALID_VALUE, format!("something is still mapped in the reservation at {address:#x}")));
    }
    reservations.free(address);
    Ok(())
}
