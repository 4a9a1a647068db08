//! Parameters of graph nodes, as C passes them: structs with pointers inside, and the union of all of them.
#![expect(unsafe_code, reason = "reads and writes members of a C union that its type tells apart")]

use std::ffi::c_void;

use warploom_sys::types::*;

use super::plain::Plain;
use super::pointer::{ConstPtr, Ptr};
use super::status::{INVALID_VALUE, NOT_SUPPORTED, Status};

/// The parameters of a kernel node.
#[derive(Clone, Copy)]
pub(crate) struct KernelParams {
    pub(crate) params: CUDA_KERNEL_NODE_PARAMS_v2,
    pub(crate) arguments: Ptr<*mut c_void>,
    pub(crate) extra: Ptr<*mut c_void>,
}

/// The parameters of a node of stream memory operations.
#[derive(Clone, Copy)]
pub(crate) struct ValuesParams {
    pub(crate) context: CUcontext,
    pub(crate) count: u32,
    pub(crate) operations: Ptr<CUstreamBatchMemOpParams>,
    pub(crate) flags: u32,
}

/// The parameters of an allocation node.
#[derive(Clone, Copy)]
pub(crate) struct AllocParams {
    pub(crate) properties: CUmemPoolProps,
    pub(crate) access: ConstPtr<CUmemAccessDesc>,
    pub(crate) access_count: usize,
    pub(crate) bytes: usize,
}

/// The parameters of a node of any kind.
#[derive(Clone, Copy)]
pub(crate) enum NodeParams {
    Kernel(KernelParams),
    Copy { params: CUDA_MEMCPY3D, context: CUcontext },
    Fill { params: CUDA_MEMSET_NODE_PARAMS, context: CUcontext },
    Host(CUDA_HOST_NODE_PARAMS),
    Child { graph: CUgraph, ownership: CUgraphChildGraphNodeOwnership },
    Empty,
    WaitEvent(CUevent),
    RecordEvent(CUevent),
    Alloc(AllocParams),
    Free(CUdeviceptr),
    Values(ValuesParams),
    Conditional(CUDA_CONDITIONAL_NODE_PARAMS),
}

impl From<CUDA_KERNEL_NODE_PARAMS_v2> for KernelParams {
    fn from(params: CUDA_KERNEL_NODE_PARAMS_v2) -> Self {
        // SAFETY: arrays that C promised with the struct, until the call returns.
        let [arguments, extra] = [params.kernelParams, params.extra].map(|array| unsafe { Ptr::new(array) });
        Self { params, arguments, extra }
    }
}

impl From<CUDA_KERNEL_NODE_PARAMS_v1> for KernelParams {
    /// The form of CUDA 10.0 names neither a kernel nor a context.
    fn from(params: CUDA_KERNEL_NODE_PARAMS_v1) -> Self {
        let CUDA_KERNEL_NODE_PARAMS_v1 { func, sharedMemBytes, kernelParams, extra, .. } = params;
        Self::from(CUDA_KERNEL_NODE_PARAMS_v2 {
            func,
            gridDimX: params.gridDimX,
            gridDimY: params.gridDimY,
            gridDimZ: params.gridDimZ,
            blockDimX: params.blockDimX,
            blockDimY: params.blockDimY,
            blockDimZ: params.blockDimZ,
            sharedMemBytes,
            kernelParams,
            extra,
            kern: std::ptr::null_mut(),
            ctx: std::ptr::null_mut(),
        })
    }
}

impl From<CUDA_BATCH_MEM_OP_NODE_PARAMS> for ValuesParams {
    fn from(params: CUDA_BATCH_MEM_OP_NODE_PARAMS) -> Self {
        // SAFETY: an array that C promised with the struct, until the call returns.
        let operations = unsafe { Ptr::new(params.paramArray) };
        Self { context: params.ctx, count: params.count, operations, flags: params.flags }
    }
}

impl From<CUDA_MEM_ALLOC_NODE_PARAMS> for AllocParams {
    fn from(params: CUDA_MEM_ALLOC_NODE_PARAMS) -> Self {
        // SAFETY: an array that C promised with the struct, until the call returns.
        let access = unsafe { ConstPtr::new(params.accessDescs) };
        Self { properties: params.poolProps, access, access_count: params.accessDescCount, bytes: params.bytesize }
    }
}

type Kind = CUgraphNodeType;
type Union = CUgraphNodeParams_st__bindgen_ty_1;

/// Bytes before the union.
const HEAD: usize = std::mem::offset_of!(CUgraphNodeParams, __bindgen_anon_1);

/// The bytes that a kind of node uses of the union.
fn used(kind: Kind) -> Option<usize> {
    Some(match kind {
        Kind::CU_GRAPH_NODE_TYPE_KERNEL => size_of::<CUDA_KERNEL_NODE_PARAMS_v3>(),
        Kind::CU_GRAPH_NODE_TYPE_MEMCPY => size_of::<CUDA_MEMCPY_NODE_PARAMS>(),
        Kind::CU_GRAPH_NODE_TYPE_MEMSET => size_of::<CUDA_MEMSET_NODE_PARAMS_v2>(),
        Kind::CU_GRAPH_NODE_TYPE_HOST => size_of::<CUDA_HOST_NODE_PARAMS_v2>(),
        Kind::CU_GRAPH_NODE_TYPE_GRAPH => size_of::<CUDA_CHILD_GRAPH_NODE_PARAMS>(),
        Kind::CU_GRAPH_NODE_TYPE_EMPTY => 0,
        Kind::CU_GRAPH_NODE_TYPE_WAIT_EVENT => size_of::<CUDA_EVENT_WAIT_NODE_PARAMS>(),
        Kind::CU_GRAPH_NODE_TYPE_EVENT_RECORD => size_of::<CUDA_EVENT_RECORD_NODE_PARAMS>(),
        Kind::CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL => size_of::<CUDA_EXT_SEM_SIGNAL_NODE_PARAMS_v2>(),
        Kind::CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT => size_of::<CUDA_EXT_SEM_WAIT_NODE_PARAMS_v2>(),
        Kind::CU_GRAPH_NODE_TYPE_MEM_ALLOC => size_of::<CUDA_MEM_ALLOC_NODE_PARAMS_v2>(),
        Kind::CU_GRAPH_NODE_TYPE_MEM_FREE => size_of::<CUDA_MEM_FREE_NODE_PARAMS>(),
        Kind::CU_GRAPH_NODE_TYPE_BATCH_MEM_OP => size_of::<CUDA_BATCH_MEM_OP_NODE_PARAMS_v2>(),
        Kind::CU_GRAPH_NODE_TYPE_CONDITIONAL => size_of::<CUDA_CONDITIONAL_NODE_PARAMS>(),
        _ => return None,
    })
}

impl Ptr<CUgraphNodeParams> {
    /// Reads the parameters of the kind that they name. Unused bytes must be 0.
    pub(crate) fn read_params(self) -> Status<NodeParams> {
        let params = self.read()?;
        let used = used(params.type_).ok_or(INVALID_VALUE)?;
        let bytes: [u8; size_of::<CUgraphNodeParams>()] = self.part().read()?;
        let unused = bytes[size_of::<Kind>()..HEAD].iter().chain(&bytes[HEAD + used..]);
        if unused.into_iter().any(|byte| *byte != 0) {
            return Err(INVALID_VALUE);
        }
        let given = params.__bindgen_anon_1;
        // SAFETY: C fills the member of the kind; all are integers, pointers and structs of them, for which
        // every bit pattern is valid. Host functions are nullable pointers of C.
        Ok(unsafe {
            match params.type_ {
                Kind::CU_GRAPH_NODE_TYPE_KERNEL => NodeParams::Kernel(as_second(given.kernel).into()),
                Kind::CU_GRAPH_NODE_TYPE_MEMCPY if given.memcpy.flags != 0 || given.memcpy.reserved != 0 => {
                    return Err(INVALID_VALUE);
                }
                Kind::CU_GRAPH_NODE_TYPE_MEMCPY => {
                    NodeParams::Copy { params: given.memcpy.copyParams, context: given.memcpy.copyCtx }
                }
                Kind::CU_GRAPH_NODE_TYPE_MEMSET => {
                    let CUDA_MEMSET_NODE_PARAMS_v2 { dst, pitch, value, elementSize, width, height, ctx } =
                        given.memset;
                    let params = CUDA_MEMSET_NODE_PARAMS { dst, pitch, value, elementSize, width, height };
                    NodeParams::Fill { params, context: ctx }
                }
                Kind::CU_GRAPH_NODE_TYPE_HOST => {
                    let CUDA_HOST_NODE_PARAMS_v2 { fn_, userData, .. } = given.host;
                    NodeParams::Host(CUDA_HOST_NODE_PARAMS { fn_, userData })
                }
                Kind::CU_GRAPH_NODE_TYPE_GRAPH => {
                    NodeParams::Child { graph: given.graph.graph, ownership: given.graph.ownership }
                }
                Kind::CU_GRAPH_NODE_TYPE_EMPTY => NodeParams::Empty,
                Kind::CU_GRAPH_NODE_TYPE_WAIT_EVENT => NodeParams::WaitEvent(given.eventWait.event),
                Kind::CU_GRAPH_NODE_TYPE_EVENT_RECORD => NodeParams::RecordEvent(given.eventRecord.event),
                Kind::CU_GRAPH_NODE_TYPE_MEM_ALLOC => NodeParams::Alloc(as_first(given.alloc).into()),
                Kind::CU_GRAPH_NODE_TYPE_MEM_FREE => NodeParams::Free(given.free.dptr),
                Kind::CU_GRAPH_NODE_TYPE_BATCH_MEM_OP => {
                    let CUDA_BATCH_MEM_OP_NODE_PARAMS_v2 { ctx, count, paramArray, flags } = given.memOp;
                    NodeParams::Values(CUDA_BATCH_MEM_OP_NODE_PARAMS { ctx, count, paramArray, flags }.into())
                }
                Kind::CU_GRAPH_NODE_TYPE_CONDITIONAL => NodeParams::Conditional(given.conditional),
                _ => return Err(NOT_SUPPORTED),
            }
        })
    }

    /// The member of a kind that the caller fills or has filled.
    pub(crate) fn member<T: Plain>(self) -> Ptr<T> {
        self.behind(HEAD)
    }

    /// Writes the parameters of a kind of node; unused bytes are 0.
    pub(crate) fn write_params<T: Plain>(self, kind: Kind, member: T) -> Status {
        let union = Union { reserved1: [0; 29] };
        let params = CUgraphNodeParams { type_: kind, reserved0: [0; 3], __bindgen_anon_1: union, reserved2: 0 };
        self.write(params)?;
        self.member().write(member)
    }
}

/// The second version of a kernel's parameters, from the third, which has the same members.
fn as_second(given: CUDA_KERNEL_NODE_PARAMS_v3) -> CUDA_KERNEL_NODE_PARAMS_v2 {
    CUDA_KERNEL_NODE_PARAMS_v2 {
        func: given.func,
        gridDimX: given.gridDimX,
        gridDimY: given.gridDimY,
        gridDimZ: given.gridDimZ,
        blockDimX: given.blockDimX,
        blockDimY: given.blockDimY,
        blockDimZ: given.blockDimZ,
        sharedMemBytes: given.sharedMemBytes,
        kernelParams: given.kernelParams,
        extra: given.extra,
        kern: given.kern,
        ctx: given.ctx,
    }
}

/// The first version of an allocation's parameters, from the second, which has the same members.
fn as_first(given: CUDA_MEM_ALLOC_NODE_PARAMS_v2) -> CUDA_MEM_ALLOC_NODE_PARAMS {
    CUDA_MEM_ALLOC_NODE_PARAMS {
        poolProps: given.poolProps,
        accessDescs: given.accessDescs,
        accessDescCount: given.accessDescCount,
        bytesize: given.bytesize,
        dptr: given.dptr,
    }
}
