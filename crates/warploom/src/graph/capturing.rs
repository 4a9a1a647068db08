//! Graphs of captures in progress: the driver owns them, and streams add nodes to them.

use std::ffi::c_void;
use std::ptr::null_mut;

use warploom_driver::sys::types::{CUgraph, CUgraphNode};

use super::raw::RawNode;
use super::{GraphDef, GraphError, HostCall, HostFunction, Node};
use crate::capture::Ended;
use crate::diagnostics::{Subject, report};
use crate::{CaptureError, Context, Result};

impl Node {
    /// Takes back a node that was added just now to a graph which is being captured. It is destroyed when the
    /// capture ends; until then no stream must come after it.
    pub(crate) fn take_back(&self) -> Result<()> {
        self.lock().take_back(self.graph_id(), self.raw())
    }
}

impl GraphDef {
    /// Begins to capture into the graph, while no other thread uses the hierarchy.
    pub(crate) fn begin_capture(&self, begin: impl FnOnce(CUgraph) -> Result<()>) -> Result<()> {
        let mut locked = self.lock();
        begin(locked.graph(self.id())?)?;
        locked.begin_capture(self.id());
        Ok(())
    }

    /// Ends the capture of a borrowed root. It is owned from then on if there is a graph, and gone otherwise.
    pub(crate) fn end_capture(&self, end: impl FnOnce() -> Ended) -> Result<()> {
        let mut locked = self.lock();
        let Ended { graph, result, .. } = end();
        if graph.is_null() {
            locked.bury(self.id());
            return result.and(Err(GraphError::GraphDestroyed.into()));
        }
        locked.set_owned(true);
        let settled = locked.end_capture(self.id());
        drop(locked);
        match result.and(settled).and_then(|()| self.check_unbroken()) {
            Ok(()) => Ok(()),
            Err(error) => {
                report(|| Subject::Graph { device: self.device().ordinal() }, self.destroy_root());
                Err(error)
            }
        }
    }

    /// Refuses a graph whose body was destroyed.
    fn check_unbroken(&self) -> Result<()> {
        if self.lock().is_broken() { Err(CaptureError::BodyLost.into()) } else { Ok(()) }
    }

    /// `true` if another graph is inside of this one, at any depth.
    pub(crate) fn contains(&self, other: &GraphDef) -> bool {
        let is_same_hierarchy = self.hierarchy().number() == other.hierarchy().number();
        is_same_hierarchy && *self != *other && self.lock().from(self.id()).contains(&other.id())
    }

    /// Ends the capture of a body. Without a graph, the whole hierarchy is lost; a capture that goes on has
    /// its graph still.
    pub(crate) fn end_body_capture(&self, end: impl FnOnce() -> Ended) -> Result<()> {
        let mut locked = self.lock();
        let Ended { graph, result, is_over } = end();
        if !is_over {
            return result;
        }
        if graph.is_null() {
            locked.break_at(self.id());
            return result.and(Err(GraphError::GraphDestroyed.into()));
        }
        result.and(locked.end_capture(self.id()))
    }

    /// Makes a call while no other thread uses the hierarchy.
    pub(crate) fn alone<R>(&self, call: impl FnOnce() -> R) -> R {
        let _locked = self.lock();
        call()
    }

    /// Takes note of captured memory nodes, which keep the graph from being copied. They are never destroyed.
    pub(crate) fn note_memory_nodes(&self) {
        self.lock().add_uncopyable(self.id(), RawNode::new(null_mut()), "memory");
    }

    /// Takes note of the contexts of captured nodes, where these are not the graph's.
    pub(crate) fn note_contexts(&self, contexts: Vec<(RawNode, Context)>) {
        if !contexts.is_empty() {
            self.lock().set_contexts(self.id(), contexts);
        }
    }

    /// Takes note of captured copies of values with padding, whose nodes are not known.
    pub(crate) fn note_padded_copies(&self) {
        self.lock().set_padded_copies(self.id());
    }

    /// Destroys the root at once; all handles are refused from then on.
    pub(crate) fn destroy_root(&self) -> Result<()> {
        self.hierarchy().end()
    }

    /// Captures a callback, by `launch`. Its owners are attached before, and indexed under the node that
    /// `added` finds.
    ///
    /// If there is no such node, the graph keeps the owners for good, unless `is_unchanged` knows that none
    /// was captured. A captured node is never destroyed: that would corrupt the capture.
    pub(crate) fn capture_callback(
        &self,
        call: &HostCall,
        launch: impl FnOnce(HostFunction, *mut c_void) -> Result<()>,
        added: impl FnOnce() -> Result<CUgraphNode>,
        is_unchanged: impl FnOnce() -> bool,
    ) -> Result<()> {
        let id = self.id();
        let mut bundle = call.owners();
        let mut locked = self.lock();
        let prepared = locked.prepare(id, &mut bundle)?;
        let (called, data) = call.function();
        let launched = launch(called, data);
        if launched.is_err() && is_unchanged() {
            locked.withdraw(id, prepared);
            return launched;
        }
        match launched.and_then(|()| added()) {
            Ok(node) => locked.publish_new(id, RawNode::new(node), prepared),
            Err(error) => {
                locked.publish_unknown(id, prepared);
                return Err(error);
            }
        }
        Ok(())
    }
}
