//! Conditions that kernels of a graph set, and the bodies that run for them.
#![expect(unsafe_code, reason = "parameters of nodes are a union of C")]

use std::ffi::CString;
use std::ptr::{null, null_mut};

use warploom_testkit::driver::Driver;
use warploom_testkit::sys::types::*;
use warploom_testkit::{Primary, TestResult, answers, call, driver_tests};

const IF: CUgraphConditionalNodeType = CUgraphConditionalNodeType::CU_GRAPH_COND_TYPE_IF;
const WHILE: CUgraphConditionalNodeType = CUgraphConditionalNodeType::CU_GRAPH_COND_TYPE_WHILE;
const SWITCH: CUgraphConditionalNodeType = CUgraphConditionalNodeType::CU_GRAPH_COND_TYPE_SWITCH;

/// `CU_GRAPH_COND_ASSIGN_DEFAULT`: a launch gives the condition its default value.
const ASSIGN: u32 = 1;

/// Adds 1 to the word that its argument points to.
const INCREMENT: &str = "
.visible .entry increment(.param .u64 word)
{
    .reg .u64 %a;
    .reg .u32 %v;
    ld.param.u64 %a, [word];
    ld.global.u32 %v, [%a];
    add.u32 %v, %v, 1;
    st.global.u32 [%a], %v;
    ret;
}
";

/// A graph, words of memory, and the kernels that its nodes run.
struct Stage<'d> {
    driver: &'d Driver,
    primary: Primary,
    module: CUmodule,
    count_down: CUfunction,
    set_conditions: CUfunction,
    increment: CUfunction,
    graph: CUgraph,
    words: CUdeviceptr,
}

/// Words of [`Stage::words`].
const WORDS: usize = 64;

impl<'d> Stage<'d> {
    fn new(driver: &'d Driver) -> TestResult<Self> {
        let primary = Primary::of(driver, 0)?;
        let text = include_str!("../../ptx/kernels/ptx/compute_75/conditions.ptx");
        let text = CString::new(text.replacen(".version 9.4", ".version 9.0", 1) + INCREMENT)?;
        let (mut module, mut graph, mut words) = (null_mut(), null_mut(), 0);
        call!(driver.cuModuleLoadData(&mut module, text.as_ptr().cast()))?;
        let function = |name: &std::ffi::CStr| {
            let mut function = null_mut();
            call!(driver.cuModuleGetFunction(&mut function, module, name.as_ptr())).map(|()| function)
        };
        let (count_down, set_conditions, increment) =
            (function(c"count_down")?, function(c"set_conditions")?, function(c"increment")?);
        call!(driver.cuGraphCreate(&mut graph, 0))?;
        call!(driver.cuMemAlloc_v2(&mut words, WORDS * 4))?;
        Ok(Self { driver, primary, module, count_down, set_conditions, increment, graph, words })
    }

    /// The address of a word.
    fn word(&self, index: u64) -> CUdeviceptr {
        self.words + index * 4
    }

    /// Gives words their values, in front of a launch.
    fn write(&self, values: &[u32]) -> TestResult {
        let driver = self.driver;
        Ok(call!(driver.cuMemcpyHtoD_v2(self.words, values.as_ptr().cast(), values.len() * 4))?)
    }

    fn read<const N: usize>(&self) -> TestResult<[u32; N]> {
        let (driver, mut values) = (self.driver, [0; N]);
        call!(driver.cuMemcpyDtoH_v2(values.as_mut_ptr().cast(), self.words, N * 4))?;
        Ok(values)
    }

    fn condition(&self, graph: CUgraph, default: u32, flags: u32) -> TestResult<u64> {
        let (driver, mut handle) = (self.driver, 0);
        call!(driver.cuGraphConditionalHandleCreate(&mut handle, graph, self.primary.context, default, flags))?;
        Ok(handle)
    }

    /// A conditional node; gives it with its bodies.
    fn choice(
        &self,
        graph: CUgraph,
        condition: u64,
        (kind, size): (CUgraphConditionalNodeType, u32),
        after: &[CUgraphNode],
    ) -> TestResult<(CUgraphNode, Vec<CUgraph>)> {
        // SAFETY: of integers and pointers, for all of which zero is a value.
        let mut given: CUgraphNodeParams = unsafe { std::mem::zeroed() };
        given.type_ = CUgraphNodeType::CU_GRAPH_NODE_TYPE_CONDITIONAL;
        given.__bindgen_anon_1.conditional = CUDA_CONDITIONAL_NODE_PARAMS {
            handle: condition,
            type_: kind,
            size,
            phGraph_out: null_mut(),
            ctx: self.primary.context,
        };
        let (driver, mut node) = (self.driver, null_mut());
        call!(driver.cuGraphAddNode_v2(&mut node, graph, after.as_ptr(), null(), after.len(), &mut given))?;
        // SAFETY: the driver has set an array of as many bodies, which lives as long as the node.
        let bodies = unsafe {
            let bodies = given.__bindgen_anon_1.conditional.phGraph_out;
            std::slice::from_raw_parts(bodies, size as usize)
        };
        Ok((node, bodies.to_vec()))
    }

    /// A kernel of one thread.
    fn kernel(
        &self,
        graph: CUgraph,
        function: CUfunction,
        arguments: &mut [u64],
        after: &[CUgraphNode],
    ) -> TestResult<CUgraphNode> {
        let mut pointers: Vec<*mut std::ffi::c_void> =
            arguments.iter_mut().map(|argument| (&raw mut *argument).cast()).collect();
        let given = CUDA_KERNEL_NODE_PARAMS_v2 {
            func: function,
            gridDimX: 1,
            gridDimY: 1,
            gridDimZ: 1,
            blockDimX: 1,
            blockDimY: 1,
            blockDimZ: 1,
            sharedMemBytes: 0,
            kernelParams: pointers.as_mut_ptr(),
            extra: null_mut(),
            kern: null_mut(),
            ctx: null_mut(),
        };
        let (driver, mut node) = (self.driver, null_mut());
        call!(driver.cuGraphAddKernelNode_v2(&mut node, graph, after.as_ptr(), after.len(), &given))?;
        Ok(node)
    }

    /// Adds 1 to a word.
    fn increment(&self, graph: CUgraph, word: u64, after: &[CUgraphNode]) -> TestResult<CUgraphNode> {
        self.kernel(graph, self.increment, &mut [self.word(word)], after)
    }

    /// Takes 1 from a word, and sets a condition to the rest.
    fn count_down(&self, graph: CUgraph, condition: u64, word: u64, after: &[CUgraphNode]) -> TestResult<CUgraphNode> {
        self.kernel(graph, self.count_down, &mut [condition, self.word(word)], after)
    }

    fn instantiate(&self) -> TestResult<CUgraphExec> {
        let (driver, mut executable) = (self.driver, null_mut());
        call!(driver.cuGraphInstantiateWithFlags(&mut executable, self.graph, 0))?;
        Ok(executable)
    }

    fn launch(&self, executable: CUgraphExec) -> TestResult {
        let driver = self.driver;
        call!(driver.cuGraphLaunch(executable, null_mut()))?;
        Ok(call!(driver.cuCtxSynchronize())?)
    }

    /// The stage after its graph was destroyed.
    fn without_graph(self) -> Self {
        Self { graph: null_mut(), ..self }
    }

    fn end(self, executable: CUgraphExec) -> TestResult {
        let driver = self.driver;
        call!(driver.cuGraphExecDestroy(executable))?;
        if !self.graph.is_null() {
            call!(driver.cuGraphDestroy(self.graph))?;
        }
        call!(driver.cuMemFree_v2(self.words))?;
        Ok(call!(driver.cuModuleUnload(self.module))?)
    }
}

/// Adds a copy of a word.
fn copy_word(stage: &Stage<'_>, from: CUdeviceptr, to: CUdeviceptr, after: &[CUgraphNode]) -> TestResult<CUgraphNode> {
    // SAFETY: of integers and pointers, for all of which zero is a value.
    let mut params: CUDA_MEMCPY3D = unsafe { std::mem::zeroed() };
    let device = CUmemorytype::CU_MEMORYTYPE_DEVICE;
    (params.srcMemoryType, params.dstMemoryType, params.srcDevice, params.dstDevice) = (device, device, from, to);
    (params.WidthInBytes, params.Height, params.Depth) = (4, 1, 1);
    let (driver, mut node) = (stage.driver, null_mut());
    let (graph, context) = (stage.graph, stage.primary.context);
    call!(driver.cuGraphAddMemcpyNode(&mut node, graph, after.as_ptr(), after.len(), &params, context))?;
    Ok(node)
}

/// The parameters of an allocation of 64 bytes.
fn allocation() -> CUDA_MEM_ALLOC_NODE_PARAMS {
    // SAFETY: of integers and pointers, for all of which zero is a value.
    let mut params: CUDA_MEM_ALLOC_NODE_PARAMS = unsafe { std::mem::zeroed() };
    params.poolProps.allocType = CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED;
    params.poolProps.location = CUmemLocation::new(CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, 0);
    params.bytesize = 64;
    params
}

driver_tests! {
    /// The memory is freed for calls before a body is chosen, and behind the node in order.
    fn kernels_in_bodies_use_memory_that_their_graph_frees(driver) {
        let stage = Stage::new(driver)?;
        let (mut alloc, mut free, mut params) = (null_mut(), null_mut(), allocation());
        call!(driver.cuGraphAddMemAllocNode(&mut alloc, stage.graph, null(), 0, &mut params))?;
        let clear = CUDA_MEMSET_NODE_PARAMS {
            dst: params.dptr, pitch: 0, value: 5, elementSize: 4, width: 1, height: 1,
        };
        let (context, mut cleared) = (stage.primary.context, null_mut());
        call!(driver.cuGraphAddMemsetNode(&mut cleared, stage.graph, [alloc].as_ptr(), 1, &clear, context))?;
        let [outer, inner] = [(); 2].map(|()| stage.condition(stage.graph, 1, ASSIGN));
        let (node, bodies) = stage.choice(stage.graph, outer?, (IF, 1), &[cleared])?;
        let first = stage.kernel(bodies[0], stage.increment, &mut [params.dptr], &[])?;
        let (_, bodies) = stage.choice(bodies[0], inner?, (IF, 1), &[first])?;
        stage.kernel(bodies[0], stage.increment, &mut [params.dptr], &[])?;
        let copied = copy_word(&stage, params.dptr, stage.word(0), &[node])?;
        call!(driver.cuGraphAddMemFreeNode(&mut free, stage.graph, [copied].as_ptr(), 1, params.dptr))?;
        let executable = stage.instantiate()?;
        for _ in 0..3 {
            stage.write(&[0])?;
            stage.launch(executable)?;
            assert_eq!(stage.read()?, [7]);
        }
        stage.end(executable)?;
    }

    /// A free behind a launch comes after the bodies that are not chosen yet.
    fn kernels_in_bodies_use_memory_that_is_freed_behind_the_launch(driver) {
        let stage = Stage::new(driver)?;
        let (mut stream, mut memory) = (null_mut(), 0);
        call!(driver.cuStreamCreate(&mut stream, 1))?;
        call!(driver.cuMemAllocAsync(&mut memory, 64, stream))?;
        call!(driver.cuMemsetD32Async(memory, 6, 16, stream))?;
        let condition = stage.condition(stage.graph, 1, ASSIGN)?;
        let (node, bodies) = stage.choice(stage.graph, condition, (IF, 1), &[])?;
        stage.kernel(bodies[0], stage.increment, &mut [memory], &[])?;
        copy_word(&stage, memory, stage.word(0), &[node])?;
        let executable = stage.instantiate()?;
        stage.write(&[0, 0])?;
        // Word 1 holds the stream until the free has been called.
        call!(driver.cuStreamWaitValue32_v2(stream, stage.word(1), 1, 0))?;
        call!(driver.cuGraphLaunch(executable, stream))?;
        call!(driver.cuMemFreeAsync(memory, stream))?;
        let mut other = null_mut();
        call!(driver.cuStreamCreate(&mut other, 1))?;
        call!(driver.cuStreamWriteValue32_v2(other, stage.word(1), 1, 0))?;
        call!(driver.cuStreamSynchronize(other))?;
        call!(driver.cuStreamSynchronize(stream))?;
        assert_eq!(stage.read()?, [7]);
        call!(driver.cuStreamDestroy_v2(other))?;
        call!(driver.cuStreamDestroy_v2(stream))?;
        stage.end(executable)?;
    }

    fn a_loop_runs_until_its_kernel_ends_it(driver) {
        let stage = Stage::new(driver)?;
        let condition = stage.condition(stage.graph, 1, ASSIGN)?;
        let (node, bodies) = stage.choice(stage.graph, condition, (WHILE, 1), &[])?;
        let counted = stage.increment(bodies[0], 0, &[])?;
        stage.count_down(bodies[0], condition, 1, &[counted])?;
        stage.increment(stage.graph, 2, &[node])?;
        let executable = stage.instantiate()?;
        // The executable has what it needs.
        call!(driver.cuGraphDestroy(stage.graph))?;
        for turns in [5, 1, 3] {
            stage.write(&[0, turns, 0])?;
            stage.launch(executable)?;
            assert_eq!(stage.read()?, [turns, 0, 1], "turns, what is left, and what comes behind the loop");
        }
        stage.without_graph().end(executable)?;
    }

    fn a_choice_runs_the_body_that_a_kernel_before_it_asks_for(driver) {
        let stage = Stage::new(driver)?;
        let (first, second) = (stage.condition(stage.graph, 0, ASSIGN)?, stage.condition(stage.graph, 0, ASSIGN)?);
        // Handles in words 8 to 11, values in words 12 and 13.
        let mut arguments = [stage.word(8), stage.word(12), 1];
        let before = stage.kernel(stage.graph, stage.set_conditions, &mut arguments, &[])?;
        arguments = [stage.word(10), stage.word(13), 1];
        let too = stage.kernel(stage.graph, stage.set_conditions, &mut arguments, &[])?;
        let (_, bodies) = stage.choice(stage.graph, first, (IF, 2), &[before])?;
        stage.increment(bodies[0], 0, &[])?;
        stage.increment(bodies[1], 1, &[])?;
        let (_, bodies) = stage.choice(stage.graph, second, (SWITCH, 3), &[too])?;
        for (body, word) in bodies.iter().zip(2..) {
            stage.increment(*body, word, &[])?;
        }
        let executable = stage.instantiate()?;
        let halves = |handle: u64| [handle as u32, (handle >> 32) as u32];
        let mut words = [0; 14];
        (words[8..10]).copy_from_slice(&halves(first));
        (words[10..12]).copy_from_slice(&halves(second));
        for ([truth, number], ran) in [
            ([0, 0], [0, 1, 1, 0, 0]),
            ([1, 2], [1, 0, 0, 0, 1]),
            ([7, 3], [1, 0, 0, 0, 0]),
            ([0, u32::MAX], [0, 1, 0, 0, 0]),
        ] {
            (words[12], words[13]) = (truth, number);
            stage.write(&words)?;
            stage.launch(executable)?;
            assert_eq!(stage.read()?, ran, "{truth}, {number}");
        }
        stage.end(executable)?;
    }

    /// A default is assigned by a launch of the whole graph, and not by a turn of the loop around it.
    fn a_loop_in_a_loop_gets_its_default_once(driver) {
        let stage = Stage::new(driver)?;
        let condition = stage.condition(stage.graph, 1, ASSIGN)?;
        let (_, bodies) = stage.choice(stage.graph, condition, (WHILE, 1), &[])?;
        let inner = stage.condition(bodies[0], 1, ASSIGN)?;
        let fill = CUDA_MEMSET_NODE_PARAMS { dst: stage.word(2), pitch: 0, value: 3, elementSize: 4, width: 1, height: 1 };
        let mut filled = null_mut();
        call!(driver.cuGraphAddMemsetNode(&mut filled, bodies[0], null(), 0, &fill, stage.primary.context))?;
        let (node, inside) = stage.choice(bodies[0], inner, (WHILE, 1), &[filled])?;
        let counted = stage.increment(inside[0], 0, &[])?;
        stage.count_down(inside[0], inner, 2, &[counted])?;
        stage.count_down(bodies[0], condition, 1, &[node])?;
        let executable = stage.instantiate()?;
        stage.write(&[0, 4, 0])?;
        stage.launch(executable)?;
        assert_eq!(stage.read()?, [3, 0, 3], "turns inside, turns left outside, and the last fill");
        stage.end(executable)?;
    }

    /// Without a default, a condition starts as 0, and keeps its value from launch to launch.
    fn a_condition_without_a_default_keeps_its_value(driver) {
        let stage = Stage::new(driver)?;
        let condition = stage.condition(stage.graph, 1, 0)?;
        let before = stage.count_down(stage.graph, condition, 1, &[])?;
        let (_, bodies) = stage.choice(stage.graph, condition, (IF, 1), &[before])?;
        stage.increment(bodies[0], 0, &[])?;
        let executable = stage.instantiate()?;
        stage.write(&[0, 0])?;
        stage.launch(executable)?;
        assert_eq!(stage.read()?, [0], "nothing has set it");
        stage.write(&[0, 3])?;
        stage.launch(executable)?;
        assert_eq!(stage.read()?, [1, 2], "the kernel sets it to 2");
        stage.write(&[1, 0])?;
        stage.launch(executable)?;
        assert_eq!(stage.read()?, [2, 0], "it is 2 still");
        stage.end(executable)?;
    }

    /// The code is that of an access to memory that is not there.
    sim fn a_kernel_outside_of_the_graph_cannot_set_its_condition(driver) {
        let stage = Stage::new(driver)?;
        let condition = stage.condition(stage.graph, 0, ASSIGN)?;
        stage.choice(stage.graph, condition, (IF, 1), &[])?;
        let executable = stage.instantiate()?;
        stage.launch(executable)?;
        stage.write(&[1])?;
        let (mut handle, mut word) = (condition, stage.words);
        let mut arguments = [(&raw mut handle).cast(), (&raw mut word).cast()];
        let function = stage.count_down;
        call!(driver.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, null_mut(), arguments.as_mut_ptr(), null_mut()))?;
        answers!(driver.cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
        answers!(driver.cuGraphLaunch(executable, null_mut()), CUDA_ERROR_ILLEGAL_ADDRESS);
    }
}
