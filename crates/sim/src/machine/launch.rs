//! Launches of kernels that have been checked.

use std::sync::Arc;

use warploom_ptx::Program;

use crate::ffi::handle::{ContextHandle, FunctionHandle};

/// A checked launch, with the data for its op.
#[derive(Clone)]
pub(crate) struct KernelCall {
    pub(crate) function: FunctionHandle,
    pub(crate) context: ContextHandle,
    pub(crate) device: u16,
    pub(crate) program: Program,
    /// The index of the kernel in its program.
    pub(crate) index: usize,
    pub(crate) shape: Shape,
    pub(crate) arguments: Arc<[u8]>,
    /// Blocks that a multiprocessor holds at once.
    pub(crate) active_blocks: u32,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub(crate) shared: u32,
    pub(crate) cooperative: bool,
    /// Blocks of a cluster.
    pub(crate) cluster: Option<[u32; 3]>,
}
