//! Steps of additions and changes: their order, and what is left when one of them fails.

use std::fmt::Debug;

use warploom::graph::NodeKind;
use warploom::sys::types::CUresult;
use warploom::{Driver, Function, GraphDef, LaunchConfig, Result};
use warploom_sim::fault::{Calls, Plan, Rule};
use warploom_sim::topology::Topology;
use warploom_sim::{Machine, Mode};
use warploom_testkit::{TestResult, driver_tests, open};

use crate::support::{Stage, closure, small, watched};

/// The driver functions that some work calls, in their order.
fn calls<R>(driver: &Driver, work: impl FnOnce() -> Result<R>) -> Result<(R, Vec<Function>)> {
    let recorder = driver.record_calls();
    let result = work()?;
    Ok((result, recorder.take().into_iter().map(|(function, _)| function).collect()))
}

/// Asserts that a change returns the error of a function that fails, and that `look` answers the same before and
/// after it.
#[track_caller]
fn fails<T: PartialEq + Debug>(
    machine: &Machine,
    function: Function,
    change: impl FnOnce() -> Result<()>,
    look: impl Fn() -> Result<T>,
) -> TestResult {
    let before = look()?;
    let rule = Rule::on(Calls::from(function)).fail(CUresult::CUDA_ERROR_OUT_OF_MEMORY);
    let scope = machine.inject(Plan::new().rule(rule))?;
    let error = change().expect_err("the step fails");
    drop(scope);
    assert!(error.to_string().starts_with(function.name()), "{error}");
    assert_eq!(look()?, before, "{}", function.name());
    Ok(())
}

driver_tests! {
    /// S2.18: owners of a graph that other code has a handle of are attached before the node is added or changed, and
    /// those that were replaced are released afterwards.
    fn owners_are_attached_before_the_call_and_released_after_it(driver) {
        use Function::{
            cuGraphAddHostNode, cuGraphDestroyNode, cuGraphHostNodeSetParams, cuGraphReleaseUserObject,
            cuGraphRetainUserObject, cuUserObjectCreate,
        };
        let graph = Stage::new(driver)?.graph;
        graph.as_raw()?;
        let (mut host, made) = calls(driver, || graph.entry().host(|| ()))?;
        assert_eq!(made, [cuUserObjectCreate, cuGraphRetainUserObject, cuGraphAddHostNode]);
        let ((), made) = calls(driver, || host.set_function(|| ()))?;
        let attached = [cuUserObjectCreate, cuGraphRetainUserObject, cuGraphHostNodeSetParams];
        assert_eq!(made, [&attached[..], &[cuGraphReleaseUserObject]].concat());
        let ((), made) = calls(driver, || host.destroy())?;
        assert_eq!(made, [cuGraphDestroyNode, cuGraphReleaseUserObject]);
    }
}

/// S2.22: an update that fails leaves the parameters and the owners of a node as before, and keeps no others.
#[test]
fn a_failed_update_changes_nothing() -> TestResult {
    let (machine, driver) = open(Topology::preset("h200")?, Mode::Threads)?;
    let stage = Stage::new(&driver)?;
    let (kernel, other) = (stage.saxpy()?, stage.context.stream()?);
    let (x, mut y) = (stage.pool.upload(&[1.0_f32; 4], &stage.stream)?, stage.pool.zeroed::<f32>(4, &stage.stream)?);
    let (mut spare, mut event, late) =
        (stage.pool.zeroed::<f32>(4, &stage.stream)?, stage.stream.record()?, other.record()?);
    let (function, watch) = closure();
    let fill = stage.graph.entry().fill(&mut y, 1.0)?;
    let copy = fill.then().copy(&x, &mut spare)?;
    let mut host = copy.then().host(function)?;
    let record = host.then().record(&mut event)?;
    #[expect(unsafe_code, reason = "adds kernels")]
    // SAFETY: it reads and writes as many values as it is told.
    let node = unsafe { record.then().kernel(&kernel, &small(), (2.0_f32, &x, &mut y, 4_u32)) }?;
    let wait = node.then().wait(&event)?;

    let kernel_set = Function::cuGraphKernelNodeSetParams_v2;
    #[expect(unsafe_code, reason = "changes kernels")]
    // SAFETY: as above; the kernel ignores threads that it has no values for.
    unsafe {
        fails(&machine, kernel_set, || node.set_config(&LaunchConfig::new(9, 9)), || node.config())?;
        let set = || node.set_arguments((9.0_f32, &x, &mut spare, 4_u32));
        fails(&machine, kernel_set, set, || node.config())?;
    }
    fails(&machine, Function::cuGraphMemsetNodeSetParams, || fill.set_value(9.0_f32), || fill.parameters())?;
    fails(&machine, Function::cuGraphMemcpyNodeSetParams, || copy.set_source(&y), || copy.parameters())?;
    let wait_set = Function::cuGraphEventWaitNodeSetEvent;
    fails(&machine, wait_set, || wait.set_event(&late), || wait.event_raw())?;
    let (replacement, replacement_watch) = closure();
    let rule = Rule::on(Function::cuGraphHostNodeSetParams).fail(CUresult::CUDA_ERROR_OUT_OF_MEMORY);
    let scope = machine.inject(Plan::new().rule(rule))?;
    assert!(host.set_function(replacement).is_err());
    drop(scope);
    assert!(stage.is_released(&replacement_watch));
    stage.assert_kept(&watch);

    drop(x);
    stage.graph.instantiate()?.launch(&stage.stream)?;
    assert_eq!(y.download(&stage.stream)?, [3.0; 4], "as it was before");
    assert_eq!(spare.download(&stage.stream)?, [1.0; 4], "as it was before");
    Ok(())
}

/// S2.24: whichever step of embedding a graph fails, also after the node was added, there is no node and the
/// source is as it was.
#[test]
fn a_failed_step_of_embedding_leaves_nothing() -> TestResult {
    let steps =
        [Function::cuGraphAddChildGraphNode, Function::cuGraphChildGraphNodeGetGraph, Function::cuGraphNodeFindInClone];
    for step in steps {
        let (machine, driver) = open(Topology::preset("h200")?, Mode::Threads)?;
        let stage = Stage::new(&driver)?;
        let (inner, outer) = (GraphDef::new(&stage.context)?, GraphDef::new(&stage.context)?);
        let (function, watch) = closure();
        inner.entry().host(function)?;
        let first = outer.empty()?;
        fails(
            &machine,
            step,
            || first.then().embed(&inner).map(drop),
            || Ok((outer.node_count()?, outer.edges()?, inner.node_count()?)),
        )?;
        inner.close()?;
        assert!(stage.is_released(&watch), "{}: no copy keeps the closure", step.name());
        let (owner, kept) = watched();
        let again = GraphDef::new(&stage.context)?;
        again.keep_alive(owner)?;
        again.empty()?;
        let child = first.then().embed(&again)?;
        assert_eq!((child.kind()?, child.child()?.node_count()?), (NodeKind::Child, 1));
        again.close()?;
        stage.assert_kept(&kept);
    }
    Ok(())
}

/// S2.24: nodes of an embedded graph are the copy's own: they are changed and destroyed there, and in the source.
#[test]
fn an_embedded_graph_has_an_index_of_its_own() -> TestResult {
    let (_machine, driver) = open(Topology::preset("h200")?, Mode::Threads)?;
    let stage = Stage::new(&driver)?;
    let step = GraphDef::new(&stage.context)?;
    let (function, watch) = closure();
    let host = step.entry().host(function)?;
    let child = stage.graph.entry().embed(&step)?.child()?;
    let copied = child.nodes()?.pop().ok_or("a node")?;
    assert_ne!(&copied, host.node());
    host.destroy()?;
    assert!(!copied.is_destroyed());
    stage.assert_kept(&watch);
    copied.destroy()?;
    assert!(stage.is_released(&watch));
    Ok(())
}
