//! The cached facts about an allocation as managed memory.
#![expect(unsafe_code, reason = "asks the driver about an address")]

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use warploom_driver::sys::types::{CUdeviceptr, CUpointer_attribute, CUresult};

use crate::{Context, MemoryKind, Result};

const ASKED: u8 = 1;
const MANAGED: u8 = 2;
const DISCARDED: u8 = 4;
/// The host has borrowed it.
const BORROWED: u8 = 64;
/// The kind of the memory, once it was asked for: a number from 1 on in these bits.
const KIND: u8 = 0b111_000;
const KIND_SHIFT: u32 = KIND.trailing_zeros();

/// The kinds that are cached, by their numbers less one.
const KINDS: [MemoryKind; 4] = [MemoryKind::Device, MemoryKind::Pinned, MemoryKind::Managed, MemoryKind::Pageable];

/// `true` once memory was discarded that goes from one buffer to the next: any later one may have it.
static REUSED_DISCARD: AtomicBool = AtomicBool::new(false);

/// Flags of an allocation: asked, managed, discarded, borrowed; and its kind.
#[derive(Debug, Default)]
pub(in crate::memory) struct ManagedState(AtomicU8);

impl ManagedState {
    /// The cached answer, or else that of `ask`.
    pub(in crate::memory) fn or_ask(&self, ask: impl FnOnce() -> Result<bool>) -> Result<bool> {
        let known = self.0.load(Ordering::Relaxed);
        if known & ASKED != 0 {
            return Ok(known & MANAGED != 0);
        }
        let answer = ask()?;
        self.0.fetch_or(if answer { ASKED | MANAGED } else { ASKED }, Ordering::Relaxed);
        Ok(answer)
    }

    /// The cached kind, or else that of `ask`.
    pub(in crate::memory) fn kind_or_ask(&self, ask: impl FnOnce() -> Result<MemoryKind>) -> Result<MemoryKind> {
        let known = usize::from((self.0.load(Ordering::Relaxed) & KIND) >> KIND_SHIFT);
        if let Some(kind) = known.checked_sub(1).and_then(|number| KINDS.get(number)) {
            return Ok(*kind);
        }
        let kind = ask()?;
        if let Some(number) = (1_u8..).zip(KINDS).find(|(_, known)| *known == kind).map(|(number, _)| number) {
            // Others that ask get the same answer.
            self.0.fetch_or(number << KIND_SHIFT, Ordering::Relaxed);
        }
        Ok(kind)
    }

    /// Records a discard: the contents are undefined, and may differ at every read; those of later buffers,
    /// too, if the memory goes on to them without the driver.
    pub(super) fn note_discard(&self, is_reused: bool) {
        self.0.fetch_or(DISCARDED, Ordering::Relaxed);
        if is_reused {
            REUSED_DISCARD.store(true, Ordering::Relaxed);
        }
    }

    /// `true` if that was so, or may have been so in an earlier buffer; now it is not.
    pub(super) fn take_discard(&self, is_reused: bool) -> bool {
        let before = self.0.load(Ordering::Relaxed);
        self.0.fetch_or(BORROWED, Ordering::Relaxed);
        self.0.fetch_and(!DISCARDED, Ordering::Relaxed);
        before & DISCARDED != 0 || before & BORROWED == 0 && is_reused && REUSED_DISCARD.load(Ordering::Relaxed)
    }
}

/// Asks the driver for the kind of memory at an address; `true` if it is managed.
pub(in crate::memory) fn asks_managed(context: &Context, address: CUdeviceptr) -> Result<bool> {
    let mut is_managed = 0_u32;
    let (data, attribute) = ((&raw mut is_managed).cast(), CUpointer_attribute::CU_POINTER_ATTRIBUTE_IS_MANAGED);
    // SAFETY: there is room for the attribute, which has 4 bytes; any address may be asked about.
    match unsafe { context.driver().cuPointerGetAttribute(data, attribute, address) } {
        Ok(()) => Ok(is_managed != 0),
        // Memory that the driver does not know is the program's own.
        Err(error) if error.code() == Some(CUresult::CUDA_ERROR_INVALID_VALUE) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_discard_reaches_later_buffers_with_the_same_memory() {
        let [discarded, later, elsewhere] = [const { ManagedState(AtomicU8::new(0)) }; 3];
        discarded.note_discard(true);
        assert_eq!([(); 2].map(|()| discarded.take_discard(true)), [true, false]);
        assert_eq!([(); 2].map(|()| later.take_discard(true)), [true, false], "once, before the host borrows it");
        assert!(!elsewhere.take_discard(false), "the driver has handed it out");
        later.note_discard(true);
        assert!(later.take_discard(true));
    }
}
