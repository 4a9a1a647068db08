//! Memory of graphs.

/// Particulars of memory that a node of a graph allocated.
#[derive(Debug)]
pub(crate) struct GraphBlock {
    pub(crate) device: u16,
    /// Other devices that have access.
    pub(crate) peers: Box<[u16]>,
}
