//! Steps that make, change, launch and drop executables.

use warploom::graph::EmptyNode;
use warploom_testkit::TestResult;

use crate::model::{Handle, ModelExec, ModelNode, ModelOwner, OwnerId, Work};
use crate::program::{GRAPHS, Program, pick};

impl Program {
    pub(crate) fn instantiate(&mut self, a: u8) -> TestResult {
        let Some(index) = pick(&self.graphs, a).filter(|_| self.execs.len() < GRAPHS) else { return Ok(()) };
        let graph = &self.graphs[index];
        let (exec, nodes) = (graph.graph.instantiate()?, graph.nodes.clone());
        let owners = nodes.iter().map(|node| node.work.owners()).collect();
        let (kept, removed, destroyed) = (graph.kept.clone(), graph.removed, graph.destroyed);
        self.execs.push(ModelExec { exec, nodes, owners, kept, removed, destroyed });
        Ok(())
    }

    pub(crate) fn launch(&mut self, a: u8) -> TestResult {
        let Some(index) = pick(&self.execs, a) else { return Ok(()) };
        self.execs[index].exec.launch(&self.stream)?;
        let nodes = self.execs[index].nodes.clone();
        self.run(&nodes);
        Ok(())
    }

    /// The effect of a launch on the model, node by node.
    pub(crate) fn run(&mut self, nodes: &[ModelNode]) {
        for node in nodes.iter().filter(|node| node.is_enabled) {
            match &node.work {
                Work::Empty => {}
                Work::Fill { to, value } => self.write(*to, *value),
                Work::Copy { from, to } => {
                    let ModelOwner::Memory { value, .. } = self.owners[*from] else { continue };
                    self.write(*to, value);
                }
                Work::Host { .. } => self.calls.0 += 1,
                Work::Child(nodes) => self.run(nodes),
            }
        }
    }

    pub(crate) fn write(&mut self, owner: OwnerId, new: u32) {
        if let ModelOwner::Memory { value, .. } = &mut self.owners[owner] {
            *value = new;
        }
    }

    /// Gives a node of an executable other parameters, or enables or disables it.
    pub(crate) fn change_exec(&mut self, a: u8, b: u8, c: u8) -> TestResult {
        let Some(index) = pick(&self.execs, a) else { return Ok(()) };
        let Some(place) = pick(&self.execs[index].nodes, b) else { return Ok(()) };
        let node = self.execs[index].nodes[place].clone();
        if node.handle.node().is_destroyed() {
            return Ok(());
        }
        match (&node.handle, &node.work) {
            (Handle::Fill(fill), _) if c % 4 < 2 => {
                self.execs[index].exec.node(fill).set_enabled(c % 4 == 1)?;
                assert_eq!(self.execs[index].exec.node(fill).is_enabled()?, c % 4 == 1);
                self.execs[index].nodes[place].is_enabled = c % 4 == 1;
            }
            (Handle::Fill(fill), Work::Fill { to, .. }) => {
                let (to, value) = (*to, u32::from(c));
                let Some(mut buffer) = self.take(to) else { return Ok(()) };
                self.execs[index].exec.node(fill).set(&mut buffer, value)?;
                self.put(to, buffer);
                self.execs[index].nodes[place].work = Work::Fill { to, value };
                self.execs[index].owners[place] = [to].into();
            }
            (Handle::Host(host), _) => {
                let (value, function) = self.value();
                self.execs[index].exec.node(host).set_function(function)?;
                self.execs[index].nodes[place].work = Work::Host { value };
                self.execs[index].owners[place] = [value].into();
            }
            _ => {}
        }
        Ok(())
    }

    pub(crate) fn update(&mut self, a: u8, b: u8) -> TestResult {
        let (Some(exec), Some(graph)) = (pick(&self.execs, a), pick(&self.graphs, b)) else { return Ok(()) };
        let updated = self.execs[exec].exec.update(&self.graphs[graph].graph);
        let (old, new) = (&self.execs[exec].nodes, &self.graphs[graph].nodes);
        let has_same_nodes =
            old.len() == new.len() && old.iter().zip(new).all(|(old, new)| old.handle.node() == new.handle.node());
        let has_same_edges = self.execs[exec].removed == self.graphs[graph].removed
            && old.iter().zip(new).all(|(old, new)| old.before == new.before);
        match updated {
            Ok(()) if has_same_nodes => {
                let graph = &self.graphs[graph];
                // A node that was destroyed since may have had the handle of another.
                let is_paired = self.execs[exec].destroyed == graph.destroyed;
                let owners = graph.nodes.iter().map(|node| node.work.owners());
                self.execs[exec].owners = owners.map(|owners| if is_paired { owners } else { [].into() }).collect();
                self.execs[exec].kept = if is_paired { graph.kept.clone() } else { graph.owners() };
                for (old, new) in self.execs[exec].nodes.iter_mut().zip(&graph.nodes) {
                    (old.work, old.before) = (new.work.clone(), new.before.clone());
                }
                self.execs[exec].removed = graph.removed;
            }
            // Another graph of the same shape: the model does not pair its nodes, so that the executable is
            // given up.
            Ok(()) => self.execs.remove(exec).exec.close()?,
            Err(error) => {
                assert!(!(has_same_nodes && has_same_edges), "an executable can be updated by its own graph: {error}");
            }
        }
        Ok(())
    }

    /// Drops a graph, an executable or a buffer.
    pub(crate) fn end(&mut self, a: u8, b: u8) -> TestResult {
        match b % 3 {
            0 => {
                let Some(index) = pick(&self.graphs, a) else { return Ok(()) };
                let gone = self.graphs.remove(index);
                // A handle to a node keeps its graph.
                for exec in &mut self.execs {
                    if exec.nodes.iter().any(|node| *node.handle.node().graph() == gone.graph) {
                        forget(&mut exec.nodes, &self.nowhere);
                    }
                }
            }
            1 => {
                let Some(index) = pick(&self.execs, a) else { return Ok(()) };
                self.execs.remove(index).exec.close()?;
            }
            _ => {
                let Some(owner) = pick(&self.owners, a) else { return Ok(()) };
                drop(self.take(owner));
            }
        }
        Ok(())
    }
}

/// Takes the handles to nodes of a graph out of the model of an executable.
fn forget(nodes: &mut [ModelNode], nowhere: &EmptyNode) {
    for node in nodes {
        (node.handle, node.before) = (Handle::Empty(nowhere.clone()), Vec::new());
        if let Work::Child(inner) = &mut node.work {
            forget(inner, nowhere);
        }
    }
}
