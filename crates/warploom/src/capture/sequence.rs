//! A capture sequence: its streams, the memory its graph uses, and the work that waits for its end.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use super::active;
use super::order::{GraphMemoryId, Order};
use super::turn::{Turn, TurnLock};
use crate::graph::{Bundle, Part, Retained};
use crate::memory::{Access, AllocationRef};
use crate::{CaptureError, Context, DriverId, Event, GraphDef, Result, Stream};

/// Tells captures apart; no other of the process ever has the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CaptureId(u64);

impl CaptureId {
    /// As a number that is not 0.
    pub(crate) fn number(self) -> u64 {
        self.0
    }
}

/// A capture that may not be over.
pub(crate) struct Sequence {
    id: CaptureId,
    driver: DriverId,
    /// The graph, once it is needed. It belongs to the driver until the capture ends.
    graph: OnceLock<GraphDef>,
    turn: TurnLock,
    parts: Mutex<Parts>,
}

#[derive(Default)]
struct Parts {
    /// The stream that it began on is the first.
    members: Vec<Member>,
    kept: Kept,
    /// The accesses that each stream captured, by memory.
    uses: BTreeMap<usize, Vec<(Stream, Access)>>,
    order: Order,
    /// Dropped values that cannot end before the capture does, oldest first.
    deferred: Vec<Box<dyn Any + Send + Sync>>,
}

/// A stream that takes part.
struct Member {
    stream: Stream,
    /// The stream's work before the capture, for waits from outside.
    before: Arc<Event>,
}

/// The memory and values that a graph uses.
#[derive(Clone, Default)]
pub(crate) struct Kept {
    memory: BTreeMap<usize, (AllocationRef, Access)>,
    owners: Vec<Arc<dyn Any + Send + Sync>>,
    /// The number of nodes captured through this crate.
    pub(super) nodes: usize,
    /// `true` if one of them allocates or frees memory.
    pub(super) has_memory_nodes: bool,
}

impl Kept {
    /// Everything, to be attached to a graph.
    pub(super) fn into_bundle(self) -> Bundle {
        let mut bundle = Bundle::with_capacity(self.memory.len() + self.owners.len());
        for (held, access) in self.memory.into_values() {
            bundle.keep(Part::Whole, Retained::Memory(held, access));
        }
        for owner in self.owners {
            bundle.keep(Part::Whole, Retained::Value(owner));
        }
        bundle
    }
}

impl Sequence {
    /// Of a stream that is not part of another, and into a graph if there is one already.
    pub(super) fn begin(stream: &Stream, before: Event, graph: Option<GraphDef>) -> Result<Arc<Sequence>> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let id = CaptureId(NEXT.fetch_add(1, Ordering::Relaxed));
        let member = Member { stream: stream.clone(), before: Arc::new(before) };
        let parts = Parts { members: vec![member], ..Parts::default() };
        let sequence = Arc::new(Sequence {
            id,
            driver: stream.driver().id(),
            graph: graph.map(OnceLock::from).unwrap_or_default(),
            turn: TurnLock::default(),
            parts: Mutex::new(parts),
        });
        active::enter(&sequence, stream)?;
        Ok(sequence)
    }

    /// Ends the sequence: deferred values are dropped now, and the graph's memory and values are handed over.
    pub(super) fn finish(self: &Arc<Self>) -> Kept {
        active::leave(self);
        // Streams must not end while it is locked.
        let parts = std::mem::take(&mut *self.lock());
        let Parts { members, kept, deferred, .. } = parts;
        // The streams are the driver's to run again, so that this is in order with what comes next.
        drop(deferred);
        drop(members);
        kept
    }

    /// The graph of the capture, made by `borrow` if it is needed for the first time.
    pub(super) fn graph(&self, borrow: impl FnOnce() -> GraphDef) -> GraphDef {
        self.graph.get_or_init(borrow).clone()
    }

    /// The graph of the capture, if it was needed.
    pub(super) fn known_graph(&self) -> Option<&GraphDef> {
        self.graph.get()
    }

    /// The number of the hierarchy that the graph belongs to, if it was needed.
    pub(super) fn hierarchy(&self) -> Option<u64> {
        self.known_graph().map(|graph| graph.hierarchy().number())
    }

    fn lock(&self) -> MutexGuard<'_, Parts> {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until no other thread makes calls on streams of the capture.
    pub(super) fn turn(self: &Arc<Self>) -> Turn {
        Turn::of(self)
    }

    pub(super) fn turn_lock(&self) -> &TurnLock {
        &self.turn
    }

    pub(crate) fn id(&self) -> CaptureId {
        self.id
    }

    pub(super) fn driver(&self) -> DriverId {
        self.driver
    }

    pub(super) fn has(&self, stream: &Stream) -> bool {
        self.lock().members.iter().any(|member| member.stream == *stream)
    }

    /// The stream that it began on, unless it has ended.
    pub(super) fn origin(&self) -> Option<Stream> {
        self.lock().members.first().map(|member| member.stream.clone())
    }

    /// The streams that take part and match.
    pub(super) fn members(&self, is_meant: impl Fn(&Stream) -> bool) -> Vec<Stream> {
        self.lock()
            .members
            .iter()
            .filter(|member| is_meant(&member.stream))
            .map(|member| member.stream.clone())
            .collect()
    }

    pub(super) fn is_in(&self, context: &Context) -> bool {
        self.lock().members.iter().any(|member| member.stream.context() == context)
    }

    /// The work of a captured stream before the capture.
    pub(super) fn before(&self, stream: &Stream) -> Option<Arc<Event>> {
        let parts = self.lock();
        parts.members.iter().find(|member| member.stream == *stream).map(|member| Arc::clone(&member.before))
    }

    /// A stream has waited, and takes part now.
    pub(crate) fn join(&self, stream: &Stream, before: Event) {
        let members = &mut self.lock().members;
        if members.iter().all(|member| member.stream != *stream) {
            members.push(Member { stream: stream.clone(), before: Arc::new(before) });
        }
    }

    /// A stream does not take part after all.
    pub(crate) fn part(&self, stream: &Stream) {
        let parted = {
            let members = &mut self.lock().members;
            members.iter().position(|member| member.stream == *stream).map(|at| members.swap_remove(at))
        };
        drop(parted);
    }

    /// Keeps memory that a node of a stream uses; that of a graph only if it was allocated in this capture.
    pub(crate) fn keep(&self, held: &AllocationRef, stream: &Stream) -> Result<()> {
        match held.graph_memory() {
            Some((capture, memory)) if capture == self.id => self.use_graph_memory(memory, stream)?,
            Some(_) => return Err(CaptureError::GraphMemory.into()),
            None => {
                self.lock().kept.memory.entry(held.identity()).or_insert_with(|| (held.clone(), Access::Read));
            }
        }
        Ok(())
    }

    /// Has the next node of a stream come after the allocation of memory of this graph, and before its end.
    fn use_graph_memory(&self, memory: GraphMemoryId, stream: &Stream) -> Result<()> {
        if let Some(home) = self.order(|order| order.missing_before_use(memory, stream)) {
            stream.wait_for(&home)?;
        }
        self.order(|order| order.used(memory, stream));
        Ok(())
    }

    /// Has the next node of the stream that allocated memory of this graph come after all that use it.
    pub(crate) fn order_free(&self, memory: GraphMemoryId, home: &Stream) -> Result<()> {
        let users = self.order(|order| order.missing_before_free(memory));
        users.iter().try_for_each(|user| home.wait_for(user))
    }

    pub(crate) fn allocated(&self, stream: &Stream) -> GraphMemoryId {
        self.order(|order| order.allocated(stream))
    }

    /// The order between the streams.
    pub(super) fn order<R>(&self, look: impl FnOnce(&mut Order) -> R) -> R {
        look(&mut self.lock().order)
    }

    /// A stream that takes part has captured an access.
    pub(super) fn did(&self, held: &AllocationRef, stream: &Stream, access: Access) {
        let mut parts = self.lock();
        if let (Access::Write, Some((_, known))) = (access, parts.kept.memory.get_mut(&held.identity())) {
            *known = access;
        }
        let uses = parts.uses.entry(held.identity()).or_default();
        if uses.iter().all(|used| *used != (stream.clone(), access)) {
            uses.push((stream.clone(), access));
        }
    }

    /// The other streams that have captured an access which conflicts with this one.
    pub(crate) fn conflicts(&self, held: &AllocationRef, stream: &Stream, access: Access) -> Vec<Stream> {
        let parts = self.lock();
        let uses = parts.uses.get(&held.identity()).into_iter().flatten();
        let conflicting =
            uses.filter(|(other, used)| other != stream && (access == Access::Write || *used == Access::Write));
        conflicting.map(|(other, _)| other.clone()).collect()
    }

    /// Keeps everything that another graph should have kept.
    pub(super) fn keep_all(&self, kept: Kept) {
        let mut parts = self.lock();
        for (identity, (held, access)) in kept.memory {
            let (_, known) = parts.kept.memory.entry(identity).or_insert((held, access));
            if access == Access::Write {
                *known = access;
            }
        }
        parts.kept.owners.extend(kept.owners);
    }

    pub(crate) fn keep_owner(&self, owner: Arc<dyn Any + Send + Sync>) {
        self.lock().kept.owners.push(owner);
    }

    /// Makes a call that adds a node, and counts the node. No other thread uses the graph meanwhile: the caller
    /// has a turn, and a graph that is known may have other handles.
    pub(super) fn add_node(&self, call: impl FnOnce() -> Result<()>) -> Result<()> {
        match self.known_graph() {
            Some(graph) => graph.alone(call)?,
            None => call()?,
        }
        self.count();
        Ok(())
    }

    pub(super) fn count(&self) {
        self.lock().kept.nodes += 1;
    }

    /// Takes note of a node that allocates or frees memory.
    pub(crate) fn note_memory_node(&self) {
        self.lock().kept.has_memory_nodes = true;
    }

    /// Drops a value when the capture ends; at once, if it has ended.
    pub(crate) fn defer(self: &Arc<Self>, ending: Box<dyn Any + Send + Sync>) {
        let mut parts = self.lock();
        if parts.members.is_empty() {
            drop(parts);
            return drop(ending);
        }
        parts.deferred.push(ending);
    }
}
