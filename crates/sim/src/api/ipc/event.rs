//! Events of other processes: cuIpcGetEventHandle and cuIpcOpenEventHandle.
#![expect(non_snake_case, reason = "the functions have C's names")]

use warploom_sys::types::{CUevent, CUevent_st, CUipcEventHandle};

use super::{from_c, refuse_own, to_c};
use crate::api::event::{self, DISABLE_TIMING, INTERPROCESS};
use crate::ffi::Ptr;
use crate::ffi::status::{INVALID_HANDLE, MAP_FAILED, OUT_OF_MEMORY, Status};
use crate::machine::call::Call;
use crate::machine::event::Event;
use crate::memory::{BlockPart, IpcHandle, SharedRecords};

pub(crate) fn cuIpcGetEventHandle(call: &Call<'_>, out: Ptr<CUipcEventHandle>, event: Ptr<CUevent_st>) -> Status {
    out.required()?;
    let world = call.world();
    call.context(&world)?;
    let handle = event::find(call, &world, event.address())?;
    let Some(event) = world.events().get(handle) else { return Err(INVALID_HANDLE) };
    let Some(shared) = event.shared.as_ref().filter(|_| !event.is_opened) else {
        let reason = if event.is_opened { "is another process's" } else { "was made without CU_EVENT_INTERPROCESS" };
        return Err(call.refuse(INVALID_HANDLE, format!("event {handle:?} {reason}")));
    };
    let locator = shared.object().locator().map_err(|error| call.refuse(MAP_FAILED, format!("no handle: {error}")))?;
    out.write(CUipcEventHandle { reserved: to_c(&IpcHandle { locator, part: BlockPart::default() }) })
}

/// An event opened twice is two events with the same records.
pub(crate) fn cuIpcOpenEventHandle(call: &Call<'_>, out: Ptr<CUevent>, handle: CUipcEventHandle) -> Status {
    out.required()?;
    let mut world = call.world();
    let context = call.context(&world)?;
    let handle = IpcHandle::decode(&from_c(handle.reserved));
    let handle = handle.map_err(|error| call.refuse(MAP_FAILED, error.to_string()))?;
    refuse_own(call, &handle)?;
    let opened = SharedRecords::open(&handle.locator, call.core().digest());
    let shared = match opened {
        Ok(shared) => shared,
        Err(error) => {
            // The exporter has closed it, but it lives on in this process.
            let mut opened = world.events().iter().filter_map(|(_, event)| event.shared.as_ref());
            let found = opened.find(|shared| shared.object().header().id == handle.locator.id);
            let again = found.and_then(|shared| shared.object().locator().ok());
            let again = again.and_then(|locator| SharedRecords::open(&locator, call.core().digest()).ok());
            again.ok_or_else(|| call.refuse(MAP_FAILED, error.to_string()))?
        }
    };
    let mut event = Event::new(context, DISABLE_TIMING | INTERPROCESS);
    (event.shared, event.is_opened) = (Some(shared), true);
    let event = world
        .events_mut()
        .insert(event)
        .ok_or_else(|| call.refuse(OUT_OF_MEMORY, "there are as many events as handles"))?;
    out.write(event.as_raw())
}
