//! Groups of lanes that are at the same instruction.

/// Some lanes of a warp, at one instruction of one frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) lanes: u32,
    pub(crate) pc: u32,
    pub(crate) frame: usize,
    pub(crate) state: State,
    /// Number of times that it was overtaken because it had run for too long.
    pub(crate) penalty: u32,
}

/// The condition that a group waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Nothing.
    Ready,
    /// A barrier of the block; it stands at the instruction that waits.
    Barrier(u32),
    /// These lanes, at the same instruction.
    Lanes(u32),
}
