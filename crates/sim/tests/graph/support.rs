//! A context with memory and kernels, and graphs that are destroyed when they are dropped.
#![expect(unsafe_code, reason = "C structs are filled with zeros")]

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use warploom_testkit::driver::Driver;
use warploom_testkit::sys::types::*;
use warploom_testkit::{Primary, TestResult, call};

/// Bytes of [`Stage::memory`].
pub(crate) const BYTES: usize = 1 << 20;

const KERNELS: &std::ffi::CStr = c".version 7.0
.target sm_70
.address_size 64
.visible .entry nothing() { ret; }
.visible .entry store(.param .u64 to, .param .u32 value) {
  .reg .u64 %rd<3>; .reg .u32 %r<2>;
  ld.param.u64 %rd1, [to]; ld.param.u32 %r1, [value];
  cvta.to.global.u64 %rd2, %rd1; st.global.u32 [%rd2], %r1; ret;
}
";

/// A C struct of zeros.
pub(crate) fn zeroed<T>() -> T {
    // SAFETY: only used for C structs of numbers and pointers, for which zeros are values.
    unsafe { std::mem::zeroed() }
}

/// A context, memory, and a module with kernels.
pub(crate) struct Stage<'d> {
    pub(crate) driver: &'d Driver,
    pub(crate) primary: Primary,
    pub(crate) memory: CUdeviceptr,
    module: CUmodule,
}

impl<'d> Stage<'d> {
    pub(crate) fn new(driver: &'d Driver) -> TestResult<Self> {
        let primary = Primary::of(driver, 0)?;
        let (mut memory, mut module) = (0, null_mut());
        call!(driver.cuMemAlloc_v2(&mut memory, BYTES))?;
        call!(driver.cuMemsetD8_v2(memory, 0, BYTES))?;
        call!(driver.cuModuleLoadData(&mut module, KERNELS.as_ptr().cast()))?;
        Ok(Self { driver, primary, memory, module })
    }

    pub(crate) fn context(&self) -> CUcontext {
        self.primary.context
    }

    pub(crate) fn function(&self, name: &std::ffi::CStr) -> TestResult<CUfunction> {
        let (driver, mut function) = (self.driver, null_mut());
        call!(driver.cuModuleGetFunction(&mut function, self.module, name.as_ptr()))?;
        Ok(function)
    }

    pub(crate) fn graph(&self) -> TestResult<Graph<'d>> {
        let (driver, mut raw) = (self.driver, null_mut());
        call!(driver.cuGraphCreate(&mut raw, 0))?;
        Ok(Graph { driver, raw })
    }

    /// The parameters of a launch of one thread.
    pub(crate) fn launch(
        &self,
        name: &std::ffi::CStr,
        arguments: &mut [*mut c_void],
    ) -> TestResult<CUDA_KERNEL_NODE_PARAMS_v2> {
        Ok(CUDA_KERNEL_NODE_PARAMS_v2 {
            func: self.function(name)?,
            gridDimX: 1,
            gridDimY: 1,
            gridDimZ: 1,
            blockDimX: 1,
            blockDimY: 1,
            blockDimZ: 1,
            kernelParams: if arguments.is_empty() { null_mut() } else { arguments.as_mut_ptr() },
            ..zeroed()
        })
    }

    /// A fill of one byte each.
    pub(crate) fn fill(&self, offset: u64, value: u32, width: usize) -> CUDA_MEMSET_NODE_PARAMS {
        CUDA_MEMSET_NODE_PARAMS { dst: self.memory + offset, pitch: 0, value, elementSize: 1, width, height: 1 }
    }

    /// A copy within the memory.
    pub(crate) fn copy(&self, to: u64, from: u64, bytes: usize) -> CUDA_MEMCPY3D {
        CUDA_MEMCPY3D {
            srcMemoryType: CUmemorytype::CU_MEMORYTYPE_DEVICE,
            srcDevice: self.memory + from,
            dstMemoryType: CUmemorytype::CU_MEMORYTYPE_DEVICE,
            dstDevice: self.memory + to,
            WidthInBytes: bytes,
            Height: 1,
            Depth: 1,
            ..zeroed()
        }
    }

    /// A copy of host bytes to the memory.
    pub(crate) fn upload(&self, to: u64, from: &[u8]) -> CUDA_MEMCPY3D {
        CUDA_MEMCPY3D {
            srcMemoryType: CUmemorytype::CU_MEMORYTYPE_HOST,
            srcHost: from.as_ptr().cast(),
            srcDevice: 0,
            ..self.copy(to, 0, from.len())
        }
    }

    pub(crate) fn event(&self) -> TestResult<CUevent> {
        let (driver, mut event) = (self.driver, null_mut());
        call!(driver.cuEventCreate(&mut event, 0))?;
        Ok(event)
    }

    /// The first words of the memory.
    pub(crate) fn words<const N: usize>(&self) -> TestResult<[u32; N]> {
        let (driver, mut words) = (self.driver, [0; N]);
        call!(driver.cuMemcpyDtoH_v2(words.as_mut_ptr().cast(), self.memory, size_of_val(&words)))?;
        Ok(words)
    }
}

impl Drop for Stage<'_> {
    fn drop(&mut self) {
        let driver = self.driver;
        if !std::thread::panicking() {
            call!(driver.cuCtxSynchronize()).expect("nothing failed");
            call!(driver.cuModuleUnload(self.module)).expect("a module");
            call!(driver.cuMemFree_v2(self.memory)).expect("memory");
        }
    }
}

/// The parameters of a child graph node that becomes the owner of a graph.
pub(crate) fn moved(inner: CUgraph) -> CUgraphNodeParams {
    let mut params: CUgraphNodeParams = zeroed();
    params.type_ = CUgraphNodeType::CU_GRAPH_NODE_TYPE_GRAPH;
    params.__bindgen_anon_1.graph = CUDA_CHILD_GRAPH_NODE_PARAMS {
        graph: inner,
        ownership: CUgraphChildGraphNodeOwnership::CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE,
    };
    params
}

/// A graph, destroyed when it is dropped.
pub(crate) struct Graph<'d> {
    pub(crate) driver: &'d Driver,
    pub(crate) raw: CUgraph,
}

impl<'d> Graph<'d> {
    /// A node that does nothing, behind others.
    pub(crate) fn empty(&self, after: &[CUgraphNode]) -> TestResult<CUgraphNode> {
        let (driver, mut node) = (self.driver, null_mut());
        let list = if after.is_empty() { null() } else { after.as_ptr() };
        call!(driver.cuGraphAddEmptyNode(&mut node, self.raw, list, after.len()))?;
        Ok(node)
    }

    pub(crate) fn kernel(&self, params: &CUDA_KERNEL_NODE_PARAMS_v2, after: &[CUgraphNode]) -> TestResult<CUgraphNode> {
        let (driver, mut node) = (self.driver, null_mut());
        call!(driver.cuGraphAddKernelNode_v2(&mut node, self.raw, after.as_ptr(), after.len(), params))?;
        Ok(node)
    }

    pub(crate) fn fill(
        &self,
        params: &CUDA_MEMSET_NODE_PARAMS,
        context: CUcontext,
        after: &[CUgraphNode],
    ) -> TestResult<CUgraphNode> {
        let (driver, mut node) = (self.driver, null_mut());
        call!(driver.cuGraphAddMemsetNode(&mut node, self.raw, after.as_ptr(), after.len(), params, context))?;
        Ok(node)
    }

    pub(crate) fn copy(
        &self,
        params: &CUDA_MEMCPY3D,
        context: CUcontext,
        after: &[CUgraphNode],
    ) -> TestResult<CUgraphNode> {
        let (driver, mut node) = (self.driver, null_mut());
        call!(driver.cuGraphAddMemcpyNode(&mut node, self.raw, after.as_ptr(), after.len(), params, context))?;
        Ok(node)
    }

    pub(crate) fn child(&self, inner: CUgraph, after: &[CUgraphNode]) -> TestResult<CUgraphNode> {
        let (driver, mut node) = (self.driver, null_mut());
        call!(driver.cuGraphAddChildGraphNode(&mut node, self.raw, after.as_ptr(), after.len(), inner))?;
        Ok(node)
    }

    /// Moves a graph into a new node.
    pub(crate) fn move_in(&self, inner: Graph<'_>, after: &[CUgraphNode]) -> TestResult<CUgraphNode> {
        let (driver, mut node, mut params) = (self.driver, null_mut(), moved(inner.raw));
        call!(driver.cuGraphAddNode_v2(&mut node, self.raw, after.as_ptr(), null(), after.len(), &mut params))?;
        std::mem::forget(inner);
        Ok(node)
    }

    /// The number of its nodes and edges.
    pub(crate) fn counts(&self) -> TestResult<(usize, usize)> {
        let (driver, mut nodes, mut edges) = (self.driver, 0, 0);
        call!(driver.cuGraphGetNodes(self.raw, null_mut(), &mut nodes))?;
        call!(driver.cuGraphGetEdges(self.raw, null_mut(), null_mut(), &mut edges))?;
        Ok((nodes, edges))
    }

    pub(crate) fn instantiate(&self) -> TestResult<Executable<'d>> {
        self.instantiate_with(0)
    }

    pub(crate) fn instantiate_with(&self, flags: u64) -> TestResult<Executable<'d>> {
        let (driver, mut raw) = (self.driver, null_mut());
        call!(driver.cuGraphInstantiateWithFlags(&mut raw, self.raw, flags))?;
        Ok(Executable { driver, raw })
    }
}

impl Drop for Graph<'_> {
    fn drop(&mut self) {
        let driver = self.driver;
        if !std::thread::panicking() {
            call!(driver.cuGraphDestroy(self.raw)).expect("it is a graph");
        }
    }
}

/// An executable graph, destroyed when it is dropped.
pub(crate) struct Executable<'d> {
    driver: &'d Driver,
    pub(crate) raw: CUgraphExec,
}

impl Executable<'_> {
    /// Launches it and waits for the end.
    pub(crate) fn run(&self) -> TestResult {
        let driver = self.driver;
        call!(driver.cuGraphLaunch(self.raw, null_mut()))?;
        Ok(call!(driver.cuCtxSynchronize())?)
    }
}

impl Drop for Executable<'_> {
    fn drop(&mut self) {
        let driver = self.driver;
        if !std::thread::panicking() {
            call!(driver.cuGraphExecDestroy(self.raw)).expect("it is an executable graph");
        }
    }
}

pub(crate) fn kind_of(driver: &Driver, node: CUgraphNode) -> TestResult<CUgraphNodeType> {
    let mut kind = CUgraphNodeType(99);
    call!(driver.cuGraphNodeGetType(node, &mut kind))?;
    Ok(kind)
}
