//! Steps that make, change, launch and destroy executables.
#![expect(unsafe_code, reason = "results of updates are structures of C, filled with zeros")]

use std::ptr::null_mut;

use warploom_sys::types::{CUgraphExecUpdateResult, CUgraphExecUpdateResultInfo};
use warploom_testkit::{TestResult, call};

use crate::model::{ModelExec, ModelNode, Work};
use crate::program::{Program, pick};

impl Program<'_> {
    pub(crate) fn instantiate(&mut self, a: u8) -> TestResult {
        let (driver, Some(index)) = (self.driver, pick(&self.graphs, a)) else { return Ok(()) };
        if self.execs.len() < 4 {
            let (mut raw, graph) = (null_mut(), &self.graphs[index]);
            call!(driver.cuGraphInstantiateWithFlags(&mut raw, graph.raw, 0))?;
            let (nodes, owners, removed) = (graph.nodes.clone(), graph.owners.clone(), graph.removed);
            self.execs.push(ModelExec { raw, nodes, owners, removed });
        }
        Ok(())
    }

    pub(crate) fn launch(&mut self, a: u8) -> TestResult {
        let (driver, Some(index)) = (self.driver, pick(&self.execs, a)) else { return Ok(()) };
        call!(driver.cuGraphLaunch(self.execs[index].raw, self.stream))?;
        let nodes = self.execs[index].nodes.clone();
        self.run(&nodes);
        Ok(())
    }

    /// The effect of a launch on the model, node by node.
    pub(crate) fn run(&mut self, nodes: &[ModelNode]) {
        for node in nodes.iter().filter(|node| node.is_enabled) {
            match &node.work {
                Work::Empty => {}
                Work::Fill(value) => self.cells[node.cell] = *value,
                Work::Copy { from } => self.cells[node.cell] = self.cells[*from],
                Work::Host => self.counted += 1,
                Work::Child(nodes) => self.run(nodes),
            }
        }
    }

    /// Changes the value of a fill in an executable, or enables or disables one.
    pub(crate) fn change_exec(&mut self, a: u8, b: u8, c: u8) -> TestResult {
        let (driver, Some(index)) = (self.driver, pick(&self.execs, a)) else { return Ok(()) };
        let Some(place) = pick(&self.execs[index].nodes, b) else { return Ok(()) };
        let (exec, node) = (self.execs[index].raw, self.execs[index].nodes[place].clone());
        let is_there = self.graphs.iter().any(|graph| graph.nodes.iter().any(|other| other.raw == node.raw));
        if !matches!(node.work, Work::Fill(_)) || !is_there {
            return Ok(());
        }
        let raw = std::ptr::without_provenance_mut(node.raw);
        if c.is_multiple_of(2) {
            call!(driver.cuGraphNodeSetEnabled(exec, raw, u32::from(c.is_multiple_of(4))))?;
            self.execs[index].nodes[place].is_enabled = c.is_multiple_of(4);
        } else {
            let (params, mut context) = (self.fill_params(node.cell, c.into()), null_mut());
            call!(driver.cuCtxGetCurrent(&mut context))?;
            call!(driver.cuGraphExecMemsetNodeSetParams(exec, raw, &params, context))?;
            self.execs[index].nodes[place].work = Work::Fill(c.into());
        }
        Ok(())
    }

    pub(crate) fn update(&mut self, a: u8, b: u8) -> TestResult {
        let (driver, Some(exec), Some(graph)) = (self.driver, pick(&self.execs, a), pick(&self.graphs, b)) else {
            return Ok(());
        };
        // SAFETY: a number and pointers that may be null.
        let mut info: CUgraphExecUpdateResultInfo = unsafe { std::mem::zeroed() };
        let updated = call!(driver.cuGraphExecUpdate_v2(self.execs[exec].raw, self.graphs[graph].raw, &mut info));
        let (old, new) = (&self.execs[exec].nodes, &self.graphs[graph].nodes);
        let is_same_graph = old.len() == new.len() && old.iter().zip(new).all(|(old, new)| old.raw == new.raw);
        let has_same_edges = old.iter().zip(new).all(|(old, new)| same(&old.before, &new.before));
        let has_same_order = self.execs[exec].removed == self.graphs[graph].removed;
        if is_same_graph && has_same_edges && has_same_order {
            assert!(updated.is_ok(), "an executable can be updated by its own graph: {info:?}");
        }
        match updated {
            Ok(()) if is_same_graph => {
                assert_eq!(info.result, CUgraphExecUpdateResult::CU_GRAPH_EXEC_UPDATE_SUCCESS);
                for (old, new) in self.execs[exec].nodes.iter_mut().zip(&self.graphs[graph].nodes) {
                    (old.work, old.before) = (new.work.clone(), new.before.clone());
                }
                self.execs[exec].owners = self.graphs[graph].owners.clone();
            }
            // Another graph of the same shape: the model does not pair its nodes, so that the executable is
            // given up.
            Ok(()) => {
                let gone = self.execs.remove(exec);
                call!(driver.cuGraphExecDestroy(gone.raw))?;
            }
            Err(_) => assert_ne!(info.result, CUgraphExecUpdateResult::CU_GRAPH_EXEC_UPDATE_SUCCESS),
        }
        Ok(())
    }

    pub(crate) fn destroy(&mut self, a: u8, b: u8) -> TestResult {
        let driver = self.driver;
        if b.is_multiple_of(2) {
            if let Some(index) = pick(&self.graphs, a) {
                call!(driver.cuGraphDestroy(self.graphs.remove(index).raw))?;
            }
        } else if let Some(index) = pick(&self.execs, a) {
            call!(driver.cuGraphExecDestroy(self.execs.remove(index).raw))?;
        }
        Ok(())
    }
}

fn same(one: &[usize], other: &[usize]) -> bool {
    one.len() == other.len() && one.iter().all(|raw| other.contains(raw))
}
