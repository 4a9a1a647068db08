//! The outline of an executable's definition: the kinds of its nodes and their edges at the instantiation.
//!
//! A graph can update an executable if it has the same outline. Nodes are paired from the ends of both graphs
//! backwards, newest ends first and level by level, by the order of edges; the order in which nodes were added does
//! not count beyond that. The first pair that differs is the one that an H200 names.

use std::collections::{HashMap, VecDeque};

use smallvec::SmallVec;
use warploom_sys::types::{CUgraphExecUpdateResult, CUgraphNodeType};

use super::{Edge, Graph, Graphs};
use crate::ffi::handle::{GraphHandle, NodeHandle};

/// The nodes of a graph when it was instantiated.
#[derive(Default)]
pub(crate) struct Outline {
    nodes: Vec<Outlined>,
    /// The number of the next node of the graph.
    next_local_id: u32,
    /// The nodes that no other depends on, up to the newest end.
    last: Vec<u32>,
    /// The places of the nodes, and of the nodes that others are inside of, with the number of the graph there.
    places: HashMap<NodeHandle, (u32, Option<u32>)>,
}

struct Outlined {
    node: NodeHandle,
    /// Its number in its graph.
    local_id: u32,
    kind: CUgraphNodeType,
    /// The nodes that it depends on, by their places.
    dependencies: SmallVec<[u32; 2]>,
    /// The graphs inside it.
    inner: Box<[Outline]>,
}

/// The difference between a graph and an outline.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Difference {
    pub(crate) result: CUgraphExecUpdateResult,
    /// The node of the graph that is different.
    pub(crate) node: Option<NodeHandle>,
    /// The dependency of that node that is different.
    pub(crate) from: Option<NodeHandle>,
}

/// Nodes of an outline, each with the node of the graph that has its place.
pub(crate) type Pairs = Vec<(NodeHandle, NodeHandle)>;

impl Difference {
    pub(crate) fn new(result: CUgraphExecUpdateResult, node: Option<NodeHandle>) -> Self {
        Self { result, node, from: None }
    }

    fn topology(node: Option<NodeHandle>) -> Self {
        Self::new(CUgraphExecUpdateResult::CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, node)
    }
}

impl Outline {
    /// The outline of a graph as it is now.
    pub(crate) fn new(graphs: &Graphs, graph: GraphHandle) -> Self {
        // The places of nodes, by their ids in the graph, which ascend.
        let size = graphs.nodes_of(graph).last().map_or(0, |(_, node)| node.local_id as usize + 1);
        let mut places = vec![0; size];
        for (place, (_, node)) in graphs.nodes_of(graph).enumerate() {
            places[node.local_id as usize] = place as u32;
        }
        let place_of = |node: NodeHandle| places.get(graphs.nodes.get(node)?.local_id as usize).copied();
        let last = graphs.ends(graph).into_iter().filter_map(place_of).collect();
        let next_local_id = graphs.graphs.get(graph).map_or(0, |graph| graph.next_local_id);
        let mut outline = Self { last, next_local_id, ..Self::default() };
        for (handle, node) in graphs.nodes_of(graph) {
            let dependencies = node.dependencies.iter().filter_map(|edge| place_of(edge.node)).collect();
            let inner: Box<[_]> = node.work.graphs().iter().map(|inner| Outline::new(graphs, *inner)).collect();
            let place = outline.nodes.len() as u32;
            outline.places.insert(handle, (place, None));
            for (number, inside) in inner.iter().enumerate() {
                outline.places.extend(inside.places.keys().map(|node| (*node, (place, Some(number as u32)))));
            }
            let (kind, local_id) = (node.work.kind(), node.local_id);
            outline.nodes.push(Outlined { node: handle, local_id, kind, dependencies, inner });
        }
        outline
    }

    /// The kind of a node, here or inside a node.
    pub(crate) fn kind_of(&self, node: NodeHandle) -> Option<CUgraphNodeType> {
        self.find(node).map(|found| found.kind)
    }

    /// The outline of the graph in a child node.
    pub(crate) fn child(&self, node: NodeHandle) -> Option<&Outline> {
        self.find(node)?.inner.first()
    }

    fn find(&self, node: NodeHandle) -> Option<&Outlined> {
        let (place, inside) = *self.places.get(&node)?;
        let found = self.nodes.get(place as usize)?;
        match inside {
            None => Some(found),
            Some(number) => found.inner.get(number as usize)?.find(node),
        }
    }

    /// Pairs the nodes of the outline and of a graph, and those inside them. Each pair is checked when it is found,
    /// before those that come behind it.
    pub(crate) fn pair(
        &self,
        graphs: &Graphs,
        graph: GraphHandle,
        check: impl Fn(NodeHandle, NodeHandle) -> Result<(), Difference>,
    ) -> Result<Pairs, Difference> {
        let mut pairs = Pairs::new();
        self.pair_into(graphs, graph, &check, &mut pairs)?;
        Ok(pairs)
    }

    /// As [`Outline::pair`], for the graph of a child node: as on an H200, nodes with the same number are partners,
    /// and both graphs must have had as many nodes. The result of a difference is not told.
    pub(crate) fn pair_by_id(
        &self,
        graphs: &Graphs,
        graph: GraphHandle,
        check: &impl Fn(NodeHandle, NodeHandle) -> Result<(), Difference>,
    ) -> Result<Pairs, Difference> {
        let nodes: Vec<_> = graphs.nodes_of(graph).collect();
        let next_local_id = graphs.graphs.get(graph).map_or(0, |graph| graph.next_local_id);
        if nodes.len() != self.nodes.len() || next_local_id != self.next_local_id {
            return Err(Difference::topology(None));
        }
        let mut pairs = Pairs::new();
        for (old, (handle, new)) in self.nodes.iter().zip(nodes) {
            let id = |edge: &Edge| graphs.nodes.get(edge.node).map(|node| node.local_id);
            let mut before: Vec<_> =
                old.dependencies.iter().map(|place| self.nodes[*place as usize].local_id).collect();
            let mut now: Vec<_> = new.dependencies.iter().filter_map(id).collect();
            before.sort_unstable();
            now.sort_unstable();
            let inner = new.work.graphs();
            let is_same = (old.local_id, old.kind, old.inner.len()) == (new.local_id, new.work.kind(), inner.len());
            if !is_same || before != now {
                return Err(Difference::topology(Some(handle)));
            }
            check(old.node, handle)?;
            pairs.push((old.node, handle));
            for (outline, graph) in old.inner.iter().zip(inner) {
                pairs.extend(outline.pair_by_id(graphs, *graph, check)?);
            }
        }
        Ok(pairs)
    }

    fn pair_into(
        &self,
        graphs: &Graphs,
        graph: GraphHandle,
        check: &impl Fn(NodeHandle, NodeHandle) -> Result<(), Difference>,
        pairs: &mut Pairs,
    ) -> Result<(), Difference> {
        let count = graphs.graphs.get(graph).map_or(0, |graph| Graph::nodes(graph).count());
        let last = graphs.ends(graph);
        if count != self.nodes.len() || last.len() < self.last.len() {
            return Err(Difference::topology(None));
        }
        if last.len() > self.last.len() {
            // They are compared from the newest on.
            return Err(Difference::topology(last.get(last.len() - self.last.len() - 1).copied()));
        }
        let mut partners: HashMap<NodeHandle, u32> = HashMap::with_capacity(count);
        let mut is_paired = vec![false; count];
        let mut open: VecDeque<(u32, NodeHandle)> = self.last.iter().copied().zip(last).rev().collect();
        for (place, node) in &open {
            partners.insert(*node, *place);
            is_paired[*place as usize] = true;
        }
        while let Some((place, handle)) = open.pop_front() {
            let old = &self.nodes[place as usize];
            let Some(new) = graphs.nodes.get(handle) else { continue };
            if old.dependencies.len() != new.dependencies.len() {
                return Err(Difference::topology(Some(handle)));
            }
            if old.kind != new.work.kind() {
                let changed = CUgraphExecUpdateResult::CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
                return Err(Difference::new(changed, Some(handle)));
            }
            check(old.node, handle)?;
            for (before, edge) in old.dependencies.iter().copied().zip(&new.dependencies) {
                match partners.get(&edge.node) {
                    Some(partner) if *partner == before => {}
                    None if !is_paired[before as usize] => {
                        is_paired[before as usize] = true;
                        partners.insert(edge.node, before);
                        open.push_back((before, edge.node));
                    }
                    _ => return Err(Difference { from: Some(edge.node), ..Difference::topology(Some(handle)) }),
                }
            }
            pairs.push((old.node, handle));
            let inner = new.work.graphs();
            if old.inner.len() != inner.len() {
                let unsupported = CUgraphExecUpdateResult::CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED;
                return Err(Difference::new(unsupported, Some(handle)));
            }
            for (outline, graph) in old.inner.iter().zip(inner) {
                outline.pair_into(graphs, *graph, check, pairs)?;
            }
        }
        Ok(())
    }
}
