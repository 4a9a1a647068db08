//! Conditions: values that kernels set and conditional nodes read.
#![expect(unsafe_code, reason = "makes raw conditions")]

use std::fmt;

use warploom_driver::sys::types::{CU_GRAPH_COND_ASSIGN_DEFAULT, CUgraphConditionalHandle};

use super::GraphDef;
use crate::Result;

/// A value that a conditional node of one graph reads, and that kernels of its hierarchy set: it is passed to
/// them as an argument, `cudaGraphConditionalHandle` in C++, for `cudaGraphSetConditional`.
///
/// It belongs to the graph that made it, and keeps that graph. A graph with a condition cannot be cloned or
/// embedded, and has one executable at a time.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Condition {
    graph: GraphDef,
    handle: CUgraphConditionalHandle,
}

impl GraphDef {
    /// A condition for a node of this graph, which is set to `default` at the start of each launch. Without a
    /// default (`None`), a kernel has to set it before it is read, in each launch.
    ///
    /// # Errors
    ///
    /// [`GraphError::GraphDestroyed`](super::GraphError::GraphDestroyed), and the driver's error; needs
    /// driver 12.3.
    #[doc(alias = "cuGraphConditionalHandleCreate")]
    pub fn condition(&self, default: impl Into<Option<u32>>) -> Result<Condition> {
        match default.into() {
            Some(default) => self.make_condition(default, CU_GRAPH_COND_ASSIGN_DEFAULT),
            None => self.make_condition(0, 0),
        }
    }

    fn make_condition(&self, default: u32, flags: u32) -> Result<Condition> {
        let _current = self.context().current()?;
        let mut locked = self.lock();
        let (graph, mut handle) = (locked.graph(self.id())?, 0);
        let context = self.context().as_raw();
        // SAFETY: `handle` is writable, and the graph and the context are alive.
        unsafe { self.driver().cuGraphConditionalHandleCreate(&raw mut handle, graph, context, default, flags) }?;
        locked.set_conditional(self.id());
        Ok(Condition { graph: self.clone(), handle })
    }
}

impl Condition {
    /// The condition of a graph that has the handle.
    pub(super) fn over(graph: GraphDef, handle: CUgraphConditionalHandle) -> Condition {
        Condition { graph, handle }
    }

    /// The graph whose node reads it.
    #[must_use]
    pub fn graph(&self) -> &GraphDef {
        &self.graph
    }

    /// The driver's handle; valid while the graph is.
    #[must_use]
    pub fn as_raw(&self) -> CUgraphConditionalHandle {
        self.handle
    }
}

impl fmt::Debug for Condition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Condition").field("handle", &self.handle).field("graph", &self.graph).finish()
    }
}
