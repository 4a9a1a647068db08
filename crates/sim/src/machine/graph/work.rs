//! Work of graph nodes.

use std::ffi::c_void;
use std::sync::Arc;

use warploom_sys::types::{
    CUDA_MEMCPY3D, CUDA_MEMSET_NODE_PARAMS, CUgraphNodeType, CUhostFn, CUmemAccessDesc, CUmemAllocationHandleType,
    CUmemAllocationType, CUmemLocation, CUmemLocationType, CUmemPoolProps, CUstreamBatchMemOpParams,
};

use super::{ConditionalNode, KernelNode};
use crate::ffi::handle::{ContextHandle, EventHandle, GraphHandle, NodeHandle};
use crate::machine::work::Work;
use crate::memory::MemoryOp;
use crate::memory::shadow::NodeSite;

/// The work of a node, from which each launch creates its ops. A clone costs little.
#[derive(Clone)]
pub(crate) enum NodeWork {
    /// Nothing; a point that others are ordered around.
    Empty,
    Kernel(Arc<KernelNode>),
    /// A copy or a fill.
    Memory(Arc<MemoryNode>),
    Host(HostNode),
    /// A graph inside the graph, which belongs to the node.
    Child(GraphHandle),
    RecordEvent(EventHandle),
    WaitEvent(EventHandle),
    /// Stream memory operations, one after the other.
    Values(Arc<ValuesNode>),
    /// An allocation of graph memory.
    Alloc(Arc<AllocNode>),
    /// The free of graph memory, by its address.
    Free(u64),
    Conditional(Arc<ConditionalNode>),
}

impl NodeWork {
    /// The address and the bytes of an allocation.
    pub(crate) fn allocation(&self) -> Option<(u64, u64)> {
        match self {
            NodeWork::Alloc(node) => Some((node.address, node.bytes)),
            _ => None,
        }
    }
}

// A program may have a million of them.
const _: () = assert!(size_of::<NodeWork>() <= 24, "work is small");

/// Work for a node of an executable, from a node of another graph.
pub(crate) struct NewWork {
    pub(super) node: NodeHandle,
    pub(super) work: NodeWork,
    /// The call that added the other node, while the machine checks.
    pub(super) site: Option<Arc<NodeSite>>,
}

/// A copy or a fill.
#[derive(Clone)]
pub(crate) struct MemoryNode {
    pub(crate) op: MemoryOp,
    /// The C parameters of the node, as they were passed; `None` for work from a capture.
    pub(crate) given: Option<Given>,
    pub(crate) context: ContextHandle,
}

/// The parameters of a copy or a fill, as the program gave them.
#[derive(Clone)]
pub(crate) enum Given {
    Copy(Box<CUDA_MEMCPY3D>),
    Fill(CUDA_MEMSET_NODE_PARAMS),
}

/// A host function.
#[derive(Clone, Copy)]
pub(crate) struct HostNode {
    pub(crate) function: CUhostFn,
    pub(crate) data: *mut c_void,
}

/// Stream memory operations.
#[derive(Clone)]
pub(crate) struct ValuesNode {
    pub(crate) ops: Vec<MemoryOp>,
    /// The operations as C has them, in an array that C may read.
    pub(crate) shown: Vec<CUstreamBatchMemOpParams>,
    pub(crate) flags: u32,
    pub(crate) context: ContextHandle,
}

impl ValuesNode {
    /// One operation that was captured.
    fn of(op: MemoryOp, context: ContextHandle) -> Self {
        let words = match &op {
            MemoryOp::WaitValue { at, value, wide, compare } => {
                [if *wide { 4 } else { 1 }, at.address(), *value, *compare as u64, 0, 0]
            }
            MemoryOp::WriteValue { to, value, wide } => [if *wide { 5 } else { 2 }, to.address(), *value, 0, 0, 0],
            _ => [0; 6],
        };
        Self { ops: vec![op], shown: vec![CUstreamBatchMemOpParams { pad: words }], flags: 0, context }
    }
}

/// An allocation.
#[derive(Clone)]
pub(crate) struct AllocNode {
    pub(crate) address: u64,
    pub(crate) bytes: u64,
    pub(crate) device: u16,
    pub(crate) properties: CUmemPoolProps,
    /// The devices that have access, in an array that C may read.
    pub(crate) access: Box<[CUmemAccessDesc]>,
}

impl AllocNode {
    /// An allocation of a device, for use by this device only.
    pub(crate) fn new(address: u64, bytes: u64, device: u16) -> Self {
        let location = CUmemLocation::new(CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, device.into());
        let properties = CUmemPoolProps {
            allocType: CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
            handleTypes: CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE,
            location,
            win32SecurityAttributes: std::ptr::null_mut(),
            maxSize: 0,
            usage: 0,
            gpuDirectRDMACapable: 0,
            reserved: [0; 53],
        };
        Self { address, bytes, device, properties, access: Box::default() }
    }
}

/// Lets threads share a type with raw pointers that nothing here follows or changes.
macro_rules! shared {
    ($type:ty) => {
        // SAFETY: the raw pointers are a host function's data, which the C caller hands to the driver to pass
        // to the function on any thread, and addresses that C gave, which are only given back to it. Nothing
        // changes through a shared reference.
        #[expect(unsafe_code, reason = "pointers that only the program's own code looks at")]
        unsafe impl Send for $type {}
        // SAFETY: as above.
        #[expect(unsafe_code, reason = "pointers that only the program's own code looks at")]
        unsafe impl Sync for $type {}
    };
}
shared!(HostNode);
shared!(Given);
shared!(AllocNode);

impl NodeWork {
    /// The node for work on a captured stream; `None` for work that cannot be captured.
    pub(crate) fn of<S>(work: Work<S>, context: ContextHandle) -> Option<NodeWork> {
        Some(match work {
            Work::Memory(op @ (MemoryOp::WriteValue { .. } | MemoryOp::WaitValue { .. })) => {
                NodeWork::Values(Arc::new(ValuesNode::of(op, context)))
            }
            Work::Memory(op) => NodeWork::Memory(Arc::new(MemoryNode { op, given: None, context })),
            Work::HostFunction { function, data, .. } => NodeWork::Host(HostNode { function, data }),
            Work::Join
            | Work::Record { .. }
            | Work::AwaitRecords { .. }
            | Work::Staged { .. }
            | Work::StagedBlock(_)
            | Work::Callback { .. }
            | Work::Migrate(_)
            | Work::Release(_)
            | Work::Task(_)
            | Work::Hook(_)
            | Work::Destructors(_)
            | Work::Away => return None,
        })
    }

    /// The graphs inside it.
    pub(crate) fn graphs(&self) -> &[GraphHandle] {
        match self {
            NodeWork::Child(graph) => std::slice::from_ref(graph),
            NodeWork::Conditional(node) => &node.bodies,
            _ => &[],
        }
    }

    /// `true` if it allocates or frees memory.
    pub(crate) fn is_of_memory(&self) -> bool {
        matches!(self, NodeWork::Alloc(_) | NodeWork::Free(_))
    }

    /// The kind in words, for reports.
    pub(crate) fn kind_name(&self) -> &'static str {
        match self {
            NodeWork::Empty => "empty",
            NodeWork::Kernel(_) => "kernel",
            NodeWork::Memory(node) => match node.op {
                MemoryOp::Fill { .. } | MemoryOp::FillRows(_) => "memset",
                _ => "memcpy",
            },
            NodeWork::Host(_) => "host",
            NodeWork::Child(_) => "child graph",
            NodeWork::RecordEvent(_) => "event record",
            NodeWork::WaitEvent(_) => "event wait",
            NodeWork::Values(_) => "memory operations",
            NodeWork::Alloc(_) => "allocation",
            NodeWork::Free(_) => "free",
            NodeWork::Conditional(_) => "conditional",
        }
    }

    pub(crate) fn kind(&self) -> CUgraphNodeType {
        match self {
            NodeWork::Empty => CUgraphNodeType::CU_GRAPH_NODE_TYPE_EMPTY,
            NodeWork::Kernel(_) => CUgraphNodeType::CU_GRAPH_NODE_TYPE_KERNEL,
            NodeWork::Memory(node) => match node.op {
                MemoryOp::Copy { .. } | MemoryOp::CopyBlock(_) => CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEMCPY,
                MemoryOp::Fill { .. } | MemoryOp::FillRows(_) => CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEMSET,
                MemoryOp::WriteValue { .. } | MemoryOp::WaitValue { .. } => {
                    CUgraphNodeType::CU_GRAPH_NODE_TYPE_BATCH_MEM_OP
                }
            },
            NodeWork::Host(_) => CUgraphNodeType::CU_GRAPH_NODE_TYPE_HOST,
            NodeWork::Child(_) => CUgraphNodeType::CU_GRAPH_NODE_TYPE_GRAPH,
            NodeWork::RecordEvent(_) => CUgraphNodeType::CU_GRAPH_NODE_TYPE_EVENT_RECORD,
            NodeWork::WaitEvent(_) => CUgraphNodeType::CU_GRAPH_NODE_TYPE_WAIT_EVENT,
            NodeWork::Values(_) => CUgraphNodeType::CU_GRAPH_NODE_TYPE_BATCH_MEM_OP,
            NodeWork::Alloc(_) => CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEM_ALLOC,
            NodeWork::Free(_) => CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEM_FREE,
            NodeWork::Conditional(_) => CUgraphNodeType::CU_GRAPH_NODE_TYPE_CONDITIONAL,
        }
    }
}
