//! Lifetimes of the values that graphs keep.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use warploom::GraphDef;
use warploom::leaks::Leaks;
use warploom_testkit::driver_tests;

use crate::gate::Gate;
use crate::support::{Stage, closure, small};

driver_tests! {
    /// S2.1, S2.2, S2.5: everything that nodes refer to stays when the program has dropped it: callbacks,
    /// kernels, memory, events, copied bytes.
    fn a_graph_runs_after_everything_it_uses_was_dropped(driver) {
        let stage = Stage::new(driver)?;
        let calls = Arc::new(AtomicU32::new(0));
        let mut result = stage.pool.zeroed::<f32>(4, &stage.stream)?;
        {
            let x = stage.pool.upload(&[1.0_f32, 2.0, 3.0, 4.0], &stage.stream)?;
            let mut y = stage.pool.zeroed::<f32>(4, &stage.stream)?;
            let (kernel, mut event, counted) = (stage.saxpy()?, stage.stream.record()?, Arc::clone(&calls));
            let fill = stage.graph.entry().fill(&mut y, 1.0)?;
            #[expect(unsafe_code, reason = "adds kernels")]
            // SAFETY: it reads and writes as many values as it is told.
            let kernel = unsafe { fill.then().kernel(&kernel, &small(), (2.0_f32, &x, &mut y, 4_u32)) }?;
            let record = kernel.then().record(&mut event)?;
            let host = record.then().host(move || _ = counted.fetch_add(1, Ordering::Relaxed))?;
            host.then().copy(&y, &mut result)?;
        }
        let exec = stage.graph.instantiate()?;
        exec.launch(&stage.stream)?;
        assert_eq!(result.download(&stage.stream)?, [3.0, 5.0, 7.0, 9.0]);
        assert_eq!(calls.load(Ordering::Relaxed), 1);
    }

    /// S2.6: a clone keeps everything when the original and the owners are gone.
    fn a_clone_keeps_everything(driver) {
        let stage = Stage::new(driver)?;
        let (function, watch) = closure();
        let mut buffer = stage.zeroed(4)?;
        stage.graph.entry().host(function)?.then().fill(&mut buffer, 7)?;
        let clone = stage.graph.try_clone()?;
        assert_ne!(clone, stage.graph);
        let Stage { context, stream, other, pool, graph } = stage;
        graph.close()?;
        let stage = Stage { context: context.clone(), stream, other, pool, graph: GraphDef::new(&context)? };
        stage.assert_kept(&watch);
        assert_eq!((clone.node_count()?, clone.edges()?.len()), (2, 1));
        clone.instantiate()?.launch(&stage.stream)?;
        assert_eq!(buffer.download(&stage.stream)?, [7, 7, 7, 7]);
        for node in clone.nodes()? {
            node.destroy()?; // the index of the clone has them
        }
        assert!(stage.is_released(&watch));
    }

    /// S2.7: an executable keeps everything after the node was destroyed and the definition dropped,
    /// independently of other executables; the last to go releases.
    fn an_executable_keeps_everything(driver) {
        let stage = Stage::new(driver)?;
        let graph = GraphDef::new(&stage.context)?;
        let (function, watch) = closure();
        let host = graph.entry().host(function)?;
        let (first, second) = (graph.instantiate()?, graph.instantiate()?);
        host.destroy()?;
        stage.assert_kept(&watch);
        drop((host, graph));
        stage.assert_kept(&watch);
        first.launch(&stage.stream)?;
        stage.stream.synchronize()?;
        drop(first);
        stage.assert_kept(&watch);
        second.launch(&stage.stream)?;
        drop(second);
        assert!(stage.is_released(&watch));
    }

    /// S2.8: an executable that is dropped while it runs releases nothing that the launch uses.
    threads fn a_launch_keeps_what_it_uses_after_its_executable(driver) {
        let stage = Stage::new(driver)?;
        let graph = GraphDef::new(&stage.context)?;
        let (function, watch) = closure();
        let mut buffer = stage.zeroed(4)?;
        let mut copy = stage.zeroed(4)?;
        stage.stream.synchronize()?;
        graph.entry().host(function)?.then().fill(&mut buffer, 7)?.then().copy(&buffer, &mut copy)?;
        let exec = graph.instantiate()?;
        drop((graph, buffer));
        let gate = Gate::close(&stage.stream)?;
        exec.launch(&stage.stream)?;
        drop(exec);
        stage.assert_kept(&watch);
        gate.open();
        assert_eq!(copy.download(&stage.stream)?, [7, 7, 7, 7]);
        drop(gate);
        assert!(stage.is_released(&watch));
    }

    /// S2.9: destroying the graph releases all owners.
    fn destroying_the_graph_releases_all_owners(driver) {
        let stage = Stage::new(driver)?;
        let leaks = Leaks::track(driver);
        let graph = GraphDef::new(&stage.context)?;
        let (function, watch) = closure();
        let mut buffer = stage.zeroed(4)?;
        graph.entry().host(function)?.then().fill(&mut buffer, 1)?;
        drop(buffer);
        assert_eq!(leaks.report().count(|kind| kind.is_memory()), 1);
        graph.close()?;
        assert!(stage.is_released(&watch));
        assert!(stage.within_a_while(|| leaks.report().is_empty()), "{}", leaks.report());
    }

    /// S2.10: buffers are kept as allocations, as operands and as kernel arguments: closing the handle frees
    /// nothing.
    fn closing_a_buffer_does_not_free_memory_of_a_graph(driver) {
        let stage = Stage::new(driver)?;
        let leaks = Leaks::track(driver);
        let graph = GraphDef::new(&stage.context)?;
        let kernel = stage.saxpy()?;
        let (x, mut y) = (stage.pool.zeroed::<f32>(4, &stage.stream)?, stage.pool.zeroed::<f32>(4, &stage.stream)?);
        #[expect(unsafe_code, reason = "adds kernels")]
        // SAFETY: it reads and writes as many values as it is told.
        unsafe { graph.entry().kernel(&kernel, &small(), (1.0_f32, &x, &mut y, 4_u32)) }?;
        x.close()?;
        y.close()?;
        assert_eq!(leaks.report().count(|kind| kind.is_memory()), 2);
        let exec = graph.instantiate()?;
        exec.launch(&stage.stream)?;
        stage.stream.synchronize()?;
        drop((graph, exec));
        assert!(stage.within_a_while(|| leaks.report().count(|kind| kind.is_memory()) == 0), "{}", leaks.report());
    }

    /// S2.47: a weak handle shows that a graph is gone, and a leak report that memory is.
    fn observers_tell_what_is_left(driver) {
        let stage = Stage::new(driver)?;
        let leaks = Leaks::track(driver);
        let graph = GraphDef::new(&stage.context)?;
        let mut buffer = stage.zeroed(4)?;
        let node = graph.entry().fill(&mut buffer, 1)?;
        let weak = graph.downgrade();
        drop((graph, buffer));
        assert_eq!(weak.upgrade().as_ref(), Some(node.graph()), "a node keeps the graph");
        drop(node);
        assert!(weak.upgrade().is_none());
        assert!(stage.within_a_while(|| leaks.report().is_empty()), "{}", leaks.report());
    }

    /// S2.13: an owner that holds its graph is never released; one that holds a weak handle is.
    fn a_weak_handle_breaks_a_cycle(driver) {
        let stage = Stage::new(driver)?;
        let graph = GraphDef::new(&stage.context)?;
        let value = Arc::new(graph.downgrade());
        let watch = Arc::downgrade(&value);
        graph.entry().host(move || drop(value.upgrade()))?;
        drop(graph);
        assert!(stage.is_released(&watch));
    }

    /// S4.18: memory that a graph used on a stream is freed after the launch, though the stream is not its
    /// own, and the executable is gone.
    fn memory_is_freed_after_the_launch_that_used_it(driver) {
        let stage = Stage::new(driver)?;
        let (mut first, mut second) = (stage.zeroed(1024)?, stage.zeroed(1024)?);
        stage.graph.entry().fill(&mut first, 7)?.then().copy(&first, &mut second)?;
        let exec = stage.graph.instantiate()?;
        for _ in 0..3 {
            exec.launch(&stage.other)?;
        }
        let Stage { context, stream, other, pool, graph } = stage;
        drop((exec, graph, first));
        let mut reused = pool.zeroed::<u32>(1024, &stream)?;
        reused.fill(1, &stream)?;
        assert_eq!(second.download(&other)?, [7; 1024]);
        assert_eq!(reused.download(&stream)?, [1; 1024]);
        drop(context);
    }

    /// S2.14: bodies keep owners like the root: destroying the conditional node releases them.
    fn bodies_and_children_keep_owners_like_the_root(driver) {
        let stage = Stage::new(driver)?;
        let condition = stage.graph.condition(0)?;
        let node = stage.graph.entry().if_then(&condition)?;
        let mut buffer = stage.zeroed(4)?;
        let leaks = Leaks::track(driver);
        let mut inside = stage.zeroed(4)?;
        node.body().entry().fill(&mut inside, 1)?.then().copy(&inside, &mut buffer)?;
        drop(inside);
        assert_eq!(leaks.report().count(|kind| kind.is_memory()), 1);
        let body = node.body().clone();
        node.destroy()?;
        assert!(body.is_destroyed());
        assert!(stage.within_a_while(|| leaks.report().count(|kind| kind.is_memory()) == 0), "{}", leaks.report());
    }
}
