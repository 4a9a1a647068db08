//! Plans: the nodes of a graph as a launch runs them.
//!
//! ```text
//!   Graph (nodes, edges, child graphs) ──▶ Plan: steps in a topological order, each with the steps before it
//!                                            └─ of a conditional step: a plan for each body
//! ```
//!
//! Child graphs are laid out in place. An empty node becomes a step only where that saves edges, so that
//! empty nodes add nothing to the cost of a launch.
//!
//! For the checks each step belongs to a *chain*, a path through the plan, and each chain is a timeline. A
//! plan that is wider than [`MAX_CHAINS`] has steps that share a chain without an edge between them; races
//! between those are not seen.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use smallvec::SmallVec;

use super::{Graphs, Node, NodeWork};
use crate::ffi::handle::{GraphHandle, NodeHandle};
use crate::memory::shadow::NodeSite;

/// The number of chains of a plan, at most: a clock of the checks has an entry for each.
pub(crate) const MAX_CHAINS: u32 = 128;

/// The number of steps that an empty node hands on to another one, at most.
const WIDE: usize = 16;

/// The steps that a step depends on.
pub(super) type Before = SmallVec<[u32; 2]>;

/// The nodes of a graph as a launch runs them.
#[derive(Clone, Default)]
pub(crate) struct Plan {
    pub(crate) steps: Vec<Step>,
    /// The steps before each step, one after the other.
    before: Vec<u32>,
    /// The steps that no other step depends on.
    pub(crate) last: Vec<u32>,
    /// The plans of the bodies of conditional steps.
    bodies: HashMap<u32, Vec<Arc<Plan>>>,
    pub(crate) chains: u32,
}

/// A node of a plan.
#[derive(Clone)]
pub(crate) struct Step {
    pub(crate) work: NodeWork,
    /// The node of the definition; none for a step that only joins others.
    pub(crate) node: Option<NodeHandle>,
    /// The call that added the node, while the machine checks.
    pub(crate) site: Option<Arc<NodeSite>>,
    /// Index of its first entry in the list of preceding steps.
    before: u32,
    /// The chain that it belongs to.
    pub(crate) chain: u16,
    /// A step of another chain depends on it.
    pub(crate) is_fork: bool,
    pub(crate) is_enabled: bool,
}

impl Plan {
    /// The plan of a graph, with the steps of its nodes and of all nodes inside it.
    pub(crate) fn new(graphs: &Graphs, graph: GraphHandle) -> Self {
        let mut plan = Plan::default();
        let last = plan.lay(graphs, graph, &Before::new());
        plan.last = last.into_vec();
        plan.find_chains();
        plan.steps.shrink_to_fit();
        plan.before.shrink_to_fit();
        plan
    }

    /// The steps that a step depends on.
    pub(crate) fn before(&self, step: usize) -> &[u32] {
        let end = self.steps.get(step + 1).map_or(self.before.len(), |next| next.before as usize);
        self.steps.get(step).map_or(&[], |step| &self.before[step.before as usize..end])
    }

    /// The plans of the bodies of a conditional step.
    pub(crate) fn bodies(&self, step: u32) -> &[Arc<Plan>] {
        self.bodies.get(&step).map_or(&[], Vec::as_slice)
    }

    /// The plans of the bodies of all conditional steps.
    pub(super) fn all_bodies(&self) -> impl Iterator<Item = (u32, &[Arc<Plan>])> {
        self.bodies.iter().map(|(step, bodies)| (*step, bodies.as_slice()))
    }

    /// The plan of a body of a conditional step, to be changed.
    pub(super) fn body_mut(&mut self, step: u32, body: usize) -> Option<&mut Plan> {
        self.bodies.get_mut(&step)?.get_mut(body).map(Arc::make_mut)
    }

    /// The steps with the plans inside them, outer ones first.
    pub(crate) fn each<'a>(&'a self, visit: &mut impl FnMut(&'a Step)) {
        self.steps.iter().for_each(&mut *visit);
        self.bodies.values().flatten().for_each(|body| body.each(visit));
    }

    fn push(&mut self, work: NodeWork, before: &[u32]) -> u32 {
        let index = self.steps.len() as u32;
        let start = self.before.len() as u32;
        self.before.extend_from_slice(before);
        let (node, site) = (None, None);
        self.steps.push(Step { work, node, site, before: start, chain: 0, is_fork: false, is_enabled: true });
        index
    }

    fn push_node(&mut self, handle: NodeHandle, node: &Node, before: &[u32]) -> u32 {
        let index = self.push(node.work.clone(), before);
        let step = &mut self.steps[index as usize];
        (step.node, step.site) = (Some(handle), node.site.clone());
        index
    }

    /// Lays out the nodes of a graph behind some steps. Returns the steps that stand for its end.
    fn lay(&mut self, graphs: &Graphs, graph: GraphHandle, start: &Before) -> Before {
        let mut ends: HashMap<NodeHandle, Before> = HashMap::new();
        let mut last = Before::new();
        for handle in graphs.in_topological_order(graph) {
            let Some(node) = graphs.nodes.get(handle) else { continue };
            let mut before = Before::new();
            for edge in &node.dependencies {
                before.extend(ends.get(&edge.node).into_iter().flatten().copied());
            }
            if node.dependencies.is_empty() {
                before.extend_from_slice(start);
            }
            if before.len() > 1 {
                before.sort_unstable();
                before.dedup();
            }
            let end = match &node.work {
                NodeWork::Empty if !graphs.is_joined(node, &before) => before,
                NodeWork::Child(inner) => {
                    let first = graphs.nodes_of(*inner).filter(|(_, node)| node.dependencies.is_empty()).count();
                    if before.len() > 1 && first > 1 {
                        before = [self.push(NodeWork::Empty, &before)].into_iter().collect();
                    }
                    let end = self.lay(graphs, *inner, &before);
                    match graphs.is_joined(node, &end) {
                        true => [self.push(NodeWork::Empty, &end)].into_iter().collect(),
                        false => end,
                    }
                }
                work => {
                    let step = self.push_node(handle, node, &before);
                    if let NodeWork::Conditional(conditional) = work {
                        let bodies = conditional.bodies.iter().map(|body| Arc::new(Plan::new(graphs, *body))).collect();
                        self.bodies.insert(step, bodies);
                    }
                    [step].into_iter().collect()
                }
            };
            if node.dependents.is_empty() {
                last.extend_from_slice(&end);
            }
            ends.insert(handle, end);
        }
        if ends.is_empty() {
            return start.clone();
        }
        last.sort_unstable();
        last.dedup();
        last
    }

    /// Gives each step a chain: that of a step before it, where no other step has continued it.
    fn find_chains(&mut self) {
        let mut is_continued = vec![false; self.steps.len()];
        for index in 0..self.steps.len() {
            let start = self.steps[index].before as usize;
            let before = start..start + self.before(index).len();
            let continued = self.before[before.clone()].iter().copied().find(|step| !is_continued[*step as usize]);
            let chain = match continued {
                Some(step) => {
                    is_continued[step as usize] = true;
                    u32::from(self.steps[step as usize].chain)
                }
                None if self.chains < MAX_CHAINS => {
                    self.chains += 1;
                    self.chains - 1
                }
                None => index as u32 % MAX_CHAINS,
            };
            self.steps[index].chain = chain as u16;
            for other in self.before[before].iter().copied().filter(|step| Some(*step) != continued) {
                self.steps[other as usize].is_fork = true;
            }
        }
    }
}

impl Graphs {
    /// `true` if a step behind these ones saves edges to the nodes that depend on a node without a step.
    fn is_joined(&self, node: &Node, ends: &Before) -> bool {
        match node.dependents.as_slice() {
            [] => false,
            // The next node without a step would wait for them again, and so would all behind it.
            [next] if ends.len() > WIDE => {
                self.nodes.get(*next).is_some_and(|next| matches!(next.work, NodeWork::Empty | NodeWork::Child(_)))
            }
            [_] => false,
            [_, _, ..] => ends.len() > 1,
        }
    }

    /// The nodes of a graph, each behind those that it depends on; otherwise in the order they were added.
    fn in_topological_order(&self, graph: GraphHandle) -> Vec<NodeHandle> {
        let mut waiting: HashMap<NodeHandle, usize> = HashMap::new();
        let mut order: Vec<NodeHandle> = Vec::new();
        let mut is_sorted = true;
        let mut placed = HashSet::new();
        for (handle, node) in self.nodes_of(graph) {
            is_sorted = is_sorted && node.dependencies.iter().all(|edge| placed.contains(&edge.node));
            placed.insert(handle);
            order.push(handle);
        }
        if is_sorted {
            return order;
        }
        let mut sorted: Vec<NodeHandle> = Vec::with_capacity(order.len());
        for handle in order {
            let dependencies = self.nodes.get(handle).map_or(0, |node| node.dependencies.len());
            match dependencies {
                0 => sorted.push(handle),
                _ => drop(waiting.insert(handle, dependencies)),
            }
        }
        let mut next = 0;
        while let Some(handle) = sorted.get(next).copied() {
            next += 1;
            for dependent in self.nodes.get(handle).iter().flat_map(|node| &node.dependents) {
                if let Some(left) = waiting.get_mut(dependent) {
                    *left -= 1;
                    if *left == 0 {
                        sorted.push(*dependent);
                    }
                }
            }
        }
        sorted
    }
}
