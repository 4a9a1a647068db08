//! A stretch of address space: untouchable where the program sees it, bytes where the simulator does.
#![expect(unsafe_code, reason = "reserves and maps address space")]

use std::ffi::c_void;
use std::io;
use std::os::fd::BorrowedFd;

use rustix::mm::{self, Advice, MapFlags, MprotectFlags, ProtFlags};

/// A reservation and its readable twin at a constant distance.
pub(crate) struct Window {
    base: u64,
    len: u64,
    twin: usize,
}

fn pointer(address: u64) -> *mut c_void {
    std::ptr::with_exposed_provenance_mut(address as usize)
}

/// Address space that costs no memory until it is written.
fn reserve(len: u64, protection: ProtFlags) -> io::Result<usize> {
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
    // SAFETY: a fresh mapping at an address of the kernel's choice takes nothing from anyone.
    let address = unsafe { mm::mmap_anonymous(std::ptr::null_mut(), len as usize, protection, flags) }?;
    Ok(address.expose_provenance())
}

impl Window {
    /// Reserves `len` bytes of both, a multiple of the page size. The program's side starts at a multiple of `BLOCK`.
    pub(crate) fn new(len: u64) -> io::Result<Self> {
        let len = len.next_multiple_of(super::BLOCK);
        let whole = reserve(len + super::BLOCK, ProtFlags::empty())? as u64;
        let base = whole.next_multiple_of(super::BLOCK);
        if base > whole {
            // SAFETY: the head of the reservation just made, before its first aligned block; nobody uses it.
            unsafe { mm::munmap(pointer(whole), (base - whole) as usize) }?;
        }
        let rest = whole + super::BLOCK - base;
        if rest > 0 {
            // SAFETY: the tail of the same reservation, behind the window.
            unsafe { mm::munmap(pointer(base + len), rest as usize) }?;
        }
        match reserve(len, ProtFlags::READ | ProtFlags::WRITE) {
            Ok(twin) => Ok(Self { base, len, twin }),
            Err(error) => {
                // SAFETY: the reservation just made; nobody uses it.
                unsafe { mm::munmap(pointer(base), len as usize) }?;
                Err(error)
            }
        }
    }

    pub(crate) fn base(&self) -> u64 {
        self.base
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    pub(crate) fn contains(&self, address: u64) -> bool {
        address >= self.base && address - self.base < self.len
    }

    /// Where the simulator finds the byte at `address` of this window.
    pub(crate) fn host_of(&self, address: u64) -> usize {
        self.twin + (address - self.base) as usize
    }

    /// Gives the pages behind a stretch back to the system; it reads as zeros again.
    pub(crate) fn discard(&self, address: u64, len: u64) {
        // SAFETY: pages of this window's own twin. Their content is the simulated memory's, which is dead.
        let advised =
            unsafe { mm::madvise(pointer(self.host_of(address) as u64), len as usize, Advice::LinuxDontNeed) };
        debug_assert!(advised.is_ok(), "the twin is mapped for the window's lifetime");
    }

    /// Puts shared memory behind a stretch: `file` from `offset` on.
    pub(crate) fn map(&self, address: u64, len: u64, file: BorrowedFd<'_>, offset: u64) -> io::Result<()> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        let twin = pointer(self.host_of(address) as u64);
        // SAFETY: replaces pages of this window's own twin in one step, so that nobody meets a hole.
        unsafe { mm::mmap(twin, len as usize, protection, MapFlags::SHARED | MapFlags::FIXED, file, offset) }?;
        Ok(())
    }

    /// Puts private memory behind a stretch again.
    pub(crate) fn unmap(&self, address: u64, len: u64) -> io::Result<()> {
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE | MapFlags::FIXED;
        let twin = pointer(self.host_of(address) as u64);
        // SAFETY: as in `map`.
        unsafe { mm::mmap_anonymous(twin, len as usize, ProtFlags::READ | ProtFlags::WRITE, flags) }?;
        Ok(())
    }

    /// Lets the program touch a stretch directly: managed memory, which is at one address for everybody.
    pub(crate) fn open(&self, address: u64, len: u64) -> io::Result<()> {
        // SAFETY: pages of this window, which nothing in the process points into yet.
        unsafe { mm::mprotect(pointer(address), len as usize, MprotectFlags::READ | MprotectFlags::WRITE) }?;
        Ok(())
    }

    /// Takes back what `open` gave; the stretch loses its bytes.
    pub(crate) fn close(&self, address: u64, len: u64) -> io::Result<()> {
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE | MapFlags::FIXED;
        // SAFETY: pages of this window. A program that still follows a pointer into them has freed that memory itself.
        unsafe { mm::mmap_anonymous(pointer(address), len as usize, ProtFlags::empty(), flags) }?;
        Ok(())
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        // SAFETY: both reservations are this window's own. The machine that holds it has no op left that could use them.
        unsafe {
            let both = [
                mm::munmap(pointer(self.base), self.len as usize),
                mm::munmap(pointer(self.twin as u64), self.len as usize),
            ];
            debug_assert!(both.iter().all(Result::is_ok), "the window is mapped");
        }
    }
}
