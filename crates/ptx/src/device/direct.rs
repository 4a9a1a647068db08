//! Direct ranges: global memory that kernels access by pointer, with a bounds check alone.
#![expect(unsafe_code, reason = "reads and writes memory of the machine through its address in this process")]

use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

use crate::lanes::{LANES, Longs, Words};

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
    /// As long as the [`Memory`](crate::Memory) that returns it lives, as many bytes at `host` can be read, and
    /// written if `writable`, and no Rust reference to plain data points to any of them. Kernels that run on several
    /// threads at once do not race for them, which the code that launches them guarantees.
    pub unsafe fn new(range: std::ops::Range<u64>, host: *mut u8, writable: bool) -> Direct {
        Direct { start: range.start, end: range.end, host, writable }
    }

    /// No memory at all.
    pub(crate) const NONE: Direct = Direct { start: 0, end: 0, host: std::ptr::null_mut(), writable: false };

    /// True if an address lies in the range.
    #[inline(always)]
    pub(crate) fn contains(&self, address: u64) -> bool {
        self.start <= address && address < self.end
    }

    /// Where bytes lie, if all of them are in the range.
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
        let bytes = into.as_flattened_mut();
        let Some(from) = self.place(address, bytes.len() as u64, false) else { return false };
        // SAFETY: as many bytes as were found to be in the range, and no access races for them, as `new`
        // requires.
        unsafe { from.copy_to_nonoverlapping(bytes.as_mut_ptr(), bytes.len()) };
        true
    }

    /// Writes bytes that lie side by side; `false`, and nothing is written, if not all are in the range.
    #[inline(always)]
    pub(crate) fn write<const N: usize>(&self, address: u64, from: &[[u8; N]]) -> bool {
        let bytes = from.as_flattened();
        let Some(to) = self.place(address, bytes.len() as u64, true) else { return false };
        // SAFETY: as in `read`.
        unsafe { to.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        true
    }

    /// Reads a row of elements.
    #[inline(always)]
    pub(crate) fn read_row<const N: usize>(&self, address: u64) -> Option<[[u8; N]; LANES]> {
        let from = self.place(address, (LANES * N) as u64, false)?;
        // SAFETY: as in `read`; bytes are aligned anywhere.
        Some(unsafe { from.cast::<[[u8; N]; LANES]>().read() })
    }

    /// Reads a row of words.
    #[inline(always)]
    pub(crate) fn read_words(&self, address: u64) -> Option<Words> {
        let from = self.place(address, size_of::<Words>() as u64, false)?;
        // SAFETY: as in `read`; all bits are words.
        let mut row = unsafe { from.cast::<Words>().read_unaligned() };
        row.iter_mut().for_each(|word| *word = u32::from_le(*word));
        Some(row)
    }

    /// Reads a row of longs.
    #[inline(always)]
    pub(crate) fn read_longs(&self, address: u64) -> Option<Longs> {
        let from = self.place(address, size_of::<Longs>() as u64, false)?;
        // SAFETY: as in `read`; all bits are longs.
        let mut row = unsafe { from.cast::<Longs>().read_unaligned() };
        row.iter_mut().for_each(|long| *long = u64::from_le(*long));
        Some(row)
    }

    /// Writes a row of words; `false`, and nothing is written, if not all are in the range.
    #[inline(always)]
    pub(crate) fn write_words(&self, address: u64, row: &Words) -> bool {
        let Some(to) = self.place(address, size_of::<Words>() as u64, true) else { return false };
        let mut row = *row;
        row.iter_mut().for_each(|word| *word = word.to_le());
        // SAFETY: as in `read`.
        unsafe { to.cast::<Words>().write_unaligned(row) };
        true
    }

    /// Writes a row of longs; `false`, and nothing is written, if not all are in the range.
    #[inline(always)]
    pub(crate) fn write_longs(&self, address: u64, row: &Longs) -> bool {
        let Some(to) = self.place(address, size_of::<Longs>() as u64, true) else { return false };
        let mut row = *row;
        row.iter_mut().for_each(|long| *long = long.to_le());
        // SAFETY: as in `read`.
        unsafe { to.cast::<Longs>().write_unaligned(row) };
        true
    }

    /// Reads one element, words of it in one go.
    #[inline(always)]
    pub(crate) fn read_one<const N: usize>(&self, address: u64) -> Option<[u8; N]> {
        let from = self.place(address, N as u64, false)?;
        let mut bytes = [0; N];
        macro_rules! word {
            ($atomic:ty, $word:ty) => {{
                // SAFETY: aligned, and in the range as the first line found; no reference to plain data
                // points there, as `new` says.
                let word = unsafe { <$atomic>::from_ptr(from.cast::<$word>()) }.load(Ordering::Relaxed);
                bytes.copy_from_slice(&word.to_le_bytes());
            }};
        }
        match N {
            1 => word!(AtomicU8, u8),
            2 if from.addr() % 2 == 0 => word!(AtomicU16, u16),
            4 if from.addr() % 4 == 0 => word!(AtomicU32, u32),
            8 if from.addr() % 8 == 0 => word!(AtomicU64, u64),
            16.. if from.addr() % 8 == 0 => {
                for (index, chunk) in bytes.as_chunks_mut::<8>().0.iter_mut().enumerate() {
                    // SAFETY: a word of the bytes that were found to be in the range, aligned as all of them
                    // are.
                    let word = unsafe { AtomicU64::from_ptr(from.add(index * 8).cast()) };
                    *chunk = word.load(Ordering::Relaxed).to_le_bytes();
                }
            }
            // SAFETY: as in `read`.
            _ => unsafe { from.copy_to_nonoverlapping(bytes.as_mut_ptr(), N) },
        }
        Some(bytes)
    }

    /// Writes one element, words of it in one go.
    #[inline(always)]
    pub(crate) fn write_one<const N: usize>(&self, address: u64, bytes: &[u8; N]) -> bool {
        let Some(to) = self.place(address, N as u64, true) else { return false };
        macro_rules! word {
            ($atomic:ty, $word:ty) => {{
                let word = bytes[..].try_into().map(<$word>::from_le_bytes).unwrap_or_default();
                // SAFETY: as in `read_one`.
                unsafe { <$atomic>::from_ptr(to.cast::<$word>()) }.store(word, Ordering::Relaxed);
            }};
        }
        match N {
            1 => word!(AtomicU8, u8),
            2 if to.addr() % 2 == 0 => word!(AtomicU16, u16),
            4 if to.addr() % 4 == 0 => word!(AtomicU32, u32),
            8 if to.addr() % 8 == 0 => word!(AtomicU64, u64),
            16.. if to.addr() % 8 == 0 => {
                for (index, chunk) in bytes.as_chunks::<8>().0.iter().enumerate() {
                    // SAFETY: as in `read_one`.
                    let word = unsafe { AtomicU64::from_ptr(to.add(index * 8).cast()) };
                    word.store(u64::from_le_bytes(*chunk), Ordering::Relaxed);
                }
            }
            // SAFETY: as in `read`.
            _ => unsafe { to.copy_from_nonoverlapping(bytes.as_ptr(), N) },
        }
        true
    }

    /// Updates an aligned word of 2, 4 or 8 bytes atomically, and returns its old value.
    #[inline(always)]
    pub(crate) fn update(&self, address: u64, bytes: usize, mut change: impl FnMut(u64) -> u64) -> Option<u64> {
        let at = self.place(address, bytes as u64, true).filter(|at| at.addr().is_multiple_of(bytes))?;
        macro_rules! word {
            ($atomic:ty, $word:ty) => {{
                // SAFETY: as in `read_one`.
                let word = unsafe { <$atomic>::from_ptr(at.cast::<$word>()) };
                let changed = |old: $word| Some(change(old.into()) as $word);
                // The closure always returns a value, so that no update is refused.
                let (Ok(old) | Err(old)) = word.fetch_update(Ordering::AcqRel, Ordering::Acquire, changed);
                Some(old.into())
            }};
        }
        match bytes {
            2 => word!(AtomicU16, u16),
            4 => word!(AtomicU32, u32),
            8 => word!(AtomicU64, u64),
            _ => None,
        }
    }

    /// True if a word can be updated.
    #[inline(always)]
    pub(crate) fn holds_word(&self, address: u64, bytes: usize) -> bool {
        self.place(address, bytes as u64, true).is_some_and(|at| at.addr().is_multiple_of(bytes))
    }

    /// True if an element can be accessed.
    #[inline(always)]
    pub(crate) fn holds<const N: usize>(&self, address: u64, writes: bool) -> bool {
        self.place(address, N as u64, writes).is_some()
    }
}
