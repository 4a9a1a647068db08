//! Events in captures: streams join a capture by waiting for an event, and are joined back by another.

use warploom_engine::QueueId;
use warploom_sys::types::CUresult;

use super::IMPLICIT;
use crate::ffi::handle::EventHandle;
use crate::ffi::status::{CAPTURE_UNSUPPORTED, INVALID_HANDLE, INVALID_VALUE, Status};
use crate::machine::call::Call;
use crate::machine::capture::{Branch, CapturedRecord, SequenceId};
use crate::machine::core::Guard;
use crate::machine::graph::NodeWork;

const MERGE: CUresult = CUresult::CUDA_ERROR_STREAM_CAPTURE_MERGE;
const ISOLATION: CUresult = CUresult::CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
const CAPTURED_EVENT: CUresult = CUresult::CUDA_ERROR_CAPTURED_EVENT;

impl Call<'_> {
    /// Records an event in a captured stream: the stream's last nodes or, for an external record, a node of
    /// its own.
    pub(crate) fn record_captured(
        &self,
        world: &mut Guard<'_>,
        queue: QueueId,
        event: EventHandle,
        is_external: bool,
    ) -> Status {
        self.refuse_interprocess(world, queue, event)?;
        if is_external {
            return self.capture_node(world, queue, NodeWork::RecordEvent(event));
        }
        self.capturing(world, queue)?;
        let Some(branch) = world.captures().branches.get(&queue) else { return Ok(()) };
        let record = CapturedRecord { sequence: branch.sequence, nodes: branch.tips.clone() };
        world.events_mut().get_mut(event).ok_or(INVALID_HANDLE)?.captured = Some(record);
        Ok(())
    }

    /// Makes a stream wait for an event if the event was recorded in a capture or the stream is captured.
    /// Returns false for an ordinary wait.
    pub(crate) fn wait_captured(&self, world: &mut Guard<'_>, queue: QueueId, event: EventHandle) -> Status<bool> {
        let Some(found) = world.events().get(event) else { return Err(INVALID_HANDLE) };
        let (record, is_recorded) = (found.captured.clone(), found.record.is_some());
        let own = world.captures().of(queue).map(|(id, _)| id);
        if own.is_some() {
            self.refuse_interprocess(world, queue, event)?;
            self.capturing(world, queue)?;
        }
        match (record, own) {
            (None, None) => return Ok(false),
            // An event without a record needs no wait, captured or not.
            (None, Some(_)) if !is_recorded => {}
            (None, Some(own)) => {
                world.captures_mut().invalidate(own);
                let reason = "the event was recorded outside of the capture, which is invalid now";
                return Err(self.refuse(ISOLATION, reason));
            }
            (Some(record), own) => {
                if world.is_legacy(queue) {
                    world.captures_mut().invalidate(record.sequence);
                    return Err(self.refuse(IMPLICIT, "the legacy default stream cannot take part in a capture"));
                }
                self.join_capture(world, queue, record, own)?;
            }
        }
        Ok(true)
    }

    /// Refuses an event for several processes in a capture, which is invalid then.
    fn refuse_interprocess(&self, world: &mut Guard<'_>, queue: QueueId, event: EventHandle) -> Status {
        if world.events().get(event).is_none_or(|event| event.shared.is_none()) {
            return Ok(());
        }
        world.captures_mut().spoil(queue);
        let reason = "an event for several processes cannot take part in a capture, which is invalid now";
        Err(self.refuse(CAPTURE_UNSUPPORTED, reason))
    }

    fn join_capture(
        &self,
        world: &mut Guard<'_>,
        queue: QueueId,
        record: CapturedRecord,
        own: Option<SequenceId>,
    ) -> Status {
        let captures = world.captures_mut();
        if captures.sequences.get(&record.sequence).is_none_or(|sequence| sequence.is_invalid) {
            own.into_iter().for_each(|own| captures.invalidate(own));
            return Err(self.refuse(INVALID_VALUE, "the event was recorded in a capture that is over or invalid"));
        }
        if let Some(own) = own.filter(|own| *own != record.sequence) {
            captures.invalidate(own);
            captures.invalidate(record.sequence);
            return Err(self.refuse(MERGE, "the event was recorded in another capture; both are invalid now"));
        }
        let branch = captures.branches.entry(queue).or_insert_with(|| Branch::new(record.sequence));
        branch.depend_on(record.nodes);
        Ok(())
    }

    /// Refuses a query or a wait for an event that was recorded in a capture. Invalidates the capture if
    /// `invalidates` is set.
    pub(crate) fn check_event(&self, world: &mut Guard<'_>, event: EventHandle, invalidates: bool) -> Status {
        let Some(record) = world.events().get(event).and_then(|event| event.captured.as_ref()) else { return Ok(()) };
        let id = record.sequence;
        let is_going_on = world.captures().sequences.get(&id).is_some_and(|sequence| !sequence.is_invalid);
        if !is_going_on {
            return Err(self.refuse(INVALID_VALUE, "the event was recorded in a capture that is over or invalid"));
        }
        if invalidates {
            world.captures_mut().invalidate(id);
        }
        Err(self.refuse(CAPTURED_EVENT, "the event was recorded in a capture, and no device will come to it"))
    }
}
