//! Nodes that run in another context than their graph's.

use warploom::capture::Relaxed;
use warploom::graph::{CopyNode, FillNode, KernelNode, NodeKind, WordsNode};
use warploom::leaks::{Kind, Leaks};
use warploom::{
    AccessLayer, Context, ContextOptions, DevicePool, Driver, Error, GraphDef, GraphError, GraphExec, LaunchConfig,
    ManagedBuffer, ManagedMemory, PeerError, Result, Stream, StreamWord,
};
use warploom_sim::Mode;
use warploom_sim::topology::Topology;
use warploom_testkit::{TestResult, assert_sound, budget, driver_tests, open};

use crate::support::Stage;

/// A stage, managed memory that every context can use, and a graph of another context which fills that with 7.
struct Scene {
    stage: Stage,
    memory: ManagedBuffer<u32>,
    other: Context,
    inner: GraphDef,
    leaks: Leaks,
}

impl Scene {
    fn new(driver: &Driver) -> Result<Scene> {
        let stage = Stage::new(driver)?;
        let mut memory = ManagedMemory::new(&stage.context)?.zeroed::<u32>(4, &stage.stream)?;
        stage.stream.synchronize()?;
        let leaks = Leaks::track(driver);
        let other = driver.device(0)?.create_context(ContextOptions::new())?;
        let inner = GraphDef::new(&other)?;
        inner.entry().fill(&mut memory, 7)?;
        Ok(Scene { stage, memory, other, inner, leaks })
    }

    /// Drops the other context and its graph, and checks that an executable keeps the context until it is dropped.
    #[track_caller]
    fn assert_kept_by(self, make: impl FnOnce(GraphDef) -> Result<GraphExec>) -> Result<()> {
        let Scene { stage, memory, other, inner, leaks } = self;
        let is_context = |kind| kind == Kind::Context;
        inner.close()?;
        other.close()?;
        assert_eq!(leaks.report().count(is_context), 1, "the graph keeps the context");
        let Stage { context, stream, other, pool, graph } = stage;
        let exec = make(graph)?;
        assert_eq!(leaks.report().count(is_context), 1, "the executable keeps the context");
        exec.launch(&stream)?;
        stream.synchronize()?;
        assert_eq!(memory.host()?, [7; 4]);
        drop(exec);
        let stage = Stage { graph: GraphDef::new(&context)?, context, stream, other, pool };
        assert!(stage.within_a_while(|| leaks.report().count(is_context) == 0), "{}", leaks.report());
        Ok(())
    }
}

fn instantiated(graph: GraphDef) -> Result<GraphExec> {
    graph.instantiate()
}

driver_tests! {
    /// S2.2: a node that is found by its graph keeps its context when it is changed.
    fn a_node_keeps_its_context_when_it_is_changed(driver) {
        let mut scene = Scene::new(driver)?;
        scene.stage.graph.entry().on(&scene.other).fill(&mut scene.memory, 1)?;
        scene.stage.graph.nodes()?[0].downcast::<FillNode>()?.set(&mut scene.memory, 7)?;
        scene.assert_kept_by(instantiated)?;
    }

    /// S2.2, S2.24: an embedded graph keeps its context, and so does one in the place of another.
    fn an_embedded_graph_keeps_its_context(driver) {
        let scene = Scene::new(driver)?;
        scene.stage.graph.entry().embed(&scene.inner)?;
        scene.assert_kept_by(instantiated)?;

        let scene = Scene::new(driver)?;
        let child = scene.stage.graph.entry().embed(&GraphDef::new(&scene.stage.context)?)?;
        child.set_child(&scene.inner)?;
        drop(child);
        scene.assert_kept_by(instantiated)?;
    }

    /// S2.6: a clone of an embedded graph keeps the context of the nodes, which may be changed there.
    fn a_clone_of_an_embedded_graph_keeps_its_context(driver) {
        let mut scene = Scene::new(driver)?;
        let clone = scene.stage.graph.entry().embed(&scene.inner)?.child()?.try_clone()?;
        clone.nodes()?[0].downcast::<FillNode>()?.set(&mut scene.memory, 7)?;
        scene.stage.graph = clone;
        scene.assert_kept_by(instantiated)?;
    }

    /// S2.14: a conditional node runs where its condition was made, in the graph's context.
    fn a_conditional_node_is_in_the_context_of_its_graph(driver) {
        let mut scene = Scene::new(driver)?;
        let condition = scene.stage.graph.condition(1)?;
        let elsewhere = || scene.stage.graph.entry().on(&scene.other);
        budget(driver, &[], || {
            let refused = [elsewhere().if_then(&condition).map(drop), elsewhere().while_loop(&condition).map(drop)];
            assert!(refused.iter().all(|refused| *refused == Err(GraphError::ConditionContext.into())), "{refused:?}");
        });
        let node = scene.stage.graph.entry().on(&scene.stage.context).if_then(&condition)?;
        node.body().entry().fill(&mut scene.memory, 7)?;
        scene.stage.graph.instantiate()?.launch(&scene.stage.stream)?;
        scene.stage.stream.synchronize()?;
        assert_eq!(scene.memory.host()?, [7; 4]);
    }

    /// S2.26, S2.27: an executable keeps the context of a graph that it was updated from, and of one that a child was.
    fn an_updated_executable_keeps_the_context(driver) {
        let mut scene = Scene::new(driver)?;
        let fill = scene.stage.graph.entry().fill(&mut scene.memory, 1)?;
        let exec = scene.stage.graph.instantiate()?;
        match exec.update(&scene.inner) {
            Ok(()) => {
                drop(fill);
                scene.assert_kept_by(|_| Ok(exec))?;
            }
            // Drivers may refuse another context.
            Err(error) => assert!(matches!(error, Error::Graph(_)), "{error}"),
        }

        let mut scene = Scene::new(driver)?;
        let step = GraphDef::new(&scene.stage.context)?;
        step.entry().fill(&mut scene.memory, 1)?;
        let child = scene.stage.graph.entry().embed(&step)?;
        let exec = scene.stage.graph.instantiate()?;
        match exec.node(&child).set_child(&scene.inner) {
            Ok(()) => {
                drop((child, step));
                scene.assert_kept_by(|_| Ok(exec))?;
            }
            Err(error) => assert!(error.code().is_some(), "{error}"),
        }
    }
}

/// S2.22: nodes that are found by their graph, and those of an embedded one, are changed in their own context:
/// memory that its device has no access to is refused, and the device's own is not.
#[test]
fn nodes_that_are_found_are_checked_for_their_own_context() -> TestResult {
    let (machine, driver) = open(Topology::preset("dgx-h100")?, Mode::Threads)?;
    let stage = Stage::new(&driver)?;
    let far = driver.device(1)?.context()?;
    let (pool, stream) = (DevicePool::new(&far)?, far.stream()?);
    let (mut near_x, mut near_y) = (stage.zeroed(4)?, stage.zeroed(4)?);
    let (mut far_x, mut far_y) = (pool.zeroed::<u32>(4, &stream)?, pool.zeroed::<u32>(4, &stream)?);
    let word = StreamWord::<u32>::new(&far, 0)?;
    let missing = PeerError::NotEnabled { from: 1, to: 0, layer: AccessLayer::Pool };
    let here = stage.graph.entry().on(&far).fill(&mut far_x, 7)?;
    here.then().on(&far).copy(&far_x, &mut far_y)?.then().on(&far).words(&[word.writing(1)])?;
    let there = GraphDef::new(&far)?;
    there.entry().fill(&mut far_x, 7)?.then().copy(&far_x, &mut far_y)?.then().words(&[word.writing(1)])?;
    let kernel = stage.saxpy()?;
    let floats = pool.zeroed::<f32>(4, &stream)?;
    let (mut sums, near) = (pool.zeroed::<f32>(4, &stream)?, stage.pool.zeroed::<f32>(4, &stage.stream)?);
    stream.synchronize()?;
    let shape = LaunchConfig::new(1, 4);
    #[expect(unsafe_code, reason = "adds kernels")]
    // SAFETY: it reads and writes as many values as it is told.
    unsafe { there.entry().kernel(&kernel, &shape, (1.0_f32, &floats, &mut sums, 4_u32)) }?;
    let middle = GraphDef::new(&stage.context)?;
    middle.entry().embed(&there)?;
    let outer = GraphDef::new(&stage.context)?;
    let embedded =
        outer.entry().embed(&middle)?.child()?.nodes()?[0].downcast::<warploom::graph::ChildNode>()?.child()?;

    for graph in [stage.graph.clone(), there, embedded] {
        for node in graph.nodes()? {
            match node.kind()? {
                NodeKind::Fill => {
                    let node = node.downcast::<FillNode>()?;
                    assert_eq!(node.set(&mut near_x, 9), Err(missing.clone().into()));
                    node.set(&mut far_x, 9)?;
                }
                NodeKind::Copy => {
                    let node = node.downcast::<CopyNode>()?;
                    assert_eq!(node.set(&far_x, &mut near_y), Err(missing.clone().into()));
                    assert_eq!(node.set_source(&near_x), Err(missing.clone().into()));
                    node.set(&far_x, &mut far_y)?;
                }
                NodeKind::Values => node.downcast::<WordsNode>()?.set(&[word.writing(2)])?,
                _ => {
                    let node = node.downcast::<KernelNode>()?;
                    #[expect(unsafe_code, reason = "changes kernels")]
                    // SAFETY: as above.
                    unsafe {
                        let refused = node.set_arguments((1.0_f32, &near, &mut sums, 4_u32));
                        assert_eq!(refused, Err(missing.clone().into()));
                        node.set_arguments((1.0_f32, &floats, &mut sums, 4_u32))?;
                    }
                }
            }
        }
    }
    for graph in [&stage.graph, &outer] {
        far_x.zero(&stream)?;
        far_y.zero(&stream)?;
        stream.synchronize()?;
        graph.instantiate()?.launch(&stage.stream)?;
        stage.stream.synchronize()?;
        assert_eq!(far_y.download(&stream)?, [9; 4]);
        assert_eq!(word.load(), 2);
    }
    assert_sound(&machine);
    Ok(())
}

/// S2.22, S2.45: so are nodes that were captured on a stream of another context, and their copies.
#[test]
fn captured_nodes_are_checked_for_their_own_context() -> TestResult {
    let (machine, driver) = open(Topology::preset("dgx-h100")?, Mode::Threads)?;
    let stage = Stage::new(&driver)?;
    let far = driver.device(1)?.context()?;
    let (pool, stream) = (DevicePool::new(&far)?, far.stream()?);
    let (mut near_x, mut near_y) = (stage.zeroed(4)?, stage.zeroed(4)?);
    let (mut far_x, mut far_y) = (pool.zeroed::<u32>(4, &stream)?, pool.zeroed::<u32>(4, &stream)?);
    stream.synchronize()?;
    stage.stream.synchronize()?;
    let mut capture_both = |on: &Stream| -> Result<()> {
        stream.wait_for(on)?;
        far_x.fill(7, &stream)?;
        far_x.copy_to(&mut far_y, &stream)?;
        on.wait_for(&stream)?;
        near_x.fill(1, on)
    };
    let capture = stage.stream.capture(Relaxed)?;
    capture_both(&stage.stream)?;
    let graph: GraphDef = capture.end()?.into();
    let clone = graph.try_clone()?;
    let outer = GraphDef::new(&stage.context)?;
    let embedded = outer.entry().embed(&graph)?.child()?;
    let exec = graph.instantiate()?;
    let captured = graph.clone();

    let missing = |from, to| Err(Error::from(PeerError::NotEnabled { from, to, layer: AccessLayer::Pool }));
    for graph in [&graph, &clone, &embedded] {
        for node in graph.nodes()? {
            if node.kind()? == NodeKind::Copy {
                let node = node.downcast::<CopyNode>()?;
                assert_eq!(node.set(&near_x, &mut near_y), missing(1, 0));
                node.set(&far_x, &mut far_y)?;
                if node.graph() == &captured {
                    exec.node(&node).set(&far_x, &mut far_y)?;
                }
                continue;
            }
            let node = node.downcast::<FillNode>()?;
            match node.parameters()?.value {
                7 => {
                    assert_eq!(node.set(&mut near_x, 9), missing(1, 0));
                    node.set(&mut far_x, 9)?;
                }
                _ => {
                    assert_eq!(node.set(&mut far_x, 2), missing(0, 1));
                    node.set(&mut near_x, 2)?;
                }
            }
        }
    }
    for exec in [graph.instantiate()?, clone.instantiate()?, outer.instantiate()?, exec] {
        exec.launch(&stage.stream)?;
    }
    stage.stream.synchronize()?;
    assert_eq!((far_y.download(&stream)?[0], near_x.download(&stage.stream)?[0]), (7, 1));
    drop((near_x, near_y, far_x, far_y));
    assert_sound(&machine);
    Ok(())
}
