//! Loads, stores and atomic operations as the fast path passes them on, and the memory that they go to.

use super::range_cache::RangeCache;
use super::traffic::Traffic;
use crate::device::memory::Memory;
use crate::lanes::Words;
use crate::program::operation::{AccessForm, Atomic};
use crate::program::slot::Slot;

/// A load or a store of some lanes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transfer<'i> {
    pub(crate) mask: u32,
    pub(crate) form: &'i AccessForm,
    pub(crate) slots: &'i [Slot; 6],
    /// The instruction.
    pub(crate) pc: usize,
}

/// An atomic operation of some lanes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Update<'i> {
    pub(crate) mask: u32,
    pub(crate) atomic: &'i Atomic,
    pub(crate) slots: &'i [Slot; 6],
    /// The instruction.
    pub(crate) pc: usize,
}

/// The memory, arguments and indexes that the fast path reaches beside its registers.
pub(crate) struct Environment<'s> {
    pub(crate) memory: &'s dyn Memory,
    pub(crate) ranges: &'s mut RangeCache,
    pub(crate) traffic: &'s mut Traffic,
    /// The block's shared memory; none where every access to it is observed.
    pub(crate) shared: Option<&'s mut [u8]>,
    pub(crate) arguments: &'s [u8],
    /// The coordinates of the warp's threads in their block.
    pub(crate) places: &'s [Words; 3],
    pub(crate) block: [u32; 3],
    pub(crate) block_size: [u32; 3],
    pub(crate) grid: [u32; 3],
}
