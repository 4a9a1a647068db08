//! The edges of a node as live sets.

use std::collections::BTreeSet;

use warploom::graph::Node;
use warploom::sys::types::CUresult;
use warploom::{Function, GraphDef, GraphError, LiveSet as _, Result};
use warploom_sim::Mode;
use warploom_sim::fault::{Plan, Rule};
use warploom_sim::topology::Topology;
use warploom_testkit::{TestResult, budget, driver_tests, open};

use crate::support::Stage;

#[path = "../contract/live_set.rs"]
mod live_set;

driver_tests! {
    /// S0.13: a bulk change of edges is one call that adds, or one that removes, besides the reads.
    fn a_bulk_change_of_edges_is_one_call(driver) {
        let Stage { graph, .. } = Stage::new(driver)?;
        let nodes: Vec<_> = (0..5).map(|_| graph.empty()).collect::<Result<_, _>>()?;
        let last = graph.empty()?;
        let counted = Function::cuGraphNodeGetDependencies_v2;
        budget(driver, &[(counted, 1), (Function::cuGraphAddDependencies, 1)], || {
            last.predecessors().extend(&nodes)
        })?;
        budget(driver, &[(counted, 2)], || last.predecessors().extend(&nodes))?;
        budget(driver, &[(counted, 2), (Function::cuGraphRemoveDependencies, 1)], || {
            last.predecessors().subtract(&nodes[..2])
        })?;
        assert_eq!(last.predecessors().len()?, 3);
        budget(driver, &[(counted, 2), (Function::cuGraphRemoveDependencies, 1)], || last.predecessors().clear())?;
        budget(driver, &[], || last.predecessors().extend([] as [Node; 0]))?;
    }

    /// S0.18: assigning edges adds the missing ones and removes the others; edges that stay are never
    /// removed.
    fn assigning_edges_touches_the_difference_alone(driver) {
        let Stage { graph, .. } = Stage::new(driver)?;
        let [a, b, c, d] = [graph.empty()?, graph.empty()?, graph.empty()?, graph.empty()?];
        d.predecessors().extend([&a, &b])?;
        let (read, add, remove) = (
            Function::cuGraphNodeGetDependencies_v2,
            Function::cuGraphAddDependencies,
            Function::cuGraphRemoveDependencies,
        );
        budget(driver, &[(read, 2), (add, 1), (remove, 1)], || d.predecessors().assign([&b, &c]))?;
        assert_eq!(d.predecessors().snapshot()?, [Node::from(&b), Node::from(&c)].into());
        budget(driver, &[(read, 2)], || d.predecessors().assign([&b, &c]))?;
        assert!(a.successors().is_empty()? && b.successors().contains(&d)?);
    }

    /// S0.25, S0.26: the contract of every live set, for both ends of edges; a node is never its own
    /// neighbour.
    fn adjacency_is_a_set_like_any_other(driver) {
        let Stage { graph, .. } = Stage::new(driver)?;
        let middle = Node::from(&graph.empty()?);
        let mut others = (0..6).map(|_| Ok(Node::from(&graph.empty()?))).collect::<Result<Vec<_>>>()?;
        others.sort();
        live_set::of_capacity_one(&middle.predecessors(), &others[0], || middle.clone(), true)?;
        live_set::of_capacity_one(&middle.successors(), &others[0], || middle.clone(), true)?;
        live_set::in_general(&middle.predecessors(), &others)?;
        live_set::in_general(&middle.successors(), &others)?;
    }

    /// S0.16: an edge that cannot be is refused before any change, by either end; the edges stay.
    fn edges_that_cannot_be_change_nothing(driver) {
        let Stage { context, graph, .. } = Stage::new(driver)?;
        let (a, b, gone) = (graph.empty()?, graph.empty()?, graph.empty()?);
        gone.destroy()?;
        let foreign = GraphDef::new(&context)?.empty()?;
        b.predecessors().insert(&a)?;
        let refused = |result: Result<()>, reason: GraphError| {
            assert_eq!(result, Err(reason.into()));
            assert_eq!(graph.edges().ok(), Some(vec![(Node::from(&a), Node::from(&b))]));
        };
        refused(b.predecessors().assign([Node::from(&b)]), GraphError::SelfEdge);
        refused(b.predecessors().assign([Node::from(&foreign)]), GraphError::OtherGraph { what: "node" });
        refused(b.predecessors().assign([Node::from(&gone)]), GraphError::NodeDestroyed);
        refused(a.successors().toggle([Node::from(&foreign)]), GraphError::OtherGraph { what: "node" });
        assert!(!b.predecessors().contains(&foreign)? && !b.predecessors().remove(&gone)?);
        assert!(gone.predecessors().is_empty()? && gone.successors().is_empty()?);
        assert!(gone.predecessors().insert(&a).is_err());
    }

    /// S0.8: the text of a live set of edges has its contents.
    fn the_text_of_adjacency_names_the_nodes(driver) {
        let Stage { graph, .. } = Stage::new(driver)?;
        let (a, b) = (graph.empty()?, graph.empty()?);
        b.predecessors().insert(&a)?;
        assert!(format!("{:?}", b.predecessors()).starts_with("Predecessors({Node { kind: Empty"));
        assert_eq!(format!("{:?}", a.predecessors()), "Predecessors({})");
    }
}

/// S0.25: whichever call of a change fails, the edges are as before: edges that were added already are removed
/// again, and an edge that was to be removed stays.
#[test]
fn a_failed_change_of_edges_leaves_them_as_they_were() -> TestResult {
    let (machine, driver) = open(Topology::preset("h200")?, Mode::Threads)?;
    let graph = Stage::new(&driver)?.graph;
    let nodes: Vec<Node> = (0..4).map(|_| Ok(Node::from(&graph.empty()?))).collect::<Result<_>>()?;
    let (last, before) = (graph.empty()?, BTreeSet::from([nodes[0].clone(), nodes[1].clone()]));
    last.predecessors().extend(&before)?;
    for step in [Function::cuGraphAddDependencies, Function::cuGraphRemoveDependencies] {
        let changes: [&dyn Fn() -> Result<()>; 2] =
            [&|| last.predecessors().assign(&nodes[1..]), &|| last.predecessors().toggle(&nodes[1..])];
        for change in changes {
            let rule = Rule::on(step).nth(1).fail(CUresult::CUDA_ERROR_OUT_OF_MEMORY);
            let scope = machine.inject(Plan::new().rule(rule))?;
            let error = change().expect_err("the step fails");
            assert!(error.to_string().starts_with(step.name()), "{error}");
            drop(scope);
            assert_eq!(last.predecessors().snapshot()?, before, "{}", step.name());
            assert_eq!(graph.edges()?.len(), 2);
        }
    }
    Ok(())
}

/// C.6: an edge that another thread removes by its other end, between the read and the write of a change, is not
/// removed twice.
#[test]
fn changes_of_edges_take_turns() -> TestResult {
    let (_machine, driver) = open(Topology::preset("h200")?, Mode::Threads)?;
    let graph = Stage::new(&driver)?.graph;
    let (first, second, last) = (graph.empty()?, graph.empty()?, graph.empty()?);
    last.predecessors().extend([&first, &second])?;
    let mut removed = Vec::new();
    last.predecessors().retain(|_| {
        let by_the_other_end = || first.successors().remove(&last);
        removed.push(std::thread::scope(|scope| scope.spawn(by_the_other_end).join().expect("no panic")));
        false
    })?;
    assert_eq!(removed.iter().filter(|removed| **removed == Ok(true)).count(), 1, "{removed:?}");
    assert!(graph.edges()?.is_empty());
    Ok(())
}
