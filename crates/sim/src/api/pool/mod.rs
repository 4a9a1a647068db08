//! Memory pools: allocation in stream order.
//!
//! An allocation is usable on its stream from the call on. A free is an op: the memory belongs to the
//! allocation until the op runs. The pool reuses freed memory as early as the order of work allows:
//!
//! | freed on | may be used again | switched off by |
//! |---|---|---|
//! | the same stream | at once | – |
//! | a stream the allocating one has waited for since | at once | `REUSE_FOLLOW_EVENT_DEPENDENCIES` |
//! | any stream | when the free is done | `REUSE_ALLOW_OPPORTUNISTIC` |
//! | any stream | when the host has synchronised with the free | – |
//! | any stream, as a last resort | at once; the stream then waits | `REUSE_ALLOW_INTERNAL_DEPENDENCIES` |
//!
//! A free ends the allocation's record at the call, as in the driver. Its op carries the free's position in
//! its queue and not an address, because the address may belong to another allocation by the time the op
//! runs.
//!
//! Memory comes in chunks that back one range of addresses ([`space`]). An unused chunk is released to its
//! device when the host synchronises and the pool exceeds its release threshold, when the pool is trimmed, or
//! when the device is out of memory.
//!
//! A pool that is created for file descriptors has its memory in one shared object. A process that imports
//! the pool maps the chunks that imported allocations lie in, at the same distances from one another.

mod access;
mod allocate;
mod attributes;
mod create;
mod current;
mod home;
mod release;
mod share;

pub(crate) use access::{AccessLevel, cuMemPoolGetAccess, cuMemPoolSetAccess};
pub(crate) use allocate::{cuMemAllocAsync, cuMemAllocFromPoolAsync, cuMemFreeAsync};
pub(crate) use attributes::{cuMemPoolGetAttribute, cuMemPoolSetAttribute};
pub(crate) use create::{cuMemPoolCreate, cuMemPoolDestroy};
pub(crate) use current::{
    cuDeviceGetDefaultMemPool, cuDeviceGetMemPool, cuDeviceSetMemPool, cuMemGetDefaultMemPool, cuMemGetMemPool,
    cuMemSetMemPool,
};
pub(crate) use release::cuMemPoolTrimTo;
pub(crate) use share::{
    cuMemPoolExportPointer, cuMemPoolExportToShareableHandle, cuMemPoolImportFromShareableHandle,
    cuMemPoolImportPointer,
};

use warploom_sys::types::CUmemPoolHandle_st;

use crate::check::HandleProblem;
use crate::ffi::Ptr;
use crate::ffi::handle::{Handle, PoolHandle};
use crate::ffi::status::{INVALID_VALUE, Status};
use crate::machine::call::Call;
use crate::machine::objects::Objects;
use crate::machine::pool::Pool;

/// A pool by the handle that a C caller passed. The driver has one status code for all invalid handles.
fn named(call: &Call<'_>, pools: &Objects<Pool>, raw: Ptr<CUmemPoolHandle_st>) -> Status<PoolHandle> {
    let handle = Handle::from_bits(raw.address());
    if call.object(pools, handle, INVALID_VALUE)?.destroyed {
        call.report_misuse(pools, handle, HandleProblem::Destroyed);
        return Err(call.refuse(INVALID_VALUE, format!("{handle:?} is a memory pool that has been destroyed")));
    }
    Ok(handle)
}

/// A pool that this process created. An imported pool has neither memory to allocate nor attributes.
fn own(call: &Call<'_>, pools: &Objects<Pool>, raw: Ptr<CUmemPoolHandle_st>) -> Status<PoolHandle> {
    let handle = named(call, pools, raw)?;
    if pools.get(handle).is_some_and(Pool::is_imported) {
        return Err(call.refuse(INVALID_VALUE, format!("{handle:?} is a memory pool of another process")));
    }
    Ok(handle)
}
