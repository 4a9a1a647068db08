//! Executables: launches, updates, owners of changed nodes.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Barrier};

use warploom::capture::Relaxed;
use warploom::graph::{
    ChildNode, HostNode, InstantiateOptions, InstantiateReason, Node, OperandMut, UpdateReason, reclaim,
};
use warploom::{CaptureError, Error, Function, GraphDef, GraphError, GraphExec, LaunchError, LiveSet as _};
use warploom_testkit::{budget, driver_tests};

use crate::gate::Gate;
use crate::support::{Stage, closure, small};

/// A call that supersedes the function of a host node inside of a child: with the executable, which it may drop, both
/// nodes, and a graph to put in place of the child's.
type Supersede = fn(GraphExec, &HostNode, &ChildNode, &GraphDef) -> Result<Option<GraphExec>, Error>;

driver_tests! {
    /// S2.23: a change of the definition shows in executables made afterwards, and in no other.
    fn an_update_of_the_definition_affects_later_executables_alone(driver) {
        let stage = Stage::new(driver)?;
        let mut buffer = stage.zeroed(4)?;
        let (function, watch) = closure();
        let fill = stage.graph.entry().fill(&mut buffer, 1)?;
        let mut host = fill.then().host(function)?;
        let before = stage.graph.instantiate()?;
        fill.set_value(2_u32)?;
        host.set_function(|| ())?;
        stage.assert_kept(&watch);
        let after = stage.graph.instantiate()?;
        before.launch(&stage.stream)?;
        assert_eq!(buffer.download(&stage.stream)?, [1; 4]);
        after.launch(&stage.stream)?;
        assert_eq!(buffer.download(&stage.stream)?, [2; 4]);
        drop(before);
        assert!(stage.is_released(&watch));
    }

    /// A launch is one driver call, and so are those after it; on another stream, the memory meets that.
    fn a_launch_is_one_driver_call(driver) {
        let stage = Stage::new(driver)?;
        let mut buffer = stage.zeroed(4)?;
        stage.graph.entry().fill(&mut buffer, 1)?;
        let exec = stage.graph.instantiate()?;
        for _ in 0..3 {
            budget(driver, &[(Function::cuGraphLaunch, 1)], || exec.launch(&stage.stream))?;
        }
        exec.launch(&stage.other)?;
        budget(driver, &[(Function::cuGraphLaunch, 1)], || exec.launch(&stage.other))?;
        budget(driver, &[(Function::cuGraphUpload, 1)], || exec.upload(&stage.other))?;
        stage.context.synchronize()?;
    }

    /// S2.26, S2.27: a change of a node replaces exactly what the node kept, at once if no launch is in flight; and a
    /// refused change keeps nothing.
    fn a_change_replaces_what_the_node_kept(driver) {
        let stage = Stage::new(driver)?;
        let [(first, first_watch), (second, second_watch), (third, third_watch)] = [closure(), closure(), closure()];
        let (beside, beside_watch) = closure();
        let mut host = stage.graph.entry().host(first)?;
        host.then().host(beside)?;
        let exec = stage.graph.instantiate()?;
        host.set_function(|| ())?;
        stage.assert_kept(&first_watch);
        exec.node(&host).set_function(second)?;
        assert_eq!(first_watch.strong_count(), 0, "it was never launched");
        exec.launch(&stage.stream)?;
        stage.stream.synchronize()?;
        exec.node(&host).set_function(third)?;
        assert_eq!(second_watch.strong_count(), 0, "no launch is in flight");

        let other = GraphDef::new(&stage.context)?;
        other.entry().host(|| ())?.then().host(|| ())?;
        exec.update(&other)?;
        assert_eq!(third_watch.strong_count(), 0);
        stage.assert_kept(&beside_watch); // by the definition
        host.destroy()?;
        let (late, late_watch) = closure();
        assert_eq!(exec.node(&host).set_function(late), Err(GraphError::NodeDestroyed.into()));
        assert_eq!(late_watch.strong_count(), 0);
    }

    /// S2.8, S2.27: owners that a change, an update, another child or the drop of the executable supersedes stay while
    /// a launch is in flight that uses them, and go after it. None of these calls waits.
    threads fn launches_in_flight_keep_superseded_owners(driver) {
        let stage = Stage::new(driver)?;
        let ways: [Supersede; 4] = [
            |exec, host, _, _| exec.node(host).set_function(|| ()).map(|()| Some(exec)),
            |exec, _, child, empty| exec.node(child).set_child(empty).map(|()| Some(exec)),
            |exec, host, _, _| exec.update(&host.graph().root()).map(|()| Some(exec)),
            |exec, _, _, _| exec.close().map(|()| None),
        ];
        for (way, supersede) in ways.iter().enumerate() {
            let calls = Arc::new(AtomicU32::new(0));
            let (counted, watch) = (Arc::clone(&calls), Arc::downgrade(&calls));
            let (step, empty) = (GraphDef::new(&stage.context)?, GraphDef::new(&stage.context)?);
            step.entry().host(move || _ = counted.fetch_add(1, Ordering::Relaxed))?;
            empty.entry().host(|| ())?;
            let graph = GraphDef::new(&stage.context)?;
            let child = graph.entry().embed(&step)?;
            let mut host = child.child()?.nodes()?[0].downcast::<HostNode>()?;
            let exec = graph.instantiate()?;
            host.set_function(|| ())?;
            drop(step);
            stage.assert_kept(&watch); // by the executable

            let gate = Gate::close(&stage.stream)?;
            exec.launch(&stage.stream)?;
            let exec = supersede(exec, &host, &child, &empty)?;
            reclaim();
            assert_eq!(watch.strong_count(), 2, "way {way} lets go of what a launch uses");
            gate.open();
            stage.stream.synchronize()?;
            assert_eq!(calls.load(Ordering::Relaxed), 1, "way {way}");
            drop(calls);
            assert!(stage.is_released(&watch), "way {way}");
            drop(exec);
        }
    }

    /// S2.8: the same for a launch on another thread's default stream, which the legacy stream stands for.
    threads fn launches_of_another_thread_keep_what_they_use(driver) {
        let stage = Stage::new(driver)?;
        let (function, watch) = closure();
        let host = stage.graph.entry().host(function)?;
        let exec = stage.graph.instantiate()?;
        host.destroy()?;
        let (launched, dropped) = (Barrier::new(2), Barrier::new(2));
        std::thread::scope(|scope| {
            let other = scope.spawn(|| {
                let stream = stage.context.per_thread_stream();
                let gate = Gate::close(&stream);
                let done = exec.launch(&stream);
                launched.wait();
                dropped.wait();
                drop(gate);
                done.and_then(|()| stream.synchronize())
            });
            launched.wait();
            let replaced = exec.update(&stage.graph).map_err(|error| error.to_string());
            let swapped = GraphDef::new(&stage.context).and_then(|empty| {
                empty.entry().host(|| ())?;
                exec.update(&empty)
            });
            reclaim();
            let is_kept = watch.strong_count() == 1;
            dropped.wait();
            let done = other.join().expect("the thread returns");
            assert!(replaced.is_err(), "it has another node");
            swapped.and(done)?;
            assert!(is_kept, "it was dropped while a launch used it");
            Ok::<_, Error>(())
        })?;
        assert!(stage.is_released(&watch));
    }

    /// S2.10, S2.27: memory that a change supersedes is freed in the order of the launches, and the host does not wait.
    threads fn superseded_memory_is_freed_after_launches_in_flight(driver) {
        let stage = Stage::new(driver)?;
        let (mut first, mut second) = (stage.zeroed(1024)?, stage.zeroed(1024)?);
        let mut copy = stage.zeroed(1024)?;
        let fill = stage.graph.entry().fill(&mut first, 7)?;
        let copied = fill.then().copy(&first, &mut copy)?;
        let exec = stage.graph.instantiate()?;
        stage.stream.synchronize()?;
        let memory = first.downgrade();
        let gate = Gate::close(&stage.other)?;
        exec.launch(&stage.other)?;
        fill.set(&mut second, 1)?;
        copied.set_source(&second)?;
        drop(first);
        exec.update(&stage.graph)?;
        reclaim();
        assert!(!memory.is_held());
        let mut reused = stage.zeroed(1024)?;
        reused.fill(1, &stage.stream)?;
        gate.open();
        assert_eq!(copy.download(&stage.other)?, [7; 1024]);
    }

    /// S2.27: a refused whole update changes nothing, keeps the old owners and adopts none.
    fn a_refused_update_changes_nothing(driver) {
        let stage = Stage::new(driver)?;
        let mut buffer = stage.zeroed(4)?;
        let (kept, kept_watch) = closure();
        let fill = stage.graph.entry().fill(&mut buffer, 1)?;
        let host = fill.then().host(|| ())?;
        let exec = stage.graph.instantiate()?;
        exec.node(&host).set_function(kept)?;

        let other = GraphDef::new(&stage.context)?;
        let (foreign, foreign_watch) = closure();
        let node = other.entry().host(foreign)?;
        let after = node.then().host(|| ())?;
        let refused = |graph: &GraphDef| match exec.update(graph) {
            Err(Error::Graph(GraphError::Update(error))) => *error,
            other => panic!("it is refused: {other:?}"),
        };
        {
            let error = refused(&other);
            assert_eq!((error.reason, error.node), (UpdateReason::KindChanged, Some(Node::from(&node))));
        }
        after.destroy()?;
        assert_eq!(refused(&other).reason, UpdateReason::TopologyChanged);
        drop((node, after));
        other.close()?;
        assert!(stage.is_released(&foreign_watch));
        stage.assert_kept(&kept_watch);
        exec.launch(&stage.stream)?;
        assert_eq!(buffer.download(&stage.stream)?, [1; 4]);
    }

    /// S2.28: owners of changed nodes belong to one executable.
    fn executables_keep_their_own_owners(driver) {
        let stage = Stage::new(driver)?;
        let host = stage.graph.entry().host(|| ())?;
        let (one, two) = (stage.graph.instantiate()?, stage.graph.instantiate()?);
        let (first, first_watch) = closure();
        let (second, second_watch) = closure();
        one.node(&host).set_function(first)?;
        two.node(&host).set_function(second)?;
        drop(one);
        assert!(stage.is_released(&first_watch));
        stage.assert_kept(&second_watch);
        drop(two);
        assert!(stage.is_released(&second_watch));
    }

    /// S2.28: a node is switched off and on without any other call, and keeps its owners.
    fn switching_a_node_attaches_nothing(driver) {
        let stage = Stage::new(driver)?;
        let mut buffer = stage.zeroed(4)?;
        let fill = stage.graph.entry().fill(&mut buffer, 1)?;
        let exec = stage.graph.instantiate()?;
        budget(driver, &[(Function::cuGraphNodeSetEnabled, 1)], || exec.node(&fill).set_enabled(false))?;
        assert!(!exec.node(&fill).is_enabled()?);
        exec.launch(&stage.stream)?;
        assert_eq!(buffer.download(&stage.stream)?, [0; 4]);
        exec.node(&fill).set_enabled(true)?;
        exec.launch(&stage.stream)?;
        assert_eq!(buffer.download(&stage.stream)?, [1; 4]);
    }

    /// S2.28: the owners of a graph that replaces a child's parameters are kept by the executable.
    fn a_child_of_an_executable_is_updated(driver) {
        let stage = Stage::new(driver)?;
        let calls = Arc::new(AtomicU32::new(0));
        let graph_of = |amount: u32| -> Result<_, Error> {
            let (graph, calls) = (GraphDef::new(&stage.context)?, Arc::clone(&calls));
            graph.entry().host(move || _ = calls.fetch_add(amount, Ordering::Relaxed))?;
            Ok(graph)
        };
        let child = stage.graph.entry().embed(&graph_of(1)?)?;
        let exec = stage.graph.instantiate()?;
        exec.node(&child).set_child(&graph_of(10)?)?; // the graph itself is dropped
        warploom::graph::reclaim();
        exec.launch(&stage.stream)?;
        stage.stream.synchronize()?;
        assert_eq!(calls.load(Ordering::Relaxed), 10);
        let other = GraphDef::new(&stage.context)?;
        other.empty()?.then().empty()?;
        assert!(exec.node(&child).set_child(&other).is_err());
        assert_eq!(exec.node(&child).set_child(&child.child()?), Err(GraphError::SameHierarchy.into()));
    }

    /// Nodes of every kind that can be are changed in one executable; the definition stays.
    fn nodes_of_an_executable_are_changed(driver) {
        let stage = Stage::new(driver)?;
        let (mut x, mut y) = (stage.pool.zeroed::<f32>(4, &stage.stream)?, stage.pool.zeroed::<f32>(4, &stage.stream)?);
        let (mut far, kernel) = (stage.pool.zeroed::<f32>(4, &stage.stream)?, stage.saxpy()?);
        let (mut event, mut later) = (stage.stream.record()?, stage.stream.record()?);
        let fill = stage.graph.entry().fill(&mut x, 1.0)?;
        #[expect(unsafe_code, reason = "adds kernels")]
        // SAFETY: it reads and writes as many values as it is told.
        let step = unsafe { fill.then().kernel(&kernel, &small(), (2.0_f32, &x, &mut y, 4_u32)) }?;
        let copy = step.then().copy(&y, &mut far)?;
        let record = copy.then().record(&mut event)?;
        let wait = stage.graph.entry().wait(&event)?;
        let exec = stage.graph.instantiate()?;
        exec.node(&fill).set(&mut x, 10.0)?;
        #[expect(unsafe_code, reason = "adds kernels")]
        // SAFETY: as above.
        unsafe {
            exec.node(&step).set_arguments((3.0_f32, &x, &mut y, 2_u32))?;
            exec.node(&step).set(&kernel, &small(), (3.0_f32, &x, &mut y, 2_u32))?;
        }
        exec.node(&copy).set(&x, &mut far)?;
        exec.node(&record).set_event(&mut later)?;
        exec.node(&wait).set_event(&later)?;
        exec.launch(&stage.stream)?;
        assert_eq!(y.download(&stage.stream)?, [30.0, 30.0, 0.0, 0.0]);
        assert_eq!(far.download(&stage.stream)?, [10.0; 4]);
        assert_eq!(fill.parameters()?.value, 1.0_f32.to_bits());
    }

    /// A shape that was checked once is not checked again, and only taken with its kernel.
    fn nodes_take_a_shape_that_was_checked_for_their_kernel(driver) {
        let stage = Stage::new(driver)?;
        let (mut x, mut y) = (stage.pool.zeroed::<f32>(4, &stage.stream)?, stage.pool.zeroed::<f32>(4, &stage.stream)?);
        x.fill(1.0, &stage.stream)?;
        let (kernel, other) = (stage.saxpy()?, stage.saxpy()?);
        let shape = kernel.check(&small(), &stage.context)?;
        let elsewhere = other.check(&small(), &stage.context)?;
        let refusal = Err(Error::Launch(LaunchError::CheckedElsewhere));
        #[expect(unsafe_code, reason = "adds kernels")]
        // SAFETY: it reads and writes as many values as it is told.
        unsafe {
            let step = stage.graph.entry().kernel(&kernel, &shape, (2.0_f32, &x, &mut y, 4_u32))?;
            assert_eq!(step.set_config(&elsewhere), refusal);
            assert_eq!(step.set_kernel(&kernel, &elsewhere, (2.0_f32, &x, &mut y, 4_u32)), refusal);
            step.set_config(&shape)?;
            step.set_kernel(&kernel, &shape, (3.0_f32, &x, &mut y, 4_u32))?;
            let exec = stage.graph.instantiate()?;
            assert_eq!(exec.node(&step).set(&kernel, &elsewhere, (4.0_f32, &x, &mut y, 4_u32)), refusal);
            exec.launch(&stage.stream)?;
            assert_eq!(y.download(&stage.stream)?, [3.0; 4]);
            let calls = [(Function::cuGraphExecKernelNodeSetParams_v2, 1)];
            budget(driver, &calls, || exec.node(&step).set(&kernel, &shape, (5.0_f32, &x, &mut y, 2_u32)))?;
            exec.launch(&stage.stream)?;
        }
        assert_eq!(y.download(&stage.stream)?, [8.0, 8.0, 3.0, 3.0]);
    }

    /// A node of another graph is refused by an executable.
    fn a_node_of_another_graph_is_refused_by_an_executable(driver) {
        let stage = Stage::new(driver)?;
        let host = stage.graph.entry().host(|| ())?;
        let exec = stage.graph.instantiate()?;
        let other = GraphDef::new(&stage.context)?.entry().host(|| ())?;
        assert_eq!(exec.node(&other).set_function(|| ()), Err(GraphError::OtherExecutable.into()));
        exec.node(&host).set_function(|| ())?;
    }

    /// An instantiation that fails names the reason and the node.
    fn a_cycle_is_named_when_the_graph_is_instantiated(driver) {
        let stage = Stage::new(driver)?;
        let (a, b) = (stage.graph.empty()?, stage.graph.empty()?);
        b.predecessors().insert(&a)?;
        a.predecessors().insert(&b)?;
        let Err(Error::Graph(GraphError::Instantiate(error))) = stage.graph.instantiate() else {
            panic!("it is refused");
        };
        assert_eq!(error.reason, InstantiateReason::InvalidStructure);
        assert!(error.node.is_some_and(|node| node == *a.node() || node == *b.node()));
        a.predecessors().clear()?;
        stage.graph.instantiate()?.launch(&stage.stream)?;
        stage.stream.synchronize()?;
    }

    /// Options: upload on a stream, memory that is freed by the next launch, and priorities of nodes.
    fn a_graph_is_instantiated_with_options(driver) {
        let stage = Stage::new(driver)?;
        let scratch = stage.graph.entry().allocate::<u32>(4)?;
        #[expect(unsafe_code, reason = "uses memory of the graph")]
        // SAFETY: after the allocation; no node frees it.
        unsafe { scratch.then().fill(OperandMut::of_graph(&scratch), 1) }?;
        let options = InstantiateOptions::new().auto_free().upload_on(&stage.stream).node_priority();
        let exec = stage.graph.instantiate_with(&options)?;
        exec.launch(&stage.stream)?;
        exec.launch(&stage.stream)?;
        stage.stream.synchronize()?;

        let other = GraphDef::new(&stage.context)?;
        other.entry().allocate::<u32>(4)?;
        let exec = other.instantiate()?;
        exec.launch(&stage.stream)?;
        assert!(exec.launch(&stage.stream).is_err(), "the memory of the launch before is still allocated");
        stage.stream.synchronize()?;
    }

    /// A launch on a captured stream is refused, and the capture goes on.
    fn a_launch_on_a_captured_stream_is_refused(driver) {
        let stage = Stage::new(driver)?;
        stage.graph.empty()?;
        let exec = stage.graph.instantiate()?;
        let capture = stage.stream.capture(Relaxed)?;
        assert!(matches!(exec.launch(&capture), Err(Error::Capture(CaptureError::NotCapturable { .. }))));
        assert!(matches!(exec.upload(&capture), Err(Error::Capture(CaptureError::NotCapturable { .. }))));
        assert!(capture.is_valid()?);
        drop(exec);
        assert!(capture.is_valid()?, "no drop spoils a capture");
        capture.end()?;
    }

    /// Two threads launch one executable; its launches follow each other.
    fn threads_share_an_executable(driver) {
        let stage = Stage::new(driver)?;
        let calls = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&calls);
        stage.graph.entry().host(move || _ = counted.fetch_add(1, Ordering::Relaxed))?;
        let exec = stage.graph.instantiate()?;
        std::thread::scope(|scope| {
            let launch = |stream| {
                let exec = &exec;
                scope.spawn(move || (0..8).try_for_each(|_| exec.launch(stream)))
            };
            let threads = [launch(&stage.stream), launch(&stage.other)];
            threads.into_iter().try_for_each(|thread| thread.join().expect("does not panic"))
        })?;
        stage.context.synchronize()?;
        assert_eq!(calls.load(Ordering::Relaxed), 16);
    }
}
