//! Clones, embedded graphs and their updates.

use warploom::capture::Relaxed;
use warploom::graph::{ChildNode, CopyNode, NodeKind};
use warploom::sys::types::CUresult;
use warploom::{Buffer, DeviceCopy, Error, GraphDef, GraphError, ManagedMemory, MemoryError, Result, VolumeShape};
use warploom_sim::Mode;
use warploom_sim::fault::{Calls, Plan, Rule};
use warploom_sim::topology::Topology;
use warploom_testkit::{TestResult, driver_tests, open};

use crate::support::{Stage, closure};

/// Values with padding between their fields.
#[derive(Clone, Copy, Debug, DeviceCopy, PartialEq)]
#[repr(C)]
struct Padded {
    small: u8,
    large: u32,
}

driver_tests! {
    /// S2.24: an embedded graph is a copy, which changes on its own.
    fn an_embedded_graph_is_a_copy(driver) {
        let stage = Stage::new(driver)?;
        let mut buffer = stage.zeroed(4)?;
        let step = GraphDef::new(&stage.context)?;
        let fill = step.entry().fill(&mut buffer, 1)?;
        let child = stage.graph.entry().embed(&step)?;
        fill.set_value(2_u32)?;
        step.empty()?;
        assert_eq!((child.child()?.node_count()?, step.node_count()?), (1, 2));
        stage.graph.instantiate()?.launch(&stage.stream)?;
        assert_eq!(buffer.download(&stage.stream)?, [1; 4]);
        let found = stage.graph.nodes()?[0].downcast::<ChildNode>()?;
        assert_eq!((found.kind()?, found.child()?), (NodeKind::Child, child.child()?));
    }

    /// S2.25: the graph of a child node is replaced from another hierarchy alone; one of the same is refused
    /// before any change. Drivers that cannot replace it leave everything as it was.
    fn the_graph_of_a_child_node_is_replaced_from_another_hierarchy(driver) {
        let stage = Stage::new(driver)?;
        let (step, other) = (GraphDef::new(&stage.context)?, GraphDef::new(&stage.context)?);
        let (function, watch) = closure();
        step.entry().host(function)?;
        let child = stage.graph.entry().embed(&step)?;
        drop(step);
        let before = child.child()?;
        assert_eq!(child.set_child(&stage.graph).map(drop), Err(GraphError::SameHierarchy.into()));
        assert_eq!(child.set_child(&before).map(drop), Err(GraphError::SameHierarchy.into()));
        let (new, new_watch) = closure();
        other.entry().host(new)?;
        match child.set_child(&other) {
            Ok(after) => {
                assert!(before.is_destroyed() && !after.is_destroyed());
                assert!(stage.is_released(&watch));
                other.close()?;
                stage.assert_kept(&new_watch);
                after.nodes()?[0].destroy()?;
                assert!(stage.is_released(&new_watch));
            }
            Err(_) => {
                assert_eq!((child.child()?, before.node_count()?), (before, 1));
                stage.assert_kept(&watch);
                other.close()?;
                assert!(stage.is_released(&new_watch));
            }
        }
    }

    /// Values with padding are not copied to memory of another type, by whichever end of a node is replaced.
    fn values_with_padding_are_copied_to_their_own_type(driver) {
        let stage = Stage::new(driver)?;
        let value = Padded { small: 1, large: 2 };
        let (source, other) = (stage.pool.upload(&[value; 2], &stage.stream)?, stage.pool.upload(&[value; 2], &stage.stream)?);
        let (mut target, mut bytes) = (stage.pool.upload(&[value; 2], &stage.stream)?, stage.pool.zeroed::<u8>(16, &stage.stream)?);
        let refused = || Err::<(), Error>(MemoryError::CastPadding { padded: std::any::type_name::<Padded>() }.into());
        let node = stage.graph.entry().copy(&source, &mut target)?;
        assert_eq!(node.set_destination(&mut bytes), refused());
        let clone = stage.graph.try_clone()?;
        let found = clone.nodes()?[0].downcast::<CopyNode>()?;
        assert_eq!(found.set_destination(&mut bytes), refused());
        node.set_source(&other)?;
        // Bytes are values of every type.
        node.set_source(&bytes)?;
        node.set_source(&source)?;
        let plain = stage.graph.entry().copy(&stage.pool.zeroed::<u8>(16, &stage.stream)?, &mut bytes)?;
        assert_eq!(plain.set_source(&source), refused());
        stage.graph.instantiate()?.launch(&stage.stream)?;
        assert_eq!(target.download(&stage.stream)?, [value; 2]);
    }

    /// S2.42: nor by nodes of captured graphs, whose types are not known, in copies of these and while the capture
    /// goes on.
    fn captured_values_with_padding_are_copied_to_their_own_type(driver) {
        let stage = Stage::new(driver)?;
        let value = Padded { small: 1, large: 2 };
        let uploaded = || stage.pool.upload(&[value; 2], &stage.stream);
        let (source, mut target, mut bytes) = (uploaded()?, uploaded()?, stage.pool.zeroed::<u8>(16, &stage.stream)?);
        let refused = || Err::<(), Error>(GraphError::Opaque { kind: NodeKind::Copy }.into());
        let capture = stage.stream.capture(Relaxed)?;
        let condition = capture.condition(1)?;
        source.copy_to(&mut target, &capture)?;
        assert_eq!(condition.graph().nodes()?[0].downcast::<CopyNode>()?.set_destination(&mut bytes), refused());
        capture.end()?.close()?;

        let line = VolumeShape::packed(2, 1, 1);
        let captured = |kind: usize, target: &mut Buffer<Padded>| -> Result<GraphDef> {
            let capture = stage.stream.capture(Relaxed)?;
            match kind {
                0 => source.copy_to(target, &capture)?,
                1 => source.rows(2, 2, 1)?.copy_to(target.rows_mut(2, 2, 1)?, &capture)?,
                _ => source.volume(line)?.copy_to(target.volume_mut(line)?, &capture)?,
            }
            Ok(capture.end()?.into())
        };
        for kind in 0..3 {
            let graph = captured(kind, &mut target)?;
            let (clone, outer) = (graph.try_clone()?, GraphDef::new(&stage.context)?);
            let child = outer.entry().embed(&graph)?.child()?;
            for graph in [&graph, &clone, &child] {
                let node = graph.nodes()?[0].downcast::<CopyNode>()?;
                assert_eq!(node.set_destination(&mut bytes), refused());
                node.set(&source, &mut target)?;
                node.set_destination(&mut target)?;
                assert!(matches!(node.set_destination(&mut bytes), Err(Error::Memory(MemoryError::CastPadding { .. }))));
            }
            graph.instantiate()?.launch(&stage.stream)?;
            assert_eq!(target.download(&stage.stream)?, [value; 2]);
        }

        let numbers = (stage.zeroed(4)?, stage.zeroed(4)?, stage.pool.upload(&[1_u32; 4], &stage.stream)?);
        let (from, mut to, mut other) = numbers;
        let capture = stage.stream.capture(Relaxed)?;
        from.copy_to(&mut to, &capture)?;
        let graph: GraphDef = capture.end()?.into();
        graph.nodes()?[0].downcast::<CopyNode>()?.set_destination(&mut other)?;
        graph.instantiate()?.launch(&stage.stream)?;
        assert_eq!(other.download(&stage.stream)?, [0; 4]);
    }

    /// A clone has the same nodes and edges, at every depth, and is a graph of its own.
    fn a_clone_has_the_same_nodes(driver) {
        let stage = Stage::new(driver)?;
        let step = GraphDef::new(&stage.context)?;
        step.empty()?.then().empty()?;
        stage.graph.empty()?.then().embed(&step)?;
        let clone = stage.graph.try_clone()?;
        assert_eq!((clone.node_count()?, clone.edges()?.len()), (2, 1));
        clone.empty()?;
        assert_eq!((clone.node_count()?, stage.graph.node_count()?), (3, 2));
        let children = clone.nodes()?.into_iter().filter(|node| node.kind() == Ok(NodeKind::Child));
        let child = children.last().ok_or("a child node")?.downcast::<ChildNode>()?.child()?;
        assert_eq!((child.node_count()?, child.edges()?.len()), (2, 1));
        assert_eq!(child.root(), clone);
    }
}

/// S2.19: if the driver replaces the graph of a child node and fails to name the new nodes, memory that they use is not
/// known: nothing is made of the graph until the child is set again.
#[test]
fn a_child_whose_nodes_were_not_named_is_refused_until_it_is_set_again() -> TestResult {
    let (machine, driver) = open(Topology::preset("h200")?, Mode::Threads)?;
    let stage = Stage::new(&driver)?;
    let mut memory = ManagedMemory::new(&stage.context)?.zeroed::<u32>(4, &stage.stream)?;
    stage.stream.synchronize()?;
    let (empty, step) = (GraphDef::new(&stage.context)?, GraphDef::new(&stage.context)?);
    empty.empty()?;
    step.entry().fill(&mut memory, 7)?;
    let outer = GraphDef::new(&stage.context)?;
    outer.entry().embed(&empty)?;
    let before = stage.graph.instantiate()?;
    let fail = || {
        let rule = Rule::on(Calls::named("cuGraphNodeFindInClone")?).nth(1).fail(CUresult::CUDA_ERROR_OUT_OF_MEMORY);
        Ok::<_, Box<dyn std::error::Error>>(machine.inject(Plan::new().rule(rule))?)
    };
    let child = stage.graph.entry().embed(&empty)?;
    let scope = fail()?;
    assert!(child.set_child(&step).is_err());
    drop(scope);
    assert_eq!(child.child()?.node_count()?, 1);
    let unknown = GraphError::ChildUnknown;
    assert_eq!(stage.graph.instantiate().map(drop), Err(unknown.clone().into()));
    assert_eq!(stage.graph.try_clone().map(drop), Err(unknown.clone().into()));
    assert_eq!(outer.entry().embed(&stage.graph).map(drop), Err(unknown.clone().into()));
    assert_eq!(before.update(&stage.graph), Err(unknown.into()));

    child.set_child(&step)?;
    let exec = stage.graph.instantiate()?;
    let borrowed = memory.host_mut()?;
    assert!(matches!(exec.launch(&stage.stream), Err(warploom::Error::Memory(MemoryError::HostBorrowed { .. }))));
    drop(borrowed);
    exec.launch(&stage.stream)?;
    stage.stream.synchronize()?;
    assert_eq!(memory.host()?, [7; 4]);

    let scope = fail()?;
    assert!(child.set_child(&step).is_err());
    drop(scope);
    child.destroy()?;
    stage.graph.instantiate()?.launch(&stage.stream)?;
    stage.stream.synchronize()?;
    Ok(())
}
