//! Steps that change definitions: nodes, edges, copies and embedded graphs.

use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use warploom::graph::{ChildNode, Node, Owner};
use warploom::{GraphDef, LiveSet as _};
use warploom_testkit::TestResult;

use crate::model::{Handle, ModelGraph, ModelNode, ModelOwner, OwnerId, Work};
use crate::program::{GRAPHS, NODES, Program, pick};

impl Program {
    pub(crate) fn add_node(&mut self, a: u8, b: u8, c: u8) -> TestResult {
        let Some(index) = pick(&self.graphs, a) else { return self.create() };
        let here = &self.graphs[index];
        if here.nodes.len() == NODES {
            return Ok(());
        }
        let chosen = here.nodes.iter().enumerate().filter(|(place, _)| c >> (place % 8) & 1 == 1);
        let mut before: Vec<Node> = chosen.map(|(_, node)| node.handle.node().clone()).collect();
        before.extend(here.barrier().map(|node| node.handle.node().clone()));
        let source = pick(&here.nodes, c).map(|place| here.nodes[place].clone());
        let read = source.and_then(|node| Some((node.handle.node().clone(), *node.work.written().first()?)));
        let read = read.filter(|_| b % 4 == 1).and_then(|(node, from)| Some((node, from, self.take(from)?)));
        if let Some((node, ..)) = &read {
            before.push(node.clone());
        }
        before.sort_unstable();
        before.dedup();
        let graph = self.graphs[index].graph.clone();
        let position = graph.after(before.iter().cloned());
        let (handle, work) = match (b % 4, read) {
            (_, Some((_, from, source))) => {
                let to = self.memory()?;
                let Some(mut buffer) = self.take(to) else { return Ok(()) };
                let node = position.copy(&source, &mut buffer)?;
                self.put(from, source);
                self.put(to, buffer);
                (Handle::Copy(node), Work::Copy { from, to })
            }
            (0, _) => (Handle::Empty(position.empty()?), Work::Empty),
            (2, _) => {
                let (value, function) = self.value();
                (Handle::Host(position.host(function)?), Work::Host { value })
            }
            _ => {
                let (to, value) = (self.memory()?, u32::from(b) << 8 | u32::from(c));
                let Some(mut buffer) = self.take(to) else { return Ok(()) };
                let node = position.fill(&mut buffer, value)?;
                self.put(to, buffer);
                (Handle::Fill(node), Work::Fill { to, value })
            }
        };
        self.graphs[index].nodes.push(ModelNode { handle, work, before, is_enabled: true });
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
        let nodes = &mut self.graphs[index].nodes;
        let earlier = nodes[from].handle.node().clone();
        let is_new = nodes[to].handle.node().predecessors().insert(&earlier)?;
        assert_eq!(is_new, !nodes[to].before.contains(&earlier));
        if is_new {
            nodes[to].before.push(earlier);
        }
        Ok(())
    }

    pub(crate) fn remove_edge(&mut self, a: u8, b: u8, c: u8) -> TestResult {
        let Some((index, from, to)) = self.two(a, b, c) else { return Ok(()) };
        let nodes = &mut self.graphs[index].nodes;
        let read = match nodes[to].work {
            Work::Copy { from, .. } => Some(from),
            _ => None,
        };
        let is_read = read.is_some_and(|read| nodes[from].work.written().contains(&read));
        if is_read || nodes[from].work.is_child() || nodes[to].work.is_child() {
            return Ok(());
        }
        let earlier = nodes[from].handle.node().clone();
        let was_there = nodes[to].handle.node().predecessors().remove(&earlier)?;
        assert_eq!(was_there, nodes[to].before.contains(&earlier));
        nodes[to].before.retain(|node| *node != earlier);
        self.graphs[index].removed += u32::from(was_there);
        Ok(())
    }

    pub(crate) fn destroy_node(&mut self, a: u8, b: u8) -> TestResult {
        let Some(index) = pick(&self.graphs, a) else { return Ok(()) };
        let nodes = &mut self.graphs[index].nodes;
        let Some(place) = pick(nodes, b).filter(|place| !nodes[*place].work.is_child()) else { return Ok(()) };
        let gone = nodes.remove(place).handle.node().clone();
        gone.destroy()?;
        assert!(gone.is_destroyed());
        nodes.iter_mut().for_each(|node| node.before.retain(|before| *before != gone));
        self.graphs[index].removed += 1;
        self.graphs[index].destroyed += 1;
        Ok(())
    }

    /// Gives a fill another value, or a host node another function.
    pub(crate) fn set_parameters(&mut self, a: u8, b: u8, c: u8) -> TestResult {
        let Some(index) = pick(&self.graphs, a) else { return Ok(()) };
        let Some(place) = pick(&self.graphs[index].nodes, b) else { return Ok(()) };
        match self.graphs[index].nodes[place].clone() {
            ModelNode { handle: Handle::Fill(node), work: Work::Fill { to, .. }, .. } => {
                node.set_value(u32::from(c))?;
                self.graphs[index].nodes[place].work = Work::Fill { to, value: c.into() };
            }
            ModelNode { handle: Handle::Host(mut node), .. } => {
                let (value, function) = self.value();
                node.set_function(function)?;
                self.graphs[index].nodes[place].work = Work::Host { value };
            }
            _ => {}
        }
        Ok(())
    }

    /// The model of a copy that the driver has made of some nodes.
    pub(crate) fn copied(nodes: &[ModelNode], copy: &GraphDef) -> TestResult<Vec<ModelNode>> {
        let new = copy.nodes()?;
        assert_eq!(new.len(), nodes.len());
        let twin = |node: &Node| nodes.iter().position(|old| old.handle.node() == node).map(|place| new[place].clone());
        let pairs = nodes.iter().zip(&new);
        pairs
            .map(|(old, node)| {
                let (handle, work) = match &old.handle {
                    Handle::Empty(_) => (Handle::Empty(node.downcast()?), old.work.clone()),
                    Handle::Fill(_) => (Handle::Fill(node.downcast()?), old.work.clone()),
                    Handle::Copy(_) => (Handle::Copy(node.downcast()?), old.work.clone()),
                    Handle::Host(_) | Handle::HostCopy(_) => (Handle::HostCopy(node.clone()), old.work.clone()),
                    Handle::Child(_) => {
                        let child: ChildNode = node.downcast()?;
                        let Work::Child(inner) = &old.work else { return Err("a child node has a child graph".into()) };
                        let inner = Program::copied(inner, &child.child()?)?;
                        (Handle::Child(child), Work::Child(inner))
                    }
                };
                let before = old.before.iter().filter_map(twin).collect();
                Ok(ModelNode { handle, work, before, is_enabled: true })
            })
            .collect()
    }

    pub(crate) fn copy_graph(&mut self, a: u8) -> TestResult {
        let Some(index) = pick(&self.graphs, a).filter(|_| self.graphs.len() < GRAPHS) else { return Ok(()) };
        let original = &self.graphs[index];
        if a >= 128 {
            original.graph.as_raw()?; // from here on with user objects
        }
        let graph = original.graph.try_clone()?;
        let (nodes, kept) = (Program::copied(&original.nodes, &graph)?, original.kept.clone());
        self.graphs.push(ModelGraph { graph, nodes, kept, removed: 0, destroyed: 0 });
        Ok(())
    }

    /// Embeds a graph in another, behind all of its nodes. A buffer is written by one node of a graph.
    pub(crate) fn embed(&mut self, a: u8, b: u8) -> TestResult {
        let (Some(from), Some(to)) = (pick(&self.graphs, a), pick(&self.graphs, b)) else { return Ok(()) };
        let (source, target) = (&self.graphs[from], &self.graphs[to]);
        let written: Vec<OwnerId> = target.nodes.iter().flat_map(|node| node.work.written()).collect();
        let is_double = source.nodes.iter().flat_map(|node| node.work.written()).any(|owner| written.contains(&owner));
        let has_child = source.nodes.iter().any(|node| node.work.is_child());
        if from == to || has_child || is_double || target.nodes.len() == NODES {
            return Ok(());
        }
        let before: Vec<Node> = target.nodes.iter().map(|node| node.handle.node().clone()).collect();
        let node = target.graph.after(before.iter().cloned()).embed(&source.graph)?;
        let inner = Program::copied(&source.nodes, &node.child()?)?;
        let kept = source.kept.clone();
        let target = &mut self.graphs[to];
        target.kept.extend(kept); // no node of this kind is ever destroyed here
        target.nodes.push(ModelNode {
            handle: Handle::Child(node),
            work: Work::Child(inner),
            before,
            is_enabled: true,
        });
        Ok(())
    }

    pub(crate) fn keep_alive(&mut self, a: u8) -> TestResult {
        let Some(index) = pick(&self.graphs, a) else { return Ok(()) };
        let value = Arc::new(AtomicU32::new(0));
        self.owners.push(ModelOwner::Value(Arc::downgrade(&value)));
        self.graphs[index].kept.insert(self.owners.len() - 1);
        Ok(self.graphs[index].graph.keep_alive(Owner::shared(value))?)
    }
}
