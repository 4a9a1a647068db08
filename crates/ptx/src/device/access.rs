//! The lanes behind a memory access, and the fault that it can end in.

/// An access by some lanes of a warp, as memory sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The block, in the grid.
    pub block: [u32; 3],
    /// The warp, in the block.
    pub warp: u32,
    /// The lanes, lowest first; each has its share of the bytes, in this order.
    pub lanes: u32,
    /// All lanes that get the bytes of a read: more than `lanes` where several read the same bytes.
    pub readers: u32,
    /// The instruction, by its number in the program.
    pub instruction: u32,
    /// `true` for strong accesses: atomic, volatile, relaxed or stronger.
    pub strong: bool,
}

impl Access {
    /// A block as a whole.
    pub(crate) fn of_block(block: [u32; 3]) -> Self {
        Access { block, warp: 0, lanes: 0, readers: 0, instruction: 0, strong: false }
    }
}

/// An access to memory that does not exist or does not allow it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The first byte that cannot be accessed.
    pub address: u64,
}
