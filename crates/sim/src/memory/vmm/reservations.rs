//! Reservations: addresses without memory, and the windows that they are parts of.

use std::collections::BTreeMap;
use std::io;

use crate::memory::heap::Heap;
use crate::memory::shadow::{Site, current_site};
use crate::memory::window::Window;

/// The size of a window, unless a reservation needs more.
const WINDOW: u64 = 1 << 38;
/// The reservations of a machine, and the windows they are stretches of. A window stays for as long as the
/// machine, so that what is behind it never goes away under work that is still running.
#[derive(Default)]
pub(super) struct Reservations {
    arenas: Vec<Arena>,
    /// Start → size.
    by_base: BTreeMap<u64, u64>,
    /// Start → the call that made it, while the machine checks.
    makers: BTreeMap<u64, Site>,
}

struct Arena {
    window: Window,
    heap: Heap,
}

impl Reservations {
    /// Reserves a stretch, at `hint` if that is in a window and free.
    pub(super) fn reserve(&mut self, size: u64, align: u64, hint: u64) -> io::Result<u64> {
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

    pub(super) fn free(&mut self, base: u64) {
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

    fn windows(&self) -> impl Iterator<Item = &Window> {
        self.arenas.iter().map(|arena| &arena.window)
    }
}
