//! Graphs with each of their driver calls failing: no leak, no panic, and the machine still usable.

use warploom::graph::{OperandMut, reclaim};
use warploom::sys::types::CUresult;
use warploom::{Driver, Function, GraphDef, LiveSet as _, Result, StreamWord};
use warploom_sim::fault::Calls;
use warploom_sim::topology::Topology;
use warploom_sim::{Machine, Mode, Order};
use warploom_testkit::TestResult;
use warploom_testkit::events::sweep_panics;
use warploom_testkit::sweep::Sweep;

use crate::support::{Stage, small};

/// Sweeps a scenario. The user objects of a graph that the driver does not destroy keep the machine; so that call does
/// not fail here. Then with subscribers that panic at the event of each call.
fn sweep(scenario: fn(&Driver) -> Result<()>) -> TestResult {
    let is_meant = |function| !matches!(function, Function::cuGraphDestroy | Function::cuGraphExecDestroy);
    sweep_calls(is_meant, |sweep| sweep.after_effect(true), scenario)?;
    sweep_panics(&Topology::preset("h200")?, Mode::Deterministic(Order::Eager), |_, driver| {
        let done = scenario(driver);
        reclaim();
        done
    });
    Ok(())
}

/// Sweeps the calls of a scenario that are meant.
fn sweep_calls(
    is_meant: fn(Function) -> bool,
    set: impl FnOnce(Sweep) -> Sweep,
    scenario: fn(&Driver) -> Result<()>,
) -> TestResult {
    let codes = move |function| if is_meant(function) { vec![CUresult::CUDA_ERROR_UNKNOWN] } else { Vec::new() };
    let sweep = set(Sweep::new(Topology::preset("h200")?).from_here(false).codes(codes));
    // Calls that order the free of memory or code and ask what is done, for which there is another way, or that restore
    // a context; questions about devices and parameters, some of which drivers refuse; and user objects, which are made
    // again after a copy and, if that failed, later.
    let tolerated = [
        "cuCtxSetCurrent",
        "cuCtxGetCurrent",
        "cuStreamQuery",
        "cuEventRecord",
        "cuStreamWaitEvent",
        "cuEventCreate",
        "cuEventQuery",
        "cuStreamQuery",
        "cuCtxSynchronize",
        "cuDeviceGetAttribute",
        "cuKernelGetParamInfo",
        "cuUserObjectCreate",
        "cuGraphRetainUserObject",
        "cuGraphReleaseUserObject",
    ];
    let tolerates =
        |sweep: Sweep, name: &&str| Ok::<_, Box<dyn std::error::Error>>(sweep.tolerates(Calls::named(name)?));
    tolerated.iter().try_fold(sweep, tolerates)?.run(|_: &Machine, driver: &Driver| {
        let done = scenario(driver);
        reclaim();
        done
    });
    Ok(())
}

/// S2.19: whichever call of building a graph fails, nothing is left over.
#[test]
fn definitions_leave_nothing_behind() -> TestResult {
    sweep(|driver| {
        let stage = Stage::new(driver)?;
        let (mut one, mut two) = (stage.zeroed(4)?, stage.zeroed(4)?);
        let mut event = stage.stream.record()?;
        let fill = stage.graph.entry().fill(&mut one, 1)?;
        let copy = fill.then().copy(&one, &mut two)?;
        let mut host = copy.then().host(|| ())?;
        stage.graph.as_raw()?; // from here on with user objects
        host.then().record(&mut event)?;
        let word = StreamWord::<u32>::new(&stage.context, 0)?;
        let words = host.then().words(&[word.writing(1)])?;
        words.set(&[word.writing(2)])?;
        host.predecessors().assign([&fill])?;
        copy.set_source(&one)?;
        fill.set_value(2_u32)?;
        host.set_function(|| ())?;
        let step = GraphDef::new(&stage.context)?;
        step.entry().host(|| ())?;
        stage.graph.entry().embed(&step)?.destroy()?;
        let clone = stage.graph.try_clone()?;
        host.set_function(|| ())?; // the clone keeps the one before
        clone.close()?;
        let exec = stage.graph.instantiate()?;
        host.destroy()?;
        exec.close()?;
        step.close()
    })
}

/// S2.26: whichever call of making, changing and launching an executable fails, nothing is left over.
#[test]
fn executables_leave_nothing_behind() -> TestResult {
    sweep(|driver| {
        let stage = Stage::new(driver)?;
        let mut buffer = stage.zeroed(4)?;
        let fill = stage.graph.entry().fill(&mut buffer, 1)?;
        let host = fill.then().host(|| ())?;
        let word = StreamWord::<u32>::new(&stage.context, 0)?;
        let words = host.then().words(&[word.writing(1)])?;
        let exec = stage.graph.instantiate()?;
        exec.upload(&stage.stream)?;
        exec.launch(&stage.other)?;
        exec.node(&fill).set(&mut buffer, 2)?;
        exec.node(&fill).set_enabled(true)?;
        exec.node(&host).set_function(|| ())?;
        exec.node(&words).set(&[word.writing(2)])?;
        exec.launch(&stage.other)?;
        exec.update(&stage.graph)?;
        stage.other.synchronize()?;
        exec.close()
    })
}

/// S2.19: the same for kernels and memory nodes.
#[test]
fn kernel_and_memory_nodes_leave_nothing_behind() -> TestResult {
    sweep(|driver| {
        let stage = Stage::new(driver)?;
        let kernel = stage.saxpy()?;
        let (x, mut y) = (stage.pool.zeroed::<f32>(4, &stage.stream)?, stage.pool.zeroed::<f32>(4, &stage.stream)?);
        #[expect(unsafe_code, reason = "adds kernels")]
        // SAFETY: it reads and writes as many values as it is told.
        let node = unsafe { stage.graph.entry().kernel(&kernel, &small(), (1.0_f32, &x, &mut y, 4_u32)) }?;
        assert_eq!(node.config()?, small());
        let scratch = node.then().allocate::<f32>(4)?;
        #[expect(unsafe_code, reason = "uses memory of the graph")]
        // SAFETY: the copy comes after the allocation and before the free.
        unsafe {
            let copy = scratch.then().copy(&y, OperandMut::of_graph(&scratch))?;
            copy.then().free(&scratch)?;
        }
        stage.graph.instantiate()?.launch(&stage.stream)?;
        stage.stream.synchronize()
    })
}

/// S2.9: a graph or an executable that the driver does not destroy is reported, and keeps its owners, so that
/// nothing is used after it was freed. Few are made: each keeps its machine.
#[test]
fn graphs_that_are_not_destroyed_keep_their_owners() -> TestResult {
    let is_meant = |function| matches!(function, Function::cuGraphDestroy | Function::cuGraphExecDestroy);
    sweep_calls(
        is_meant,
        |sweep| sweep.after_effect(true),
        |driver| {
            let stage = Stage::new(driver)?;
            let mut buffer = stage.zeroed(4)?;
            stage.graph.entry().fill(&mut buffer, 1)?.then().host(|| ())?;
            let exec = stage.graph.instantiate()?;
            exec.launch(&stage.stream)?;
            stage.stream.synchronize()?;
            let Stage { graph, .. } = stage;
            graph.close()?;
            exec.close()
        },
    )
}
