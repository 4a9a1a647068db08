//! State spaces, as loads, stores and atomic operations name them.

/// The memory that addresses lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    /// The space whose [window](super::window) the address lies in.
    Generic,
    /// Memory of the machine, constants included.
    Global,
    /// Memory of the block.
    Shared,
    /// Memory of the thread.
    Local,
    /// Arguments of the kernel.
    Parameter,
    /// The function's own part of the thread's memory: the offset is the address.
    Frame,
    /// Arguments of the kernel, at the offset.
    Argument,
}
