//! Launches of graphs: nodes beside each other, nodes of several devices, launches in flight, faults and
//! timelines.
#![expect(unsafe_code, reason = "host functions have C's type, and C's structures are filled with zeros")]

use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use warploom_sim::fault::{Calls, Plan, Rule};
use warploom_sim::topology::Topology;
use warploom_sim::trace::{Activity, Trace};
use warploom_sim::{Checks, Finding, FindingKind, HostOrder, Machine, Mode, Order};
use warploom_testkit::driver::{Driver, Error};
use warploom_testkit::sys::types::{
    CUDA_HOST_NODE_PARAMS, CUDA_KERNEL_NODE_PARAMS_v2, CUDA_MEMCPY3D, CUDA_MEMSET_NODE_PARAMS, CUdeviceptr, CUfunction,
    CUgraph, CUgraphExec, CUgraphNode, CUmemorytype, CUresult, CUstream, CUstreamCaptureMode,
};
use warploom_testkit::{Primary, TestResult, answers, call, driver_tests, modes, open};

/// `spin` waits until a word is not 0; `release` sets it; `broken` writes to an address that no memory has.
const KERNELS: &std::ffi::CStr = c".version 7.0
.target sm_70
.address_size 64
.visible .entry spin(.param .u64 word)
{
    .reg .u64 %a;
    .reg .u32 %v;
    .reg .pred %p;
    ld.param.u64 %a, [word];
again:
    ld.volatile.global.u32 %v, [%a];
    setp.eq.u32 %p, %v, 0;
    @%p bra again;
    ret;
}
.visible .entry release(.param .u64 word)
{
    .reg .u64 %a;
    ld.param.u64 %a, [word];
    st.volatile.global.u32 [%a], 1;
    ret;
}
.visible .entry broken(.param .u64 word)
{
    .reg .u64 %a;
    mov.u64 %a, 16;
    st.global.u32 [%a], 1;
    ret;
}
";

/// A graph, a stream, and memory for its nodes.
struct Stage<'d> {
    driver: &'d Driver,
    graph: CUgraph,
    stream: CUstream,
    memory: CUdeviceptr,
}

fn function(driver: &Driver, name: &std::ffi::CStr) -> TestResult<CUfunction> {
    let (mut module, mut function) = (null_mut(), null_mut());
    call!(driver.cuModuleLoadData(&mut module, KERNELS.as_ptr().cast()))?;
    call!(driver.cuModuleGetFunction(&mut function, module, name.as_ptr()))?;
    Ok(function)
}

impl<'d> Stage<'d> {
    fn new(driver: &'d Driver) -> TestResult<Self> {
        let (mut graph, mut stream, mut memory) = (null_mut(), null_mut(), 0);
        call!(driver.cuGraphCreate(&mut graph, 0))?;
        call!(driver.cuStreamCreate(&mut stream, 1))?;
        call!(driver.cuMemAlloc_v2(&mut memory, 4096))?;
        call!(driver.cuMemsetD32Async(memory, 0, 1024, stream))?;
        call!(driver.cuStreamSynchronize(stream))?;
        Ok(Self { driver, graph, stream, memory })
    }

    fn kernel(&self, before: &[CUgraphNode], function: CUfunction, word: CUdeviceptr) -> TestResult<CUgraphNode> {
        let (driver, mut node, mut word) = (self.driver, null_mut(), word);
        let mut arguments = [(&raw mut word).cast::<c_void>()];
        // SAFETY: numbers and pointers that may all be zero.
        let zeros: CUDA_KERNEL_NODE_PARAMS_v2 = unsafe { std::mem::zeroed() };
        let params = CUDA_KERNEL_NODE_PARAMS_v2 {
            func: function,
            gridDimX: 1,
            gridDimY: 1,
            gridDimZ: 1,
            blockDimX: 1,
            blockDimY: 1,
            blockDimZ: 1,
            kernelParams: arguments.as_mut_ptr(),
            ..zeros
        };
        call!(driver.cuGraphAddKernelNode_v2(&mut node, self.graph, before.as_ptr(), before.len(), &params))?;
        Ok(node)
    }

    fn fill(&self, before: &[CUgraphNode], at: CUdeviceptr, value: u32) -> TestResult<CUgraphNode> {
        let (driver, mut node) = (self.driver, null_mut());
        let params = CUDA_MEMSET_NODE_PARAMS { dst: at, pitch: 0, value, elementSize: 4, width: 1, height: 1 };
        let (nodes, len) = (before.as_ptr(), before.len());
        call!(driver.cuGraphAddMemsetNode(&mut node, self.graph, nodes, len, &params, null_mut()))?;
        Ok(node)
    }

    fn copy(&self, before: &[CUgraphNode], from: CUdeviceptr, to: CUdeviceptr) -> TestResult<CUgraphNode> {
        let (driver, mut node) = (self.driver, null_mut());
        // SAFETY: numbers and pointers that may all be zero.
        let zeros: CUDA_MEMCPY3D = unsafe { std::mem::zeroed() };
        let params = CUDA_MEMCPY3D {
            srcMemoryType: CUmemorytype::CU_MEMORYTYPE_UNIFIED,
            srcDevice: from,
            dstMemoryType: CUmemorytype::CU_MEMORYTYPE_UNIFIED,
            dstDevice: to,
            WidthInBytes: 4,
            Height: 1,
            Depth: 1,
            ..zeros
        };
        let (nodes, len) = (before.as_ptr(), before.len());
        call!(driver.cuGraphAddMemcpyNode(&mut node, self.graph, nodes, len, &params, null_mut()))?;
        Ok(node)
    }

    fn instantiate(&self) -> TestResult<CUgraphExec> {
        let (driver, mut executable) = (self.driver, null_mut());
        call!(driver.cuGraphInstantiateWithFlags(&mut executable, self.graph, 0))?;
        Ok(executable)
    }

    fn word(&self, at: CUdeviceptr) -> TestResult<u32> {
        let (driver, mut word) = (self.driver, 0_u32);
        call!(driver.cuMemcpyDtoHAsync_v2((&raw mut word).cast(), at, 4, self.stream))?;
        call!(driver.cuStreamSynchronize(self.stream))?;
        Ok(word)
    }

    fn end(self, executable: CUgraphExec) -> TestResult {
        let driver = self.driver;
        call!(driver.cuGraphExecDestroy(executable))?;
        call!(driver.cuGraphDestroy(self.graph))?;
        call!(driver.cuMemFree_v2(self.memory))?;
        Ok(call!(driver.cuStreamDestroy_v2(self.stream))?)
    }
}

driver_tests! {
    /// Independent nodes run beside each other: one waits for a word that the other writes.
    fn a_node_can_wait_for_a_node_of_another_branch(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stage = Stage::new(driver)?;
        let spin = stage.kernel(&[], function(driver, c"spin")?, stage.memory)?;
        let release = stage.kernel(&[], function(driver, c"release")?, stage.memory)?;
        stage.fill(&[spin, release], stage.memory + 4, 7)?;
        let executable = stage.instantiate()?;
        call!(driver.cuGraphLaunch(executable, stage.stream))?;
        assert_eq!(stage.word(stage.memory + 4)?, 7);
        stage.end(executable)?;
    }

    /// S2.8: a launch in flight goes on when its executable is changed or destroyed.
    fn a_launch_keeps_what_it_was_launched_with(driver) {
        let _primary = Primary::of(driver, 0)?;
        let mut stage = Stage::new(driver)?;
        call!(driver.cuGraphDestroy(stage.graph))?;
        let (stream, mut nodes, mut len) = (stage.stream, [null_mut(); 2], 2);
        call!(driver.cuStreamBeginCapture_v2(stream, CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED))?;
        call!(driver.cuStreamWaitValue32_v2(stream, stage.memory, 1, 0))?;
        call!(driver.cuMemsetD32Async(stage.memory + 4, 1, 1, stream))?;
        call!(driver.cuStreamEndCapture(stream, &mut stage.graph))?;
        call!(driver.cuGraphGetNodes(stage.graph, nodes.as_mut_ptr(), &mut len))?;
        let [_, fill] = nodes;
        let executable = stage.instantiate()?;
        call!(driver.cuGraphLaunch(executable, stage.stream))?;
        let params = CUDA_MEMSET_NODE_PARAMS {
            dst: stage.memory + 8, pitch: 0, value: 2, elementSize: 4, width: 1, height: 1
        };
        let mut context = null_mut();
        call!(driver.cuCtxGetCurrent(&mut context))?;
        call!(driver.cuGraphExecMemsetNodeSetParams(executable, fill, &params, context))?;
        call!(driver.cuGraphExecDestroy(executable))?;
        let mut other = null_mut();
        call!(driver.cuStreamCreate(&mut other, 1))?;
        call!(driver.cuStreamWriteValue32_v2(other, stage.memory, 1, 0))?;
        assert_eq!((stage.word(stage.memory + 4)?, stage.word(stage.memory + 8)?), (1, 0));
        call!(driver.cuStreamSynchronize(other))?;
        let executable = stage.instantiate()?;
        stage.end(executable)?;
    }

    /// Launches of one executable follow each other, on whichever streams; a host function counts them.
    fn launches_of_one_executable_follow_each_other(driver) {
        static RUNNING: AtomicU32 = AtomicU32::new(0);
        static MOST: AtomicU32 = AtomicU32::new(0);
        unsafe extern "C" fn count(_: *mut c_void) {
            let running = RUNNING.fetch_add(1, Ordering::SeqCst) + 1;
            MOST.fetch_max(running, Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(2));
            RUNNING.fetch_sub(1, Ordering::SeqCst);
        }
        let _primary = Primary::of(driver, 0)?;
        let stage = Stage::new(driver)?;
        let params = CUDA_HOST_NODE_PARAMS { fn_: Some(count), userData: null_mut() };
        let mut node = null_mut();
        call!(driver.cuGraphAddHostNode(&mut node, stage.graph, null(), 0, &params))?;
        let executable = stage.instantiate()?;
        let mut other = null_mut();
        call!(driver.cuStreamCreate(&mut other, 1))?;
        for _ in 0..3 {
            call!(driver.cuGraphLaunch(executable, stage.stream))?;
            call!(driver.cuGraphLaunch(executable, other))?;
        }
        call!(driver.cuStreamSynchronize(stage.stream))?;
        call!(driver.cuStreamSynchronize(other))?;
        assert_eq!(MOST.load(Ordering::SeqCst), 1);
        stage.end(executable)?;
    }

    /// An upload, and so the work behind it, comes behind the launches that were made before.
    fn an_upload_waits_for_launches_on_other_streams(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stage = Stage::new(driver)?;
        let (memory, mut other, mut third) = (stage.memory, null_mut(), null_mut());
        call!(driver.cuStreamCreate(&mut other, 1))?;
        call!(driver.cuStreamCreate(&mut third, 1))?;
        stage.fill(&[], memory + 4, 7)?;
        let executable = stage.instantiate()?;
        call!(driver.cuStreamWaitValue32_v2(stage.stream, memory, 1, 0))?;
        call!(driver.cuGraphLaunch(executable, stage.stream))?;
        call!(driver.cuGraphUpload(executable, other))?;
        call!(driver.cuMemcpyDtoDAsync_v2(memory + 8, memory + 4, 4, other))?;
        answers!(driver.cuStreamQuery(other), CUDA_ERROR_NOT_READY);
        call!(driver.cuStreamWriteValue32_v2(third, memory, 1, 0))?;
        call!(driver.cuStreamSynchronize(other))?;
        assert_eq!(stage.word(memory + 8)?, 7);
        stage.end(executable)?;
    }

    /// A node that fails ends its context, and nothing behind it runs.
    sim fn a_failing_node_poisons_its_context(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stage = Stage::new(driver)?;
        let broken = stage.kernel(&[], function(driver, c"broken")?, stage.memory)?;
        stage.fill(&[broken], stage.memory + 4, 1)?;
        let executable = stage.instantiate()?;
        call!(driver.cuGraphLaunch(executable, stage.stream))?;
        answers!(driver.cuStreamSynchronize(stage.stream), CUDA_ERROR_ILLEGAL_ADDRESS);
        answers!(driver.cuGraphLaunch(executable, stage.stream), CUDA_ERROR_ILLEGAL_ADDRESS);
        call!(driver.cuGraphExecDestroy(executable))?;
        call!(driver.cuGraphDestroy(stage.graph))?;
    }
}

#[test]
fn a_launch_that_records_a_destroyed_event_runs_no_node() -> TestResult {
    let (_machine, driver) = open(Topology::preset("h200")?, Mode::Threads)?;
    let driver = &driver;
    let _primary = Primary::of(driver, 0)?;
    let (stage, mut event, mut node) = (Stage::new(driver)?, null_mut(), null_mut());
    call!(driver.cuEventCreate(&mut event, 0))?;
    let fill = stage.fill(&[], stage.memory, 1)?;
    call!(driver.cuGraphAddEventRecordNode(&mut node, stage.graph, [fill].as_ptr(), 1, event))?;
    let executable = stage.instantiate()?;
    call!(driver.cuEventDestroy_v2(event))?;
    answers!(driver.cuGraphLaunch(executable, stage.stream), CUDA_ERROR_INVALID_HANDLE);
    assert_eq!(stage.word(stage.memory)?, 0);
    stage.end(executable)
}

/// The launch on the other stream comes behind all nodes of the first, also behind those without a common end.
#[test]
fn launches_of_one_executable_on_two_streams_do_not_race() -> TestResult {
    let machine = Machine::builder().checks(Checks::report()).start()?;
    let driver = &Driver::open(&machine)?;
    driver.initialize()?;
    let _primary = Primary::of(driver, 0)?;
    let stage = Stage::new(driver)?;
    let root = stage.fill(&[], stage.memory, 1)?;
    for place in [1, 2] {
        stage.copy(&[root], stage.memory, stage.memory + 64 * place)?;
    }
    let executable = stage.instantiate()?;
    let mut other = null_mut();
    call!(driver.cuStreamCreate(&mut other, 1))?;
    for stream in [stage.stream, other, stage.stream] {
        call!(driver.cuGraphLaunch(executable, stream))?;
    }
    // The streams are behind the launches on the other, too.
    call!(driver.cuMemsetD32Async(stage.memory + 64, 2, 1, stage.stream))?;
    call!(driver.cuStreamSynchronize(stage.stream))?;
    assert!(machine.findings().is_empty(), "{:#?}", machine.findings());
    call!(driver.cuStreamDestroy_v2(other))?;
    stage.end(executable)
}

/// M.4: a graph has kernels of two devices, and copies between them; edges order them as within one device.
#[test]
fn nodes_of_several_devices_are_ordered_by_their_edges() -> TestResult {
    for mode in modes(4) {
        let (machine, driver) = open(Topology::preset("dgx-h100")?, mode)?;
        let (first, second) = (Primary::of(&driver, 0)?, Primary::of(&driver, 1)?);
        second.make_current()?;
        let release = function(&driver, c"release")?;
        let mut far = 0;
        call!(driver.cuMemAlloc_v2(&mut far, 64))?;
        call!(driver.cuMemsetD32_v2(far, 0, 16))?;
        call!(driver.cuCtxSynchronize())?;
        first.make_current()?;
        let stage = Stage::new(&driver)?;
        let set = stage.kernel(&[], release, far)?;
        let brought = stage.copy(&[set], far, stage.memory)?;
        stage.kernel(&[brought], function(&driver, c"spin")?, stage.memory)?;
        let executable = stage.instantiate()?;
        call!(driver.cuGraphLaunch(executable, stage.stream))?;
        assert_eq!(stage.word(stage.memory)?, 1, "{mode:?}");
        // A wait for the other device's context waits for its nodes.
        call!(driver.cuGraphLaunch(executable, stage.stream))?;
        second.make_current()?;
        call!(driver.cuCtxSynchronize())?;
        call!(driver.cuMemFree_v2(far))?;
        first.make_current()?;
        call!(driver.cuStreamSynchronize(stage.stream))?;
        stage.end(executable)?;
        warploom_testkit::assert_sound(&machine);
    }
    Ok(())
}

#[test]
fn a_launch_is_a_group_of_the_timeline_with_its_nodes_inside() -> TestResult {
    let machine = Machine::builder().mode(Mode::Deterministic(Order::Eager)).trace(Trace::timeline()).start()?;
    let driver = Driver::open(&machine)?;
    driver.initialize()?;
    let _primary = Primary::of(&driver, 0)?;
    let stage = Stage::new(&driver)?;
    let before = machine.timeline().ok_or("a timeline")?.spans.len();
    let fill = stage.fill(&[], stage.memory, 1)?;
    stage.fill(&[fill], stage.memory + 4, 2)?;
    let executable = stage.instantiate()?;
    call!(driver.cuGraphLaunch(executable, stage.stream))?;
    call!(driver.cuStreamSynchronize(stage.stream))?;
    let timeline = machine.timeline().ok_or("a timeline")?;
    let spans = &timeline.spans[before..];
    let group = spans.iter().find(|span| matches!(span.activity, Activity::Graph { nodes: 2, .. }));
    let group = group.ok_or("a group for the launch")?;
    let inside: Vec<_> = spans.iter().filter(|span| matches!(span.activity, Activity::Fill { .. })).collect();
    assert_eq!(inside.len(), 2);
    for span in inside {
        assert!(group.start_ns <= span.start_ns && span.end_ns <= group.end_ns, "{span:?} in {group:?}");
        assert_eq!((span.call, span.stream), (group.call, group.stream));
    }
    stage.end(executable)
}

const CODE: CUresult = CUresult::CUDA_ERROR_LAUNCH_FAILED;

/// A plan that lets the work of a launch fail later reaches the nodes.
#[test]
fn fault_plans_reach_nodes() -> TestResult {
    for mode in modes(2) {
        let plan = Plan::new().rule(Rule::on(Calls::named("cuGraphLaunch")?).nth(2).fail_work(CODE));
        let machine = Machine::builder().mode(mode).start()?;
        let _faults = machine.inject(plan)?;
        let driver = Driver::open(&machine)?;
        driver.initialize()?;
        let _primary = Primary::of(&driver, 0)?;
        let stage = Stage::new(&driver)?;
        stage.fill(&[], stage.memory, 1)?;
        let executable = stage.instantiate()?;
        call!(driver.cuGraphLaunch(executable, stage.stream))?;
        call!(driver.cuStreamSynchronize(stage.stream))?;
        call!(driver.cuGraphLaunch(executable, stage.stream))?;
        answers!(driver.cuStreamSynchronize(stage.stream), CUDA_ERROR_LAUNCH_FAILED);
    }
    Ok(())
}

/// The driver does not lock a graph: two threads that change one need an order, which they announce.
#[test]
fn threads_that_share_a_graph_without_an_order_are_found() -> TestResult {
    for is_handed_over in [false, true] {
        let checks = Checks::report().host_order(HostOrder::HandOvers);
        let machine = Machine::builder().checks(checks).start()?;
        let driver = Driver::open(&machine)?;
        driver.initialize()?;
        let _primary = Primary::of(&driver, 0)?;
        let (mut graph, mut node) = (null_mut(), null_mut());
        call!(driver.cuGraphCreate(&mut graph, 0))?;
        call!(driver.cuGraphAddEmptyNode(&mut node, graph, null(), 0))?;
        let (known, address) = (machine.hand_over(), graph.addr());
        let added = std::thread::scope(|scope| {
            let other = scope.spawn(|| {
                if is_handed_over {
                    machine.take_over(&known);
                }
                let mut node = null_mut();
                call!(driver.cuGraphAddEmptyNode(&mut node, std::ptr::without_provenance_mut(address), null(), 0))
            });
            other.join().map_err(|_| "the thread panicked")
        })?;
        added?;
        let races: Vec<_> = machine.findings().into_iter().filter(is_graph_race).collect();
        assert_eq!(races.len(), usize::from(!is_handed_over), "{races:?}");
        assert!(races.iter().all(|race| race.to_string().contains("graph race: cuGraphAddEmptyNode")), "{races:?}");
        call!(driver.cuGraphDestroy(graph))?;
    }
    Ok(())
}

/// The nodes of the graph that an executable was updated with are those to correct.
#[test]
fn a_race_of_an_updated_executable_names_the_nodes_of_the_update() -> TestResult {
    let machine = Machine::builder().checks(Checks::report()).start()?;
    let driver = &Driver::open(&machine)?;
    driver.initialize()?;
    let _primary = Primary::of(driver, 0)?;
    let (stage, other, mut first) = (Stage::new(driver)?, Stage::new(driver)?, null_mut());
    // The nodes of the other graph begin with number 1.
    call!(driver.cuGraphAddEmptyNode(&mut first, other.graph, null(), 0))?;
    call!(driver.cuGraphDestroyNode(first))?;
    for place in [0, 64] {
        stage.fill(&[], stage.memory + place, 1)?;
        other.fill(&[], other.memory, 1)?;
    }
    let executable = stage.instantiate()?;
    call!(driver.cuGraphExecUpdate_v2(executable, other.graph, null_mut()))?;
    call!(driver.cuGraphLaunch(executable, stage.stream))?;
    call!(driver.cuStreamSynchronize(stage.stream))?;
    let findings = machine.findings();
    let [Finding { kind: FindingKind::Race { first, second, .. }, .. }] = findings.as_slice() else {
        panic!("{findings:#?}")
    };
    let nodes = [first, second].map(|operation| operation.node.as_ref().map(|node| node.node));
    assert_eq!(nodes, [Some(1), Some(2)]);
    call!(driver.cuGraphDestroy(other.graph))?;
    stage.end(executable)
}

#[test]
fn graphs_that_another_thread_changes_are_not_copied_or_used_for_updates() -> TestResult {
    type Use = fn(&Driver, CUgraph, [CUgraph; 2], CUgraphExec, CUgraphNode) -> Result<(), Error>;
    let uses: [(&str, Use); 4] = [
        ("cuGraphExecUpdate", |driver, graph, _, executable, _| {
            call!(driver.cuGraphExecUpdate_v2(executable, graph, null_mut()))
        }),
        ("cuGraphExecChildGraphNodeSetParams", |driver, _, [inner, _], executable, child| {
            let answer = call!(driver.cuGraphExecChildGraphNodeSetParams(executable, child, inner));
            let code = warploom_testkit::code_of(answer);
            assert_eq!(code, CUresult::CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, "it has had another node");
            Ok(())
        }),
        ("cuGraphAddChildGraphNode", |driver, _, [inner, other], _, _| {
            let mut node = null_mut();
            call!(driver.cuGraphAddChildGraphNode(&mut node, other, null(), 0, inner))
        }),
        ("cuGraphConditionalHandleCreate", |driver, _, [inner, _], _, _| {
            let (mut handle, mut context) = (0, null_mut());
            call!(driver.cuCtxGetCurrent(&mut context))?;
            call!(driver.cuGraphConditionalHandleCreate(&mut handle, inner, context, 0, 0))
        }),
    ];
    for (name, used) in uses {
        let checks = Checks::report().host_order(HostOrder::HandOvers);
        let machine = Machine::builder().checks(checks).start()?;
        let driver = Driver::open(&machine)?;
        driver.initialize()?;
        let _primary = Primary::of(&driver, 0)?;
        let (mut graphs, mut child, mut executable) = ([null_mut(); 3], null_mut(), null_mut());
        for graph in &mut graphs {
            call!(driver.cuGraphCreate(graph, 0))?;
        }
        let [graph, inner, other] = graphs;
        call!(driver.cuGraphAddChildGraphNode(&mut child, graph, null(), 0, inner))?;
        call!(driver.cuGraphInstantiateWithFlags(&mut executable, graph, 0))?;
        let addresses = [graph, inner].map(|graph| graph.addr());
        let changed = std::thread::scope(|scope| {
            let change = || {
                addresses.into_iter().try_for_each(|address| {
                    let (mut node, graph) = (null_mut(), std::ptr::without_provenance_mut(address));
                    call!(driver.cuGraphAddEmptyNode(&mut node, graph, null(), 0))?;
                    call!(driver.cuGraphDestroyNode(node))
                })
            };
            scope.spawn(change).join().map_err(|_| "the thread panicked")
        })?;
        changed?;
        let races = || machine.findings().iter().filter(|finding| is_graph_race(finding)).count();
        let before = races();
        used(&driver, graph, [inner, other], executable, child)?;
        assert_eq!(races() - before, 1, "{name}: {:#?}", machine.findings());
        call!(driver.cuGraphExecDestroy(executable))?;
    }
    Ok(())
}

fn is_graph_race(finding: &Finding) -> bool {
    matches!(finding.kind, FindingKind::GraphRace { .. })
}
