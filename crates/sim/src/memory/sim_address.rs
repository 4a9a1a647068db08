//! Addresses of simulated memory, and the accesses that ops make there.
#![expect(unsafe_code, reason = "moves bytes between addresses that were checked when they were made")]

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use warploom_bytes as bytes;

use super::committed;

/// The memory that holds some bytes: for the virtual clock, and for the checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Side {
    Host,
    Device(u16),
}

/// The start of a checked range of memory: the address that a program knows, and the one that the simulator
/// reads and writes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SimAddress {
    address: u64,
    host: usize,
    side: Side,
}

impl SimAddress {
    /// Bytes that a program calls `address` and that the simulator finds at `host`.
    ///
    /// # Safety
    ///
    /// `host` is the start of mapped memory, of as many bytes as the caller goes on to touch through this
    /// value. Memory of an allocation qualifies: device memory stays mapped for as long as the machine lives,
    /// page-locked and managed memory until every op is done that was enqueued when it was freed
    /// (`memory::Arena`). So does a host address for which a C caller vouches until the op is done, as with
    /// the real driver. No Rust reference points to the bytes. Other threads may read and write them at any
    /// time: all accesses here are defined when they race (`warploom_bytes`, and atomic words).
    pub(crate) unsafe fn new(address: u64, host: usize, side: Side) -> Self {
        Self { address, host, side }
    }

    /// An address without bytes, for tests of bookkeeping that touches none.
    #[cfg(test)]
    pub(crate) fn nowhere(address: u64, side: Side) -> Self {
        Self { address, host: 0, side }
    }

    /// The address that the program knows.
    pub(crate) fn address(self) -> u64 {
        self.address
    }

    /// The address that the simulator reads and writes.
    pub(crate) fn host(self) -> usize {
        self.host
    }

    /// The memory that holds the bytes.
    pub(crate) fn side(self) -> Side {
        self.side
    }

    /// The address `bytes` further on, in the same range.
    pub(crate) fn offset(self, bytes: u64) -> Self {
        Self { address: self.address + bytes, host: self.host + bytes as usize, side: self.side }
    }

    fn pointer(self) -> *mut u8 {
        std::ptr::with_exposed_provenance_mut(self.host)
    }

    /// Writes bytes there, now; 1, 2, 4 or 8 aligned bytes in one access.
    pub(crate) fn put(self, from: &[u8]) {
        // SAFETY: the range was checked for this many bytes, and stays mapped (see `SimAddress::new`).
        unsafe { bytes::write(self.pointer(), from) };
    }

    /// Reads the bytes as they are now; 1, 2, 4 or 8 aligned bytes in one access.
    pub(crate) fn get(self, into: &mut [u8]) {
        // SAFETY: as in `put`.
        unsafe { bytes::read(self.pointer(), into) };
    }

    /// The bytes as they are now.
    pub(crate) fn take(self, bytes: u64) -> Box<[u8]> {
        let mut taken = vec![0; bytes as usize].into_boxed_slice();
        self.get(&mut taken);
        taken
    }

    /// Copies bytes from another range, which may overlap this one.
    pub(crate) fn copy_from(self, from: SimAddress, bytes: u64) {
        // SAFETY: both ranges were checked for this many bytes, and stay mapped (see `SimAddress::new`).
        unsafe { bytes::copy(self.pointer(), from.pointer(), bytes as usize) };
    }

    /// Writes an element of 1, 2 or 4 bytes `count` times.
    pub(crate) fn fill(self, pattern: u32, element: u8, count: u64) {
        let size = u64::from(element);
        if pattern == 0
            && let Some(zeros) = committed::release(self.host, count * size)
        {
            // The pages are filled; the ends remain. Pages start and end at elements, because those are
            // aligned.
            let (before, behind) = (zeros.start - self.host as u64, self.host as u64 + count * size - zeros.end);
            self.fill_elements(0, element, before / size);
            self.offset(zeros.end - self.host as u64).fill_elements(0, element, behind / size);
            return;
        }
        self.fill_elements(pattern, element, count);
    }

    fn fill_elements(self, pattern: u32, element: u8, count: u64) {
        // SAFETY: the range was checked for `count` elements and their alignment; it stays mapped (see
        // `SimAddress::new`).
        unsafe { bytes::fill(self.pointer(), pattern, element, count as usize) };
    }

    /// Changes an aligned word of 2, 4 or 8 bytes atomically, and returns the old one; nothing if it is none.
    pub(crate) fn update(self, bytes: usize, change: &mut dyn FnMut(u64) -> u64) -> Option<u64> {
        let is_word = matches!(bytes, 2 | 4 | 8) && self.host.is_multiple_of(bytes);
        // SAFETY: a word, aligned, as was just seen; the range was checked for it, and stays mapped (see
        // `SimAddress::new`).
        is_word.then(|| unsafe { bytes::update(self.pointer(), bytes, change) })
    }

    /// Writes an aligned word, seen by waits for values at once.
    pub(crate) fn write_value(self, value: u64, wide: bool) {
        // SAFETY: a checked, aligned word that stays mapped (see `SimAddress::new`).
        unsafe {
            if wide {
                AtomicU64::from_ptr(self.pointer().cast()).store(value, Ordering::Release);
            } else {
                AtomicU32::from_ptr(self.pointer().cast()).store(value as u32, Ordering::Release);
            }
        }
    }

    /// Reads an aligned word.
    pub(crate) fn read_value(self, wide: bool) -> u64 {
        // SAFETY: as in `write_value`.
        unsafe {
            if wide {
                AtomicU64::from_ptr(self.pointer().cast()).load(Ordering::Acquire)
            } else {
                u64::from(AtomicU32::from_ptr(self.pointer().cast()).load(Ordering::Acquire))
            }
        }
    }
}
