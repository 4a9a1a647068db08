//! Identity of graphs and nodes, and use from several threads.

use std::collections::HashSet;

use warploom::graph::{Node, NodeKind};
use warploom::{Error, GraphDef, GraphError, GraphExec, LiveSet as _};
use warploom_testkit::{driver_tests, implements};

use crate::support::{Stage, closure};

driver_tests! {
    /// S2.45: the same driver node is the same value, however it was asked for.
    fn a_node_is_the_same_value_wherever_it_comes_from(driver) {
        let Stage { graph, .. } = Stage::new(driver)?;
        let (first, second) = (graph.empty()?, graph.empty()?);
        second.predecessors().insert(&first)?;
        let nodes: HashSet<Node> = graph.nodes()?.into_iter().collect();
        assert_eq!(nodes, HashSet::from([Node::from(&first), Node::from(&second)]));
        assert_eq!(graph.edges()?, [(Node::from(&first), Node::from(&second))]);
        assert_eq!(second.predecessors().snapshot()?.into_iter().collect::<Vec<_>>(), [Node::from(&first)]);
        assert_eq!(first.node().kind()?, NodeKind::Empty);
        assert_eq!(first.node().graph(), &graph);
    }

    /// S2.45: a node that the driver gives a destroyed one's handle is another node, and the old handle stays
    /// destroyed. Both keep their equality and hash.
    fn a_recycled_handle_does_not_bring_a_destroyed_node_back(driver) {
        let Stage { graph, .. } = Stage::new(driver)?;
        let old = graph.empty()?;
        let copy = old.clone();
        old.destroy()?;
        let mut seen = HashSet::from([Node::from(&old)]);
        for _ in 0..8 {
            let new = graph.empty()?;
            assert_ne!(new, old);
            assert!(seen.insert(Node::from(&new)), "no two nodes are equal");
            assert!(!new.is_destroyed() && old.is_destroyed() && copy.is_destroyed());
            new.destroy()?;
        }
        assert_eq!(old, copy);
        assert_eq!(old.kind(), Err(GraphError::NodeDestroyed.into()));
        assert!(seen.contains(&Node::from(&copy)));
    }

    /// S2.16: views of a graph are equal, also after it was destroyed with its node; children of a destroyed
    /// node are refused.
    fn graphs_inside_of_a_destroyed_node_are_destroyed(driver) {
        let Stage { context, graph, .. } = Stage::new(driver)?;
        let (inner, middle) = (GraphDef::new(&context)?, GraphDef::new(&context)?);
        inner.empty()?;
        middle.entry().embed(&inner)?;
        let outer = graph.entry().embed(&middle)?;
        let child = outer.child()?;
        let nested = child.nodes()?[0].downcast::<warploom::graph::ChildNode>()?;
        let (deepest, node) = (nested.child()?, nested.child()?.nodes()?[0].clone());
        assert_eq!(outer.child()?, child);
        assert_ne!(child, graph);
        assert_eq!(child.root(), graph);
        outer.destroy()?;
        for graph in [&child, &deepest] {
            assert!(graph.is_destroyed());
            assert_eq!(graph.nodes(), Err(GraphError::GraphDestroyed.into()));
            assert_eq!(graph.empty().map(drop), Err(GraphError::GraphDestroyed.into()));
        }
        assert!(nested.is_destroyed() && node.is_destroyed());
        assert_eq!(child, child.clone());
        assert_eq!(node.then().empty().map(drop), Err(GraphError::GraphDestroyed.into()));
        assert_eq!(graph.node_count()?, 0);
    }

    /// S2.17: a view of a child keeps the whole hierarchy.
    fn a_view_of_a_child_outlives_the_program_s_own_handle(driver) {
        let Stage { context, graph, .. } = Stage::new(driver)?;
        let step = GraphDef::new(&context)?;
        step.empty()?;
        let child = graph.entry().embed(&step)?.child()?;
        let weak = graph.downgrade();
        drop((graph, step));
        child.empty()?;
        assert_eq!(child.node_count()?, 2);
        assert!(weak.upgrade().is_some());
        drop(child);
        assert!(weak.upgrade().is_none());
    }

    /// S2.21: destroying a node twice does nothing, through whichever handle.
    fn destroying_a_node_twice_does_nothing(driver) {
        let Stage { graph, .. } = Stage::new(driver)?;
        let (first, second) = (graph.empty()?, graph.empty()?);
        second.predecessors().insert(&first)?;
        let copy = first.clone();
        first.destroy()?;
        copy.destroy()?;
        assert_eq!(graph.nodes()?, [Node::from(&second)]);
        assert!(second.predecessors().is_empty()? && first.successors().is_empty()?);
    }

    /// S2.44: threads that add nodes with owners to one graph take turns.
    fn threads_add_nodes_to_one_graph(driver) {
        let stage = Stage::new(driver)?;
        let watches: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|_| {
                    scope.spawn(|| {
                        let add = |_| {
                            let (function, watch) = closure();
                            stage.graph.entry().host(function).map(|_| watch)
                        };
                        (0..16).map(add).collect::<Result<Vec<_>, Error>>()
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().expect("does not panic")).collect::<Result<Vec<_>, Error>>()
        })?;
        assert_eq!(stage.graph.node_count()?, 64);
        watches.iter().flatten().for_each(|watch| stage.assert_kept(watch));
        for node in stage.graph.nodes()? {
            node.destroy()?;
        }
        assert!(watches.iter().flatten().all(|watch| stage.is_released(watch)));
    }
}

/// S2.44: graphs, nodes and executables may be used on any thread.
#[test]
fn graphs_may_cross_threads() {
    assert!(implements!(GraphDef: Send + Sync) && implements!(Node: Send + Sync));
    assert!(implements!(GraphExec: Send + Sync));
}
