//! Page-locked host memory.

/// Pages of the simulator's own.
#[derive(Debug)]
pub(crate) struct PageLocked {
    pub(crate) flags: u32,
}
