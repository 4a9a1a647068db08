//! The comparison of graphs, bytes and owners with the model.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use warploom::graph::{Node, reclaim};
use warploom_testkit::TestResult;

use crate::model::{ModelExec, ModelGraph, ModelNode, ModelOwner, OwnerId};
use crate::program::Program;

impl Program {
    pub(crate) fn check_edges(&self) -> TestResult {
        for ModelGraph { graph, nodes, .. } in &self.graphs {
            assert_eq!(graph.node_count()?, nodes.len());
            let mut there = graph.edges()?;
            let of = |node: &ModelNode| {
                let node = node.clone();
                node.before.into_iter().map(move |before| (before, node.handle.node().clone()))
            };
            let mut expected: Vec<(Node, Node)> = nodes.iter().flat_map(of).collect();
            there.sort_unstable();
            expected.sort_unstable();
            assert_eq!(there, expected);
        }
        Ok(())
    }

    pub(crate) fn check_bytes(&self) -> TestResult {
        for owner in &self.owners {
            if let ModelOwner::Memory { buffer: Some(buffer), value } = owner {
                assert_eq!(buffer.download(&self.stream)?, [*value]);
            }
        }
        self.stream.synchronize()?;
        assert_eq!(self.calls.1.load(Ordering::SeqCst), self.calls.0);
        Ok(())
    }

    /// Owners that the program, a graph or an executable holds are alive; the others go.
    pub(crate) fn check_owners(&self) -> TestResult {
        self.stream.synchronize()?;
        let graphs = self.graphs.iter().flat_map(ModelGraph::owners);
        let held: BTreeSet<OwnerId> = graphs.chain(self.execs.iter().flat_map(ModelExec::owners)).collect();
        let (mut memory, mut values) = (0, BTreeSet::new());
        for (index, owner) in self.owners.iter().enumerate() {
            match owner {
                ModelOwner::Memory { buffer, .. } => memory += usize::from(buffer.is_some() || held.contains(&index)),
                ModelOwner::Value(_) if held.contains(&index) => _ = values.insert(index),
                ModelOwner::Value(_) => {}
            }
        }
        let alive = || {
            let is_alive = |owner: &ModelOwner| matches!(owner, ModelOwner::Value(value) if value.strong_count() > 0);
            let values = self.owners.iter().enumerate().filter(|(_, owner)| is_alive(owner)).map(|(index, _)| index);
            (self.leaks.report().count(|kind| kind.is_memory()), values.collect::<BTreeSet<OwnerId>>())
        };
        // On a machine with threads, the driver lets go some time after a launch has ended.
        let deadline = Instant::now() + Duration::from_secs(5);
        let expected = (memory, values);
        reclaim();
        while alive() != expected && Instant::now() < deadline {
            std::thread::sleep(Duration::from_micros(200));
            reclaim();
        }
        assert_eq!(alive(), expected, "buffers, and values by number");
        Ok(())
    }
}
