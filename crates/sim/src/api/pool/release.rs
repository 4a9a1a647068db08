//! Trimming of memory pools: cuMemPoolTrimTo.
#![expect(non_snake_case, reason = "the functions have C's names")]

use warploom_sys::types::CUmemPoolHandle_st;

use super::own;
use crate::ffi::Ptr;
use crate::ffi::status::Status;
use crate::machine::call::Call;

pub(crate) fn cuMemPoolTrimTo(call: &Call<'_>, pool: Ptr<CUmemPoolHandle_st>, keep: usize) -> Status {
    let mut world = call.world();
    let handle = own(call, world.pools(), pool)?;
    world.trim_pool(handle, keep as u64);
    Ok(())
}
