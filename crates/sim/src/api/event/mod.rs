//! Events: points in a queue, and the virtual time at which they were reached.
//!
//! A record is an op, unless its queue is idle: then it completes at the call. A wait captures the newest
//! record when the wait is called; a later record or the destruction of the event does not affect it.

mod elapsed;
mod lifecycle;
mod record;

pub(crate) use elapsed::{cuEventElapsedTime, cuEventElapsedTime_v2};
pub(crate) use lifecycle::{DISABLE_TIMING, INTERPROCESS, cuEventCreate, cuEventDestroy_v2};
pub(crate) use record::{
    EXTERNAL, cuEventQuery, cuEventRecord, cuEventRecordWithFlags, cuEventSynchronize, record_after_work,
};

use warploom_sys::types::CUresult;

use crate::check::HandleProblem;
use crate::ffi::handle::{EventHandle, Handle, Kind};
use crate::ffi::status::{INVALID_HANDLE, Status};
use crate::machine::call::Call;
use crate::machine::world::World;

/// The event behind an argument, if its context is alive. For a destroyed event, and for a handle of another
/// kind, the driver answers that the context is destroyed.
#[inline]
pub(crate) fn find(call: &Call<'_>, world: &World, bits: u64) -> Status<EventHandle> {
    let handle = Handle::from_bits(bits);
    let gone = CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED;
    match world.events().get(handle) {
        Some(event) if world.contexts().get(event.context).is_some() => Ok(handle),
        Some(_) => {
            call.report_misuse(world.events(), handle, HandleProblem::Orphaned);
            Err(call.refuse(gone, format!("the context of event {handle:?} has been destroyed")))
        }
        None => {
            let was_something = Kind::ALL.into_iter().any(|kind| handle.names_some(kind));
            Err(call
                .refuse(if was_something { gone } else { INVALID_HANDLE }, call.found_misuse(world.events(), handle)))
        }
    }
}
