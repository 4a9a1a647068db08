//! Trimming of memory pools: cuMemPoolTrimTo.
#![expect(non_snake_case, reason = "the functions have C's names")]

use warploom_sys::types::CUmemPoolHandle_st;

use super::named;
use crate::ffi::Ptr;
use crate::ffi::status::Status;
use crate::machine::call::Call;
use crate::machine::pool::CHUNK;

pub(crate) fn cuMemPoolTrimTo(call: &Call<'_>, pool: Ptr<CUmemPoolHandle_st>, keep: usize) -> Status {
    let mut world = call.world();
    let handle = named(call, &world, pool)?;
    let Some(pool) = world.pools.get_mut(handle) else { return Ok(()) };
    let bytes = pool.shrink(|reserved| reserved >= CHUNK && reserved - CHUNK >= keep as u64);
    let home = pool.home;
    world.refund(home, bytes);
    Ok(())
}
