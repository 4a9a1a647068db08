//! Elapsed time between two events: cuEventElapsedTime.
#![expect(non_snake_case, reason = "the functions have C's names")]

use warploom_sys::types::CUevent_st;

use super::find;
use super::lifecycle::DISABLE_TIMING;
use crate::ffi::Ptr;
use crate::ffi::handle::Handle;
use crate::ffi::status::{INVALID_HANDLE, NOT_READY, Status};
use crate::machine::call::Call;
use crate::machine::core::Guard;
use crate::machine::event::{Event, Record};

/// An event with timing, and its record.
fn timed<'w>(call: &Call<'_>, world: &'w Guard<'_>, event: Ptr<CUevent_st>) -> Status<(&'w Event, Record)> {
    let handle = find(call, world, event.address())?;
    let Some(event) = world.events().get(handle) else { return Err(INVALID_HANDLE) };
    if event.flags & DISABLE_TIMING != 0 {
        return Err(call.refuse(INVALID_HANDLE, format!("event {handle:?} was made without timing")));
    }
    match event.record {
        Some(record) => Ok((event, record)),
        None => Err(call.refuse(INVALID_HANDLE, format!("event {handle:?} was never recorded"))),
    }
}

pub(crate) fn cuEventElapsedTime(
    call: &Call<'_>,
    milliseconds: Ptr<f32>,
    start: Ptr<CUevent_st>,
    end: Ptr<CUevent_st>,
) -> Status {
    let mut world = call.world();
    let handles = [start, end].map(|event| Handle::from_bits(event.address()));
    for event in handles {
        call.check_event(&mut world, event, false)?;
    }
    let (first, start) = timed(call, &world, start)?;
    let (second, end) = timed(call, &world, end)?;
    if first.context != second.context {
        return Err(call.refuse(INVALID_HANDLE, "the events are of different contexts"));
    }
    world.healthy(first.context)?;
    let (Some(start), Some(end)) = (start.time, end.time) else { return Err(NOT_READY) };
    for event in handles {
        world.host_learns_event(event);
    }
    let nanoseconds = end.cast_signed() - start.cast_signed();
    milliseconds.write((nanoseconds as f64 / 1e6) as f32)
}

/// The second ABI differs for events recorded by graph nodes only, which are timed alike here.
pub(crate) fn cuEventElapsedTime_v2(
    call: &Call<'_>,
    milliseconds: Ptr<f32>,
    start: Ptr<CUevent_st>,
    end: Ptr<CUevent_st>,
) -> Status {
    cuEventElapsedTime(call, milliseconds, start, end)
}
