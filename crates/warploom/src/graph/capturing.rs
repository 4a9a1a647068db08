//! Graphs of captures in progress: the driver owns them, and streams add nodes to them.
#![expect(unsafe_code, reason = "destroys raw nodes")]

use std::ffi::c_void;

use warploom_driver::sys::types::{CUgraph, CUgraphNode};

use super::bundle::Bundle;
use super::host_node::HostCall;
use super::raw::RawNode;
use super::{GraphDef, HostFunction, Node};
use crate::Result;

impl Node {
    /// Destroys a node that was added to a graph which is being captured, and that no stream comes after.
    pub(crate) fn destroy_captured(&self) -> Result<()> {
        let mut locked = self.lock();
        let raw = locked.node(self)?;
        // SAFETY: the node is alive, and no handle to it is used again.
        unsafe { self.graph().driver().cuGraphDestroyNode(raw) }?;
        locked.destroyed(self.graph_id(), self.raw())
    }
}

impl GraphDef {
    /// Calls with the raw handle, while no other thread uses the hierarchy.
    pub(crate) fn with_raw<R>(&self, call: impl FnOnce(CUgraph) -> R) -> Result<R> {
        let locked = self.lock();
        Ok(call(locked.graph(self.id())?))
    }

    /// Refuses to destroy nodes of the graph while it is captured, or allows it again.
    pub(crate) fn set_captured(&self, is_captured: bool) {
        self.lock().set_captured(self.id(), is_captured);
    }

    /// Ends the capture of a borrowed root. It is owned from then on if there is a graph, and gone otherwise.
    pub(crate) fn end_capture(&self, end: impl FnOnce() -> Result<CUgraph>) -> Result<()> {
        let mut locked = self.lock();
        let ended = end().map(drop);
        locked.set_captured(self.id(), false);
        match &ended {
            Ok(()) => locked.set_owned(true),
            Err(_) => locked.bury(self.id()),
        }
        ended
    }

    /// Destroys the root at once; all handles are refused from then on.
    pub(crate) fn destroy_root(&self) -> Result<()> {
        self.hierarchy().end()
    }

    /// Keeps owners that captured nodes use, without fail: if the graph cannot keep them, they are leaked.
    pub(crate) fn attach_or_leak(&self, bundle: Bundle) -> Result<()> {
        let mut copy = Bundle::default();
        copy.keep_parts_of(&bundle, |_| true);
        self.attach(bundle).inspect_err(|_| {
            if !self.is_destroyed() {
                std::mem::forget(copy);
            }
        })
    }

    /// Captures a callback, by `launch`. Its owners are attached before, and indexed under the node that
    /// `added` finds.
    ///
    /// If there is no such node, the graph keeps the owners for good, unless `is_unchanged` knows that none
    /// was captured. A captured node is never destroyed: that would corrupt the capture.
    pub(crate) fn capture_callback(
        &self,
        function: impl Fn() + Send + Sync + 'static,
        launch: impl FnOnce(HostFunction, *mut c_void) -> Result<()>,
        added: impl FnOnce() -> Result<CUgraphNode>,
        is_unchanged: impl FnOnce() -> bool,
    ) -> Result<()> {
        let (call, id) = (HostCall::closure(function), self.id());
        let mut locked = self.lock();
        let prepared = locked.prepare(id, call.owners())?;
        let (called, data) = call.function();
        if let Err(error) = launch(called, data) {
            if !is_unchanged() {
                locked.publish_anonymously(id, prepared);
            }
            return Err(error);
        }
        match added() {
            Ok(node) => locked.publish(id, RawNode::new(node), prepared),
            Err(error) => {
                locked.publish_anonymously(id, prepared);
                Err(error)
            }
        }
    }
}
