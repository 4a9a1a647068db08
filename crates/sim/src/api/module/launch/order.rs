//! Events that kernels record: checks at the launch, and records outside of captures.

use warploom_engine::QueueId;
use warploom_sys::types::{CUevent, CUgraphEdgeData, CUresult, CUstream_st};

use crate::api::event::{DISABLE_TIMING, EXTERNAL, INTERPROCESS, record_after_work};
use crate::ffi::Ptr;
use crate::ffi::handle::Handle;
use crate::ffi::status::{INVALID_HANDLE, INVALID_VALUE, NOT_SUPPORTED, Status};
use crate::machine::call::Call;
use crate::machine::core::Guard;
use crate::machine::launch::{KernelEvent, LaunchOrder};
use crate::machine::world::World;

impl KernelEvent {
    pub(super) fn new(event: CUevent, flags: i32, edge: CUgraphEdgeData) -> Self {
        Self { event: Handle::from_bits(event.addr() as u64), flags, edge }
    }

    /// Refuses an event that no kernel can record in a stream.
    fn check(&self, call: &Call<'_>, world: &World, queue: QueueId) -> Status {
        let Self { event: handle, flags, .. } = *self;
        let Some(event) = world.events().get(handle) else {
            return Err(call.refuse(INVALID_HANDLE, call.found_misuse(world.events(), handle)));
        };
        if event.context != world.queue(queue).owner.context {
            return Err(call.refuse(INVALID_HANDLE, "the event and the stream are of different contexts"));
        }
        if !matches!(u32::try_from(flags), Ok(0 | EXTERNAL)) {
            return Err(call.refuse(INVALID_VALUE, format!("flags are {flags:#x}; only 0 and 1 are known")));
        }
        if event.flags & (DISABLE_TIMING | INTERPROCESS) != DISABLE_TIMING {
            let reason =
                format!("event {handle:?} has timing or is for several processes; set CU_EVENT_DISABLE_TIMING only");
            return Err(call.refuse(NOT_SUPPORTED, reason));
        }
        match flags {
            0 => Ok(()),
            _ if world.captures().hold(queue) => {
                Err(call.refuse(NOT_SUPPORTED, "a kernel cannot make an external record; set flags to 0"))
            }
            _ => Err(call.refuse(
                CUresult::CUDA_ERROR_ILLEGAL_STATE,
                "an external record is a node of a captured graph, and the stream is not captured",
            )),
        }
    }
}

impl LaunchOrder {
    /// Refuses events that the kernel cannot record. A capture stays valid.
    pub(super) fn check(&self, call: &Call<'_>, world: &World, queue: QueueId) -> Status {
        self.events().try_for_each(|event| event.check(call, world, queue))
    }

    /// Records the events of a kernel that was launched in a stream without a capture, behind the kernel.
    pub(super) fn record(&self, call: &Call<'_>, world: &mut Guard<'_>, stream: Ptr<CUstream_st>) -> Status {
        self.events().try_for_each(|recorded| {
            let queue = call.queue(world, stream)?;
            record_after_work(call, world, (queue, stream), recorded.event)
        })
    }
}
