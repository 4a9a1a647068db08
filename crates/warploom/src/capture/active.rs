//! Captures in progress, and the checks they ask of other calls.
//!
//! One load tells that there are none. Programs without captures pay that, and a [mark](in_flight) around each
//! call, by which a thread that begins a capture waits for calls that took the stream for one that is not
//! captured.
//!
//! The thread that holds the lock of a capture, by a [turn](super::Turn), sees its streams as captured. To any other
//! thread, a stream that is captured is one that has been since the call began, and the call is refused.

use std::any::Any;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Sequence;
use super::in_flight::{self, Mark};
use super::sequence::Before;
use crate::memory::{Access, AllocationRef};
use crate::{CaptureError, Context, Driver, Event, GraphDef, GraphError, Result, Stream};

/// The number of them.
static COUNT: AtomicUsize = AtomicUsize::new(0);

static ACTIVE: Mutex<Vec<Arc<Sequence>>> = Mutex::new(Vec::new());

fn all() -> MutexGuard<'static, Vec<Arc<Sequence>>> {
    ACTIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `true` if anything is being captured.
#[inline]
pub(crate) fn any() -> bool {
    // After the mark of a call; see `in_flight`.
    COUNT.load(Ordering::SeqCst) != 0
}

/// Adds a capture, unless its stream is part of another. Calls that other threads have begun on the stream are
/// over then; the caller has the capture's turn.
pub(super) fn enter(sequence: &Arc<Sequence>, stream: &Stream) -> Result<()> {
    let mut all = all();
    if all.iter().any(|other| other.has(stream)) {
        return Err(CaptureError::NotCapturable { what: "the beginning of another capture" }.into());
    }
    all.push(Arc::clone(sequence));
    COUNT.store(all.len(), Ordering::SeqCst);
    drop(all);
    in_flight::wait(stream);
    Ok(())
}

/// Has a stream take part in a capture, unless that is over, or the stream is part of one. Calls that other
/// threads have begun on the stream are over then; the caller has the capture's turn.
pub(super) fn admit(sequence: &Arc<Sequence>, stream: &Stream, before: Before) -> bool {
    let all = all();
    let is_over = !all.iter().any(|other| Arc::ptr_eq(other, sequence));
    if is_over || all.iter().any(|other| other.has(stream)) {
        return false;
    }
    sequence.join(stream, before);
    drop(all);
    in_flight::wait(stream);
    true
}

/// Takes a capture off.
pub(super) fn leave(sequence: &Arc<Sequence>) {
    let mut all = all();
    all.retain(|other| !Arc::ptr_eq(other, sequence));
    COUNT.store(all.len(), Ordering::Relaxed);
}

fn find(is_meant: impl Fn(&Sequence) -> bool) -> Option<Arc<Sequence>> {
    if !any() {
        return None;
    }
    all().iter().find(|sequence| is_meant(sequence)).cloned()
}

/// The capture that a stream is part of.
#[cold]
pub(crate) fn of(stream: &Stream) -> Option<Arc<Sequence>> {
    find(|sequence| sequence.has(stream))
}

/// The captures into graphs that are inside of this one, the innermost first: a capture begins after the one
/// around it.
pub(super) fn below(graph: &GraphDef) -> Vec<Arc<Sequence>> {
    let mut sequences: Vec<Arc<Sequence>> = all().iter().rev().cloned().collect();
    sequences.retain(|sequence| sequence.known_graph().is_some_and(|other| graph.contains(other)));
    sequences
}

/// The capture with a number, if it is not over.
fn numbered(number: u64) -> Option<Arc<Sequence>> {
    find(|sequence| sequence.id().number() == number)
}

/// `true` if anything is being captured on a driver.
pub(super) fn is_on(driver: &Driver) -> bool {
    find(|sequence| sequence.driver() == driver.id()).is_some()
}

/// A capture that a stream of a context is part of.
#[cold]
pub(crate) fn in_context(context: &Context) -> Option<Arc<Sequence>> {
    find(|sequence| sequence.is_in(context))
}

/// The event of a captured stream's work before its capture.
#[cold]
pub(crate) fn before(stream: &Stream) -> Option<Arc<Event>> {
    of(stream)?.before(stream)?.wait().clone()
}

/// The capture that a stream is part of, if the calling thread has its turn.
///
/// # Errors
///
/// [`CaptureError::BeganMeanwhile`] if another thread has begun the capture since the call began.
fn of_turn(stream: &Stream) -> Result<Option<Arc<Sequence>>> {
    match of(stream) {
        Some(sequence) if !sequence.turn_lock().is_held() => Err(CaptureError::BeganMeanwhile.into()),
        sequence => Ok(sequence),
    }
}

/// The effect of a call on a stream while something is captured.
pub(crate) enum Claim {
    /// It becomes part of a capture, whose turn the thread has.
    Captured(Arc<Sequence>),
    /// It runs; no capture of the stream begins meanwhile.
    Runs(Mark),
}

/// The effect of a call on a stream, which stays the same as long as the value.
///
/// # Errors
///
/// As [`of_turn`].
#[cold]
pub(crate) fn claim(stream: &Stream) -> Result<Claim> {
    let all = all();
    match all.iter().find(|sequence| sequence.has(stream)) {
        Some(sequence) if sequence.turn_lock().is_held() => Ok(Claim::Captured(Arc::clone(sequence))),
        Some(_) => Err(CaptureError::BeganMeanwhile.into()),
        // A thread that admits the stream later takes this lock after the mark was made.
        None => Ok(Claim::Runs(in_flight::mark(stream))),
    }
}

/// Keeps memory for the capture that a stream is part of; returns `true` if it is part of one.
#[cold]
pub(crate) fn keep(held: &AllocationRef, stream: &Stream) -> Result<bool> {
    match of_turn(stream)? {
        Some(sequence) => sequence.keep(held, stream).map(|()| true),
        None if held.capture().is_some() => Err(CaptureError::GraphMemory.into()),
        None => Ok(false),
    }
}

/// Records an access of a captured stream; returns `true` if it is captured.
#[cold]
pub(crate) fn did(held: &AllocationRef, stream: &Stream, access: Access) -> bool {
    of_turn(stream).ok().flatten().inspect(|sequence| sequence.did(held, stream, access)).is_some()
}

/// Records that a stream is about to copy values with padding, if it is captured. The caller has the stream's turn.
#[inline]
pub(crate) fn note_copy(stream: &Stream, has_padding: bool) {
    if has_padding && any() {
        note_padded_copy(stream);
    }
}

#[cold]
fn note_padded_copy(stream: &Stream) {
    if let Ok(Some(sequence)) = of_turn(stream) {
        sequence.note_padded_copy();
    }
}

/// A stream that is captured uses memory from now on in ways that are not seen here.
#[cold]
pub(crate) fn declare_use(held: &AllocationRef, stream: &Stream) {
    if let (Some(sequence), Some((_, memory))) = (of(stream), held.graph_memory()) {
        sequence.order(|order| order.used_from_now_on(memory, stream));
    }
}

/// Keeps a value for the capture that a stream is part of, if it is.
#[cold]
pub(crate) fn keep_owner(stream: &Stream, owner: impl FnOnce() -> Arc<dyn Any + Send + Sync>) {
    if let Ok(Some(sequence)) = of_turn(stream) {
        sequence.keep_owner(owner());
    }
}

/// Refuses memory and conditions of a graph on a stream, by the number of the graph's hierarchy.
#[cold]
pub(crate) fn check_scope(stream: &Stream, hierarchy: u64) -> Result<()> {
    match of(stream).and_then(|sequence| sequence.hierarchy()) {
        Some(own) if own == hierarchy => Ok(()),
        _ => Err(GraphError::OutsideGraph.into()),
    }
}

/// Makes a call that adds a node if the stream is captured. The node is counted.
///
/// # Errors
///
/// [`CaptureError::BeganMeanwhile`], and those of the call.
#[cold]
pub(crate) fn enqueue(stream: &Stream, call: impl FnOnce() -> Result<()>) -> Result<()> {
    match claim(stream)? {
        Claim::Captured(sequence) => sequence.add_node(stream, call),
        Claim::Runs(_mark) => call(),
    }
}

/// Checks and records a wait of a stream for an event, by the number of the capture that the event was
/// recorded in: the capture that the stream takes part in from then on.
#[cold]
pub(crate) fn check_work(stream: &Stream, recorded: u64) -> Result<Option<Arc<Sequence>>> {
    match (of(stream), numbered(recorded)) {
        (None, None) => Ok(None),
        (None, Some(_)) if stream.is_default() => Err(CaptureError::DefaultStream.into()),
        (None, Some(joined)) => Ok(Some(joined)),
        (Some(_), None) => Err(CaptureError::Outside.into()),
        (Some(own), Some(other)) if own.id() != other.id() => Err(CaptureError::OtherCapture.into()),
        (Some(_), Some(_)) => Ok(None),
    }
}

/// Refuses to ask for an event that was recorded in a capture that is not over.
#[cold]
pub(crate) fn check_event(recorded: u64) -> Result<()> {
    if numbered(recorded).is_some() { Err(CaptureError::CapturedEvent.into()) } else { Ok(()) }
}

/// Refuses the legacy default stream while a stream that it would wait for is captured.
#[cold]
pub(crate) fn check_legacy(stream: &Stream) -> Result<()> {
    if shadowed(stream)?.is_some() { Err(CaptureError::Legacy.into()) } else { Ok(()) }
}

/// If the stream is a legacy default one: a capture of a stream that it waits for.
pub(crate) fn shadowed(stream: &Stream) -> Result<Option<Arc<Sequence>>> {
    if !any() || !stream.is_legacy() {
        return Ok(None);
    }
    let sequences: Vec<Arc<Sequence>> = all().clone();
    for sequence in sequences {
        for member in sequence.members(|member| member.context() == stream.context()) {
            if !member.is_non_blocking()? {
                return Ok(Some(sequence));
            }
        }
    }
    Ok(None)
}

/// Refuses to wait for a context while one of its streams is captured.
#[cold]
pub(crate) fn check_context(context: &Context) -> Result<()> {
    match in_context(context) {
        Some(_) => Err(CaptureError::Context { device: context.device().ordinal() }.into()),
        None => Ok(()),
    }
}
