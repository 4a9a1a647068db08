//! Captures of bodies that were forgotten instead of ended.
//!
//! A driver that destroys a graph into which a stream is still being captured accesses freed memory. Whether
//! the end of a capture gives a graph is the driver's decision, so that every capture below ends before it.

use std::sync::Arc;

use super::active;
use super::finish::unwanted;
use super::sequence::Sequence;
use crate::diagnostics::{Subject, report};
use crate::{CaptureError, GraphDef, Result, Stream};

/// Ends the captures of bodies below the graph of a capture, the innermost first. There are some only if their
/// values were forgotten: each borrows the capture that it is part of.
///
/// # Errors
///
/// [`CaptureError::BodyForgotten`] if one goes on, as on another thread than the one that it began on. Then
/// the driver must not end the capture above.
pub(super) fn end_bodies(outer: &Arc<Sequence>) -> Result<()> {
    let mut ended = Ok(());
    for body in outer.known_graph().into_iter().flat_map(active::below) {
        let (Some(graph), Some(stream)) = (body.known_graph(), body.origin()) else { continue };
        let BodyEnd { is_over, result } = end_body(graph, &stream, &body, outer);
        if !is_over {
            ended = Err(CaptureError::BodyForgotten.into());
        }
        report(|| Subject::Capture { device: stream.device().ordinal() }, unwanted(result));
    }
    ended
}

/// The end of the capture of a body.
pub(super) struct BodyEnd {
    /// `false` if the capture goes on, with everything that it keeps.
    pub(super) is_over: bool,
    pub(super) result: Result<()>,
}

/// Ends the capture of a body. Whether that succeeds or not, the graph may have nodes, and so keeps what they
/// use; if it cannot, the capture that it is part of does.
pub(super) fn end_body(graph: &GraphDef, stream: &Stream, body: &Arc<Sequence>, outer: &Sequence) -> BodyEnd {
    let mut is_over = true;
    let turn = body.turn();
    let result = graph.end_body_capture(|| {
        let ended = body.end(stream);
        is_over = ended.is_over;
        ended
    });
    drop(turn);
    if !is_over {
        return BodyEnd { is_over, result };
    }
    let mut kept = body.finish();
    graph.note_contexts(std::mem::take(&mut kept.contexts));
    if kept.has_padded_copies {
        graph.note_padded_copies();
    }
    let attached = graph.attach(kept.clone().into_bundle());
    if attached.is_err() {
        outer.keep_all(kept);
    }
    BodyEnd { is_over, result: result.and(attached) }
}
