//! Hierarchies: a root graph, the graphs inside of its nodes, and the owners of all nodes.
//!
//! A driver's graph must not be used by two threads at once, nor may a graph inside of it be, so that one
//! lock guards all. The driver destroys the root, and with it everything below. A graph below that is destroyed
//! with its node gives its place to the next one; handles to it are refused, since their ids have another generation.
//!
//! The driver may give the handle of a destroyed node to a new one. The hierarchy counts its destroyed nodes,
//! and each graph remembers at which count a handle was last destroyed. That number is part of a node's identity, so
//! that no old handle becomes a new node's. A graph none of whose nodes was destroyed looks nothing up.
#![expect(unsafe_code, reason = "owns a raw graph")]

mod conditionals;
mod contexts;
mod entries;
#[cfg(test)]
mod tests;

use std::mem::{replace, take};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU64, Ordering};

use warploom_driver::sys::types::{CUgraph, CUgraph_st, CUgraphNode};
use warploom_driver::user_code::{Mutex, MutexGuard};

use super::dropped::{DroppedGraph, destroy_graph};
use super::node::NodeId;
use super::owners::{Owners, Prepared};
use super::position::Dependency;
use super::raw::RawNode;
use super::{GraphError, Node};
use crate::diagnostics::{Subject, report};
use crate::handle::Handle;
use crate::leaks::{Kind, Mark, mark};
use crate::{Context, Driver, Result, callback, reclaimer};
use entries::{Entries, Entry};

pub(super) use conditionals::Conditional;
pub(crate) use entries::GraphId;

/// A root graph and all graphs below it.
pub(crate) struct Hierarchy {
    /// No other of the process ever has the number.
    number: u64,
    context: Context,
    state: Mutex<State>,
    _mark: Mark,
}

/// The graphs of a hierarchy.
struct State {
    graphs: Entries,
    /// `true` if the root belongs to this hierarchy, which destroys it.
    is_owned: bool,
    /// `true` if a graph inside of a node is gone without the node.
    is_broken: bool,
    /// `true` if other code has a handle of a graph or node.
    is_exposed: bool,
    /// The number of nodes that were destroyed.
    deaths: u64,
}

// Methods of the state rather than of `Locked`: a guard whose address is never taken stays in registers.
impl State {
    #[inline]
    fn node(&self, hierarchy: &Hierarchy, node: &Node) -> Result<CUgraphNode> {
        if node.hierarchy().number != hierarchy.number {
            return Err(GraphError::OtherGraph { what: "node" }.into());
        }
        if self.is_valid(node) { Ok(node.raw().raw()) } else { Err(GraphError::NodeDestroyed.into()) }
    }

    #[cold]
    #[inline(never)]
    fn nodes_of(&self, hierarchy: &Hierarchy, graph: GraphId, nodes: &[Dependency]) -> Result<Vec<CUgraphNode>> {
        let of_graph = |node: &Dependency| match node {
            Dependency::Node(node) if node.graph_id() == graph => self.node(hierarchy, node),
            Dependency::Node(_) => Err(GraphError::OtherGraph { what: "node" }.into()),
            Dependency::Raw(raw) => Ok(raw.raw()),
        };
        nodes.iter().map(of_graph).collect()
    }

    #[inline]
    fn is_valid(&self, node: &Node) -> bool {
        let entry = self.graphs.get(node.graph_id());
        entry.raw.is_some() && entry.incarnation(node.raw()) == node.incarnation()
    }
}

impl Hierarchy {
    /// A hierarchy with one graph, which is destroyed with it if it is owned.
    ///
    /// # Safety
    ///
    /// It is a graph of the context's driver, and stays until the hierarchy ends or [loses](Self::lose) it;
    /// an owned one has no other owner.
    pub(super) unsafe fn new(context: &Context, raw: CUgraph, is_owned: bool) -> Hierarchy {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let mark = mark(context, || (Kind::Graph, raw.addr() as u64, 0));
        let graphs = Entries::new(raw);
        let state = State { graphs, is_owned, is_broken: false, is_exposed: false, deaths: 0 };
        Hierarchy { number, context: context.clone(), state: Mutex::new(state), _mark: mark }
    }

    #[inline]
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    #[inline]
    pub(crate) fn context(&self) -> &Context {
        &self.context
    }

    #[inline]
    pub(crate) fn driver(&self) -> &Driver {
        self.context.driver()
    }

    #[inline]
    pub(crate) fn lock(&self) -> Locked<'_> {
        Locked { hierarchy: self, state: self.state.lock() }
    }

    /// Destroys the root if it is owned; all handles are refused afterwards.
    pub(super) fn end(&self) -> Result<()> {
        let (raw, owners) = self.take_root();
        // SAFETY: the graph belongs to this hierarchy, which gives it up.
        let destroyed = raw.map_or(Ok(()), |raw| unsafe { destroy_graph(self.driver(), &raw) });
        if !owners.is_empty() {
            reclaimer::defer(owners);
        }
        destroyed
    }

    /// The root, if it is owned and still there, and all owners; all handles are refused afterwards.
    fn take_root(&self) -> (Option<Handle<CUgraph_st>>, Vec<Owners>) {
        let mut locked = self.lock();
        let all = locked.from(GraphId::ROOT);
        let mut owners: Vec<_> = all.into_iter().map(|id| take(&mut locked.entry_mut(id).owners)).collect();
        owners.retain(|owners| !owners.is_empty());
        let raw = locked.entry_mut(GraphId::ROOT).raw.take();
        let is_owned = replace(&mut locked.state.is_owned, false) && !locked.state.is_broken;
        locked.bury(GraphId::ROOT);
        (raw.filter(|_| is_owned), owners)
    }
}

impl Drop for Hierarchy {
    fn drop(&mut self) {
        if callback::is_running() {
            let mark = take(&mut self._mark);
            let (raw, owners) = self.take_root();
            // SAFETY: the graph belongs to this hierarchy, which gives it up.
            return unsafe { DroppedGraph::defer(raw, &self.context, owners, mark) };
        }
        let ended = self.end();
        report(|| Subject::Graph { device: self.context.device().ordinal() }, ended);
    }
}

/// A hierarchy that no other thread uses.
pub(crate) struct Locked<'h> {
    hierarchy: &'h Hierarchy,
    state: MutexGuard<'h, State>,
}

impl<'h> Locked<'h> {
    #[inline]
    pub(super) fn entry(&self, id: GraphId) -> &Entry {
        self.state.graphs.get(id)
    }

    #[inline]
    pub(super) fn entry_mut(&mut self, id: GraphId) -> &mut Entry {
        self.state.graphs.get_mut(id)
    }

    #[inline]
    pub(super) fn driver(&self) -> &'h Driver {
        self.hierarchy.driver()
    }

    /// The number of nodes that were destroyed so far.
    pub(super) fn deaths(&self) -> u64 {
        self.state.deaths
    }

    /// The driver's handle of a graph, if it is not destroyed.
    #[inline]
    pub(super) fn graph(&self, id: GraphId) -> Result<CUgraph> {
        self.entry(id).raw.as_ref().map(Handle::raw).ok_or_else(|| GraphError::GraphDestroyed.into())
    }

    pub(super) fn is_alive(&self, id: GraphId) -> bool {
        self.entry(id).raw.is_some()
    }

    /// Records that a stream is captured into a graph.
    pub(super) fn begin_capture(&mut self, id: GraphId) {
        self.entry_mut(id).is_captured = true;
    }

    /// Records that the capture is over, and destroys the nodes that were taken back.
    pub(super) fn end_capture(&mut self, id: GraphId) -> Result<()> {
        let entry = self.entry_mut(id);
        entry.is_captured = false;
        take(&mut entry.unwanted).into_iter().try_for_each(|node| self.take_back(id, node))
    }

    /// Takes back a node that was added just now, and to which no handle was given out. The driver destroys
    /// no node of a graph that is being captured, so there it is destroyed when the capture ends.
    pub(super) fn take_back(&mut self, id: GraphId, node: RawNode) -> Result<()> {
        if self.entry(id).is_captured {
            self.entry_mut(id).unwanted.push(node);
            return Ok(());
        }
        // SAFETY: the node is alive, and there is no handle to it.
        unsafe { self.destroy(id, node) }
    }

    /// Records that captured nodes of a graph copy values with padding.
    pub(super) fn set_padded_copies(&mut self, id: GraphId) {
        self.entry_mut(id).has_padded_copies = true;
    }

    /// `true` if a captured node of a graph, of which nothing else is known, may copy values with padding.
    pub(super) fn may_copy_padding(&self, id: GraphId) -> bool {
        self.entry(id).has_padded_copies || self.entry(id).is_captured
    }

    /// Refuses to destroy nodes of a graph that is being captured.
    pub(super) fn check_not_captured(&self, id: GraphId) -> Result<()> {
        if self.entry(id).is_captured { Err(GraphError::Captured.into()) } else { Ok(()) }
    }

    /// Refuses a graph to be instantiated or copied while it, or a graph below it, is being captured or has a
    /// child whose owners are not known.
    pub(super) fn check_settled(&self, id: GraphId) -> Result<()> {
        if self.state.is_broken {
            return Err(GraphError::GraphDestroyed.into());
        }
        self.check_not_captured(id)?;
        if !self.entry(id).unknown_children.is_empty() {
            return Err(GraphError::ChildUnknown.into());
        }
        self.entry(id).inside.values().flatten().try_for_each(|inside| self.check_settled(*inside))
    }

    /// Refuses to destroy a node while a graph inside of it is being captured.
    pub(super) fn check_settled_inside(&self, id: GraphId, node: RawNode) -> Result<()> {
        self.inside(id, node).iter().try_for_each(|inside| self.check_settled(*inside))
    }

    /// Records that the driver has destroyed a graph inside of a node, which is there still: nothing more can
    /// be done with the whole hierarchy, not even destroy it.
    pub(super) fn break_at(&mut self, id: GraphId) {
        self.state.is_broken = true;
        self.bury(id);
    }

    pub(super) fn is_broken(&self) -> bool {
        self.state.is_broken
    }

    /// Marks the root as owned, or as not owned any more.
    pub(super) fn set_owned(&mut self, is_owned: bool) {
        self.state.is_owned = is_owned;
    }

    /// The driver's handle of a node, if it is of this hierarchy and neither it nor its graph is destroyed.
    #[inline]
    pub(super) fn node(&self, node: &Node) -> Result<CUgraphNode> {
        self.state.node(self.hierarchy, node)
    }

    /// The driver's handles of nodes that have to be in a graph of this hierarchy.
    #[inline]
    pub(super) fn nodes_of(&self, graph: GraphId, nodes: &[Dependency]) -> Result<Vec<CUgraphNode>> {
        self.state.nodes_of(self.hierarchy, graph, nodes)
    }

    /// `true` if a node of this hierarchy is not destroyed.
    #[inline]
    pub(super) fn is_valid(&self, node: &Node) -> bool {
        self.state.is_valid(node)
    }

    /// The identity of a node whose handle the driver has given now.
    #[inline]
    pub(super) fn node_id(&self, graph: GraphId, raw: RawNode) -> NodeId {
        NodeId { raw, incarnation: self.entry(graph).incarnation(raw) }
    }

    /// Records that other code has a handle of the hierarchy, and may copy its graphs from now on.
    pub(super) fn set_exposed(&mut self) {
        self.state.is_exposed = true;
    }

    #[inline]
    pub(super) fn is_exposed(&self) -> bool {
        self.state.is_exposed
    }

    /// Destroys a node, with everything inside of it, and releases its owners.
    ///
    /// # Safety
    ///
    /// The node is alive, and no handle to it is used again.
    pub(super) unsafe fn destroy(&mut self, id: GraphId, node: RawNode) -> Result<()> {
        // SAFETY: as the caller vouches.
        unsafe { self.driver().cuGraphDestroyNode(node.raw()) }?;
        for inside in self.entry_mut(id).inside.remove(&node).unwrap_or_default() {
            self.bury(inside);
        }
        self.state.deaths += 1;
        let deaths = self.state.deaths;
        let entry = self.entry_mut(id);
        entry.destroyed.insert(node, deaths);
        entry.uncopyable.remove(&node);
        entry.contexts.remove(&node);
        entry.unknown_children.remove(&node);
        self.forget_conditional(id, node);
        self.publish(id, node, Prepared::default());
        Ok(())
    }

    /// Records that a graph is gone, and all graphs below; the driver has released what they kept, or will.
    pub(super) fn bury(&mut self, id: GraphId) {
        self.forget_conditionals(id);
        let entry = self.entry_mut(id);
        let (inside, owners) = (take(&mut entry.inside), take(&mut entry.owners));
        if !owners.is_empty() {
            // Not dropped here: an owner's drop may come back to the graph, which is locked.
            reclaimer::defer(owners);
        }
        self.state.graphs.remove(id);
        for inside in inside.into_values().flatten() {
            self.bury(inside);
        }
    }

    /// The graphs inside of a node.
    pub(super) fn inside(&self, id: GraphId, node: RawNode) -> &[GraphId] {
        self.entry(id).inside.get(&node).map_or(&[], Vec::as_slice)
    }

    /// Adds a graph that the driver has made inside of a node.
    pub(super) fn add_inside(&mut self, id: GraphId, node: RawNode, raw: CUgraph) -> GraphId {
        let inside = self.state.graphs.add(Entry::new(raw));
        self.entry_mut(id).inside.entry(node).or_default().push(inside);
        inside
    }

    /// Forgets the graphs inside of a node, which has others now.
    pub(super) fn replace_inside(&mut self, id: GraphId, node: RawNode) {
        self.entry_mut(id).unknown_children.remove(&node);
        self.state.deaths += 1; // of all nodes inside
        for inside in self.entry_mut(id).inside.remove(&node).unwrap_or_default() {
            self.bury(inside);
        }
    }

    /// Records that the graph inside of a node has owners that are not known here. The launch of an executable
    /// could not tell which memory it uses, so that none is made until the node has another graph or is gone.
    pub(super) fn set_child_unknown(&mut self, id: GraphId, node: RawNode) {
        self.replace_inside(id, node);
        self.entry_mut(id).unknown_children.insert(node, ());
    }

    /// Remembers a node that keeps the graph from being copied.
    pub(super) fn add_uncopyable(&mut self, id: GraphId, node: RawNode, kind: &'static str) {
        self.entry_mut(id).uncopyable.insert(node, kind);
    }

    /// The kind of a node, here or below, that keeps the graph from being copied.
    pub(super) fn uncopyable(&self, id: GraphId) -> Option<&'static str> {
        let entry = self.entry(id);
        if entry.is_conditional {
            return Some("conditional");
        }
        let below = || entry.inside.values().flatten().find_map(|inside| self.uncopyable(*inside));
        entry.uncopyable.values().next().copied().or_else(below)
    }

    /// The nodes with graphs inside, and these.
    pub(super) fn nodes_with_graphs(&self, id: GraphId) -> Vec<(RawNode, Vec<GraphId>)> {
        self.entry(id).inside.iter().map(|(node, inside)| (*node, inside.clone())).collect()
    }

    /// All graphs from one downwards that are not destroyed.
    pub(super) fn from(&self, id: GraphId) -> Vec<GraphId> {
        let mut all = vec![id];
        let mut at = 0;
        while at < all.len() {
            all.extend(self.entry(all[at]).inside.values().flatten());
            at += 1;
        }
        all.retain(|id| self.is_alive(*id));
        all
    }

    /// The handles of all nodes of a graph.
    pub(super) fn raw_nodes(&self, id: GraphId) -> Result<Vec<CUgraphNode>> {
        let (graph, driver) = (self.graph(id)?, self.driver());
        // SAFETY: the graph is alive, and there is room for as many nodes as is said, or none is asked for.
        listed(|room, count| unsafe { driver.cuGraphGetNodes(graph, room, count) })
    }
}

/// The handles of a list that the driver counts and then writes.
pub(super) fn listed(
    mut ask: impl FnMut(*mut CUgraphNode, *mut usize) -> warploom_driver::Result<()>,
) -> Result<Vec<CUgraphNode>> {
    let mut count = 0;
    ask(null_mut(), &raw mut count)?;
    let mut nodes = vec![null_mut(); count];
    if count > 0 {
        ask(nodes.as_mut_ptr(), &raw mut count)?;
        nodes.truncate(count);
    }
    Ok(nodes)
}
