//! Events: points in a queue, and the virtual time at which they were reached.
//!
//! A record is an op like any other, unless its queue is idle: then it is done on the spot. A wait captures the newest
//! record when the wait is called; recording again, or destroying the event, changes nothing for those who already wait.

mod elapsed;
mod lifecycle;
mod record;

pub(crate) use elapsed::{cuEventElapsedTime, cuEventElapsedTime_v2};
pub(crate) use lifecycle::{cuEventCreate, cuEventDestroy_v2};
pub(crate) use record::{cuEventQuery, cuEventRecord, cuEventRecordWithFlags, cuEventSynchronize};

use warploom_sys::types::CUresult;

use crate::check::HandleProblem;
use crate::ffi::handle::{EventHandle, Handle, Kind};
use crate::ffi::status::{INVALID_HANDLE, Status};
use crate::machine::call::Call;
use crate::machine::world::World;

/// The event behind an argument, if its context is alive. The driver says of an event that is destroyed, and of a handle
/// to something else, that its context is.
pub(crate) fn find(call: &Call<'_>, world: &World, bits: u64) -> Status<EventHandle> {
    let handle = Handle::from_bits(bits);
    let gone = CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED;
    match world.events.get(handle) {
        Some(event) if world.contexts.get(event.context).is_some() => Ok(handle),
        Some(_) => {
            call.report_misuse(&world.events, handle, HandleProblem::Orphaned);
            Err(call.refuse(gone, format!("the context of event {handle:?} has been destroyed")))
        }
        None => {
            let was_something = Kind::ALL.into_iter().any(|kind| handle.names_some(kind));
            Err(call
                .refuse(if was_something { gone } else { INVALID_HANDLE }, call.found_misuse(&world.events, handle)))
        }
    }
}
