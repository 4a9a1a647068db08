//! Graphs that are gone, and the places that they had.

use warploom_sim::Machine;

use crate::graph::{ChildNode, GraphError};
use crate::{Driver, GraphDef, Result};

/// A graph, another with one node, and a child node of the first that has a copy of the other.
fn with_child() -> Result<(GraphDef, GraphDef, ChildNode)> {
    let machine = Machine::preset("h200").expect("a machine");
    let driver = Driver::open(&machine).expect("a driver");
    let graph = GraphDef::new(&driver.device(0)?.context()?)?;
    let step = GraphDef::new(graph.context())?;
    step.empty()?;
    let child = graph.entry().embed(&step)?;
    Ok((graph, step, child))
}

fn places(graph: &GraphDef) -> usize {
    graph.lock().state.graphs.places()
}

#[test]
fn graphs_inside_of_nodes_that_are_gone_give_up_their_places() -> Result<()> {
    let (graph, step, child) = with_child()?;
    for _ in 0..100 {
        child.set_child(&step)?;
        graph.entry().if_else(&graph.condition(1)?)?.destroy()?;
    }
    assert!(places(&graph) <= 5, "{}", places(&graph));
    Ok(())
}

#[test]
fn handles_to_a_graph_that_is_gone_do_not_name_the_next_one_in_its_place() -> Result<()> {
    let (graph, step, child) = with_child()?;
    let old = child.child()?;
    let node = old.empty()?;
    let new = child.set_child(&step)?;
    let branch = graph.entry().if_then(&graph.condition(1)?)?;
    let all = places(&graph);
    assert_ne!(old, new);
    branch.body().empty()?;
    let destroyed = || -> crate::Error { GraphError::GraphDestroyed.into() };
    for _ in 0..3 {
        assert_eq!(old.empty().map(drop), Err(destroyed()));
        assert_eq!(old.nodes().map(drop), Err(destroyed()));
        assert_eq!(old.condition(1).map(drop), Err(destroyed()));
        assert_eq!(old.try_clone().map(drop), Err(destroyed()));
        assert_eq!(step.entry().embed(&old).map(drop), Err(destroyed()));
        assert_eq!(node.then().empty().map(drop), Err(destroyed()));
        assert!(node.is_destroyed());
        assert_eq!(branch.body().node_count()?, 1);
        let next = child.set_child(&step)?;
        assert_eq!((next.node_count()?, places(&graph)), (1, all));
    }
    Ok(())
}
