//! Creation and destruction of events: cuEventCreate and cuEventDestroy.
#![expect(non_snake_case, reason = "the functions have C's names")]

use std::ffi::c_uint;
use std::sync::Arc;

use warploom_sys::types::{CUevent, CUevent_st};

use super::find;
use crate::ffi::Ptr;
use crate::ffi::status::{INVALID_VALUE, OUT_OF_MEMORY, Status};
use crate::machine::call::Call;
use crate::machine::event::Event;
use crate::memory::{SharedRecords, Side};

/// `CU_EVENT_BLOCKING_SYNC`.
const BLOCKING_SYNC: u32 = 1;
/// `CU_EVENT_DISABLE_TIMING`.
pub(crate) const DISABLE_TIMING: u32 = 2;
/// `CU_EVENT_INTERPROCESS`.
pub(crate) const INTERPROCESS: u32 = 4;

pub(crate) fn cuEventCreate(call: &Call<'_>, out: Ptr<CUevent>, flags: c_uint) -> Status {
    out.required()?;
    if flags & !(BLOCKING_SYNC | DISABLE_TIMING | INTERPROCESS) != 0 {
        return Err(call.refuse(INVALID_VALUE, format!("flags are {flags:#x}; only 1, 2 and 4 are known")));
    }
    if flags & INTERPROCESS != 0 && flags & DISABLE_TIMING == 0 {
        return Err(call.refuse(INVALID_VALUE, "an event for several processes cannot have timing"));
    }
    let mut world = call.world();
    let context = call.context(&world)?;
    let mut event = Event::new(context, flags);
    if flags & INTERPROCESS != 0 {
        event.shared = Some(share(call, world.device_of(context)?)?);
    }
    let event = world
        .events_mut()
        .insert(event)
        .ok_or_else(|| call.refuse(OUT_OF_MEMORY, "there are as many events as handles"))?;
    out.write(event.as_raw())
}

/// The records of a new event for several processes.
fn share(call: &Call<'_>, device: u16) -> Status<Arc<SharedRecords>> {
    let created = SharedRecords::create(call.core().digest(), call.shared_device(Side::Device(device)));
    created.map_err(|error| call.refuse(OUT_OF_MEMORY, format!("the system has no file for a shared event: {error}")))
}

/// Pending waits for the event's record stay in effect.
pub(crate) fn cuEventDestroy_v2(call: &Call<'_>, event: Ptr<CUevent_st>) -> Status {
    let mut world = call.world();
    let handle = find(call, &world, event.address())?;
    if let Some(event) = world.events().get(handle) {
        world.healthy(event.context)?;
    }
    world.events_mut().remove(handle);
    Ok(())
}
