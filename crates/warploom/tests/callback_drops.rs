//! Values that are dropped in callbacks of the driver, where CUDA must not be called: the reclaimer frees
//! them.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use warploom::capture::Relaxed;
use warploom::graph::reclaim;
use warploom::leaks::{Kind, Leaks};
use warploom::sys::types::CUresult;
use warploom::{
    Context, ContextOptions, DeviceMemory, DevicePool, Driver, GraphDef, ManagedMemory, OrderedResource, PinnedMemory,
    PinnedPool, Result, Stream, VirtualMemory,
};
use warploom_sim::fault::Calls;
use warploom_sim::topology::Topology;
use warploom_sim::{Mode, Order};
use warploom_testkit::sweep::Sweep;
use warploom_testkit::{TestResult, driver_tests, open};

const KERNEL: &str = ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry idle() { ret; }\n";

/// Everything that a program can drop, in a tuple that is `Send`.
fn everything(context: &Context) -> Result<impl Send + 'static + use<>> {
    let (stream, other) = (context.stream()?, context.stream()?);
    let pool = DevicePool::new(context)?;
    let mut from_pool = pool.zeroed::<u32>(100, &stream)?;
    from_pool.fill(7, &other)?; // freed after another stream
    let plain = DeviceMemory::new(context).zeroed::<u32>(100, &stream)?;
    let managed = ManagedMemory::new(context)?.zeroed::<u32>(100, &stream)?;
    let pinned = PinnedMemory::new(context).buffer_of(&[1_u32, 2, 3])?;
    let from_pinned_pool = PinnedPool::new(context)?.zeroed::<u32>(100, &stream)?;
    let mapped = VirtualMemory::new(context)?.zeroed::<u32>(100, &stream)?;
    let (library, mut in_graph) = (context.load(KERNEL)?, pool.zeroed::<u32>(100, &stream)?);
    let graph = GraphDef::new(context)?;
    graph.entry().fill(&mut in_graph, 1)?;
    let event = stream.record()?;
    let memory = (from_pool, plain, managed, pinned, from_pinned_pool, mapped, in_graph, pool);
    Ok((memory, library, graph, event, stream, other, context.clone()))
}

/// Runs a function on a stream whose values are dropped when it returns.
fn drop_in_host_function(stream: &Stream, values: impl Send + 'static) -> Result<()> {
    stream.host(move || drop(values))?.wait()
}

driver_tests! {
    /// S4.14, S2.30: everything that a host function drops is freed.
    fn values_that_a_host_function_drops_are_freed(driver) {
        let context = driver.device(0)?.context()?;
        let stream = context.stream()?;
        reclaim();
        let leaks = Leaks::track(driver);
        drop_in_host_function(&stream, everything(&context)?)?;
        reclaim();
        leaks.assert_none();
    }

    /// An explicit end cannot call CUDA there, either, and leaves the value to the reclaimer.
    fn values_that_a_host_function_closes_are_freed(driver) {
        let context = driver.device(0)?.context()?;
        let stream = context.stream()?;
        let leaks = Leaks::track(driver);
        let (other, pool) = (context.stream()?, DevicePool::new(&context)?);
        let (buffer, library) = (pool.zeroed::<u32>(100, &stream)?, context.load(KERNEL)?);
        let (graph, created) = (GraphDef::new(&context)?, driver.device(0)?.create_context(ContextOptions::new())?);
        let task = stream.host(move || {
            drop(pool);
            buffer.close().and(library.close()).and(graph.close()).and(other.close()).and(created.close())
        })?;
        assert_eq!(task.wait()?, Ok(()));
        reclaim();
        leaks.assert_none();
    }

    /// Values that the function captured and did not drop by itself.
    fn captures_of_a_host_function_are_freed(driver) {
        let context = driver.device(0)?.context()?;
        let stream = context.stream()?;
        let leaks = Leaks::track(driver);
        let buffer = DevicePool::new(&context)?.zeroed::<u32>(100, &stream)?;
        assert_eq!(stream.host(move || buffer.len())?.wait()?, 100);
        reclaim();
        leaks.assert_none();
    }

    /// A return value of which nothing is wanted is dropped in the callback.
    fn a_return_value_that_is_not_taken_is_freed(driver) {
        let context = driver.device(0)?.context()?;
        let stream = context.stream()?;
        let leaks = Leaks::track(driver);
        let buffer = DevicePool::new(&context)?.zeroed::<u32>(100, &stream)?;
        drop(stream.host(move || buffer)?);
        stream.synchronize()?;
        reclaim();
        leaks.assert_none();
    }

    fn values_that_a_host_node_drops_are_freed(driver) {
        let context = driver.device(0)?.context()?;
        let stream = context.stream()?;
        let leaks = Leaks::track(driver);
        let graph = GraphDef::new(&context)?;
        let values = Mutex::new(Some(everything(&context)?));
        graph.entry().host(move || drop(values.lock().expect("is locked once").take()))?;
        let exec = graph.instantiate()?;
        exec.launch(&stream)?;
        stream.synchronize()?;
        reclaim();
        let alive = leaks.report().alive().iter().map(|alive| alive.kind).collect::<Vec<_>>();
        assert_eq!(alive, [Kind::Graph, Kind::GraphExec], "the two that are held here");
    }

    /// The driver releases the memory of an executable later, on a thread of its own.
    fn executables_that_a_host_function_drops_are_destroyed(driver) {
        let context = driver.device(0)?.context()?;
        let stream = context.stream()?;
        let leaks = Leaks::track(driver);
        let mut buffer = DevicePool::new(&context)?.zeroed::<u32>(100, &stream)?;
        let graph = GraphDef::new(&context)?;
        graph.entry().fill(&mut buffer, 1)?;
        let exec = graph.instantiate()?;
        exec.launch(&stream)?;
        drop_in_host_function(&stream, (exec, graph, buffer))?;
        let start = Instant::now();
        while !leaks.report().is_empty() && start.elapsed() < Duration::from_secs(5) {
            context.synchronize()?;
            reclaim();
        }
        leaks.assert_none();
    }

    /// The last values of a context, and with them the context.
    fn a_context_that_a_host_function_drops_ends(driver) {
        let device = driver.device(0)?;
        let stream = device.context()?.stream()?;
        let leaks = Leaks::track(driver);
        let created = device.create_context(ContextOptions::new())?;
        let inside = (created.stream()?, DeviceMemory::new(&created).allocate::<u8>(100)?, created);
        drop_in_host_function(&stream, inside)?;
        reclaim();
        leaks.assert_none();
    }

    /// A capture that a host function drops is ended, and its stream runs work again.
    fn a_capture_that_a_host_function_drops_ends(driver) {
        let context = driver.device(0)?.context()?;
        let (stream, captured) = (context.stream()?, context.stream()?);
        let capture = captured.capture(Relaxed)?;
        drop_in_host_function(&stream, capture)?;
        reclaim();
        captured.synchronize()?;
    }

    /// More events than a context keeps.
    fn events_that_a_host_function_drops_are_destroyed(driver) {
        let context = driver.device(0)?.context()?;
        let stream = context.stream()?;
        let leaks = Leaks::track(driver);
        let events = (0..200).map(|_| stream.record()).collect::<Result<Vec<_>>>()?;
        drop_in_host_function(&stream, events)?;
        reclaim();
        leaks.assert_none();
    }
}

/// No driver call is made in the callback: the machine has none to refuse.
#[test]
fn drops_in_a_host_function_make_no_driver_call() -> TestResult {
    for mode in [Mode::Threads, Mode::Deterministic(Order::Lazy)] {
        let (machine, driver) = open(Topology::preset("h200")?, mode)?;
        let before = machine.census();
        let context = driver.device(0)?.context()?;
        let stream = context.stream()?;
        drop_in_host_function(&stream, everything(&context)?)?;
        reclaim();
        drop((stream, context));
        let not_permitted = CUresult::CUDA_ERROR_NOT_PERMITTED;
        let refused: Vec<_> = machine.log().into_iter().filter(|entry| entry.code == not_permitted).collect();
        assert!(refused.is_empty(), "{refused:?}");
        assert_eq!(machine.census().since(&before).to_string(), before.since(&before).to_string());
    }
    Ok(())
}

#[test]
fn drops_in_a_host_function_leave_nothing_behind() -> TestResult {
    let sweep = Sweep::new(Topology::preset("h200")?).mode(Mode::Deterministic(Order::Lazy));
    sweep.tolerates(Calls::named("cuCtxSetCurrent")?).run(|_, driver: &Driver| -> Result<()> {
        let context = driver.device(0)?.context()?;
        let dropped = context.stream().and_then(|stream| {
            let buffer = DevicePool::new(&context)?.zeroed::<u32>(100, &stream)?;
            drop_in_host_function(&stream, buffer)
        });
        // The function holds the buffer, which holds the context: it has to run.
        let ran = context.synchronize();
        drop(context);
        reclaim();
        dropped.and(ran)
    });
    Ok(())
}
