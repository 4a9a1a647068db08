//! Work of graph nodes.

use std::ffi::c_void;

use warploom_engine::Known;
use warploom_sys::types::{CUgraphNodeType, CUhostFn};

use crate::ffi::handle::EventHandle;
use crate::machine::launch::KernelCall;
use crate::machine::work::Work;
use crate::memory::MemoryOp;

/// The work of a node, from which each launch creates its ops.
#[derive(Clone)]
pub(crate) enum NodeWork {
    Kernel(Box<KernelCall>),
    /// A copy or a fill.
    Memory(MemoryOp),
    Host {
        function: CUhostFn,
        data: *mut c_void,
    },
    RecordEvent(EventHandle),
    WaitEvent(EventHandle),
    /// Stream memory operations, one after the other.
    Values(Vec<MemoryOp>),
    /// An allocation of graph memory.
    Alloc {
        address: u64,
    },
    Free,
}

// SAFETY: the raw pointer is a host function's data. The C caller hands it to the driver, which passes it to
// the function on any thread.
#[expect(unsafe_code, reason = "a pointer that only a host function looks at")]
unsafe impl Send for NodeWork {}

impl NodeWork {
    /// The node for work on a captured stream; `None` for work that cannot be captured.
    pub(crate) fn of<S>(work: Work<S>) -> Option<NodeWork> {
        Some(match work {
            Work::Memory(op @ (MemoryOp::WriteValue { .. } | MemoryOp::WaitValue { .. })) => NodeWork::Values(vec![op]),
            Work::Memory(op) => NodeWork::Memory(op),
            Work::HostFunction { function, data, .. } => NodeWork::Host { function, data },
            Work::Join
            | Work::Record { .. }
            | Work::Staged { .. }
            | Work::StagedBlock(_)
            | Work::Callback { .. }
            | Work::Migrate(_)
            | Work::Release(_)
            | Work::Task(_)
            | Work::Away => return None,
        })
    }

    /// One node for several pieces of work.
    pub(crate) fn of_values<S>(works: Vec<Work<S>>) -> Option<NodeWork> {
        let mut values = Vec::with_capacity(works.len());
        for work in works {
            match NodeWork::of(work)? {
                NodeWork::Values(more) => values.extend(more),
                _ => return None,
            }
        }
        Some(NodeWork::Values(values))
    }

    /// The ops of a launch, for nodes that consist of ops only.
    pub(crate) fn ops<S>(&self) -> Vec<Work<S>> {
        match self {
            NodeWork::Memory(op) => vec![op.clone().into()],
            NodeWork::Host { function, data } => {
                vec![Work::HostFunction { function: *function, data: *data, known: Known::default() }]
            }
            NodeWork::Values(values) => values.iter().map(|value| value.clone().into()).collect(),
            NodeWork::Kernel(_)
            | NodeWork::RecordEvent(_)
            | NodeWork::WaitEvent(_)
            | NodeWork::Alloc { .. }
            | NodeWork::Free => Vec::new(),
        }
    }

    pub(crate) fn kind(&self) -> CUgraphNodeType {
        match self {
            NodeWork::Kernel(_) => CUgraphNodeType::CU_GRAPH_NODE_TYPE_KERNEL,
            NodeWork::Memory(MemoryOp::Copy { .. } | MemoryOp::CopyBlock(_)) => {
                CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEMCPY
            }
            NodeWork::Memory(MemoryOp::Fill { .. } | MemoryOp::FillRows(_)) => {
                CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEMSET
            }
            NodeWork::Memory(MemoryOp::WriteValue { .. } | MemoryOp::WaitValue { .. }) => {
                CUgraphNodeType::CU_GRAPH_NODE_TYPE_BATCH_MEM_OP
            }
            NodeWork::Host { .. } => CUgraphNodeType::CU_GRAPH_NODE_TYPE_HOST,
            NodeWork::RecordEvent(_) => CUgraphNodeType::CU_GRAPH_NODE_TYPE_EVENT_RECORD,
            NodeWork::WaitEvent(_) => CUgraphNodeType::CU_GRAPH_NODE_TYPE_WAIT_EVENT,
            NodeWork::Values(_) => CUgraphNodeType::CU_GRAPH_NODE_TYPE_BATCH_MEM_OP,
            NodeWork::Alloc { .. } => CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEM_ALLOC,
            NodeWork::Free => CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEM_FREE,
        }
    }
}
