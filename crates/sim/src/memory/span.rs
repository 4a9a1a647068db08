//! Mapped address space that unmaps itself, and the few things that can be done to a part of it.
//!
//! Every method checks that the part lies inside, so a span never touches a page that is not its own.
#![expect(unsafe_code, reason = "maps, protects and unmaps pages")]

use std::ffi::c_void;
use std::io;
use std::os::fd::BorrowedFd;

use super::committed;
use rustix::mm::{self, Advice, MapFlags, MprotectFlags, ProtFlags};

/// A stretch of the process's address space, owned.
#[derive(Debug)]
pub(crate) struct Span {
    address: u64,
    len: u64,
    kind: SpanKind,
}

/// The operating system's accounting of a span's pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SpanKind {
    /// A promise that may be larger than the machine: pages count when they are written.
    Virtual,
    /// Memory the program asked for: refused when the machine cannot have that much.
    Real,
}

/// Pages are inaccessible, or readable and writable.
const CLOSED: ProtFlags = ProtFlags::empty();
const OPEN: ProtFlags = ProtFlags::READ.union(ProtFlags::WRITE);

fn pointer(address: u64) -> *mut c_void {
    std::ptr::with_exposed_provenance_mut(address as usize)
}

fn flags(kind: SpanKind) -> MapFlags {
    match kind {
        SpanKind::Virtual => MapFlags::PRIVATE | MapFlags::NORESERVE,
        SpanKind::Real => MapFlags::PRIVATE,
    }
}

impl Span {
    fn new(len: u64, protection: ProtFlags, kind: SpanKind) -> io::Result<Self> {
        let size = usize::try_from(len).map_err(|_| io::ErrorKind::OutOfMemory)?;
        // SAFETY: a fresh mapping at an address of the kernel's choice takes nothing from anyone.
        let address = unsafe { mm::mmap_anonymous(std::ptr::null_mut(), size, protection, flags(kind)) }?;
        let address = address.expose_provenance() as u64;
        committed::add_span(address, len);
        Ok(Self { address, len, kind })
    }

    /// Address space that nothing may touch, from a multiple of `align` on; both are multiples of the page
    /// size.
    pub(crate) fn closed(len: u64, align: u64, kind: SpanKind) -> io::Result<Self> {
        let room = len.checked_add(align).ok_or(io::ErrorKind::OutOfMemory)?;
        let mut whole = Self::new(room, CLOSED, kind)?;
        let head = whole.address.next_multiple_of(align) - whole.address;
        if head > 0 {
            // SAFETY: the pages of the fresh mapping before the first aligned one; nobody has seen them.
            unsafe { mm::munmap(pointer(whole.address), head as usize) }?;
            committed::remove_span(whole.address);
            whole.address += head;
            whole.len -= head;
        }
        let tail = whole.len - len;
        if tail > 0 {
            // SAFETY: the pages of the fresh mapping behind the wanted length; nobody has seen them.
            unsafe { mm::munmap(pointer(whole.address + len), tail as usize) }?;
            whole.len = len;
        }
        committed::add_span(whole.address, whole.len);
        Ok(whole)
    }

    /// Zeroed bytes that cost nothing until they are written.
    pub(crate) fn open(len: u64) -> io::Result<Self> {
        Self::new(len, OPEN, SpanKind::Virtual)
    }

    pub(crate) fn address(&self) -> u64 {
        self.address
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    pub(crate) fn contains(&self, address: u64) -> bool {
        address >= self.address && address - self.address < self.len
    }

    /// The pointer to a part, once it is known to be one.
    fn part(&self, address: u64, len: u64) -> *mut c_void {
        let inside = self.contains(address) && len <= self.len - (address - self.address);
        assert!(inside, "{len} bytes at {address:#x} are inside the span at {:#x}", self.address);
        pointer(address)
    }

    /// Gives the pages of a part back to the system; it reads as zeros again.
    pub(crate) fn discard(&self, address: u64, len: u64) {
        // SAFETY: pages of this span. Whoever kept bytes there has said that they are dead.
        let advised = unsafe { mm::madvise(self.part(address, len), len as usize, Advice::LinuxDontNeed) };
        debug_assert!(advised.is_ok(), "the span is mapped for as long as it lives");
    }

    /// Makes a part readable and writable.
    pub(crate) fn unlock(&self, address: u64, len: u64) -> io::Result<()> {
        // SAFETY: pages of this span; more may be done to them afterwards than before.
        unsafe { mm::mprotect(self.part(address, len), len as usize, MprotectFlags::READ | MprotectFlags::WRITE) }?;
        Ok(())
    }

    /// Makes a part inaccessible, and forgets its bytes.
    pub(crate) fn lock(&self, address: u64, len: u64) -> io::Result<()> {
        self.replace(address, len, CLOSED)
    }

    /// Puts fresh zeroed bytes behind a part.
    pub(crate) fn renew(&self, address: u64, len: u64) -> io::Result<()> {
        self.replace(address, len, OPEN)
    }

    fn replace(&self, address: u64, len: u64, protection: ProtFlags) -> io::Result<()> {
        let flags = flags(self.kind) | MapFlags::FIXED;
        // SAFETY: replaces pages of this span in one step, so that nobody else's mapping can come between.
        unsafe { mm::mmap_anonymous(self.part(address, len), len as usize, protection, flags) }?;
        Ok(())
    }

    /// Puts shared memory behind a part: `file` from `offset` on.
    pub(crate) fn share(
        &self,
        address: u64,
        len: u64,
        file: BorrowedFd<'_>,
        offset: u64,
        writable: bool,
    ) -> io::Result<()> {
        committed::note_file(self.address);
        let protection = if writable { OPEN } else { ProtFlags::READ };
        let flags = MapFlags::SHARED | MapFlags::FIXED;
        // SAFETY: as in `replace`.
        unsafe { mm::mmap(self.part(address, len), len as usize, protection, flags, file, offset) }?;
        Ok(())
    }
}

impl Drop for Span {
    fn drop(&mut self) {
        committed::remove_span(self.address);
        // SAFETY: the pages are this span's own. Who holds the span keeps it until no op is left that could
        // use them.
        let unmapped = unsafe { mm::munmap(pointer(self.address), self.len as usize) };
        debug_assert!(unmapped.is_ok(), "the span is mapped");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ffi::host_memory::is_mapped;

    const PAGE: u64 = 4096;

    #[test]
    fn a_span_starts_where_it_was_told_to() -> io::Result<()> {
        for align in [PAGE, 1 << 21, 1 << 30] {
            let span = Span::closed(16 * PAGE, align, SpanKind::Virtual)?;
            assert_eq!((span.address() % align, span.len()), (0, 16 * PAGE));
            assert!(is_mapped(span.address(), span.len()));
        }
        Ok(())
    }

    #[test]
    fn a_dropped_span_is_unmapped() {
        // Another thread may be given the place at once; not every time.
        let seen_unmapped = (0..100).any(|_| {
            let span = Span::closed(64 * PAGE, PAGE, SpanKind::Virtual).expect("there is room");
            let middle = span.address() + 16 * PAGE;
            drop(span);
            !is_mapped(middle, 1)
        });
        assert!(seen_unmapped);
        assert!(!is_mapped(0, 1));
        assert!(!is_mapped(u64::MAX - 10, 100));
    }

    #[test]
    #[should_panic(expected = "inside the span")]
    fn a_part_that_sticks_out_is_a_bug() {
        let span = Span::open(4 * PAGE).expect("there is room");
        span.discard(span.address() + 3 * PAGE, 2 * PAGE);
    }

    #[test]
    fn memory_that_cannot_be_had_is_refused() {
        assert!(Span::closed(u64::MAX - 10, PAGE, SpanKind::Virtual).is_err());
        assert!(Span::open(1 << 60).is_err());
        let real = Span::closed(1 << 45, PAGE, SpanKind::Real).expect("address space costs nothing");
        let refuses = std::fs::read_to_string("/proc/sys/vm/overcommit_memory").is_ok_and(|mode| mode.trim() != "1");
        assert!(!refuses || real.unlock(real.address(), real.len()).is_err(), "nobody has 32 TiB");
    }
}
