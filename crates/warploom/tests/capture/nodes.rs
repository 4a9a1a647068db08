//! Callbacks and graphs in a capture, and the values that it keeps.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use warploom::capture::{Captured, Relaxed};
use warploom::graph::{DotFlags, NodeKind};
use warploom::sys::types::CUresult;
use warploom::{CaptureError, Error, Function, GraphDef, GraphError, LiveSet, Result, Stream, VolumeShape};
use warploom_sim::fault::{Plan, Rule};
use warploom_sim::topology::Topology;
use warploom_sim::{Machine, Mode};
use warploom_testkit::{TestResult, budget, driver_tests, open};

use crate::support::{Stage, is_kept};

/// A function that counts its calls, and the count. The function is gone when the count has one owner.
fn counted() -> (Arc<AtomicU32>, impl Fn() + Send + Sync + 'static) {
    let calls = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&calls);
    (calls, move || _ = counted.fetch_add(1, Ordering::Relaxed))
}

/// Instantiates, launches, and waits.
fn run(graph: &GraphDef, stream: &Stream) -> Result<()> {
    graph.instantiate()?.launch(stream)?;
    stream.synchronize()
}

driver_tests! {
    /// S2.34, S2.35: a captured callback is kept by the graph, and called by each launch.
    fn a_captured_callback_is_kept(driver) {
        let stage = Stage::new(driver)?;
        let (calls, function) = counted();
        let capture = stage.stream.capture(Relaxed)?;
        capture.callback(function)?;
        let graph = capture.end()?;
        assert_eq!((graph.node_count()?, graph.is_accounted()?), (1, true));
        let exec = graph.instantiate()?;
        exec.launch(&stage.stream)?;
        drop(graph);
        exec.launch(&stage.stream)?;
        stage.stream.synchronize()?;
        assert_eq!(calls.load(Ordering::Relaxed), 2);
        assert!(is_kept(&calls), "the executable keeps it");
        drop(exec);
        assert!(stage.is_gone(&calls));
    }

    /// S2.35: the callback's owners are those of its node: they go with the node, which is looked up after the call.
    fn a_captured_callback_is_indexed_under_its_node(driver) {
        let stage = Stage::new(driver)?;
        let (first, function) = counted();
        let (second, other) = counted();
        let capture = stage.stream.capture(Relaxed)?;
        let calls = [(Function::cuStreamGetCaptureInfo_v3, 2), (Function::cuLaunchHostFunc, 1)];
        budget(driver, &calls, || capture.callback(function))?;
        budget(driver, &calls, || capture.callback(other))?;
        let graph = GraphDef::from(capture.end()?);
        let nodes = graph.nodes()?;
        let last = nodes.iter().find(|node| node.successors().is_empty().is_ok_and(|is_last| is_last));
        last.ok_or("no last node")?.destroy()?;
        assert!(stage.is_gone(&second) && is_kept(&first));
        run(&graph, &stage.stream)?;
        assert_eq!((first.load(Ordering::Relaxed), second.load(Ordering::Relaxed)), (1, 0));
    }

    /// S2.37: a fork shares the graph of its capture, and so do its callbacks.
    fn callbacks_of_forks_are_the_captures(driver) {
        let stage = Stage::new(driver)?;
        let (calls, function) = counted();
        let (others, other) = counted();
        let capture = stage.stream.capture(Relaxed)?;
        {
            let forks = capture.fork(2)?;
            forks[0].callback(function)?;
            forks[1].callback(other)?;
        }
        let graph = GraphDef::from(capture.end()?);
        assert_eq!(graph.node_count()?, 2);
        run(&graph, &stage.stream)?;
        assert_eq!((calls.load(Ordering::Relaxed), others.load(Ordering::Relaxed)), (1, 1));
        graph.close()?;
        assert!(stage.is_gone(&calls) && stage.is_gone(&others));
    }

    /// S2.34: kept without a node, by the graph and by what comes of it.
    fn a_value_given_to_a_capture_is_kept_by_executables(driver) {
        let stage = Stage::new(driver)?;
        let value = Arc::new(AtomicU32::new(0));
        let capture = stage.stream.capture(Relaxed)?;
        capture.fork(1)?[0].keep_alive(Arc::clone(&value));
        let graph = capture.end()?;
        let exec = graph.instantiate()?;
        drop(graph);
        assert!(is_kept(&value));
        drop(exec);
        assert!(stage.is_gone(&value));
    }

    /// S2.38: a capture that is dropped, or invalidated, keeps nothing.
    fn a_capture_without_a_graph_keeps_nothing(driver) {
        let stage = Stage::new(driver)?;
        let (calls, function) = counted();
        let value = Arc::new(AtomicU32::new(0));
        let capture = stage.stream.capture(Relaxed)?;
        capture.callback(function)?;
        capture.keep_alive(Arc::clone(&value));
        drop(capture);
        assert!(stage.is_gone(&calls) && stage.is_gone(&value));
        stage.stream.synchronize()?;
    }

    /// S2.34: copies of rows and volumes keep their memory, as other copies do.
    fn copies_of_rows_and_volumes_keep_their_memory(driver) {
        let stage = Stage::new(driver)?;
        let mut target = stage.pool.zeroed::<u8>(64, &stage.stream)?;
        let (rows, planes) =
            (stage.pool.upload(&[1_u8; 32], &stage.stream)?, stage.pool.upload(&[2_u8; 32], &stage.other)?);
        stage.context.synchronize()?;
        let used = stage.pool.statistics()?.used;
        let capture = stage.stream.capture(Relaxed)?;
        rows.rows(8, 8, 4)?.copy_to(target.slice_mut(..32)?.rows_mut(8, 8, 4)?, &capture)?;
        let shape = VolumeShape::packed(8, 2, 2);
        planes.volume(shape)?.copy_to(target.slice_mut(32..)?.volume_mut(shape)?, &capture)?;
        drop((rows, planes));
        let graph = capture.end()?;
        stage.context.synchronize()?;
        assert_eq!(stage.pool.statistics()?.used, used);
        assert!(graph.is_accounted()?);
        run(graph.definition(), &stage.stream)?;
        assert_eq!(target.download(&stage.stream)?, [[1; 32], [2; 32]].concat());
    }

    /// S2.41: the definition is the same graph, and stays when the captured value is gone. Nodes that are added by it
    /// are in executables and in DOT text.
    fn a_definition_is_the_captured_graph(driver) {
        let stage = Stage::new(driver)?;
        let mut buffer = stage.pool.zeroed::<u32>(4, &stage.stream)?;
        let capture = stage.stream.capture(Relaxed)?;
        buffer.fill(1, &capture)?;
        let captured: Captured = capture.end()?;
        let graph = captured.definition().clone();
        assert_eq!(&graph, captured.definition());
        drop(captured);
        let (nodes, text) = (graph.nodes()?, graph.dot(DotFlags::new())?);
        // S2.42: a captured graph is extended after its end.
        graph.after(nodes).fill(buffer.slice_mut(..2)?, 7)?;
        assert_eq!(graph.node_count()?, 2);
        // How a driver writes a node is its own affair.
        let extended = graph.dot(DotFlags::new())?;
        assert!(extended.len() > text.len(), "{text}\n{extended}");
        run(&graph, &stage.stream)?;
        assert_eq!(buffer.download(&stage.stream)?, [7, 7, 1, 1]);
    }

    /// A graph that is embedded comes after what was captured before, and before what is captured next; the
    /// copy keeps what the graph kept.
    fn a_graph_is_embedded_at_the_tail(driver) {
        let stage = Stage::new(driver)?;
        let mut buffer = stage.pool.zeroed::<u32>(4, &stage.stream)?;
        let (calls, function) = counted();
        let step = GraphDef::new(&stage.context)?;
        step.entry().fill(&mut buffer, 2)?.then().host(function)?;
        let capture = stage.stream.capture(Relaxed)?;
        buffer.fill(1, &capture)?;
        capture.embed(&step)?;
        step.close()?;
        buffer.slice_mut(..1)?.fill(3, &capture)?;
        let graph = capture.end()?;
        assert_eq!((graph.node_count()?, graph.is_accounted()?), (3, true));
        run(graph.definition(), &stage.stream)?;
        assert_eq!((buffer.download(&stage.stream)?, calls.load(Ordering::Relaxed)), (vec![3, 2, 2, 2], 1));
        drop(graph);
        assert!(stage.is_gone(&calls));
    }

    /// Nodes of a graph that is captured are not destroyed, and a graph is not embedded in itself.
    fn the_graph_of_a_capture_is_protected(driver) {
        let stage = Stage::new(driver)?;
        let (_calls, function) = counted();
        let capture = stage.stream.capture(Relaxed)?;
        capture.callback(function)?;
        let condition = capture.condition(0)?;
        let graph = condition.graph();
        let host = graph.nodes()?.remove(0);
        assert_eq!(host.kind()?, NodeKind::Host);
        let refused = || Err(GraphError::Captured.into());
        assert_eq!(host.destroy(), refused());
        assert_eq!(graph.instantiate().map(drop), refused());
        assert_eq!(graph.try_clone().map(drop), refused());
        assert_eq!(GraphDef::new(&stage.context)?.entry().embed(graph).map(drop), refused());
        assert_eq!(capture.embed(graph), Err(GraphError::SameHierarchy.into()));
        let body = capture.if_then(&condition)?;
        assert_eq!(capture.embed(body.definition()), Err(GraphError::SameHierarchy.into()));
        assert!(capture.is_valid()?);
        let ended = GraphDef::from(capture.end()?);
        assert_eq!(&ended, graph);
        host.destroy()?;
    }
}

const FAILED: CUresult = CUresult::CUDA_ERROR_UNKNOWN;

fn machine() -> TestResult<(Machine, Stage)> {
    let (machine, driver) = open(Topology::preset("h200")?, Mode::Threads)?;
    Ok((machine, Stage::new(&driver)?))
}

/// S2.36: if the node cannot be found, the error is returned, the node stays, and the graph keeps the
/// callback.
#[test]
fn a_callback_whose_node_is_not_found_is_kept_for_good() -> TestResult {
    let (machine, stage) = machine()?;
    let (calls, function) = counted();
    let capture = stage.stream.capture(Relaxed)?;
    let rule = Rule::on(Function::cuStreamGetCaptureInfo_v3).nth(2).fail(FAILED);
    let scope = machine.inject(Plan::new().rule(rule))?;
    assert_eq!(capture.callback(function).map_err(|error| error.code()), Err(Some(FAILED)));
    drop(scope);
    let graph = GraphDef::from(capture.end()?);
    run(&graph, &stage.stream)?;
    assert_eq!(calls.load(Ordering::Relaxed), 1, "the node was captured");
    graph.nodes()?.remove(0).destroy()?;
    assert!(is_kept(&calls), "it is kept under no node");
    graph.close()?;
    assert!(stage.is_gone(&calls));
    Ok(())
}

/// S2.35: a callback that was not captured is released, and one that was captured although the call failed is
/// kept.
#[test]
fn a_callback_that_fails_is_released_unless_it_was_captured() -> TestResult {
    for (rule, is_captured) in [
        (Rule::on(Function::cuLaunchHostFunc).fail(FAILED), false),
        (Rule::on(Function::cuLaunchHostFunc).fail_after(FAILED), true),
    ] {
        let (machine, stage) = machine()?;
        let (calls, function) = counted();
        let capture = stage.stream.capture(Relaxed)?;
        let scope = machine.inject(Plan::new().rule(rule))?;
        assert_eq!(capture.callback(function).map_err(|error| error.code()), Err(Some(FAILED)));
        drop(scope);
        assert!(if is_captured { is_kept(&calls) } else { stage.is_gone(&calls) });
        let graph = capture.end()?;
        assert_eq!(graph.node_count()?, usize::from(is_captured));
        run(graph.definition(), &stage.stream)?;
        assert_eq!(calls.load(Ordering::Relaxed), u32::from(is_captured));
    }
    Ok(())
}

/// A graph that cannot be made the tail is taken out again, and the capture goes on.
#[test]
fn a_failed_embed_is_rolled_back() -> TestResult {
    for rule in [
        Rule::on(Function::cuGraphAddChildGraphNode).fail(FAILED),
        Rule::on(Function::cuStreamUpdateCaptureDependencies_v2).nth(1).fail(FAILED),
        Rule::on(Function::cuStreamUpdateCaptureDependencies_v2).nth(1).fail_after(FAILED),
    ] {
        let (machine, stage) = machine()?;
        let (calls, function) = counted();
        let step = GraphDef::new(&stage.context)?;
        step.entry().host(function)?;
        let capture = stage.stream.capture(Relaxed)?;
        let scope = machine.inject(Plan::new().rule(rule))?;
        assert_eq!(capture.embed(&step).map_err(|error| error.code()), Err(Some(FAILED)));
        drop(scope);
        drop(step);
        let (others, other) = counted();
        capture.callback(other)?;
        let graph = capture.end()?;
        assert_eq!(graph.node_count()?, 1);
        assert!(stage.is_gone(&calls), "the copy is gone with the capture");
        run(graph.definition(), &stage.stream)?;
        assert_eq!((calls.load(Ordering::Relaxed), others.load(Ordering::Relaxed)), (0, 1));
    }
    Ok(())
}

/// S2.38, S2.39: an invalidated capture is an error to use, has to be ended, and has no graph; handles to its
/// graph are refused then.
#[test]
fn an_invalidated_capture_refuses_nodes_and_has_no_graph() -> TestResult {
    let (_machine, stage) = machine()?;
    let (calls, function) = counted();
    let capture = stage.stream.capture(Relaxed)?;
    capture.callback(function)?;
    let condition = capture.condition(1)?;
    let body = capture.if_then(&condition)?.definition().clone();
    let (driver, raw) = (stage.context.driver(), stage.stream.as_raw());
    warploom_testkit::answers!(driver.cuStreamSynchronize(raw), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    assert!(!capture.is_valid()?);
    let refused = Error::Capture(CaptureError::Invalidated);
    assert_eq!(capture.callback(|| ()), Err(refused.clone()));
    assert_eq!(capture.condition(1).map(drop), Err(refused.clone()));
    assert_eq!(capture.embed(&GraphDef::new(&stage.context)?), Err(refused.clone()));
    assert_eq!(capture.if_then(&condition).map(drop), Err(refused));
    let code = capture.end().map(drop).map_err(|error| error.code());
    assert_eq!(code, Err(Some(CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED)));
    assert!(stage.is_gone(&calls));
    assert_eq!(body.node_count(), Err(GraphError::GraphDestroyed.into()));
    assert_eq!(condition.graph().node_count(), Err(GraphError::GraphDestroyed.into()));
    stage.stream.synchronize()?;
    Ok(())
}

/// S2.38: the driver destroys the graph of an invalidated capture, also that of a body: the whole graph is
/// lost, and the streams are usable.
#[test]
fn an_invalidated_body_leaves_no_graph() -> TestResult {
    let (_machine, stage) = machine()?;
    let capture = stage.stream.capture(Relaxed)?;
    let body = capture.if_then(&capture.condition(1)?)?;
    let definition = body.definition().clone();
    let body = body.capture(Relaxed)?;
    let (driver, raw) = (stage.context.driver(), body.stream().as_raw());
    warploom_testkit::answers!(driver.cuStreamSynchronize(raw), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    let code = body.end().map(drop).map_err(|error| error.code());
    assert_eq!(code, Err(Some(CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED)));
    assert_eq!(definition.node_count(), Err(GraphError::GraphDestroyed.into()));
    assert_eq!(capture.end().map(drop), Err(CaptureError::BodyLost.into()));
    stage.stream.synchronize()?;
    Ok(())
}
