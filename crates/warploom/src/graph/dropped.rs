//! Graphs and executables that were dropped in a callback, where CUDA must not be called.
#![expect(unsafe_code, reason = "destroys raw graphs and executables")]

use warploom_driver::sys::types::{CUgraph_st, CUgraphExec_st};

use super::exec::State;
use super::owners::Owners;
use crate::capture::RelaxedMode;
use crate::diagnostics::{Subject, report};
use crate::handle::Handle;
use crate::leaks::Mark;
use crate::{Context, Driver, Result, reclaimer};

/// # Safety
///
/// It is a graph of the driver, and has no other owner.
pub(super) unsafe fn destroy_graph(driver: &Driver, raw: &Handle<CUgraph_st>) -> Result<()> {
    let _relaxed = RelaxedMode::new(driver);
    // SAFETY: the caller's promise.
    Ok(unsafe { driver.cuGraphDestroy(raw.raw()) }?)
}

/// # Safety
///
/// It is an executable of the context's driver, and has no other owner.
pub(super) unsafe fn destroy_exec(context: &Context, raw: &Handle<CUgraphExec_st>) -> Result<()> {
    if !context.is_current_generation() {
        return Ok(());
    }
    let _relaxed = RelaxedMode::new(context.driver());
    // SAFETY: the caller's promise. The driver keeps what its launches need.
    Ok(unsafe { context.driver().cuGraphExecDestroy(raw.raw()) }?)
}

/// A graph without an owner.
pub(super) struct DroppedGraph {
    raw: Option<Handle<CUgraph_st>>,
    context: Context,
    /// Dropped after the graph is destroyed.
    _owners: Vec<Owners>,
    _mark: Mark,
}

impl DroppedGraph {
    /// Destroys a graph later, if there is one, and then drops what its nodes use.
    ///
    /// # Safety
    ///
    /// As for [`destroy_graph`].
    pub(super) unsafe fn defer(raw: Option<Handle<CUgraph_st>>, context: &Context, owners: Vec<Owners>, mark: Mark) {
        reclaimer::defer(DroppedGraph { raw, context: context.clone(), _owners: owners, _mark: mark });
    }
}

impl Drop for DroppedGraph {
    fn drop(&mut self) {
        let Some(raw) = self.raw.take() else { return };
        // SAFETY: promised by the caller of `defer`.
        let destroyed = unsafe { destroy_graph(self.context.driver(), &raw) };
        report(|| Subject::Graph { device: self.context.device().ordinal() }, destroyed);
    }
}

/// An executable without an owner.
pub(super) struct DroppedExec {
    raw: Handle<CUgraphExec_st>,
    context: Context,
    state: State,
    _mark: Mark,
}

impl DroppedExec {
    /// Destroys an executable later, and then releases what it keeps.
    ///
    /// # Safety
    ///
    /// As for [`destroy_exec`].
    pub(super) unsafe fn defer(raw: Handle<CUgraphExec_st>, context: &Context, state: State, mark: Mark) {
        reclaimer::defer(DroppedExec { raw, context: context.clone(), state, _mark: mark });
    }
}

impl Drop for DroppedExec {
    fn drop(&mut self) {
        // SAFETY: promised by the caller of `defer`.
        let destroyed = unsafe { destroy_exec(&self.context, &self.raw) };
        std::mem::take(&mut self.state).end();
        report(|| Subject::GraphExec { device: self.context.device().ordinal() }, destroyed);
    }
}
