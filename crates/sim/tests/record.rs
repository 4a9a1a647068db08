//! Records of runs: ops, kernels, memory in use, traffic of links and findings with their source lines.

use std::ffi::CStr;
use std::ptr::null_mut;

use warploom_driver::Driver;
use warploom_record::{End, MemoryKind, MemorySeries, Op, OpKind, Record};
use warploom_sim::topology::Topology;
use warploom_sim::trace::Trace;
use warploom_sim::{Checks, Machine, Mode};
use warploom_sys::types::{CUdeviceptr, CUfunction, CUmemoryPool, CUstream, CUstreamCaptureMode};
use warploom_testkit::{Primary, TestResult, call, modes};

/// Each of 64 threads loads a word, the words 128 bytes apart, and stores it beside its neighbour's; eight
/// threads go a longer way.
const KERNEL: &CStr = c".version 7.5 .target sm_80 .address_size 64
.visible .entry gather(.param .u64 at) {
    .reg .pred %p<2>; .reg .b32 %r<5>; .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [at]; mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 128; add.s64 %rd3, %rd1, %rd2; ld.global.u32 %r2, [%rd3];
    setp.ge.u32 %p1, %r1, 8; @%p1 bra PAST;
    add.u32 %r2, %r2, 1; add.u32 %r2, %r2, 2;
    PAST: mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2; st.global.u32 [%rd3], %r2;
    ret;
}";

const BYTES: usize = 1 << 16;

fn start(trace: Trace, mode: Mode, checks: Checks) -> TestResult<(Machine, Driver)> {
    let topology = Topology::preset("pcie-pair")?;
    let machine = Machine::builder().topology(topology).mode(mode).trace(trace).checks(checks).start()?;
    let driver = Driver::open(&machine)?;
    driver.initialize()?;
    Ok((machine, driver))
}

fn stream(driver: &Driver) -> TestResult<CUstream> {
    let mut stream = null_mut();
    call!(driver.cuStreamCreate(&mut stream, 1))?;
    Ok(stream)
}

fn gather(driver: &Driver) -> TestResult<CUfunction> {
    let (mut module, mut function) = (null_mut(), null_mut());
    call!(driver.cuModuleLoadData(&mut module, KERNEL.as_ptr().cast()))?;
    call!(driver.cuModuleGetFunction(&mut function, module, c"gather".as_ptr()))?;
    Ok(function)
}

fn launch(driver: &Driver, kernel: CUfunction, at: CUdeviceptr, stream: CUstream) -> TestResult {
    let mut arguments = [(&raw const at).cast_mut().cast()];
    Ok(call!(driver.cuLaunchKernel(kernel, 2, 1, 1, 64, 1, 1, 0, stream, arguments.as_mut_ptr(), null_mut()))?)
}

/// The ops of a kind.
fn of_kind(record: &Record, kind: OpKind) -> Vec<Op> {
    record.ops.iter().filter(|op| op.kind == kind).collect()
}

#[test]
fn kernels_are_counted_with_divergence_and_sectors() -> TestResult {
    for mode in modes(2) {
        let (machine, driver) = start(Trace::timeline(), mode, Checks::off())?;
        let driver = &driver;
        let _primary = Primary::of(driver, 0)?;
        let (stream, kernel) = (stream(driver)?, gather(driver)?);
        let mut at = 0;
        call!(driver.cuMemAlloc_v2(&mut at, BYTES))?;
        for _ in 0..3 {
            launch(driver, kernel, at, stream)?;
        }
        call!(driver.cuStreamSynchronize(stream))?;
        let record = machine.record().ok_or("there is a timeline")?.checked()?;
        let [counted] = record.kernels.as_slice() else { return Err("one kernel".into()) };
        assert_eq!((counted.name.as_str(), counted.launches, counted.work.blocks), ("gather", 3, 6));
        // Two warps of two blocks: each loads a sector for every thread, and stores four full ones.
        let warps = 2 * 2 * 3;
        assert_eq!(counted.work.requests, 2 * warps);
        assert_eq!((counted.work.sectors, counted.work.needed_sectors), ((32 + 4) * warps, (4 + 4) * warps));
        assert_eq!(counted.work.bytes, 2 * 128 * warps);
        // The first warp of each block parts: 24 of its threads jump over two instructions.
        assert_eq!(counted.work.divergent_branches, 2 * 3);
        let skipped = 24 * 2 * 2 * 3;
        assert_eq!(counted.work.thread_instructions, 32 * counted.work.instructions - skipped, "{counted:?}");
        let ops = of_kind(&record, OpKind::Kernel);
        assert_eq!((ops.len(), ops.iter().map(|op| op.time_ns).sum::<u64>()), (3, counted.time_ns));
        assert_eq!(record.shapes.len(), 1);
        assert_eq!((record.shapes[0].grid, record.shapes[0].block), ([2, 1, 1], [64, 1, 1]));
        let report = machine.trace().ok_or("it counts")?;
        assert_eq!(report.kernels[0].work.sectors, counted.work.sectors);
        assert!(report.to_string().contains("3  gather"), "{report}");
    }
    Ok(())
}

#[test]
fn nodes_of_a_graph_are_ops_of_the_call_that_launched_it() -> TestResult {
    let (machine, driver) = start(Trace::timeline(), Mode::Sync, Checks::off())?;
    let driver = &driver;
    let _primary = Primary::of(driver, 0)?;
    let (stream, kernel, mut at) = (stream(driver)?, gather(driver)?, 0);
    call!(driver.cuMemAlloc_v2(&mut at, BYTES))?;
    let (mut graph, mut executable) = (null_mut(), null_mut());
    call!(driver.cuStreamBeginCapture_v2(stream, CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED))?;
    call!(driver.cuMemsetD8Async(at, 0, BYTES, stream))?;
    launch(driver, kernel, at, stream)?;
    call!(driver.cuStreamEndCapture(stream, &mut graph))?;
    call!(driver.cuGraphInstantiateWithFlags(&mut executable, graph, 0))?;
    call!(driver.cuGraphLaunch(executable, stream))?;
    call!(driver.cuStreamSynchronize(stream))?;
    let record = machine.record().ok_or("there is a timeline")?.checked()?;
    let [whole] = of_kind(&record, OpKind::Graph).try_into().map_err(|_| "one launch")?;
    let nodes: Vec<Op> = record.ops.iter().filter(|op| op.call == whole.call && op.kind != OpKind::Graph).collect();
    assert_eq!(nodes.iter().map(|op| op.kind).collect::<Vec<_>>(), [OpKind::Fill, OpKind::Kernel]);
    for node in nodes {
        assert!(node.start_ns >= whole.start_ns && node.start_ns + node.time_ns <= whole.start_ns + whole.time_ns);
    }
    let function = record.calls.iter().find(|call| call.number == whole.call).map(|call| call.function);
    assert_eq!((function, whole.amount), (Some("cuGraphLaunch"), 2));
    Ok(())
}

#[test]
fn bytes_are_counted_on_every_link_that_they_pass() -> TestResult {
    let (machine, driver) = start(Trace::timeline(), Mode::Sync, Checks::off())?;
    let driver = &driver;
    let (theirs, mut far) = (Primary::of(driver, 1)?, 0);
    call!(driver.cuMemAlloc_v2(&mut far, BYTES))?;
    let (ours, mut near) = (Primary::of(driver, 0)?, 0);
    call!(driver.cuMemAlloc_v2(&mut near, BYTES))?;
    let host = vec![1_u8; BYTES];
    call!(driver.cuMemcpyHtoD_v2(near, host.as_ptr().cast(), 5000))?;
    call!(driver.cuMemcpyPeer(far, theirs.context, near, ours.context, 700))?;
    let record = machine.record().ok_or("there is a timeline")?;
    let bytes = |from, to| record.links.iter().find(|link| (link.from, link.to) == (from, to)).map(|link| link.bytes);
    let [first, second] = [End::Device(0), End::Device(1)];
    // Copies between the two devices of this machine pass the host's bus.
    assert_eq!(bytes(End::Host, first), Some(5000));
    assert_eq!(bytes(first, End::Host), Some(700));
    assert_eq!(bytes(End::Host, second), Some(700));
    assert_eq!(bytes(second, End::Host), Some(0));
    let used = record.links.iter().filter(|link| link.bytes > 0);
    assert!(used.clone().count() == 3 && used.clone().all(|link| link.busy_ns > 0 && link.kind == "pcie"));
    let copies = of_kind(&record, OpKind::Copy);
    let ways: Vec<_> = copies.iter().map(|op| (record.ways[op.subject as usize], op.amount)).collect();
    assert_eq!(
        ways.iter().map(|(way, bytes)| (way.from, way.to, *bytes)).collect::<Vec<_>>(),
        [(Some(End::Host), first, 5000), (Some(first), second, 700)]
    );
    Ok(())
}

#[test]
fn switches_have_a_port_for_each_device() -> TestResult {
    let machine = Machine::builder().topology(Topology::preset("dgx-h100")?).trace(Trace::timeline()).start()?;
    let record = machine.record().ok_or("there is a timeline")?;
    let ports = |to_switch: fn(&warploom_record::Link) -> End| {
        record.links.iter().filter(|link| to_switch(link) == End::Switch).count()
    };
    assert_eq!((ports(|link| link.to), ports(|link| link.from)), (8, 8));
    assert_eq!(record.machine.devices.len(), 8);
    Ok(())
}

fn series(record: &Record, kind: MemoryKind) -> TestResult<&MemorySeries> {
    Ok(record.memory.iter().find(|series| series.kind == kind).ok_or("no such series")?)
}

#[test]
fn memory_in_use_is_sampled_for_devices_and_pools() -> TestResult {
    for mode in modes(2) {
        let (machine, driver) = start(Trace::timeline(), mode, Checks::off())?;
        let driver = &driver;
        let _primary = Primary::of(driver, 0)?;
        let (stream, mut plain, mut pool): (_, _, CUmemoryPool) = (stream(driver)?, 0, null_mut());
        call!(driver.cuMemAlloc_v2(&mut plain, 64 << 20))?;
        call!(driver.cuDeviceGetDefaultMemPool(&mut pool, 0))?;
        let mut block = 0;
        call!(driver.cuMemAllocFromPoolAsync(&mut block, 3 << 20, pool, stream))?;
        call!(driver.cuMemFreeAsync(block, stream))?;
        call!(driver.cuStreamSynchronize(stream))?;
        call!(driver.cuMemFree_v2(plain))?;
        let record = machine.record().ok_or("there is a timeline")?.checked()?;
        let device = series(&record, MemoryKind::Device)?;
        assert_eq!((device.name.as_str(), device.device), ("device 0", Some(0)));
        let highest = device.peak.iter().max().copied().unwrap_or(0);
        assert!(highest >= 64 << 20 && highest < device.capacity, "{device:?}");
        assert!(device.last.last().is_some_and(|last| *last <= highest - (64 << 20)), "{device:?}");
        let used = series(&record, MemoryKind::PoolUsed)?;
        assert_eq!((used.name.as_str(), used.peak.iter().max()), ("default pool of device 0", Some(&(3 << 20))));
        assert_eq!(used.last.last(), Some(&0));
        let reserved = series(&record, MemoryKind::PoolReserved)?;
        assert!(reserved.peak.iter().max() >= Some(&(3 << 20)), "{reserved:?}");
    }
    Ok(())
}

#[test]
fn findings_have_both_calls_and_their_source_lines() -> TestResult {
    let checks = Checks::report().backtraces(warploom_sim::Backtraces::All).on_finding(|_| {});
    let (machine, driver) = start(Trace::timeline(), Mode::Sync, checks)?;
    let driver = &driver;
    let _primary = Primary::of(driver, 0)?;
    let (first, second, mut at) = (stream(driver)?, stream(driver)?, 0);
    call!(driver.cuMemAlloc_v2(&mut at, BYTES))?;
    call!(driver.cuMemsetD8Async(at, 1, BYTES, first))?; // the first write
    call!(driver.cuMemsetD8Async(at, 2, BYTES, second))?; // the second write
    call!(driver.cuCtxSynchronize())?;
    let record = machine.record().ok_or("there is a timeline")?.checked()?;
    let [finding] = record.findings.as_slice() else { return Err("one race".into()) };
    assert_eq!(finding.kind, "race");
    assert!(finding.title.starts_with("race: cuMemsetD8Async") && finding.details[0].starts_with("missing: "));
    let roles: Vec<&str> = finding.sites.iter().map(|site| site.role.as_str()).collect();
    assert_eq!(roles, ["first", "second", "allocated"]);
    for (site, remark) in finding.sites.iter().zip(["// the first write", "// the second write"]) {
        let source = site.source.as_ref().ok_or("the source is here")?;
        assert!(source.file.ends_with("tests/record.rs"), "{source:?}");
        let line = source.lines.iter().find(|line| line.number == source.line).ok_or("the line is shown")?;
        assert!(line.text.contains(remark), "{line:?}");
        let op = of_kind(&record, OpKind::Fill).into_iter().find(|op| Some(op.call) == site.call);
        assert!(op.is_some(), "the op of call {:?}", site.call);
    }
    call!(driver.cuStreamDestroy_v2(first))?;
    call!(driver.cuStreamDestroy_v2(second))?;
    let at_end = machine.record_at_end().ok_or("there is a timeline")?;
    assert!(at_end.findings.iter().any(|finding| finding.kind == "leak"), "{:?}", at_end.findings);
    call!(driver.cuMemFree_v2(at))?;
    Ok(())
}

#[test]
fn without_a_timeline_there_is_no_record() -> TestResult {
    for trace in [None, Some(Trace::counts())] {
        let builder = trace.into_iter().fold(Machine::builder(), |builder, trace| builder.trace(trace));
        assert!(builder.start()?.record().is_none());
    }
    Ok(())
}
