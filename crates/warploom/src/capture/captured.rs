//! Captured graphs, which keep the memory and code they refer to.
#![expect(unsafe_code, reason = "owns a raw graph")]

use std::any::Any;
use std::fmt;
use std::ptr::null_mut;

use warploom_driver::Driver;
use warploom_driver::sys::types::{CUgraph, CUgraph_st};

use super::sequence::Kept;
use crate::diagnostics::{Subject, report};
use crate::handle::Handle;
use crate::{Context, Result};

/// A graph that was captured, and everything that it uses: the memory and the code are there for as long as
/// this value.
pub struct Captured {
    raw: Option<Handle<CUgraph_st>>,
    context: Context,
    kept: Kept,
}

impl Captured {
    /// # Safety
    ///
    /// The graph is of the context's driver, has no other owner, and `kept` has everything that it uses.
    pub(super) unsafe fn new(raw: CUgraph, context: Context, kept: Kept) -> Captured {
        Captured { raw: Some(Handle::new(raw)), context, kept }
    }

    /// Destroys a graph.
    ///
    /// # Safety
    ///
    /// The graph is of this driver, belongs to the caller, and is not used again.
    pub(super) unsafe fn destroy(driver: &Driver, graph: CUgraph) -> Result<()> {
        // SAFETY: the caller gives it up.
        Ok(unsafe { driver.cuGraphDestroy(graph) }?)
    }

    /// The raw handle; valid while this value is held. A launch of it must be complete before this value is
    /// dropped, which keeps the memory that the graph uses. The launch is ordered after work on that memory
    /// only if its stream waits for it.
    #[must_use]
    pub fn as_raw(&self) -> CUgraph {
        self.raw.as_ref().map_or(null_mut(), Handle::raw)
    }

    /// The context of the stream that the capture began on.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// The number of nodes.
    ///
    /// # Errors
    ///
    /// The driver's error.
    #[doc(alias = "cuGraphGetNodes")]
    pub fn node_count(&self) -> Result<usize> {
        let mut count = 0;
        // SAFETY: the graph is alive, `count` is writable, and without an array it is only counted.
        unsafe { self.context.driver().cuGraphGetNodes(self.as_raw(), null_mut(), &raw mut count) }?;
        Ok(count)
    }

    /// `true` if every node came through this crate, so that all memory that the graph uses is kept by this
    /// value. Other code may have captured nodes by calling the driver, or have enqueued one at the moment
    /// that the capture began.
    ///
    /// # Errors
    ///
    /// The driver's error.
    pub fn is_accounted(&self) -> Result<bool> {
        Ok(self.node_count()? == self.kept.nodes)
    }

    /// Keeps a value for as long as the graph.
    pub fn keep_alive(&mut self, owner: impl Any + Send + Sync) {
        self.kept.owners.push(Box::new(owner));
    }

    /// Ends the graph, and releases the memory and code it uses. Dropping does the same, and can only report
    /// a failure.
    ///
    /// # Errors
    ///
    /// The driver's error.
    #[doc(alias = "cuGraphDestroy")]
    pub fn close(mut self) -> Result<()> {
        self.end()
    }

    fn end(&mut self) -> Result<()> {
        let Some(raw) = self.raw.take() else { return Ok(()) };
        // SAFETY: the graph belongs to this value, which gives it up.
        unsafe { Captured::destroy(self.context.driver(), raw.raw()) }
    }
}

impl Drop for Captured {
    fn drop(&mut self) {
        let ended = self.end();
        report(|| Subject::Graph { device: self.context.device().ordinal() }, ended);
    }
}

impl fmt::Debug for Captured {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = formatter.debug_struct("Captured");
        text.field("raw", &self.as_raw()).field("device", self.context.device()).finish_non_exhaustive()
    }
}
