//! Parameters of nodes as C sees them: those that were given, or those of a captured operation.

use warploom_sys::types::*;

use crate::ffi::Ptr;
use crate::ffi::handle::{Handle, KernelHandle};
use crate::ffi::status::{INVALID_VALUE, Status};
use crate::machine::graph::{
    AllocNode, ConditionalKind, ConditionalNode, Given, KernelNode, MemoryNode, NodeWork, ShownArguments, ValuesNode,
};
use crate::machine::world::World;
use crate::memory::{BlockCopy, MemoryOp, RowFill, Side, SimAddress};

/// The parameters of a kernel node. The array of arguments stays valid until the node changes.
pub(super) fn kernel_params(world: &World, node: &KernelNode) -> CUDA_KERNEL_NODE_PARAMS_v2 {
    let shape = &node.call.shape;
    let ([x, y, z], [block_x, block_y, block_z]) = (shape.grid, shape.block);
    let (each, extra) = match &node.shown {
        ShownArguments::Each(pointers) if pointers.is_empty() => (std::ptr::null_mut(), std::ptr::null_mut()),
        ShownArguments::Each(pointers) => (pointers.as_ptr().cast_mut(), std::ptr::null_mut()),
        ShownArguments::Extra { list, .. } => (std::ptr::null_mut(), list.as_ptr().cast_mut()),
    };
    CUDA_KERNEL_NODE_PARAMS_v2 {
        func: node.call.function.as_raw(),
        gridDimX: x,
        gridDimY: y,
        gridDimZ: z,
        blockDimX: block_x,
        blockDimY: block_y,
        blockDimZ: block_z,
        sharedMemBytes: shape.shared,
        kernelParams: each,
        extra,
        kern: library_kernel(world, node).map_or(std::ptr::null_mut(), Handle::as_raw),
        ctx: node.call.context.as_raw(),
    }
}

/// The kernel of a library that a node's function belongs to.
fn library_kernel(world: &World, node: &KernelNode) -> Option<KernelHandle> {
    let function = world.code().functions().get(node.call.function)?;
    let module = world.code().modules().get(function.module)?;
    let name = module.binary.name(function.index)?.to_str().ok()?;
    world.code().libraries().get(module.library?)?.kernels.get(name).copied()
}

/// One end of a copy, as in C's descriptor: its memory type, its pointer for that type, pitch and height.
struct CopyEnd {
    memory: CUmemorytype,
    host: *mut std::ffi::c_void,
    device: CUdeviceptr,
    pitch: usize,
    height: usize,
}

impl CopyEnd {
    fn new(at: SimAddress, pitch: u64, height: u64) -> Self {
        let is_host = at.side() == Side::Host;
        let host = if is_host { std::ptr::without_provenance_mut(at.address() as usize) } else { std::ptr::null_mut() };
        Self {
            memory: if is_host { CUmemorytype::CU_MEMORYTYPE_HOST } else { CUmemorytype::CU_MEMORYTYPE_DEVICE },
            host,
            device: if is_host { 0 } else { at.address() },
            pitch: pitch as usize,
            height: height as usize,
        }
    }
}

/// The parameters of a copy node: as they were given, or as a captured copy has them.
pub(super) fn copy_params(node: &MemoryNode) -> Option<CUDA_MEMCPY3D> {
    if let Some(Given::Copy(given)) = &node.given {
        return Some(**given);
    }
    let (to, from, [width, height, depth]) = match &node.op {
        MemoryOp::Copy { to, from, bytes } => (CopyEnd::new(*to, 0, 0), CopyEnd::new(*from, 0, 0), [*bytes, 1, 1]),
        MemoryOp::CopyBlock(block) => {
            let BlockCopy { to, to_pitch, to_slice, from, from_pitch, from_slice, width, height, depth } = **block;
            let rows = |slice: u64, pitch: u64| slice.checked_div(pitch).unwrap_or(0);
            let to = CopyEnd::new(to, to_pitch, rows(to_slice, to_pitch));
            (to, CopyEnd::new(from, from_pitch, rows(from_slice, from_pitch)), [width, height, depth])
        }
        _ => return None,
    };
    Some(CUDA_MEMCPY3D {
        srcXInBytes: 0,
        srcY: 0,
        srcZ: 0,
        srcLOD: 0,
        srcMemoryType: from.memory,
        srcHost: from.host,
        srcDevice: from.device,
        srcArray: std::ptr::null_mut(),
        reserved0: std::ptr::null_mut(),
        srcPitch: from.pitch,
        srcHeight: from.height,
        dstXInBytes: 0,
        dstY: 0,
        dstZ: 0,
        dstLOD: 0,
        dstMemoryType: to.memory,
        dstHost: to.host,
        dstDevice: to.device,
        dstArray: std::ptr::null_mut(),
        reserved1: std::ptr::null_mut(),
        dstPitch: to.pitch,
        dstHeight: to.height,
        WidthInBytes: width as usize,
        Height: height as usize,
        Depth: depth as usize,
    })
}

/// The parameters of a fill node: as they were given, or as a captured fill has them.
pub(super) fn fill_params(node: &MemoryNode) -> Option<CUDA_MEMSET_NODE_PARAMS> {
    if let Some(Given::Fill(given)) = &node.given {
        return Some(*given);
    }
    let (to, pitch, value, element, width, height) = match &node.op {
        MemoryOp::Fill { to, pattern, element, count } => (*to, 0, *pattern, *element, *count, 1),
        MemoryOp::FillRows(fill) => {
            let RowFill { to, pitch, pattern, element, columns, rows } = **fill;
            (to, pitch, pattern, element, columns, rows)
        }
        _ => return None,
    };
    Some(CUDA_MEMSET_NODE_PARAMS {
        dst: to.address(),
        pitch: pitch as usize,
        value,
        elementSize: element.into(),
        width: width as usize,
        height: height as usize,
    })
}

/// The parameters of a node of stream memory operations. The array stays valid until the node changes.
pub(super) fn values_params(node: &ValuesNode) -> CUDA_BATCH_MEM_OP_NODE_PARAMS {
    CUDA_BATCH_MEM_OP_NODE_PARAMS {
        ctx: node.context.as_raw(),
        count: node.shown.len() as u32,
        paramArray: node.shown.as_ptr().cast_mut(),
        flags: node.flags,
    }
}

/// The parameters of an allocation node. The array stays valid as long as the node.
pub(super) fn alloc_params(node: &AllocNode) -> CUDA_MEM_ALLOC_NODE_PARAMS {
    CUDA_MEM_ALLOC_NODE_PARAMS {
        poolProps: node.properties,
        accessDescs: node.access.as_ptr(),
        accessDescCount: node.access.len(),
        bytesize: node.bytes as usize,
        dptr: node.address,
    }
}

/// The parameters of a conditional node. The array stays valid as long as the node.
pub(super) fn conditional_params(node: &ConditionalNode) -> CUDA_CONDITIONAL_NODE_PARAMS {
    CUDA_CONDITIONAL_NODE_PARAMS {
        handle: node.condition.bits(),
        type_: match node.kind {
            ConditionalKind::If => CUgraphConditionalNodeType::CU_GRAPH_COND_TYPE_IF,
            ConditionalKind::While => CUgraphConditionalNodeType::CU_GRAPH_COND_TYPE_WHILE,
            ConditionalKind::Switch => CUgraphConditionalNodeType::CU_GRAPH_COND_TYPE_SWITCH,
        },
        size: node.bodies.len() as u32,
        phGraph_out: node.shown.as_ptr().cast_mut().cast(),
        ctx: node.context.as_raw(),
    }
}

/// Writes the parameters of a node of any kind.
pub(super) fn write(world: &World, work: &NodeWork, out: Ptr<CUgraphNodeParams>) -> Status {
    let kind = work.kind();
    match work {
        NodeWork::Empty => out.write_params::<[u8; 0]>(kind, []),
        // The structs of the union have the same members as the older ones, and more of them behind these.
        NodeWork::Kernel(node) => out.write_params(kind, kernel_params(world, node)),
        NodeWork::Memory(node) => match (copy_params(node), fill_params(node)) {
            (Some(copied), _) => {
                let context = node.context.as_raw();
                let params = CUDA_MEMCPY_NODE_PARAMS { flags: 0, reserved: 0, copyCtx: context, copyParams: copied };
                out.write_params(kind, params)
            }
            (None, Some(CUDA_MEMSET_NODE_PARAMS { dst, pitch, value, elementSize, width, height })) => {
                let ctx = node.context.as_raw();
                let params = CUDA_MEMSET_NODE_PARAMS_v2 { dst, pitch, value, elementSize, width, height, ctx };
                out.write_params(kind, params)
            }
            (None, None) => Err(INVALID_VALUE),
        },
        NodeWork::Host(node) => {
            out.write_params(kind, CUDA_HOST_NODE_PARAMS { fn_: node.function, userData: node.data })
        }
        NodeWork::Child(graph) => {
            let ownership = CUgraphChildGraphNodeOwnership::CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE;
            out.write_params(kind, CUDA_CHILD_GRAPH_NODE_PARAMS { graph: graph.as_raw(), ownership })
        }
        NodeWork::RecordEvent(event) | NodeWork::WaitEvent(event) => out.write_params(kind, event.bits()),
        NodeWork::Values(node) => out.write_params(kind, values_params(node)),
        NodeWork::Alloc(node) => out.write_params(kind, alloc_params(node)),
        NodeWork::Free(address) => out.write_params(kind, *address),
        NodeWork::Conditional(node) => out.write_params(kind, conditional_params(node)),
    }
}
