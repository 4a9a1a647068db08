//! Creation and destruction of streams: cuStreamCreate and cuStreamDestroy.
#![expect(non_snake_case, reason = "the functions have C's names")]

use std::ffi::{c_int, c_uint};

use warploom_sys::types::{CUstream, CUstream_st};

use super::{LEGACY, PER_THREAD, created};
use crate::ffi::Ptr;
use crate::ffi::handle::Handle;
use crate::ffi::status::{INVALID_HANDLE, INVALID_VALUE, OUT_OF_MEMORY, Status};
use crate::machine::call::Call;
use crate::machine::stream::{LOWEST_PRIORITY, NON_BLOCKING, Stream};

pub(crate) fn cuStreamCreate(call: &Call<'_>, out: Ptr<CUstream>, flags: c_uint) -> Status {
    create(call, out, flags, LOWEST_PRIORITY)
}

pub(crate) fn cuStreamCreateWithPriority(
    call: &Call<'_>,
    out: Ptr<CUstream>,
    flags: c_uint,
    priority: c_int,
) -> Status {
    create(call, out, flags, priority)
}

fn create(call: &Call<'_>, out: Ptr<CUstream>, flags: u32, priority: i32) -> Status {
    out.required()?;
    if flags & !NON_BLOCKING != 0 {
        return Err(call.refuse(INVALID_VALUE, format!("flags are {flags:#x}; only 1 is known")));
    }
    let mut world = call.world();
    let context = call.context(&world)?;
    let stream = world
        .add_stream(context, flags, priority)
        .ok_or_else(|| call.refuse(OUT_OF_MEMORY, "there are as many streams as handles"))?;
    out.write(stream.as_raw())
}

/// Returns at once. Pending work continues, and synchronising with the context waits for it.
pub(crate) fn cuStreamDestroy_v2(call: &Call<'_>, stream: Ptr<CUstream_st>) -> Status {
    if matches!(stream.address(), 0 | LEGACY | PER_THREAD) {
        return Err(call.refuse(INVALID_HANDLE, "a default stream goes with its context"));
    }
    let mut world = call.world();
    let &Stream { queue, context } = created(call, world.streams(), stream.address())?;
    world.healthy(context)?;
    world.leave_captures(|_, going| going == queue);
    world.remove_stream(Handle::from_bits(stream.address()));
    call.run_destructors(&mut world);
    Ok(())
}
