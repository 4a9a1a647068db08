//! Nodes: listing, joining, read-back and DOT text.

use std::time::Duration;

use warploom::capture::Relaxed;
use warploom::graph::{DotFlags, EmptyNode, KernelNode, NodeKind, RecordNode};
use warploom::{CaptureError, Error, EventOptions, GraphError, LaunchConfig, LiveSet as _, Timed, Untimed};
use warploom_sim::Mode;
use warploom_sim::fault::{Calls, Plan, Rule};
use warploom_sim::topology::Topology;
use warploom_testkit::{TestResult, driver_tests, open};

use crate::support::Stage;

driver_tests! {
    /// Nodes are added at the beginning, after one, and after several; a node given twice counts once.
    fn nodes_are_added_after_others(driver) {
        let Stage { graph, .. } = Stage::new(driver)?;
        let (a, b) = (graph.empty()?, graph.empty()?);
        let c = a.then().empty()?;
        let d = graph.after([b.node(), c.node(), b.node()]).empty()?;
        let e = graph.join([&a, &d])?;
        assert_eq!(graph.edges()?.len(), 5);
        assert_eq!(e.predecessors().len()?, 2);
        assert_eq!(graph.after([] as [EmptyNode; 0]).empty()?.predecessors().len()?, 0);
    }

    /// Kinds are read back, and a node becomes one of its kind and of no other.
    fn a_node_becomes_one_of_its_kind(driver) {
        let stage = Stage::new(driver)?;
        let empty = stage.graph.empty()?;
        let node = stage.graph.nodes()?.remove(0);
        assert_eq!(node.downcast::<EmptyNode>()?, empty);
        let refused = GraphError::OtherKind { expected: NodeKind::Kernel, found: NodeKind::Empty };
        assert_eq!(node.downcast::<KernelNode>().map(drop), Err(refused.into()));
    }

    /// The configuration of a kernel node is read back, with its attributes.
    fn the_configuration_of_a_kernel_node_is_read_back(driver) {
        let stage = Stage::new(driver)?;
        let (x, mut y) = (stage.pool.zeroed::<f32>(4, &stage.stream)?, stage.pool.zeroed::<f32>(4, &stage.stream)?);
        let kernel = stage.saxpy()?;
        let configs =
            [LaunchConfig::new((2, 3), (4, 5, 6)).shared_memory(64), LaunchConfig::new(4, 32).cluster(2).priority(-1)];
        for config in configs {
            #[expect(unsafe_code, reason = "adds kernels")]
            // SAFETY: it reads and writes as many values as it is told.
            let node = unsafe { stage.graph.entry().kernel(&kernel, &config, (1.0_f32, &x, &mut y, 4_u32)) }?;
            assert_eq!(node.config()?, config);
        }
        let overlapping = LaunchConfig::new(1, 32).overlap_previous();
        #[expect(unsafe_code, reason = "adds kernels")]
        // SAFETY: it is refused.
        let refused = unsafe { stage.graph.entry().kernel(&kernel, &overlapping, (1.0_f32, &x, &mut y, 4_u32)) };
        assert_eq!(refused.map(drop), Err(GraphError::Overlap.into()));
        assert_eq!(stage.graph.node_count()?, 2);
    }

    /// GN-15, X-2: the event of a node is read back as the one that it was given, also when no other value of it is
    /// left, and of a node that is found.
    fn the_event_of_a_node_is_read_back(driver) {
        let Stage { graph, stream, context, .. } = Stage::new(driver)?;
        let mut plain = stream.record_with(EventOptions::untimed().blocking_sync())?;
        let mut timed = stream.record_timed()?;
        let record = graph.entry().record(&mut plain)?;
        let wait = graph.entry().wait(&timed)?;
        let found = record.event::<Untimed>()?.ok_or("it is kept")?;
        assert_eq!((found.as_raw(), found.context(), found.is_timed()), (plain.as_raw(), &context, false));
        assert!(found.is_blocking_sync() && record.event::<Timed>()?.is_none());
        assert!(wait.event::<Timed>()?.is_some_and(|event| event.as_raw() == timed.as_raw()));

        let raw = plain.as_raw();
        drop((found, plain));
        let found = record.node().downcast::<RecordNode>()?.event::<Untimed>()?.ok_or("the graph keeps it")?;
        graph.instantiate()?.launch(&stream)?;
        stream.wait(&found)?;
        found.synchronize()?;
        assert_eq!((found.as_raw(), record.event_raw()?), (raw, raw));
        record.set_event(&mut timed)?;
        assert!(record.event::<Untimed>()?.is_none());
        assert!(record.event::<Timed>()?.is_some_and(|event| event.as_raw() == timed.as_raw()));
        wait.node().clone().destroy()?;
        assert_eq!(wait.event::<Timed>().map(drop), Err(GraphError::NodeDestroyed.into()));
    }

    /// GN-15: every value of an event knows the capture that one of them was recorded in, and a call that would
    /// spoil it is refused.
    fn an_event_that_is_read_back_knows_its_capture(driver) {
        let Stage { graph, stream, .. } = Stage::new(driver)?;
        let mut event = stream.record()?;
        let found = graph.entry().record(&mut event)?.event::<Untimed>()?.ok_or("it is kept")?;
        let capture = stream.capture(Relaxed)?;
        stream.record_into(&mut event)?;
        assert_eq!(found.is_complete(), Err(CaptureError::CapturedEvent.into()));
        capture.end()?;
        stream.record_into(&mut event)?;
        found.synchronize()?;
    }

    /// GN-10, GX-6: memory and value of a node that fills rows are replaced, in the definition and in an
    /// executable.
    fn rows_of_a_fill_are_replaced(driver) {
        let stage = Stage::new(driver)?;
        let (mut first, mut second) = (stage.zeroed(8)?, stage.zeroed(12)?);
        let node = stage.graph.entry().fill(&mut second, 5)?;
        node.set_rows(first.rows_mut(4, 2, 2)?, 6)?;
        let parameters = node.parameters()?;
        assert_eq!((parameters.width, parameters.height, parameters.pitch), (2, 2, 16));
        assert!(matches!(node.set_rows(first.rows_mut(4, 0, 2)?, 6), Err(Error::Graph(GraphError::NoBytes))));
        let exec = stage.graph.instantiate()?;
        exec.launch(&stage.stream)?;
        assert_eq!(first.download(&stage.stream)?, [6, 6, 0, 0, 6, 6, 0, 0]);
        exec.node(&node).set_rows(second.slice_mut(2..)?.rows_mut(4, 2, 2)?, 7)?;
        exec.launch(&stage.stream)?;
        assert_eq!(second.download(&stage.stream)?, [0, 0, 7, 7, 0, 0, 7, 7, 0, 0, 0, 0]);
        assert!(exec.node(&node).set_rows(first.rows_mut(4, 3, 2)?, 8).is_err(), "the driver refuses another shape");
        exec.launch(&stage.stream)?;
        assert_eq!(first.download(&stage.stream)?, [6, 6, 0, 0, 6, 6, 0, 0]);
    }

    /// The DOT text of a graph is had as a file and as text.
    fn a_graph_is_written_as_dot(driver) {
        let Stage { graph, .. } = Stage::new(driver)?;
        graph.empty()?.then().empty()?;
        let text = graph.dot(DotFlags::new())?;
        assert!(text.contains("digraph") && text.contains("->"), "{text}");
        let path = std::env::temp_dir().join(format!("warploom-test-{}.dot", std::process::id()));
        graph.write_dot(&path, DotFlags::new().verbose())?;
        assert!(std::fs::read_to_string(&path)?.contains("digraph"));
        std::fs::remove_file(path)?;
        assert_eq!(graph.write_dot("a\0b", DotFlags::new()), Err(GraphError::Path { path: "a\0b".into() }.into()));
    }
}

/// DOT text goes through a file in a new folder, which only this user can enter, and which does not stay.
#[test]
#[cfg(unix)]
fn dot_text_goes_through_a_folder_of_its_own() -> TestResult {
    use std::os::unix::fs::PermissionsExt as _;

    let (machine, driver) = open(Topology::preset("h200")?, Mode::Threads)?;
    let graph = Stage::new(&driver)?.graph;
    graph.empty()?;
    let rule = Rule::on(Calls::named("cuGraphDebugDotPrint")?).delay(Duration::from_millis(300));
    let _scope = machine.inject(Plan::new().rule(rule))?;
    // Of this process and of others, which make DOT text as well.
    let folders = || -> std::io::Result<Vec<(std::path::PathBuf, u32)>> {
        let mut folders = Vec::new();
        for entry in std::fs::read_dir(std::env::temp_dir())? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let number = name.strip_prefix("warploom-").is_some_and(|number| u64::from_str_radix(number, 16).is_ok());
            if let (16.., true, Ok(found)) = (name.len(), number, entry.metadata()) {
                folders.push((entry.path(), found.permissions().mode() & 0o777));
            }
        }
        Ok(folders)
    };
    let before = folders()?;
    let seen = std::thread::scope(|scope| {
        let text = scope.spawn(|| graph.dot(DotFlags::new()));
        let mut seen = Vec::new();
        while !text.is_finished() {
            seen.extend(folders()?.into_iter().filter(|folder| !before.contains(folder)));
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(text.join().expect("does not panic")?.contains("digraph"));
        Ok::<_, Box<dyn std::error::Error>>(seen)
    })?;
    assert!(!seen.is_empty() && seen.iter().all(|(_, mode)| *mode == 0o700), "{seen:?}");
    let own = seen.iter().filter(|(path, _)| path.exists()).collect::<Vec<_>>();
    assert!(own.len() < seen.len(), "{own:?}");
    Ok(())
}
