//! Host memory follows use: untouched memory is free, and past a limit calls are refused and the process
//! lives.
//!
//! All of it is one test, because the memory of the whole process counts.
#![expect(unsafe_code, reason = "parameters of nodes are a union of C")]

use std::ffi::CString;
use std::ptr::{null, null_mut};

use warploom_sim::topology::Topology;
use warploom_sim::{Machine, Mode};
use warploom_testkit::driver::Driver;
use warploom_testkit::sys::types::{
    CUDA_CONDITIONAL_NODE_PARAMS, CUDA_MEMSET_NODE_PARAMS, CUdeviceptr, CUfunction, CUgraphConditionalNodeType,
    CUgraphExec, CUgraphNodeParams, CUgraphNodeType, CUresult,
};
use warploom_testkit::{Gate, Primary, Stream, TestResult, call, code_of};

const MIB: usize = 1 << 20;
const GIB: usize = 1 << 30;

/// The machine's limit.
const LIMIT: usize = 64 * MIB;

const KERNELS: &str = ".version 8.3
.target sm_75
.address_size 64
.visible .entry write(.param .u64 at, .param .u64 pages) {
    .reg .pred %p<2>; .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [at]; ld.param.u64 %rd2, [pages];
    again: st.global.u64 [%rd1], 1; add.u64 %rd1, %rd1, 4096; sub.u64 %rd2, %rd2, 1;
    setp.ne.u64 %p1, %rd2, 0; @%p1 bra again;
    ret; }";

fn machine(mode: Mode) -> TestResult<(Machine, Driver)> {
    let machine = Machine::builder().mode(mode).host_memory(LIMIT as u64).start()?;
    let driver = Driver::open(&machine)?;
    driver.initialize()?;
    Ok((machine, driver))
}

fn allocate(driver: &Driver, bytes: usize) -> TestResult<CUdeviceptr> {
    let mut address = 0;
    call!(driver.cuMemAlloc_v2(&mut address, bytes))?;
    Ok(address)
}

fn write(driver: &Driver) -> TestResult<CUfunction> {
    let (mut module, mut function, text) = (null_mut(), null_mut(), CString::new(KERNELS)?);
    call!(driver.cuModuleLoadData(&mut module, text.as_ptr().cast()))?;
    call!(driver.cuModuleGetFunction(&mut function, module, c"write".as_ptr()))?;
    Ok(function)
}

/// Launches the kernel that writes a word of each page.
fn launch(driver: &Driver, function: CUfunction, at: CUdeviceptr, bytes: usize) -> CUresult {
    let pages = bytes as u64 / 4096;
    let mut arguments = [(&raw const at).cast_mut().cast(), (&raw const pages).cast_mut().cast()];
    let (arguments, none) = (arguments.as_mut_ptr(), null_mut());
    code_of(call!(driver.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, none, arguments, null_mut())))
}

/// Anonymous memory of the process, in bytes.
fn anonymous() -> TestResult<usize> {
    let text = std::fs::read_to_string("/proc/self/status")?;
    let line = text.lines().find_map(|line| line.strip_prefix("RssAnon:")).ok_or("RssAnon")?;
    Ok(line.trim().trim_end_matches("kB").trim().parse::<usize>()? << 10)
}

/// Longer than a measurement of host memory is used for.
const NOTICED: std::time::Duration = std::time::Duration::from_millis(300);

const EXHAUSTED: CUresult = CUresult::CUDA_ERROR_OUT_OF_MEMORY;

#[test]
fn host_memory_follows_use() -> TestResult {
    untouched_memory_and_zeros_are_free()?;
    allocations_are_refused_at_the_limit()?;
    for mode in [Mode::Threads, Mode::Sync] {
        fills_and_copies_are_refused_past_the_limit(mode)?;
        fills_of_managed_memory_are_refused_past_the_limit(mode)?;
        kernels_are_ended_past_the_limit(mode)?;
        graphs_are_refused_past_the_limit(mode)?;
        bodies_are_not_run_past_the_limit(mode)?;
    }
    pages_count_as_given_back_before_zeros_are_written()?;
    a_topology_sets_the_limit()?;
    Ok(())
}

fn untouched_memory_and_zeros_are_free() -> TestResult {
    let (_machine, driver) = machine(Mode::Sync)?;
    let driver = &driver;
    let _primary = Primary::of(driver, 0)?;
    let before = anonymous()?;
    let memory = allocate(driver, 100 * GIB)?;
    call!(driver.cuMemsetD8_v2(memory, 0, 10 * GIB))?;
    call!(driver.cuMemsetD32_v2(memory + 4, 0, GIB))?;
    let mut bytes = vec![1_u8; 4 * MIB];
    call!(driver.cuMemcpyDtoH_v2(bytes.as_mut_ptr().cast(), memory + 50 * GIB as u64, bytes.len()))?;
    assert!(bytes.iter().all(|byte| *byte == 0));
    // Written memory is given back by zeros, which are there afterwards.
    call!(driver.cuMemsetD8_v2(memory, 7, 32 * MIB))?;
    call!(driver.cuMemsetD16_v2(memory + 2, 0, (32 * MIB - 4) / 2))?;
    let mut ends = [1_u8; 4];
    call!(driver.cuMemcpyDtoH_v2(ends.as_mut_ptr().cast(), memory, 4))?;
    assert_eq!(ends, [7, 7, 0, 0]);
    call!(driver.cuMemcpyDtoH_v2(ends.as_mut_ptr().cast(), memory + 32 * MIB as u64 - 4, 4))?;
    assert_eq!(ends, [0, 0, 7, 7]);
    drop(bytes);
    let taken = anonymous()?.saturating_sub(before);
    assert!(taken < 24 * MIB, "{taken} bytes");
    call!(driver.cuMemFree_v2(memory))?;
    Ok(())
}

fn fills_of_managed_memory_are_refused_past_the_limit(mode: Mode) -> TestResult {
    // More than contexts take of the device, so that nothing but the managed memory comes near the limit.
    let machine = Machine::builder().mode(mode).host_memory(2 * GIB as u64).start()?;
    let (driver, mut memory) = (&Driver::open(&machine)?, 0);
    driver.initialize()?;
    let _primary = Primary::of(driver, 0)?;
    call!(driver.cuMemAllocManaged(&mut memory, 4 * GIB, 1))?;
    assert_eq!(code_of(call!(driver.cuMemsetD8_v2(memory, 1, 3 * GIB))), EXHAUSTED, "{mode:?}");
    call!(driver.cuMemsetD8_v2(memory, 1, MIB))?;
    call!(driver.cuMemFree_v2(memory))?;
    Ok(())
}

fn fills_and_copies_are_refused_past_the_limit(mode: Mode) -> TestResult {
    let (machine, driver) = machine(mode)?;
    let driver = &driver;
    let _primary = Primary::of(driver, 0)?;
    let memory = allocate(driver, GIB)?;
    call!(driver.cuMemsetD8_v2(memory, 1, 48 * MIB))?;
    assert_eq!(code_of(call!(driver.cuMemsetD8_v2(memory + 48 * MIB as u64, 1, 48 * MIB))), EXHAUSTED, "{mode:?}");
    let refused = machine.log().into_iter().find(|entry| entry.code == EXHAUSTED).ok_or("nothing is logged")?;
    assert!(refused.reason.contains("WARPLOOM_HOST_MEMORY"), "{refused}");
    // The pages that are there may be written again.
    call!(driver.cuMemsetD8_v2(memory, 2, 48 * MIB))?;
    let bytes = vec![3_u8; 48 * MIB];
    call!(driver.cuMemcpyHtoD_v2(memory, bytes.as_ptr().cast(), bytes.len()))?;
    let copied = call!(driver.cuMemcpyHtoD_v2(memory + GIB as u64 / 2, bytes.as_ptr().cast(), bytes.len()));
    assert_eq!(code_of(copied), EXHAUSTED, "{mode:?}");
    // Zeros give the pages back, and then there is room.
    call!(driver.cuMemsetD8_v2(memory, 0, 48 * MIB))?;
    call!(driver.cuMemcpyHtoD_v2(memory + GIB as u64 / 2, bytes.as_ptr().cast(), bytes.len()))?;
    call!(driver.cuMemFree_v2(memory))?;
    Ok(())
}

/// A fill may run long after its call. What a program may do next must not depend on that.
fn pages_count_as_given_back_before_zeros_are_written() -> TestResult {
    let (_machine, driver) = machine(Mode::Threads)?;
    let driver = &driver;
    let _primary = Primary::of(driver, 0)?;
    let memory = allocate(driver, GIB)?;
    let quarters = [0, 1, 2, 3].map(|quarter| memory + quarter * GIB as u64 / 4);
    let fill = |quarter: usize, byte, stream| {
        code_of(call!(driver.cuMemsetD8Async(quarters[quarter], byte, 48 * MIB, stream)))
    };
    assert_eq!(fill(0, 1, null_mut()), CUresult::CUDA_SUCCESS);
    call!(driver.cuCtxSynchronize())?;
    let stream = Stream::new(driver)?;
    let gate = Gate::new(driver)?;
    gate.hold(stream.raw)?;
    assert_eq!(fill(1, 1, stream.raw), EXHAUSTED);
    assert_eq!(fill(0, 0, stream.raw), CUresult::CUDA_SUCCESS);
    assert_eq!(fill(1, 2, stream.raw), CUresult::CUDA_SUCCESS);
    // They are given back once, and written again they are there.
    assert_eq!(fill(2, 3, stream.raw), EXHAUSTED);
    assert_eq!(fill(0, 4, stream.raw), EXHAUSTED);
    gate.open_and_wait()?;
    let mut written = [9_u8; 3];
    for (at, byte) in quarters.into_iter().zip(&mut written) {
        call!(driver.cuMemcpyDtoH_v2((&raw mut *byte).cast(), at, 1))?;
    }
    assert_eq!(written, [0, 2, 0]);
    call!(driver.cuMemFree_v2(memory))?;
    Ok(())
}

fn kernels_are_ended_past_the_limit(mode: Mode) -> TestResult {
    let (machine, driver) = machine(mode)?;
    let driver = &driver;
    let _primary = Primary::of(driver, 0)?;
    let (function, memory) = (write(driver)?, allocate(driver, 4 * GIB)?);
    assert_eq!(launch(driver, function, memory, 32 * MIB), CUresult::CUDA_SUCCESS, "{mode:?}");
    call!(driver.cuCtxSynchronize())?;
    let second = allocate(driver, 4 * GIB)?;
    let before = anonymous()?;
    let launched = launch(driver, function, second, 4 * GIB);
    let ended = if launched == CUresult::CUDA_SUCCESS { code_of(call!(driver.cuCtxSynchronize())) } else { launched };
    assert_eq!(ended, EXHAUSTED, "{mode:?}");
    let taken = anonymous()?.saturating_sub(before);
    assert!(taken < 2 * GIB, "{taken} bytes in mode {mode:?}");
    let refused = machine.log().into_iter().find(|entry| entry.code == EXHAUSTED).ok_or("nothing is logged")?;
    assert!(refused.reason.contains("and the limit is 67108864"), "{refused}");
    Ok(())
}

/// A graph that fills memory at an address, with a byte.
fn filling(driver: &Driver, at: CUdeviceptr, bytes: usize) -> TestResult<CUgraphExec> {
    let (mut context, mut graph, mut node, mut executable) = (null_mut(), null_mut(), null_mut(), null_mut());
    call!(driver.cuCtxGetCurrent(&mut context))?;
    call!(driver.cuGraphCreate(&mut graph, 0))?;
    let fill = CUDA_MEMSET_NODE_PARAMS { dst: at, value: 5, elementSize: 1, width: bytes, height: 1, pitch: 0 };
    call!(driver.cuGraphAddMemsetNode(&mut node, graph, null_mut(), 0, &fill, context))?;
    call!(driver.cuGraphInstantiateWithFlags(&mut executable, graph, 0))?;
    call!(driver.cuGraphDestroy(graph))?;
    Ok(executable)
}

fn graphs_are_refused_past_the_limit(mode: Mode) -> TestResult {
    let (_machine, driver) = machine(mode)?;
    let driver = &driver;
    let _primary = Primary::of(driver, 0)?;
    let memory = allocate(driver, GIB)?;
    let halves = [memory, memory + GIB as u64 / 2];
    let [first, second] = halves.map(|at| filling(driver, at, 48 * MIB));
    let (first, second) = (first?, second?);
    call!(driver.cuGraphLaunch(first, null_mut()))?;
    assert_eq!(code_of(call!(driver.cuGraphLaunch(second, null_mut()))), EXHAUSTED, "{mode:?}");
    // The pages that are there may be written again; once they are given back, there is room.
    call!(driver.cuGraphLaunch(first, null_mut()))?;
    call!(driver.cuMemsetD8_v2(memory, 0, 48 * MIB))?;
    call!(driver.cuCtxSynchronize())?;
    call!(driver.cuGraphLaunch(second, null_mut()))?;
    call!(driver.cuCtxSynchronize())?;
    let mut written = [0_u8; 2];
    for (at, byte) in halves.into_iter().zip(&mut written) {
        call!(driver.cuMemcpyDtoH_v2((&raw mut *byte).cast(), at, 1))?;
    }
    assert_eq!(written, [0, 5], "{mode:?}");
    call!(driver.cuGraphExecDestroy(first))?;
    call!(driver.cuGraphExecDestroy(second))?;
    call!(driver.cuMemFree_v2(memory))?;
    Ok(())
}

/// A graph with a body that fills memory in each launch.
fn filling_in_a_body(driver: &Driver, at: CUdeviceptr, bytes: usize) -> TestResult<CUgraphExec> {
    let (mut context, mut graph, mut node, mut executable) = (null_mut(), null_mut(), null_mut(), null_mut());
    let mut condition = 0;
    call!(driver.cuCtxGetCurrent(&mut context))?;
    call!(driver.cuGraphCreate(&mut graph, 0))?;
    call!(driver.cuGraphConditionalHandleCreate(&mut condition, graph, context, 1, 1))?;
    // SAFETY: of integers and pointers, for all of which zero is a value.
    let mut given: CUgraphNodeParams = unsafe { std::mem::zeroed() };
    given.type_ = CUgraphNodeType::CU_GRAPH_NODE_TYPE_CONDITIONAL;
    given.__bindgen_anon_1.conditional = CUDA_CONDITIONAL_NODE_PARAMS {
        handle: condition,
        type_: CUgraphConditionalNodeType::CU_GRAPH_COND_TYPE_IF,
        size: 1,
        phGraph_out: null_mut(),
        ctx: context,
    };
    call!(driver.cuGraphAddNode_v2(&mut node, graph, null(), null(), 0, &mut given))?;
    // SAFETY: the driver has set an array of one body, which lives as long as the node.
    let body = unsafe { *given.__bindgen_anon_1.conditional.phGraph_out };
    let fill = CUDA_MEMSET_NODE_PARAMS { dst: at, value: 5, elementSize: 1, width: bytes, height: 1, pitch: 0 };
    call!(driver.cuGraphAddMemsetNode(&mut node, body, null_mut(), 0, &fill, context))?;
    call!(driver.cuGraphInstantiateWithFlags(&mut executable, graph, 0))?;
    call!(driver.cuGraphDestroy(graph))?;
    Ok(executable)
}

/// It is known only when the launch runs that a body is run: so the context ends, as for a kernel.
fn bodies_are_not_run_past_the_limit(mode: Mode) -> TestResult {
    let (machine, driver) = machine(mode)?;
    let driver = &driver;
    let _primary = Primary::of(driver, 0)?;
    let memory = allocate(driver, GIB)?;
    let (small, large) = (filling_in_a_body(driver, memory, 8 * MIB)?, filling_in_a_body(driver, memory, 96 * MIB)?);
    for _ in 0..20 {
        call!(driver.cuGraphLaunch(small, null_mut()))?;
    }
    call!(driver.cuCtxSynchronize())?;
    let before = anonymous()?;
    let launched = code_of(call!(driver.cuGraphLaunch(large, null_mut())));
    assert!([CUresult::CUDA_SUCCESS, EXHAUSTED].contains(&launched), "{mode:?}: {launched:?}");
    assert_eq!(code_of(call!(driver.cuCtxSynchronize())), EXHAUSTED, "{mode:?}");
    assert!(anonymous()? < before + 32 * MIB, "{mode:?}: the body has not run");
    let told = machine.log().iter().any(|entry| entry.reason.contains("with this call it would be"));
    assert!(told, "{mode:?}: {:?}", machine.log());
    Ok(())
}

fn a_topology_sets_the_limit() -> TestResult {
    let topology = Topology::from_toml("preset = \"h200\"\nhost_memory = \"64 MiB\"")?;
    let machine = Machine::builder().mode(Mode::Sync).topology(topology.clone()).start()?;
    let larger = Machine::builder().mode(Mode::Sync).topology(topology).host_memory(GIB as u64).start()?;
    for (machine, code) in [(&machine, EXHAUSTED), (&larger, CUresult::CUDA_SUCCESS)] {
        let driver = &Driver::open(machine)?;
        driver.initialize()?;
        let _primary = Primary::of(driver, 0)?;
        let memory = allocate(driver, 2 * GIB)?;
        assert_eq!(code_of(call!(driver.cuMemsetD8_v2(memory, 1, 96 * MIB))), code);
        call!(driver.cuMemFree_v2(memory))?;
    }
    Ok(())
}

/// The memory of all machines of the process counts.
fn allocations_are_refused_at_the_limit() -> TestResult {
    let (_first, driver) = machine(Mode::Sync)?;
    let other = Machine::builder().host_memory(16 * MIB as u64).start()?;
    let other = &Driver::open(&other)?;
    other.initialize()?;
    let primaries = (Primary::of(&driver, 0)?, Primary::of(other, 0)?);
    let mut memory = 0;
    call!(other.cuMemAlloc_v2(&mut memory, 100 * GIB))?;
    call!(other.cuMemFree_v2(memory))?;
    primaries.0.make_current()?;
    let written = allocate(&driver, 32 * MIB)?;
    call!(driver.cuMemsetD8_v2(written, 1, 32 * MIB))?;
    // Another machine notices by its next measurement.
    std::thread::sleep(NOTICED);
    primaries.1.make_current()?;
    assert_eq!(code_of(call!(other.cuMemAlloc_v2(&mut memory, MIB))), EXHAUSTED);
    assert_eq!(code_of(call!(other.cuMemAllocHost_v2(&mut null_mut(), MIB))), EXHAUSTED);
    assert_eq!(code_of(call!(other.cuMemAllocAsync(&mut memory, MIB, null_mut()))), EXHAUSTED);
    assert_eq!(code_of(call!(other.cuMemAllocManaged(&mut memory, MIB, 1))), EXHAUSTED);
    primaries.0.make_current()?;
    call!(driver.cuMemFree_v2(written))?;
    std::thread::sleep(NOTICED);
    primaries.1.make_current()?;
    call!(other.cuMemAlloc_v2(&mut memory, MIB))?;
    call!(other.cuMemFree_v2(memory))?;
    Ok(())
}
