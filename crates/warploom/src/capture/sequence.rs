//! A capture sequence: its streams, the memory its graph uses, and the work that waits for its end.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use super::active;
use super::finish::{Ended, end};
use super::order::{GraphMemoryId, Order};
use super::tail::Tail;
use super::turn::{Turn, TurnLock};
use crate::event::Timing;
use crate::graph::{Bundle, Part, RawNode, Retained};
use crate::memory::{Access, AllocationRef};
use crate::{CaptureError, CaptureStatus, Context, DriverId, Event, GraphDef, Result, Stream};

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
    /// `true` if the driver could not end the capture.
    goes_on: AtomicBool,
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
    before: Before,
}

/// The event of a stream's work before its capture. It is recorded when nothing more runs on the stream before
/// the end; `None` if that failed, with which the stream is not captured after all.
pub(super) type Before = Arc<OnceLock<Option<Arc<Event>>>>;

/// The memory and values that a graph uses.
#[derive(Clone, Default)]
pub(crate) struct Kept {
    memory: BTreeMap<usize, (AllocationRef, Access)>,
    owners: Vec<Arc<dyn Any + Send + Sync>>,
    /// The number of nodes captured through this crate.
    pub(super) nodes: usize,
    /// The contexts of nodes that do not run in the graph's.
    pub(super) contexts: Vec<(RawNode, Context)>,
    /// `true` if one of them allocates or frees memory.
    pub(super) has_memory_nodes: bool,
    /// `true` if one of them copies values with padding.
    pub(super) has_padded_copies: bool,
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
    /// Of a stream that is not part of another, and into a graph if there is one already. Until the turn is
    /// dropped, other threads wait to make calls on the stream.
    pub(super) fn begin(stream: &Stream, graph: Option<GraphDef>) -> Result<(Arc<Sequence>, Turn)> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let id = CaptureId(NEXT.fetch_add(1, Ordering::Relaxed));
        let before = Before::default();
        let member = Member { stream: stream.clone(), before: Arc::clone(&before) };
        let parts = Parts { members: vec![member], ..Parts::default() };
        let sequence = Arc::new(Sequence {
            id,
            driver: stream.driver().id(),
            graph: graph.map(OnceLock::from).unwrap_or_default(),
            turn: TurnLock::default(),
            goes_on: AtomicBool::new(false),
            parts: Mutex::new(parts),
        });
        let turn = sequence.turn();
        active::enter(&sequence, stream)?;
        if let Err(error) = mark_before(stream, &before) {
            drop(sequence.finish());
            return Err(error);
        }
        Ok((sequence, turn))
    }

    /// Ends the driver's capture. Other threads take the stream for captured until then, and wait for the turn,
    /// which the caller has.
    pub(super) fn end(self: &Arc<Self>, stream: &Stream) -> Ended {
        let ended = end(stream);
        if ended.is_over {
            active::leave(self);
        } else {
            self.goes_on.store(true, Ordering::Relaxed);
        }
        ended
    }

    /// Ends the sequence: deferred values are dropped now, and the graph's memory and values are handed over.
    /// Of a capture that the driver could not end, everything stays.
    pub(super) fn finish(self: &Arc<Self>) -> Kept {
        if self.goes_on.load(Ordering::Relaxed) {
            return Kept::default();
        }
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
    pub(super) fn before(&self, stream: &Stream) -> Option<Before> {
        let parts = self.lock();
        parts.members.iter().find(|member| member.stream == *stream).map(|member| Arc::clone(&member.before))
    }

    /// Has a stream take part by a wait for an event of the capture; `None` if it cannot any more, since the
    /// capture is over or the stream is part of one.
    pub(crate) fn join_by(self: &Arc<Self>, stream: &Stream, wait: impl FnOnce() -> Result<()>) -> Option<Result<()>> {
        let (_turn, before) = (self.turn(), Before::default());
        if !active::admit(self, stream, Arc::clone(&before)) {
            return None;
        }
        if let Err(error) = mark_before(stream, &before) {
            self.part(stream);
            return Some(Err(error));
        }
        Some(wait().inspect_err(|_| {
            // The call may have failed when it was done.
            if !matches!(stream.capture_status(), Ok(CaptureStatus::Active)) {
                self.part(stream);
            }
        }))
    }

    /// A stream takes part now.
    pub(super) fn join(&self, stream: &Stream, before: Before) {
        self.lock().members.push(Member { stream: stream.clone(), before });
    }

    /// A stream does not take part after all.
    fn part(&self, stream: &Stream) {
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

    /// An event is about to be recorded, and marks no point of the capture meanwhile.
    pub(crate) fn forget_record<T: Timing>(&self, event: &Event<T>) {
        self.order(|order| order.forget_record(event.as_raw().addr()));
    }

    /// A stream that takes part has recorded an event.
    pub(crate) fn recorded<T: Timing>(&self, stream: &Stream, event: &Event<T>) {
        event.note_capture(Some(self.id));
        self.order(|order| order.recorded(stream, event.as_raw().addr()));
    }

    /// A stream that takes part has waited for an event.
    pub(crate) fn waited<T: Timing>(&self, stream: &Stream, event: &Event<T>) {
        if event.capture() == self.id.number() {
            self.order(|order| order.waited(stream, event.as_raw().addr()));
        }
    }

    /// The order between the streams.
    pub(super) fn order<R>(&self, look: impl FnOnce(&mut Order) -> R) -> R {
        look(&mut self.lock().order)
    }

    /// A stream that takes part has captured an access.
    pub(super) fn did(&self, held: &AllocationRef, stream: &Stream, access: Access) {
        let mut parts = self.lock();
        if held.capture().is_none() {
            let (_, known) = parts.kept.memory.entry(held.identity()).or_insert_with(|| (held.clone(), access));
            if access == Access::Write {
                *known = access;
            }
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
    pub(super) fn add_node(&self, stream: &Stream, call: impl FnOnce() -> Result<()>) -> Result<()> {
        match self.known_graph() {
            Some(graph) => graph.alone(call)?,
            None => call()?,
        }
        self.count();
        self.note_context(stream);
        Ok(())
    }

    /// Takes note of the context of the node that a stream has added last, if that is not the graph's.
    fn note_context(&self, stream: &Stream) {
        let is_of_graph = self.lock().members.first().is_none_or(|first| first.stream.context() == stream.context());
        if !is_of_graph
            && let Ok(tail) = Tail::of(stream)
            && let [node] = *tail.dependencies
        {
            self.lock().kept.contexts.push((RawNode::new(node), stream.context().clone()));
        }
    }

    pub(super) fn count(&self) {
        self.lock().kept.nodes += 1;
    }

    /// Takes note of a node that allocates or frees memory.
    pub(crate) fn note_memory_node(&self) {
        self.lock().kept.has_memory_nodes = true;
    }

    /// Takes note of a node that copies values with padding.
    pub(super) fn note_padded_copy(&self) {
        self.lock().kept.has_padded_copies = true;
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

/// Marks the work of a stream before its capture; no thread makes a call on the stream meanwhile.
fn mark_before(stream: &Stream, before: &Before) -> Result<()> {
    let recorded = stream.record_now();
    // Nothing else sets it.
    drop(before.set(recorded.as_ref().ok().cloned()));
    recorded.map(drop)
}
