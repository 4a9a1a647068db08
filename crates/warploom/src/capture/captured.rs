//! Captured graphs, which keep the memory and code they refer to.

use std::any::Any;

use warploom_driver::sys::types::CUgraph;

use crate::graph::{GraphExec, Owner};
use crate::{Context, GraphDef, Result};

/// A graph that was captured. It keeps everything that was captured through this crate: memory, code, and
/// functions of the host.
///
/// It is a [`GraphDef`] like any other: [`Captured::definition`] extends and embeds it, and
/// `GraphDef::from(captured)` leaves nothing else.
#[derive(Debug)]
pub struct Captured {
    definition: GraphDef,
    /// The number of nodes captured through this crate.
    nodes: usize,
}

impl Captured {
    pub(super) fn new(definition: GraphDef, nodes: usize) -> Captured {
        Captured { definition, nodes }
    }

    /// The graph, to be extended node by node, embedded and cloned. It is the same graph, and stays when this
    /// value is dropped.
    #[must_use]
    pub fn definition(&self) -> &GraphDef {
        &self.definition
    }

    /// The graph as an executable; see [`GraphDef::instantiate`].
    ///
    /// # Errors
    ///
    /// As [`GraphDef::instantiate`].
    pub fn instantiate(&self) -> Result<GraphExec> {
        self.definition.instantiate()
    }

    /// The raw handle; valid while this value is held. Launches of it keep what the graph uses. They are
    /// ordered after work on that memory only if their stream waits for it.
    ///
    /// # Errors
    ///
    /// As [`GraphDef::as_raw`].
    pub fn as_raw(&self) -> Result<CUgraph> {
        self.definition.as_raw()
    }

    /// The context of the stream that the capture began on.
    #[must_use]
    pub fn context(&self) -> &Context {
        self.definition.context()
    }

    /// The number of nodes.
    ///
    /// # Errors
    ///
    /// The driver's error.
    #[doc(alias = "cuGraphGetNodes")]
    pub fn node_count(&self) -> Result<usize> {
        self.definition.node_count()
    }

    /// `true` if every node was captured through this crate, so that the graph keeps all memory that it uses.
    /// Other code may have captured nodes by calling the driver. Nodes that were added to the definition are
    /// not counted.
    ///
    /// # Errors
    ///
    /// The driver's error.
    pub fn is_accounted(&self) -> Result<bool> {
        Ok(self.node_count()? == self.nodes)
    }

    /// Keeps a value for as long as the graph, its clones, executables and their launches.
    ///
    /// # Errors
    ///
    /// The driver's error; then the value is dropped.
    pub fn keep_alive(&self, owner: impl Any + Send + Sync) -> Result<()> {
        self.definition.keep_alive(Owner::new(owner))
    }

    /// Ends this handle; see [`GraphDef::close`].
    ///
    /// # Errors
    ///
    /// The driver's error.
    #[doc(alias = "cuGraphDestroy")]
    pub fn close(self) -> Result<()> {
        self.definition.close()
    }
}

impl From<Captured> for GraphDef {
    fn from(captured: Captured) -> GraphDef {
        captured.definition
    }
}

impl AsRef<GraphDef> for Captured {
    fn as_ref(&self) -> &GraphDef {
        &self.definition
    }
}
