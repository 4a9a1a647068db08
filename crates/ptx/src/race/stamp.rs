//! One remembered access.

/// Who touched something, by which instruction, and how far that thread had got in passing on what it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    /// Its number in the grid.
    pub(super) block: u32,
    /// The number with which the thread last passed on what it had done before.
    pub(super) since: u32,
    pub(super) pc: u32,
    /// Its number in the block.
    pub(super) thread: u16,
    /// Of a strong access: whether it writes.
    pub(super) writes: bool,
}

// Four for each word of memory that a kernel both reads and writes.
const _: () = assert!(size_of::<Stamp>() == 16, "a stamp is small");

impl Stamp {
    /// Nobody.
    pub(super) const NONE: Stamp = Stamp { block: 0, since: 0, pc: u32::MAX, thread: 0, writes: false };

    pub(super) fn is_some(&self) -> bool {
        self.pc != u32::MAX
    }

    pub(super) fn is_by(&self, other: &Stamp) -> bool {
        self.block == other.block && self.thread == other.thread
    }
}
