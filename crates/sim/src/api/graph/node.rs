//! What a node does.

use std::ffi::c_void;

use warploom_sys::types::{CUgraphNodeType, CUhostFn};

use crate::api::module::KernelCall;
use crate::check::Known;
use crate::engine::{BlockCopy, Compare, RowFill, Work};
use crate::ffi::handle::EventHandle;
use crate::memory::SimAddress;

/// A node's work, with all that its ops are made of, as often as it is launched.
#[derive(Clone)]
pub(crate) enum NodeWork {
    Kernel(Box<KernelCall>),
    Copy {
        to: SimAddress,
        from: SimAddress,
        bytes: u64,
    },
    CopyBlock(Box<BlockCopy>),
    Fill {
        to: SimAddress,
        pattern: u32,
        element: u8,
        count: u64,
    },
    FillRows(Box<RowFill>),
    Host {
        function: CUhostFn,
        data: *mut c_void,
    },
    RecordEvent(EventHandle),
    WaitEvent(EventHandle),
    /// Words of memory that are waited for or written, one after the other.
    Values(Vec<Value>),
    /// Memory of the graph's own.
    Alloc {
        address: u64,
    },
    Free,
}

// SAFETY: the raw pointer is a host function's data, which the C caller hands over to the driver to pass to the function on
// whichever thread runs it.
#[expect(unsafe_code, reason = "a pointer that only a host function looks at")]
unsafe impl Send for NodeWork {}

/// A word that is waited for or written.
#[derive(Clone, Copy)]
pub(crate) enum Value {
    Wait { at: SimAddress, value: u64, wide: bool, compare: Compare },
    Write { to: SimAddress, value: u64, wide: bool },
}

impl NodeWork {
    /// What becomes of work that a captured stream is given; `None` for what no graph can have.
    pub(crate) fn of(work: Work) -> Option<NodeWork> {
        Some(match work {
            Work::Copy { to, from, bytes } => NodeWork::Copy { to, from, bytes },
            Work::CopyBlock(block) => NodeWork::CopyBlock(block),
            Work::Fill { to, pattern, element, count } => NodeWork::Fill { to, pattern, element, count },
            Work::FillRows(rows) => NodeWork::FillRows(rows),
            Work::HostFunction { function, data, .. } => NodeWork::Host { function, data },
            Work::WriteValue { to, value, wide } => NodeWork::Values(vec![Value::Write { to, value, wide }]),
            Work::WaitValue { at, value, wide, compare } => {
                NodeWork::Values(vec![Value::Wait { at, value, wide, compare }])
            }
            Work::Join
            | Work::Record { .. }
            | Work::Staged { .. }
            | Work::StagedBlock(_)
            | Work::Callback { .. }
            | Work::Migrate(_)
            | Work::Release(_)
            | Work::Task(_) => return None,
        })
    }

    /// Several pieces of work that become one node.
    pub(crate) fn of_values(works: Vec<Work>) -> Option<NodeWork> {
        let mut values = Vec::with_capacity(works.len());
        for work in works {
            match NodeWork::of(work)? {
                NodeWork::Values(more) => values.extend(more),
                _ => return None,
            }
        }
        Some(NodeWork::Values(values))
    }

    /// The ops of a launch, for what is nothing but ops.
    pub(super) fn ops(&self) -> Vec<Work> {
        match self {
            NodeWork::Copy { to, from, bytes } => vec![Work::Copy { to: *to, from: *from, bytes: *bytes }],
            NodeWork::CopyBlock(block) => vec![Work::CopyBlock(block.clone())],
            NodeWork::Fill { to, pattern, element, count } => {
                vec![Work::Fill { to: *to, pattern: *pattern, element: *element, count: *count }]
            }
            NodeWork::FillRows(rows) => vec![Work::FillRows(rows.clone())],
            NodeWork::Host { function, data } => {
                vec![Work::HostFunction { function: *function, data: *data, known: Known::default() }]
            }
            NodeWork::Values(values) => values.iter().map(|value| value.op()).collect(),
            NodeWork::Kernel(_)
            | NodeWork::RecordEvent(_)
            | NodeWork::WaitEvent(_)
            | NodeWork::Alloc { .. }
            | NodeWork::Free => Vec::new(),
        }
    }

    pub(super) fn kind(&self) -> CUgraphNodeType {
        match self {
            NodeWork::Kernel(_) => CUgraphNodeType::CU_GRAPH_NODE_TYPE_KERNEL,
            NodeWork::Copy { .. } | NodeWork::CopyBlock(_) => CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEMCPY,
            NodeWork::Fill { .. } | NodeWork::FillRows(_) => CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEMSET,
            NodeWork::Host { .. } => CUgraphNodeType::CU_GRAPH_NODE_TYPE_HOST,
            NodeWork::RecordEvent(_) => CUgraphNodeType::CU_GRAPH_NODE_TYPE_EVENT_RECORD,
            NodeWork::WaitEvent(_) => CUgraphNodeType::CU_GRAPH_NODE_TYPE_WAIT_EVENT,
            NodeWork::Values(_) => CUgraphNodeType::CU_GRAPH_NODE_TYPE_BATCH_MEM_OP,
            NodeWork::Alloc { .. } => CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEM_ALLOC,
            NodeWork::Free => CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEM_FREE,
        }
    }
}

impl Value {
    fn op(self) -> Work {
        match self {
            Value::Wait { at, value, wide, compare } => Work::WaitValue { at, value, wide, compare },
            Value::Write { to, value, wide } => Work::WriteValue { to, value, wide },
        }
    }
}
