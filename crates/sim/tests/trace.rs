//! Traces: the calls and the work that a machine records.

use std::collections::{BTreeMap, HashMap};
use std::ptr::null_mut;

use serde_json::Value;
use warploom_driver::Driver;
use warploom_sim::topology::Topology;
use warploom_sim::trace::{Activity, Memory, Span, Timeline, Trace};
use warploom_sim::{Machine, Mode, Order};
use warploom_sys::Function;
use warploom_sys::types::{
    CUDA_MEMCPY2D, CUdeviceptr, CUevent, CUmemcpyAttributes, CUmemcpySrcAccessOrder, CUmemorytype, CUresult, CUstream,
};
use warploom_testkit::{Primary, TestResult, answers, call, modes};

const HOST: Memory = Memory::Host;
const FIRST: Memory = Memory::Device(0);
const SECOND: Memory = Memory::Device(1);

fn start(trace: Trace, mode: Mode) -> TestResult<(Machine, Driver)> {
    let machine = Machine::builder().topology(Topology::preset("pcie-pair")?).mode(mode).trace(trace).start()?;
    let driver = Driver::open(&machine)?;
    driver.initialize()?;
    Ok((machine, driver))
}

fn stream(driver: &Driver) -> TestResult<CUstream> {
    let mut stream = null_mut();
    call!(driver.cuStreamCreate(&mut stream, 1))?;
    Ok(stream)
}

fn event(driver: &Driver) -> TestResult<CUevent> {
    let mut event = null_mut();
    call!(driver.cuEventCreate(&mut event, 0))?;
    Ok(event)
}

fn allocate(driver: &Driver, bytes: usize) -> TestResult<CUdeviceptr> {
    let mut address = 0;
    call!(driver.cuMemAlloc_v2(&mut address, bytes))?;
    Ok(address)
}

/// A C struct of which only some members matter.
fn empty<T: Copy>() -> T {
    #[expect(unsafe_code, reason = "C structs of numbers and pointers")]
    // SAFETY: the two structs this is used for consist of numbers, for which zero is a value, and of
    // pointers.
    unsafe {
        std::mem::zeroed()
    }
}

/// Work on two streams of a device, the second behind an event of the first.
fn two_streams(driver: &Driver) -> TestResult {
    let _primary = Primary::of(driver, 0)?;
    let (first, second, reached) = (stream(driver)?, stream(driver)?, event(driver)?);
    let (one, other) = (allocate(driver, 1 << 20)?, allocate(driver, 1 << 20)?);
    for _ in 0..3 {
        call!(driver.cuMemsetD8Async(one, 7, 1 << 20, first))?;
        call!(driver.cuMemcpyDtoDAsync_v2(other, one, 1 << 20, first))?;
        call!(driver.cuEventRecord(reached, first))?;
        call!(driver.cuStreamWaitEvent(second, reached, 0))?;
        call!(driver.cuMemcpyDtoDAsync_v2(one, other, 4096, second))?;
        call!(driver.cuEventRecord(reached, second))?;
        call!(driver.cuStreamWaitEvent(first, reached, 0))?;
    }
    Ok(call!(driver.cuCtxSynchronize())?)
}

fn chrome(timeline: &Timeline) -> TestResult<Vec<Value>> {
    let mut json = Vec::new();
    timeline.write_chrome(&mut json)?;
    let mut file: Value = serde_json::from_slice(&json)?;
    Ok(file["traceEvents"].take().as_array().ok_or("the events are no list")?.clone())
}

/// By process and thread.
type Rows = BTreeMap<(u64, u64), Vec<(f64, f64)>>;

/// The rows of a file that have something in them: the start and end of each slice, in the file's order.
fn rows(events: &[Value]) -> TestResult<Rows> {
    let mut rows = Rows::new();
    for event in events.iter().filter(|event| event["ph"] == "X") {
        let number = |key: &str| event[key].as_u64().ok_or("no number");
        let time = |key: &str| event[key].as_f64().ok_or("no time");
        let row = (number("pid")?, number("tid")?);
        rows.entry(row).or_default().push((time("ts")?, time("ts")? + time("dur")?));
    }
    Ok(rows)
}

#[test]
fn the_bytes_counted_are_the_bytes_moved() -> TestResult {
    for mode in modes(2) {
        let (machine, driver) = start(Trace::counts(), mode)?;
        let driver = &driver;
        let theirs = Primary::of(driver, 1)?;
        let far = allocate(driver, 10_000)?;
        let ours = Primary::of(driver, 0)?;
        let near = allocate(driver, 10_000)?;
        let (mut bytes, stream) = (vec![1_u8; 10_000], stream(driver)?);
        call!(driver.cuMemcpyHtoD_v2(near, bytes.as_ptr().cast(), 1000))?;
        call!(driver.cuMemcpyHtoDAsync_v2(near, bytes.as_ptr().cast(), 200, stream))?;
        call!(driver.cuMemcpyDtoHAsync_v2(bytes.as_mut_ptr().cast(), near, 30, stream))?;
        call!(driver.cuMemcpyDtoDAsync_v2(near, near + 5000, 4, stream))?;
        call!(driver.cuMemcpyPeerAsync(far, theirs.context, near, ours.context, 500, stream))?;
        call!(driver.cuMemcpyPeerAsync(near, ours.context, far, theirs.context, 60, stream))?;
        call!(driver.cuMemsetD32Async(near, 9, 25, stream))?;
        call!(driver.cuMemsetD2D8Async(near, 100, 9, 10, 3, stream))?;
        let block = CUDA_MEMCPY2D {
            srcMemoryType: CUmemorytype::CU_MEMORYTYPE_HOST,
            srcHost: bytes.as_ptr().cast(),
            dstMemoryType: CUmemorytype::CU_MEMORYTYPE_DEVICE,
            dstDevice: near,
            WidthInBytes: 11,
            Height: 7,
            ..empty()
        };
        call!(driver.cuMemcpy2DAsync_v2(&block, stream))?;
        let mut locked = null_mut();
        call!(driver.cuMemAllocHost_v2(&mut locked, 100))?;
        let locked = locked.addr() as CUdeviceptr;
        call!(driver.cuMemcpyAsync(locked, locked + 50, 8, stream))?;
        call!(driver.cuMemsetD8Async(locked, 1, 6, stream))?;
        call!(driver.cuStreamSynchronize(stream))?;
        answers!(driver.cuMemcpyHtoD_v2(1, bytes.as_ptr().cast(), 1000), CUDA_ERROR_INVALID_VALUE);

        let report = machine.trace().ok_or("the machine has a trace")?;
        let copied = |from, to| report.bytes_copied(from, to);
        assert_eq!(copied(HOST, FIRST), 1000 + 200 + 77, "{mode:?}");
        assert_eq!(copied(FIRST, HOST), 30, "{mode:?}");
        assert_eq!(copied(FIRST, FIRST), 4, "{mode:?}");
        assert_eq!((copied(FIRST, SECOND), copied(SECOND, FIRST)), (500, 60), "{mode:?}");
        assert_eq!(copied(HOST, HOST), 8, "{mode:?}");
        assert_eq!((report.bytes_filled(FIRST), report.bytes_filled(HOST)), (100 + 30, 6), "{mode:?}");
        let all: u64 = report.moved.iter().map(|moved| moved.bytes).sum();
        assert_eq!(all, 1000 + 200 + 77 + 30 + 4 + 500 + 60 + 130 + 8 + 6, "{mode:?}");
        assert_eq!(report.moved.iter().map(|moved| moved.operations).sum::<u64>(), 11, "{mode:?}");
        assert!(machine.timeline().is_none(), "nobody asked for one");
    }
    Ok(())
}

#[test]
fn calls_are_counted_by_function_and_by_what_they_answered() -> TestResult {
    let (machine, driver) = start(Trace::counts(), Mode::Threads)?;
    let driver = &driver;
    let before = machine.trace().ok_or("the machine has a trace")?.calls_of(Function::cuDeviceGet);
    for ordinal in [0, 1, 2, -1] {
        let (mut device, expected) = (0, if ordinal == 0 || ordinal == 1 { 0 } else { 101 });
        let code = warploom_testkit::code_of(call!(driver.cuDeviceGet(&mut device, ordinal)));
        assert_eq!(code, CUresult(expected));
    }
    answers!(driver.cuDeviceGet(null_mut(), 0), CUDA_ERROR_INVALID_VALUE);
    let report = machine.trace().ok_or("the machine has a trace")?;
    assert_eq!(report.calls_of(Function::cuDeviceGet) - before, 5);
    let count = report.calls.iter().find(|count| count.function == Function::cuDeviceGet).ok_or("it was called")?;
    let failed: Vec<_> = count.failed.iter().map(|failures| (failures.code, failures.calls)).collect();
    assert_eq!(failed, [(CUresult::CUDA_ERROR_INVALID_VALUE, 1), (CUresult::CUDA_ERROR_INVALID_DEVICE, 2)]);
    assert_eq!(report.calls_of(Function::cuMemAlloc_v2), 0);
    let text = report.to_string();
    assert!(
        text.contains("cuDeviceGet, of these 1 CUDA_ERROR_INVALID_VALUE (1), 2 CUDA_ERROR_INVALID_DEVICE"),
        "{text}"
    );
    Ok(())
}

#[test]
fn calls_before_initialisation_are_counted_too() -> TestResult {
    let machine = Machine::builder().trace(Trace::counts()).start()?;
    let driver = Driver::open(&machine)?;
    answers!(driver.cuCtxSynchronize(), CUDA_ERROR_NOT_INITIALIZED);
    assert_eq!(machine.trace().ok_or("the machine has a trace")?.calls_of(Function::cuCtxSynchronize), 1);
    Ok(())
}

#[test]
fn spans_of_a_stream_follow_each_other() -> TestResult {
    for mode in modes(4) {
        let (machine, driver) = start(Trace::timeline(), mode)?;
        two_streams(&driver)?;
        let timeline = machine.timeline().ok_or("the machine has a timeline")?;
        let mut ends = HashMap::new();
        for Span { stream, start_ns, end_ns, activity, .. } in &timeline.spans {
            let end = ends.insert(stream, *end_ns).unwrap_or(0);
            assert!(end <= *start_ns && start_ns <= end_ns, "{mode:?}: {activity} begins at {start_ns}, before {end}");
        }
        let bytes: u64 = timeline.spans.iter().map(|span| span.activity.bytes()).sum();
        assert_eq!((ends.len(), bytes), (2, 3 * ((2 << 20) + 4096)), "{mode:?}");
    }
    Ok(())
}

#[test]
fn a_span_names_the_call_that_enqueued_it() -> TestResult {
    for mode in modes(2) {
        let (machine, driver) = start(Trace::timeline(), mode)?;
        two_streams(&driver)?;
        let timeline = machine.timeline().ok_or("the machine has a timeline")?;
        let numbered: Vec<_> = timeline.calls.iter().filter(|call| call.number > 0).collect();
        let calls: HashMap<u64, Function> = numbered.iter().map(|call| (call.number, call.function)).collect();
        assert_eq!(calls.len(), numbered.len(), "{mode:?}: no number is given twice");
        assert_eq!(machine.calls(), numbered.len() as u64, "{mode:?}: all have returned");
        for span in &timeline.spans {
            let expected = match span.activity {
                Activity::Copy { .. } => Function::cuMemcpyDtoDAsync_v2,
                Activity::Fill { .. } => Function::cuMemsetD8Async,
                Activity::Record { .. } => Function::cuEventRecord,
                Activity::Wait { .. } => Function::cuStreamWaitEvent,
                other => return Err(format!("{mode:?}: nobody asked for {other}").into()),
            };
            assert_eq!(calls.get(&span.call), Some(&expected), "{mode:?}: {}", span.activity);
        }
    }
    Ok(())
}

#[test]
fn a_timeline_is_written_in_chromes_format() -> TestResult {
    for mode in modes(2) {
        let (machine, driver) = start(Trace::timeline(), mode)?;
        two_streams(&driver)?;
        let timeline = machine.timeline().ok_or("the machine has a timeline")?;
        let events = chrome(&timeline)?;
        for ((process, row), slices) in rows(&events)? {
            let is_in_order = slices.windows(2).all(|pair| pair[0].1 <= pair[1].0 + 1e-6);
            assert!(is_in_order, "{mode:?}: row {row} of process {process} overlaps: {slices:?}");
        }
        let named = |kind: &str| -> HashMap<u64, String> {
            let names = events.iter().filter(|event| event["name"] == kind);
            let key = if kind == "process_name" { "pid" } else { "tid" };
            names.filter_map(|event| Some((event[key].as_u64()?, event["args"]["name"].as_str()?.to_owned()))).collect()
        };
        let (processes, threads) = (named("process_name"), named("thread_name"));
        assert!(processes[&1].starts_with("host"), "{processes:?}");
        assert!(processes[&2].starts_with("device 0: NVIDIA H100"), "{processes:?}");
        assert!(processes[&3].starts_with("device 1: NVIDIA H100"), "{processes:?}");
        assert_eq!(threads.values().filter(|name| name.starts_with("stream ")).count(), 2, "{threads:?}");
        let slices: Vec<&Value> = events.iter().filter(|event| event["ph"] == "X").collect();
        assert_eq!(slices.len(), timeline.spans.len() + timeline.calls.len());
        assert!(slices.iter().any(|slice| slice["name"] == "copy 4096 B device 0→device 0" && slice["pid"] == 2));
        assert!(slices.iter().any(|slice| slice["name"] == "cuStreamWaitEvent" && slice["pid"] == 1));
    }
    Ok(())
}

#[test]
fn an_arrow_leads_from_a_record_to_each_stream_that_it_held_up() -> TestResult {
    let (machine, driver) = start(Trace::timeline(), Mode::Deterministic(Order::Lazy))?;
    let driver = &driver;
    let _primary = Primary::of(driver, 0)?;
    let (first, others, reached) = (stream(driver)?, [stream(driver)?, stream(driver)?], event(driver)?);
    let memory = allocate(driver, 1 << 24)?;
    call!(driver.cuMemsetD8Async(memory, 7, 1 << 24, first))?;
    call!(driver.cuEventRecord(reached, first))?;
    for other in others {
        call!(driver.cuStreamWaitEvent(other, reached, 0))?;
        call!(driver.cuMemsetD8Async(memory, 8, 64, other))?;
    }
    call!(driver.cuCtxSynchronize())?;
    let timeline = machine.timeline().ok_or("the machine has a timeline")?;
    let events = chrome(&timeline)?;
    let ends = |phase: &str| -> Vec<(u64, f64)> {
        let of_phase = events.iter().filter(|event| event["ph"] == phase);
        let mut ends: Vec<_> =
            of_phase.filter_map(|event| Some((event["id"].as_u64()?, event["ts"].as_f64()?))).collect();
        ends.sort_by_key(|(id, _)| *id);
        ends
    };
    let (starts, finishes) = (ends("s"), ends("f"));
    assert_eq!(starts.iter().map(|start| start.0).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(finishes.iter().map(|finish| finish.0).collect::<Vec<_>>(), [1, 2]);
    assert!(starts.iter().zip(&finishes).all(|(start, finish)| start.1 <= finish.1), "{starts:?} {finishes:?}");
    let waits = timeline.spans.iter().filter(|span| matches!(span.activity, Activity::Wait { .. }));
    let fill = timeline.spans.iter().find(|span| span.activity.bytes() == 1 << 24).ok_or("the fill is in it")?;
    for wait in waits {
        assert!(wait.start_ns < fill.end_ns && fill.end_ns <= wait.end_ns, "{wait:?} is for {fill:?}");
    }
    Ok(())
}

#[test]
fn a_batch_spreads_over_rows_so_that_nothing_overlaps() -> TestResult {
    let (machine, driver) = start(Trace::timeline(), Mode::Deterministic(Order::Eager))?;
    let driver = &driver;
    let _primary = Primary::of(driver, 0)?;
    let (memory, stream) = (allocate(driver, 1 << 20)?, stream(driver)?);
    let mut pinned = null_mut();
    call!(driver.cuMemAllocHost_v2(&mut pinned, 1 << 20))?;
    let half = 1 << 19;
    let pinned = pinned.addr() as CUdeviceptr;
    let (mut to, mut from) = ([memory, pinned + half], [pinned, memory + half]);
    let (mut sizes, mut attributes, mut indices) = ([half as usize; 2], [empty::<CUmemcpyAttributes>()], [0]);
    let mut failed = 0;
    attributes[0].srcAccessOrder = CUmemcpySrcAccessOrder::CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    call!(driver.cuMemcpyBatchAsync(
        to.as_mut_ptr(),
        from.as_mut_ptr(),
        sizes.as_mut_ptr(),
        2,
        attributes.as_mut_ptr(),
        indices.as_mut_ptr(),
        1,
        &mut failed,
        stream
    ))?;
    call!(driver.cuStreamSynchronize(stream))?;
    let timeline = machine.timeline().ok_or("the machine has a timeline")?;
    let [one, other] = timeline.spans.as_slice() else { return Err(format!("{:?}", timeline.spans).into()) };
    assert!(one.start_ns < other.end_ns && other.start_ns < one.end_ns, "both ways are used at once");
    let device_rows: Vec<_> =
        rows(&chrome(&timeline)?)?.into_iter().filter(|((process, _), _)| *process == 2).collect();
    assert_eq!(device_rows.len(), 2, "{device_rows:?}");
    Ok(())
}

#[test]
fn a_timeline_keeps_no_more_than_its_limit_and_counts_the_rest() -> TestResult {
    let (machine, driver) = start(Trace::timeline().limit(10), Mode::Sync)?;
    two_streams(&driver)?;
    let (report, timeline) = (machine.trace(), machine.timeline());
    let (report, timeline) = (report.ok_or("a trace")?, timeline.ok_or("a timeline")?);
    assert_eq!(timeline.spans.len() + timeline.calls.len(), 10);
    let kept = report.timeline.ok_or("a timeline")?;
    assert_eq!((kept.kept, kept.dropped), (10, timeline.dropped));
    let calls: u64 = report.calls.iter().map(|count| count.calls).sum();
    assert!(timeline.dropped > calls - 10, "every call that was not kept was dropped, and ops, too");
    assert_eq!(report.bytes_filled(FIRST), 3 << 20, "the counts know no limit");
    Ok(())
}

#[test]
fn a_machine_without_a_trace_has_none() -> TestResult {
    let machine = Machine::preset("h200")?;
    Driver::open(&machine)?.initialize()?;
    assert!(machine.trace().is_none() && machine.timeline().is_none());
    Ok(())
}

#[test]
fn a_report_is_data_that_other_programs_read() -> TestResult {
    let (machine, driver) = start(Trace::timeline(), Mode::Sync)?;
    two_streams(&driver)?;
    let report = serde_json::to_value(machine.trace())?;
    let calls = report["calls"].as_array().ok_or("no calls")?;
    assert!(calls.iter().any(|count| count["function"] == "cuEventRecord" && count["calls"] == 6), "{report}");
    let filled = serde_json::json!({"from": null, "to": "device 0", "operations": 3, "bytes": 3 << 20});
    assert!(report["moved"].as_array().ok_or("no bytes")?.contains(&filled), "{report}");
    let timeline = serde_json::to_value(machine.timeline())?;
    assert_eq!(timeline["calls"][0]["code"], "CUDA_SUCCESS");
    assert!(timeline["spans"][0]["activity"]["kind"].is_string(), "{timeline}");
    Ok(())
}
