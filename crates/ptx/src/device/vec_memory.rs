//! A memory for tests and small tools: one range of bytes.
#![expect(unsafe_code, reason = "hands out the address of its words")]

use std::sync::atomic::{AtomicU64, Ordering};

use super::access::{Access, Fault};
use super::direct::Direct;
use super::host::Host;
use super::memory::Memory;
use crate::program::Program;

/// A range of memory that starts at [`VecMemory::BASE`] and is handed out from its start to its end.
///
/// ```
/// use warploom_ptx::VecMemory;
///
/// let memory = VecMemory::new(1 << 20);
/// let data = memory.upload(&[1, 2, 3, 4]);
/// assert_eq!(memory.read(data, 2), [1, 2]);
/// ```
#[derive(Debug)]
pub struct VecMemory {
    /// Words, so that threads can share them without locks.
    words: Vec<AtomicU64>,
    used: AtomicU64,
    printed: std::sync::Mutex<String>,
    is_direct: bool,
}

impl VecMemory {
    /// The first address.
    pub const BASE: u64 = 0x10_0000;

    /// Memory of at least that many bytes, all zero.
    pub fn new(bytes: usize) -> VecMemory {
        let words = (0..bytes.div_ceil(8)).map(|_| AtomicU64::new(0)).collect();
        VecMemory { words, used: AtomicU64::new(0), printed: std::sync::Mutex::default(), is_direct: false }
    }

    /// The same, reached without a call for each access.
    #[must_use]
    pub fn reached_directly(self) -> VecMemory {
        VecMemory { is_direct: true, ..self }
    }

    /// The address of that many bytes, a multiple of 256.
    ///
    /// # Panics
    /// If the range is used up.
    pub fn reserve(&self, bytes: usize) -> u64 {
        let start = self.used.fetch_add((bytes as u64).next_multiple_of(256), Ordering::Relaxed);
        assert!(
            start + bytes as u64 <= self.words.len() as u64 * 8,
            "a VecMemory of {} bytes is used up",
            self.words.len() * 8
        );
        Self::BASE + start
    }

    /// The address of a copy of some bytes.
    ///
    /// # Panics
    /// If the range is used up.
    pub fn upload(&self, bytes: &[u8]) -> u64 {
        let address = self.reserve(bytes.len());
        for (byte, at) in bytes.iter().zip(address - Self::BASE..) {
            self.set_byte(at, *byte);
        }
        address
    }

    /// A copy of some bytes.
    ///
    /// # Panics
    /// If they are out of bounds.
    pub fn read(&self, address: u64, bytes: usize) -> Vec<u8> {
        (0..bytes as u64).map(|index| self.byte(address - Self::BASE + index)).collect()
    }

    /// The program with its variables in this memory.
    ///
    /// # Panics
    /// If the range is used up.
    #[must_use]
    pub fn place(&self, program: &Program) -> Program {
        let variables = program.variables();
        let addresses: Vec<u64> = variables
            .iter()
            .map(|variable| self.reserve(usize::try_from(variable.size).unwrap_or(usize::MAX)))
            .collect();
        for (variable, address) in variables.iter().zip(&addresses) {
            for (byte, at) in variable.contents(&addresses).into_iter().zip(address - Self::BASE..) {
                self.set_byte(at, byte);
            }
        }
        program.placed(&addresses)
    }

    /// The output of kernels so far.
    pub fn printed(&self) -> String {
        self.printed.lock().map(|text| text.clone()).unwrap_or_default()
    }

    fn byte(&self, at: u64) -> u8 {
        (self.words[(at / 8) as usize].load(Ordering::Relaxed) >> (at % 8 * 8)) as u8
    }

    fn set_byte(&self, at: u64, byte: u8) {
        let shift = at % 8 * 8;
        let set = |word: u64| Some((word & !(0xff << shift)) | u64::from(byte) << shift);
        // It always has a new value, so this cannot fail.
        let _ = self.words[(at / 8) as usize].fetch_update(Ordering::Relaxed, Ordering::Relaxed, set);
    }

    /// The offset of an access, if all of it is in bounds.
    fn range(&self, address: u64, bytes: usize) -> Result<u64, Fault> {
        let start = address.checked_sub(Self::BASE).ok_or(Fault { address })?;
        let size = self.words.len() as u64 * 8;
        if start.saturating_add(bytes as u64) <= size {
            return Ok(start);
        }
        Err(Fault { address: address.max(Self::BASE + size) })
    }
}

impl Memory for VecMemory {
    fn load(&self, _: &Access, address: u64, into: &mut [u8]) -> Result<(), Fault> {
        let start = self.range(address, into.len())?;
        if start % 8 == 0 && into.len().is_multiple_of(8) {
            let words = &self.words[(start / 8) as usize..][..into.len() / 8];
            for (chunk, word) in into.as_chunks_mut::<8>().0.iter_mut().zip(words) {
                *chunk = word.load(Ordering::Relaxed).to_le_bytes();
            }
            return Ok(());
        }
        if start % 4 == 0 && into.len() == 4 {
            let word = self.words[(start / 8) as usize].load(Ordering::Relaxed);
            into.copy_from_slice(&((word >> (start % 8 * 8)) as u32).to_le_bytes());
            return Ok(());
        }
        for (byte, at) in into.iter_mut().zip(start..) {
            *byte = self.byte(at);
        }
        Ok(())
    }

    fn store(&self, _: &Access, address: u64, from: &[u8]) -> Result<(), Fault> {
        let start = self.range(address, from.len())?;
        if start % 8 == 0 && from.len().is_multiple_of(8) {
            let words = &self.words[(start / 8) as usize..][..from.len() / 8];
            for (chunk, word) in from.as_chunks::<8>().0.iter().zip(words) {
                word.store(u64::from_le_bytes(*chunk), Ordering::Relaxed);
            }
            return Ok(());
        }
        for (byte, at) in from.iter().zip(start..) {
            self.set_byte(at, *byte);
        }
        Ok(())
    }

    fn update(&self, _: &Access, address: u64, bytes: usize, change: &mut dyn FnMut(u64) -> u64) -> Result<u64, Fault> {
        let start = self.range(address, bytes)?;
        let shift = start % 8 * 8;
        let mask = (u64::MAX >> (64 - bytes * 8)) << shift;
        let word = &self.words[(start / 8) as usize];
        let mut old = word.load(Ordering::SeqCst);
        loop {
            let part = (old & mask) >> shift;
            let new = (old & !mask) | (change(part) << shift & mask);
            match word.compare_exchange_weak(old, new, Ordering::SeqCst, Ordering::SeqCst) {
                Ok(_) => return Ok(part),
                Err(found) => old = found,
            }
        }
    }

    fn direct(&self, _: u64) -> Option<Direct> {
        let range = Self::BASE..Self::BASE + self.words.len() as u64 * 8;
        let host = self.words.as_ptr().cast_mut().cast();
        // SAFETY: all of the words, which live as long as this memory and are atomic, so that they may
        // change behind shared references.
        self.is_direct.then(|| unsafe { Direct::new(range, host, true) })
    }

    fn holds(&self, address: u64, bytes: &[u8]) -> bool {
        let start = self.range(address, bytes.len());
        start.is_ok_and(|start| bytes.iter().zip(start..).all(|(byte, at)| self.byte(at) == *byte))
    }
}

impl Host for VecMemory {
    fn print(&self, text: &str) {
        if let Ok(mut printed) = self.printed.lock() {
            printed.push_str(text);
        }
    }

    fn allocate(&self, _access: &Access, bytes: u64) -> u64 {
        let size = bytes.next_multiple_of(256);
        let room = |used: u64| used.checked_add(size).filter(|end| *end <= self.words.len() as u64 * 8);
        let start = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, room);
        start.map_or(0, |start| Self::BASE + start)
    }
}
