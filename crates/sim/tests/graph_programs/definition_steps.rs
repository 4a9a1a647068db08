//! Steps that change definitions: nodes, edges, copies and references to user objects.

use std::ptr::{null, null_mut};
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use warploom_sys::types::{CUgraph, CUgraphNode, CUuserObject};
use warploom_testkit::{TestResult, call};

use crate::model::{ModelGraph, ModelNode, Owner, Work};
use crate::program::{CELLS, NODES, Program, end, pick};

impl Program<'_> {
    pub(crate) fn add_node(&mut self, a: u8, b: u8, c: u8) -> TestResult {
        let Some(index) = pick(&self.graphs, a) else { return self.create() };
        let graph = &self.graphs[index];
        if graph.nodes.len() == NODES || self.next_cell == CELLS {
            return Ok(());
        }
        let (driver, cell) = (self.driver, self.next_cell);
        let mut before: Vec<usize> =
            graph.nodes.iter().enumerate().filter(|(place, _)| c >> (place % 8) & 1 == 1).map(|(_, n)| n.raw).collect();
        before.extend(graph.barrier);
        let source = pick(&graph.nodes, c).map(|place| &graph.nodes[place]);
        let work = match (b % 4, source) {
            (0, _) => Work::Empty,
            (1, Some(source)) if matches!(source.work, Work::Fill(_) | Work::Copy { .. }) => {
                before.push(source.raw);
                Work::Copy { from: source.cell }
            }
            (2, _) => Work::Host,
            _ => Work::Fill(u32::from(b) << 8 | u32::from(c)),
        };
        before.sort_unstable();
        before.dedup();
        let named: Vec<CUgraphNode> = before.iter().map(|raw| std::ptr::without_provenance_mut(*raw)).collect();
        let (mut node, raw, len) = (null_mut(), graph.raw, named.len());
        match &work {
            Work::Empty | Work::Child(_) => call!(driver.cuGraphAddEmptyNode(&mut node, raw, named.as_ptr(), len))?,
            Work::Fill(value) => {
                let params = self.fill_params(cell, *value);
                call!(driver.cuGraphAddMemsetNode(&mut node, raw, named.as_ptr(), len, &params, null_mut()))?;
            }
            Work::Copy { from } => {
                let params = self.copy_params(*from, cell);
                call!(driver.cuGraphAddMemcpyNode(&mut node, raw, named.as_ptr(), len, &params, null_mut()))?;
            }
            Work::Host => {
                let params = self.host_params();
                call!(driver.cuGraphAddHostNode(&mut node, raw, named.as_ptr(), len, &params))?;
            }
        }
        self.next_cell += 1;
        self.graphs[index].nodes.push(ModelNode { raw: node.addr(), cell, work, before, is_enabled: true });
        Ok(())
    }

    /// Two nodes of a graph, the earlier first.
    pub(crate) fn two(&self, a: u8, b: u8, c: u8) -> Option<(usize, usize, usize)> {
        let index = pick(&self.graphs, a)?;
        let nodes = &self.graphs[index].nodes;
        let (one, other) = (pick(nodes, b)?, pick(nodes, c)?);
        (one != other).then_some((index, one.min(other), one.max(other)))
    }

    pub(crate) fn add_edge(&mut self, a: u8, b: u8, c: u8) -> TestResult {
        let Some((index, from, to)) = self.two(a, b, c) else { return Ok(()) };
        let (driver, graph) = (self.driver, &mut self.graphs[index]);
        let (before, behind) = (graph.nodes[from].raw, graph.nodes[to].raw);
        if !graph.nodes[to].before.contains(&before) {
            let (one, other) = (std::ptr::without_provenance_mut(before), std::ptr::without_provenance_mut(behind));
            call!(driver.cuGraphAddDependencies_v2(graph.raw, &one, &other, null(), 1))?;
            graph.nodes[to].before.push(before);
        }
        Ok(())
    }

    pub(crate) fn remove_edge(&mut self, a: u8, b: u8, c: u8) -> TestResult {
        let Some((index, from, to)) = self.two(a, b, c) else { return Ok(()) };
        let (driver, graph) = (self.driver, &mut self.graphs[index]);
        let (earlier, later) = (&graph.nodes[from], &graph.nodes[to]);
        let is_read = matches!(later.work, Work::Copy { from } if from == earlier.cell);
        let is_child = |node: &ModelNode| matches!(node.work, Work::Child(_));
        if !later.before.contains(&earlier.raw) || is_read || is_child(earlier) || is_child(later) {
            return Ok(());
        }
        let (one, other) = (std::ptr::without_provenance_mut(earlier.raw), std::ptr::without_provenance_mut(later.raw));
        let gone = earlier.raw;
        call!(driver.cuGraphRemoveDependencies_v2(graph.raw, &one, &other, null(), 1))?;
        graph.nodes[to].before.retain(|raw| *raw != gone);
        graph.removed += 1;
        Ok(())
    }

    pub(crate) fn destroy_node(&mut self, a: u8, b: u8) -> TestResult {
        let Some(index) = pick(&self.graphs, a) else { return Ok(()) };
        let (driver, graph) = (self.driver, &mut self.graphs[index]);
        let Some(place) = pick(&graph.nodes, b) else { return Ok(()) };
        if matches!(graph.nodes[place].work, Work::Child(_)) {
            return Ok(());
        }
        let gone = graph.nodes.remove(place);
        call!(driver.cuGraphDestroyNode(std::ptr::without_provenance_mut(gone.raw)))?;
        graph.nodes.iter_mut().for_each(|node| node.before.retain(|raw| *raw != gone.raw));
        graph.removed += 1;
        Ok(())
    }

    pub(crate) fn set_params(&mut self, a: u8, b: u8, c: u8) -> TestResult {
        let Some(index) = pick(&self.graphs, a) else { return Ok(()) };
        let Some(place) = pick(&self.graphs[index].nodes, b) else { return Ok(()) };
        let (driver, node) = (self.driver, &self.graphs[index].nodes[place]);
        if matches!(node.work, Work::Fill(_)) {
            let params = self.fill_params(node.cell, c.into());
            call!(driver.cuGraphMemsetNodeSetParams(std::ptr::without_provenance_mut(node.raw), &params))?;
            self.graphs[index].nodes[place].work = Work::Fill(c.into());
        }
        Ok(())
    }

    /// Clones a graph, or embeds it in another.
    pub(crate) fn copy_graph(&mut self, a: u8, b: u8, c: u8) -> TestResult {
        let (driver, Some(index)) = (self.driver, pick(&self.graphs, a)) else { return Ok(()) };
        let Some(other) = pick(&self.graphs, b).filter(|other| *other != index && c.is_multiple_of(2)) else {
            if self.graphs.len() < 4 {
                let mut raw = null_mut();
                call!(driver.cuGraphClone(&mut raw, self.graphs[index].raw))?;
                let nodes = self.found_in(&self.graphs[index].nodes, raw)?;
                let barrier = self.graphs[index].barrier;
                let place = |raw| self.graphs[index].nodes.iter().position(|node| node.raw == raw);
                let barrier = barrier.and_then(place).map(|place| nodes[place].raw);
                let owners = self.graphs[index].owners.clone();
                self.graphs.push(ModelGraph { raw, nodes, barrier, owners, removed: 0 });
            }
            return Ok(());
        };
        // A cell is written by one node at a time, so that a node is in a graph once.
        let cells = |nodes: &[ModelNode]| {
            let mut all: Vec<usize> = Vec::new();
            for node in nodes {
                match &node.work {
                    Work::Child(inner) => all.extend(inner.iter().map(|node| node.cell)),
                    _ => all.push(node.cell),
                }
            }
            all
        };
        let has_child = self.graphs[index].nodes.iter().any(|node| matches!(node.work, Work::Child(_)));
        let there = cells(&self.graphs[other].nodes);
        let is_double = cells(&self.graphs[index].nodes).iter().any(|cell| there.contains(cell));
        if has_child || is_double || self.graphs[other].nodes.len() == NODES {
            return Ok(());
        }
        let before: Vec<usize> = self.graphs[other].nodes.iter().map(|node| node.raw).collect();
        let named: Vec<CUgraphNode> = before.iter().map(|raw| std::ptr::without_provenance_mut(*raw)).collect();
        let (mut node, parent, child) = (null_mut(), self.graphs[other].raw, self.graphs[index].raw);
        call!(driver.cuGraphAddChildGraphNode(&mut node, parent, named.as_ptr(), named.len(), child))?;
        let mut inner = null_mut();
        call!(driver.cuGraphChildGraphNodeGetGraph(node, &mut inner))?;
        let nodes = self.found_in(&self.graphs[index].nodes, inner)?;
        let owners = self.graphs[index].owners.clone();
        let parent = &mut self.graphs[other];
        for (owner, count) in owners {
            *parent.owners.entry(owner).or_default() += count;
        }
        let (raw, work) = (node.addr(), Work::Child(nodes));
        parent.nodes.push(ModelNode { raw, cell: CELLS, work, before, is_enabled: true });
        parent.barrier = Some(raw);
        Ok(())
    }

    /// The copies of nodes in a copy of their graph.
    pub(crate) fn found_in(&self, nodes: &[ModelNode], copy: CUgraph) -> TestResult<Vec<ModelNode>> {
        let driver = self.driver;
        let find = |raw: usize| -> TestResult<usize> {
            let mut found = null_mut();
            call!(driver.cuGraphNodeFindInClone(&mut found, std::ptr::without_provenance_mut(raw), copy))?;
            Ok(found.addr())
        };
        let copied = |node: &ModelNode| -> TestResult<ModelNode> {
            let before = node.before.iter().map(|raw| find(*raw)).collect::<TestResult<_>>()?;
            Ok(ModelNode { raw: find(node.raw)?, before, ..node.clone() })
        };
        nodes.iter().map(copied).collect()
    }

    pub(crate) fn retain(&mut self, a: u8) -> TestResult {
        let (driver, Some(index)) = (self.driver, pick(&self.graphs, a)) else { return Ok(()) };
        let ended = Arc::new(AtomicU32::new(0));
        let mut object: CUuserObject = null_mut();
        let data = Arc::into_raw(Arc::clone(&ended)).cast_mut().cast();
        call!(driver.cuUserObjectCreate(&mut object, data, Some(end), 1, 1))?;
        call!(driver.cuGraphRetainUserObject(self.graphs[index].raw, object, 1, 1))?;
        self.graphs[index].owners.insert(self.owners.len(), 1);
        self.owners.push(Owner { ended });
        Ok(())
    }
}
