//! Who accesses memory.

/// An access by some lanes of a warp, as memory sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The block, in the grid.
    pub block: [u32; 3],
    /// The warp, in the block.
    pub warp: u32,
    /// The lanes, lowest first; each has its share of the bytes, in this order.
    pub lanes: u32,
    /// The instruction, by its number in the program.
    pub instruction: u32,
    /// Whether other threads may be expected to access the same at the same time: atomic, volatile, relaxed or stronger.
    pub strong: bool,
}

/// Memory that is not there, or may not be accessed so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The first byte that is wrong.
    pub address: u64,
}
