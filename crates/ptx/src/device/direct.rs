//! Direct ranges: global memory that kernels access by pointer, with a bounds check alone.
#![expect(unsafe_code, reason = "reads and writes memory of the machine through its address in this process")]

use warploom_bytes as bytes;

use crate::lanes::{LANES, Longs, Words};

/// Reads and writes of rows, as a kind of processor does them best. A row is one element for each lane.
pub(crate) trait RowAccess {
    /// Reads a row.
    ///
    /// # Safety
    /// As [`bytes::read`].
    unsafe fn read_row<const N: usize>(from: *const u8, into: &mut [[u8; N]; LANES]);

    /// Writes a row.
    ///
    /// # Safety
    /// As [`bytes::write`].
    unsafe fn write_row<const N: usize>(to: *mut u8, from: &[[u8; N]; LANES]);
}

/// A range of global memory and where its bytes lie in this process.
#[derive(Clone, Copy, Debug)]
pub struct Direct {
    start: u64,
    end: u64,
    host: *mut u8,
    writable: bool,
}

impl Direct {
    /// Addresses of `range`, whose bytes lie at `host`.
    ///
    /// # Safety
    /// As long as the [`Memory`](crate::Memory) that returns it lives, as many bytes at `host` can be read,
    /// and written if `writable`, and no Rust reference to plain data points to any of them. Kernels and
    /// other threads may race for them, as [`bytes`] says.
    pub unsafe fn new(range: std::ops::Range<u64>, host: *mut u8, writable: bool) -> Direct {
        Direct { start: range.start, end: range.end, host, writable }
    }

    /// No memory at all.
    pub(crate) const NONE: Direct = Direct { start: 0, end: 0, host: std::ptr::null_mut(), writable: false };

    /// `true` if an address lies in the range.
    #[inline(always)]
    pub(crate) fn contains(&self, address: u64) -> bool {
        self.start <= address && address < self.end
    }

    /// The host pointer to bytes, if all of them are in the range.
    #[inline(always)]
    fn place(&self, address: u64, bytes: u64, writes: bool) -> Option<*mut u8> {
        let offset = address.wrapping_sub(self.start);
        let size = self.end - self.start;
        // Below the start, the offset is beyond any size.
        let inside = offset < size && bytes <= size - offset && (self.writable || !writes);
        // SAFETY: the offset lies inside of the range.
        inside.then(|| unsafe { self.host.add(offset as usize) })
    }

    /// Reads bytes that lie side by side; `false` if not all are in the range.
    #[inline(always)]
    pub(crate) fn read<const N: usize>(&self, address: u64, into: &mut [[u8; N]]) -> bool {
        let size = size_of_val(into);
        let Some(from) = self.place(address, size as u64, false) else { return false };
        // SAFETY: the bytes of the elements, which lie side by side. `as_flattened_mut` would be a call.
        let into = unsafe { std::slice::from_raw_parts_mut(into.as_mut_ptr().cast(), size) };
        // SAFETY: as many bytes as were found to be in the range; `new` asked for the rest.
        unsafe { bytes::read(from, into) };
        true
    }

    /// Writes bytes that lie side by side; `false`, and nothing is written, if not all are in the range.
    #[inline(always)]
    pub(crate) fn write<const N: usize>(&self, address: u64, from: &[[u8; N]]) -> bool {
        let size = size_of_val(from);
        let Some(to) = self.place(address, size as u64, true) else { return false };
        // SAFETY: the bytes of the elements, which lie side by side.
        let from = unsafe { std::slice::from_raw_parts(from.as_ptr().cast(), size) };
        // SAFETY: as in `read`.
        unsafe { bytes::write(to, from) };
        true
    }

    /// Reads a row of elements.
    #[inline(always)]
    pub(crate) fn read_row<R: RowAccess, const N: usize>(&self, address: u64) -> Option<[[u8; N]; LANES]> {
        let from = self.place(address, (LANES * N) as u64, false)?;
        let mut row = [[0; N]; LANES];
        // SAFETY: as in `read`.
        unsafe { R::read_row(from, &mut row) };
        Some(row)
    }

    /// Reads a row of words.
    #[inline(always)]
    pub(crate) fn read_words<R: RowAccess>(&self, address: u64) -> Option<Words> {
        let row = self.read_row::<R, 4>(address)?;
        // SAFETY: as many bytes, and all bits are words. `map` on an array would be a call.
        let mut row = unsafe { std::mem::transmute::<[[u8; 4]; LANES], Words>(row) };
        row.iter_mut().for_each(|word| *word = u32::from_le(*word));
        Some(row)
    }

    /// Reads a row of longs.
    #[inline(always)]
    pub(crate) fn read_longs<R: RowAccess>(&self, address: u64) -> Option<Longs> {
        let row = self.read_row::<R, 8>(address)?;
        // SAFETY: as many bytes, and all bits are longs.
        let mut row = unsafe { std::mem::transmute::<[[u8; 8]; LANES], Longs>(row) };
        row.iter_mut().for_each(|long| *long = u64::from_le(*long));
        Some(row)
    }

    /// Writes a row of elements; `false`, and nothing is written, if not all are in the range.
    #[inline(always)]
    fn write_row<R: RowAccess, const N: usize>(&self, address: u64, row: &[[u8; N]; LANES]) -> bool {
        let Some(to) = self.place(address, (LANES * N) as u64, true) else { return false };
        // SAFETY: as in `read`.
        unsafe { R::write_row(to, row) };
        true
    }

    /// Writes a row of words; `false`, and nothing is written, if not all are in the range.
    #[inline(always)]
    pub(crate) fn write_words<R: RowAccess>(&self, address: u64, row: &Words) -> bool {
        let mut row = *row;
        row.iter_mut().for_each(|word| *word = word.to_le());
        // SAFETY: as many bytes, and all bits are bytes.
        self.write_row::<R, 4>(address, &unsafe { std::mem::transmute::<Words, [[u8; 4]; LANES]>(row) })
    }

    /// Writes a row of longs; `false`, and nothing is written, if not all are in the range.
    #[inline(always)]
    pub(crate) fn write_longs<R: RowAccess>(&self, address: u64, row: &Longs) -> bool {
        let mut row = *row;
        row.iter_mut().for_each(|long| *long = long.to_le());
        // SAFETY: as many bytes, and all bits are bytes.
        self.write_row::<R, 8>(address, &unsafe { std::mem::transmute::<Longs, [[u8; 8]; LANES]>(row) })
    }

    /// Reads one element, words of it in one go.
    #[inline(always)]
    pub(crate) fn read_one<const N: usize>(&self, address: u64) -> Option<[u8; N]> {
        let from = self.place(address, N as u64, false)?;
        // SAFETY: as in `read`.
        Some(unsafe { bytes::read_element(from) })
    }

    /// Writes one element, words of it in one go.
    #[inline(always)]
    pub(crate) fn write_one<const N: usize>(&self, address: u64, from: &[u8; N]) -> bool {
        let Some(to) = self.place(address, N as u64, true) else { return false };
        // SAFETY: as in `read`.
        unsafe { bytes::write_element(to, from) };
        true
    }

    /// Updates an aligned word of 2, 4 or 8 bytes atomically, and returns its old value.
    #[inline(always)]
    pub(crate) fn update(&self, address: u64, bytes: usize, change: impl FnMut(u64) -> u64) -> Option<u64> {
        let at = self.place(address, bytes as u64, true).filter(|at| at.addr().is_multiple_of(bytes))?;
        // SAFETY: as in `read`; a word of one of these sizes, aligned, as was just found.
        matches!(bytes, 2 | 4 | 8).then(|| unsafe { bytes::update(at, bytes, change) })
    }

    /// `true` if a word can be updated.
    #[inline(always)]
    pub(crate) fn holds_word(&self, address: u64, bytes: usize) -> bool {
        self.place(address, bytes as u64, true).is_some_and(|at| at.addr().is_multiple_of(bytes))
    }

    /// `true` if an element can be accessed.
    #[inline(always)]
    pub(crate) fn holds<const N: usize>(&self, address: u64, writes: bool) -> bool {
        self.place(address, N as u64, writes).is_some()
    }
}
