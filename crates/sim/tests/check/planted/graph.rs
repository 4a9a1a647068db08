//! A graph that a program builds node by node.
#![expect(unsafe_code, reason = "parameters of nodes are structures of C, filled with zeros")]

use std::ffi::CStr;
use std::ptr::{null, null_mut};

use warploom_testkit::driver::Error;
use warploom_testkit::sys::types::{
    CUDA_CONDITIONAL_NODE_PARAMS, CUDA_KERNEL_NODE_PARAMS_v2, CUDA_MEM_ALLOC_NODE_PARAMS, CUDA_MEMCPY3D,
    CUDA_MEMSET_NODE_PARAMS, CUfunction, CUgraph, CUgraphConditionalNodeType, CUgraphExec, CUgraphNode,
    CUgraphNodeParams, CUgraphNodeType, CUmemAllocationType, CUmemLocationType, CUmemorytype,
};
use warploom_testkit::{TestResult, call};

use super::bench::{Bench, Event, Stream};

/// Writes the word that its argument points to.
pub(crate) const STORE: &CStr = c".version 7.0
.target sm_70
.address_size 64
.visible .entry store(.param .u64 word)
{
    .reg .u64 %a;
    ld.param.u64 %a, [word];
    st.global.u32 [%a], 1;
    ret;
}
";

/// A graph; its nodes have the numbers 0, 1, 2 in the order in which they are added.
pub(crate) struct Graph<'b> {
    bench: &'b Bench,
    raw: CUgraph,
}

impl<'b> Graph<'b> {
    pub(crate) fn new(bench: &'b Bench) -> TestResult<Self> {
        let (driver, mut raw) = (&bench.driver, null_mut());
        call!(driver.cuGraphCreate(&mut raw, 0))?;
        bench.own_graph(raw);
        Ok(Self { bench, raw })
    }

    /// Writes bytes.
    pub(crate) fn fill(&self, to: u64, bytes: usize, after: &[CUgraphNode]) -> Result<CUgraphNode, Error> {
        let given = CUDA_MEMSET_NODE_PARAMS { dst: to, pitch: 0, value: 7, elementSize: 1, width: bytes, height: 1 };
        let (driver, mut node, context) = (&self.bench.driver, null_mut(), self.bench.context());
        call!(driver.cuGraphAddMemsetNode(&mut node, self.raw, after.as_ptr(), after.len(), &given, context))?;
        Ok(node)
    }

    /// Writes a word.
    pub(crate) fn fill_word(&self, to: u64, value: u32, after: &[CUgraphNode]) -> Result<CUgraphNode, Error> {
        let given = CUDA_MEMSET_NODE_PARAMS { dst: to, pitch: 0, value, elementSize: 4, width: 1, height: 1 };
        let (driver, mut node, context) = (&self.bench.driver, null_mut(), self.bench.context());
        call!(driver.cuGraphAddMemsetNode(&mut node, self.raw, after.as_ptr(), after.len(), &given, context))?;
        Ok(node)
    }

    /// Copies bytes from device memory to device memory.
    pub(crate) fn copy(&self, to: u64, from: u64, bytes: usize, after: &[CUgraphNode]) -> Result<CUgraphNode, Error> {
        // SAFETY: of integers and pointers, for all of which zero is a value.
        let mut given: CUDA_MEMCPY3D = unsafe { std::mem::zeroed() };
        (given.srcMemoryType, given.srcDevice) = (CUmemorytype::CU_MEMORYTYPE_DEVICE, from);
        (given.dstMemoryType, given.dstDevice) = (CUmemorytype::CU_MEMORYTYPE_DEVICE, to);
        (given.WidthInBytes, given.Height, given.Depth) = (bytes, 1, 1);
        let (driver, mut node, context) = (&self.bench.driver, null_mut(), self.bench.context());
        call!(driver.cuGraphAddMemcpyNode(&mut node, self.raw, after.as_ptr(), after.len(), &given, context))?;
        Ok(node)
    }

    /// Runs a kernel of one thread, which has a pointer for its argument.
    pub(crate) fn kernel(&self, kernel: CUfunction, to: u64, after: &[CUgraphNode]) -> Result<CUgraphNode, Error> {
        self.kernel_with(kernel, &mut [to], after)
    }

    /// Runs a kernel of one thread, which has so many arguments of 8 bytes.
    pub(crate) fn kernel_with(
        &self,
        kernel: CUfunction,
        values: &mut [u64],
        after: &[CUgraphNode],
    ) -> Result<CUgraphNode, Error> {
        let mut arguments: Vec<_> = values.iter_mut().map(|value| (&raw mut *value).cast()).collect();
        let given = CUDA_KERNEL_NODE_PARAMS_v2 {
            func: kernel,
            gridDimX: 1,
            gridDimY: 1,
            gridDimZ: 1,
            blockDimX: 1,
            blockDimY: 1,
            blockDimZ: 1,
            sharedMemBytes: 0,
            kernelParams: arguments.as_mut_ptr(),
            extra: null_mut(),
            kern: null_mut(),
            ctx: null_mut(),
        };
        let (driver, mut node) = (&self.bench.driver, null_mut());
        call!(driver.cuGraphAddKernelNode_v2(&mut node, self.raw, after.as_ptr(), after.len(), &given))?;
        Ok(node)
    }

    /// A conditional node whose condition is true at each launch, and its body.
    pub(crate) fn body(&self, after: &[CUgraphNode]) -> Result<(CUgraphNode, Graph<'b>), Error> {
        let (node, _, body) = self.conditional(CUgraphConditionalNodeType::CU_GRAPH_COND_TYPE_IF, after)?;
        Ok((node, body))
    }

    /// A loop whose condition is true at each launch, the condition, and its body.
    pub(crate) fn looped(&self, after: &[CUgraphNode]) -> Result<(CUgraphNode, u64, Graph<'b>), Error> {
        self.conditional(CUgraphConditionalNodeType::CU_GRAPH_COND_TYPE_WHILE, after)
    }

    fn conditional(
        &self,
        kind: CUgraphConditionalNodeType,
        after: &[CUgraphNode],
    ) -> Result<(CUgraphNode, u64, Graph<'b>), Error> {
        let (bench, mut handle, mut node) = (self.bench, 0, null_mut());
        let (driver, context) = (&bench.driver, bench.context());
        let assign = 1;
        call!(driver.cuGraphConditionalHandleCreate(&mut handle, self.raw, context, 1, assign))?;
        // SAFETY: of integers and pointers, for all of which zero is a value.
        let mut given: CUgraphNodeParams = unsafe { std::mem::zeroed() };
        given.type_ = CUgraphNodeType::CU_GRAPH_NODE_TYPE_CONDITIONAL;
        given.__bindgen_anon_1.conditional =
            CUDA_CONDITIONAL_NODE_PARAMS { handle, type_: kind, size: 1, phGraph_out: null_mut(), ctx: context };
        call!(driver.cuGraphAddNode_v2(&mut node, self.raw, after.as_ptr(), null(), after.len(), &mut given))?;
        // SAFETY: the driver has set an array of one body, which lives as long as the node.
        let raw = unsafe { *given.__bindgen_anon_1.conditional.phGraph_out };
        Ok((node, handle, Graph { bench, raw }))
    }

    /// Does nothing, behind others.
    pub(crate) fn join(&self, after: &[CUgraphNode]) -> Result<CUgraphNode, Error> {
        let (driver, mut node) = (&self.bench.driver, null_mut());
        call!(driver.cuGraphAddEmptyNode(&mut node, self.raw, after.as_ptr(), after.len()))?;
        Ok(node)
    }

    pub(crate) fn record(&self, event: Event, after: &[CUgraphNode]) -> Result<CUgraphNode, Error> {
        let (driver, mut node) = (&self.bench.driver, null_mut());
        call!(driver.cuGraphAddEventRecordNode(&mut node, self.raw, after.as_ptr(), after.len(), event.raw()))?;
        Ok(node)
    }

    pub(crate) fn wait(&self, event: Event, after: &[CUgraphNode]) -> Result<CUgraphNode, Error> {
        let (driver, mut node) = (&self.bench.driver, null_mut());
        call!(driver.cuGraphAddEventWaitNode(&mut node, self.raw, after.as_ptr(), after.len(), event.raw()))?;
        Ok(node)
    }

    /// A copy of another graph as a node.
    pub(crate) fn child(&self, graph: &Graph<'_>, after: &[CUgraphNode]) -> Result<CUgraphNode, Error> {
        let (driver, mut node) = (&self.bench.driver, null_mut());
        call!(driver.cuGraphAddChildGraphNode(&mut node, self.raw, after.as_ptr(), after.len(), graph.raw))?;
        Ok(node)
    }

    /// Allocates memory at each launch; gives its address, too.
    pub(crate) fn alloc(&self, bytes: usize, after: &[CUgraphNode]) -> Result<(CUgraphNode, u64), Error> {
        // SAFETY: of integers and pointers, for all of which zero is a value.
        let mut given: CUDA_MEM_ALLOC_NODE_PARAMS = unsafe { std::mem::zeroed() };
        given.poolProps.allocType = CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED;
        given.poolProps.location.type_ = CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE;
        given.bytesize = bytes;
        let (driver, mut node) = (&self.bench.driver, null_mut());
        call!(driver.cuGraphAddMemAllocNode(&mut node, self.raw, after.as_ptr(), after.len(), &mut given))?;
        Ok((node, self.bench.name(given.dptr)))
    }

    pub(crate) fn free(&self, address: u64, after: &[CUgraphNode]) -> Result<CUgraphNode, Error> {
        let (driver, mut node) = (&self.bench.driver, null_mut());
        call!(driver.cuGraphAddMemFreeNode(&mut node, self.raw, after.as_ptr(), after.len(), address))?;
        Ok(node)
    }

    /// Adds an edge.
    pub(crate) fn order(&self, first: CUgraphNode, second: CUgraphNode) -> Result<(), Error> {
        let driver = &self.bench.driver;
        call!(driver.cuGraphAddDependencies_v2(self.raw, &first, &second, null(), 1))
    }

    /// Removes an edge.
    pub(crate) fn disorder(&self, first: CUgraphNode, second: CUgraphNode) -> Result<(), Error> {
        let driver = &self.bench.driver;
        call!(driver.cuGraphRemoveDependencies_v2(self.raw, &first, &second, null(), 1))
    }

    pub(crate) fn instantiate(&self) -> TestResult<Executable<'b>> {
        let (driver, mut raw) = (&self.bench.driver, null_mut());
        call!(driver.cuGraphInstantiateWithFlags(&mut raw, self.raw, 0))?;
        self.bench.own_executable(raw);
        Ok(Executable { bench: self.bench, raw })
    }

    /// Instantiates it and launches it once.
    pub(crate) fn launch(&self, stream: Stream) -> TestResult {
        Ok(self.instantiate()?.launch(stream)?)
    }
}

/// An instantiated graph.
pub(crate) struct Executable<'b> {
    bench: &'b Bench,
    raw: CUgraphExec,
}

impl Executable<'_> {
    pub(crate) fn launch(&self, stream: Stream) -> Result<(), Error> {
        let driver = &self.bench.driver;
        call!(driver.cuGraphLaunch(self.raw, stream.raw()))
    }

    pub(crate) fn upload(&self, stream: Stream) -> Result<(), Error> {
        let driver = &self.bench.driver;
        call!(driver.cuGraphUpload(self.raw, stream.raw()))
    }
}
