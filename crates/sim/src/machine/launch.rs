//! Launches of kernels that have been checked.

use std::sync::Arc;

use warploom_ptx::Program;
use warploom_sys::types::CUgraphEdgeData;

use crate::ffi::handle::{ContextHandle, EventHandle, FunctionHandle};

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

/// Attributes that order a launch among other work. They end with the launch; a captured node does not have
/// them.
#[derive(Clone, Copy, Default)]
pub(crate) struct LaunchOrder {
    /// The kernel may begin before the kernels that it depends on have ended.
    pub(crate) overlaps_previous: bool,
    /// Recorded when the blocks trigger their dependents, or when they begin.
    pub(crate) programmatic: Option<KernelEvent>,
    /// Recorded when all blocks have begun.
    pub(crate) launch_completion: Option<KernelEvent>,
}

impl LaunchOrder {
    /// The events that the kernel records.
    pub(crate) fn events(&self) -> impl Iterator<Item = KernelEvent> {
        self.programmatic.into_iter().chain(self.launch_completion)
    }
}

/// An event that a kernel records while it runs. On this machine it is recorded behind the kernel, a stricter
/// order.
#[derive(Clone, Copy)]
pub(crate) struct KernelEvent {
    pub(crate) event: EventHandle,
    pub(crate) flags: i32,
    /// The data of an edge from the kernel's node to a node that waits for the event.
    pub(crate) edge: CUgraphEdgeData,
}
