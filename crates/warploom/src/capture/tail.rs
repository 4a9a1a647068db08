//! The tail of a captured stream: the graph, and the nodes that the next one comes after.
#![expect(unsafe_code, reason = "asks the driver about a capture")]

use std::ptr::{null, null_mut};

use warploom_driver::sys::types::{
    CUgraph, CUgraphEdgeData, CUgraphNode, CUstreamCaptureStatus, CUstreamUpdateCaptureDependencies_flags,
};

use crate::{CaptureError, Function, Result, Stream};

/// Replaces the nodes, and does not add to them.
const SET: u32 = CUstreamUpdateCaptureDependencies_flags::CU_STREAM_SET_CAPTURE_DEPENDENCIES.0;

/// The state of a stream in a capture.
pub(super) struct Tail {
    /// The graph, which belongs to the capture.
    pub(super) graph: CUgraph,
    /// The nodes that the next node of the stream comes after.
    pub(super) dependencies: Vec<CUgraphNode>,
    /// The kinds of edges from these; none where the driver has but one kind.
    edges: Vec<CUgraphEdgeData>,
}

impl Tail {
    /// Asks the driver.
    ///
    /// # Errors
    ///
    /// [`CaptureError::Invalidated`] if the stream is not, or no longer, being captured, and the driver's
    /// error.
    pub(super) fn of(stream: &Stream) -> Result<Tail> {
        let mut status = CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
        let (mut graph, mut nodes, mut edges, mut count) = (null_mut(), null(), null(), 0);
        let driver = stream.driver();
        let has_edges = driver.supports(Function::cuStreamGetCaptureInfo_v3);
        stream.with_raw(|raw| {
            let (status, graph, nodes, count) = (&raw mut status, &raw mut graph, &raw mut nodes, &raw mut count);
            // SAFETY: the stream is alive, and there is room for every answer.
            unsafe {
                if has_edges {
                    driver.cuStreamGetCaptureInfo_v3(raw, status, null_mut(), graph, nodes, &raw mut edges, count)
                } else {
                    driver.cuStreamGetCaptureInfo_v2(raw, status, null_mut(), graph, nodes, count)
                }
            }
        })??;
        if status != CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_ACTIVE {
            return Err(CaptureError::Invalidated.into());
        }
        // SAFETY: the driver's arrays have that many entries until the next call for the stream.
        let (dependencies, edges) = unsafe { (copy(nodes, count), copy(edges, count)) };
        Ok(Tail { graph, dependencies, edges })
    }

    /// Has the next node of a stream come after this one alone.
    pub(super) fn set(stream: &Stream, node: CUgraphNode) -> Result<()> {
        Self::replace(stream, &mut [node], &[])
    }

    /// Has the next node of a stream come after the same nodes as before.
    pub(super) fn restore(mut self, stream: &Stream) -> Result<()> {
        Self::replace(stream, &mut self.dependencies, &self.edges)
    }

    fn replace(stream: &Stream, nodes: &mut [CUgraphNode], edges: &[CUgraphEdgeData]) -> Result<()> {
        let driver = stream.driver();
        let (count, from, kinds) =
            (nodes.len(), nodes.as_mut_ptr(), if edges.is_empty() { null() } else { edges.as_ptr() });
        let has_edges = driver.supports(Function::cuStreamUpdateCaptureDependencies_v2);
        stream.with_raw(|raw| {
            // SAFETY: the stream is alive, and there are as many nodes of its graph and as many edges as is
            // said.
            unsafe {
                if has_edges {
                    driver.cuStreamUpdateCaptureDependencies_v2(raw, from, kinds, count, SET)
                } else {
                    driver.cuStreamUpdateCaptureDependencies(raw, from, count, SET)
                }
            }
        })??;
        Ok(())
    }
}

/// # Safety
///
/// It is null, or there are `count` values.
unsafe fn copy<T: Copy>(from: *const T, count: usize) -> Vec<T> {
    if from.is_null() {
        return Vec::new();
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(from, count) }.to_vec()
}
