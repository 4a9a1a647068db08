//! Memory pools: allocation in stream order.
//!
//! An allocation is usable on its stream from the call on, and a free is an op like any other: the memory is the
//! allocation's until the stream comes to it. The pool hands freed memory out again as early as the order of work allows:
//!
//! | who freed it | may be used again | switched off by |
//! |---|---|---|
//! | the same stream | at once | – |
//! | a stream the allocating one has waited for since | at once | `REUSE_FOLLOW_EVENT_DEPENDENCIES` |
//! | any stream | when the free is done | `REUSE_ALLOW_OPPORTUNISTIC` |
//! | any stream | when the host has synchronised with the free | – |
//! | any stream | at once, the allocating stream then waits; only if there is no other memory | `REUSE_ALLOW_INTERNAL_DEPENDENCIES` |
//!
//! A free ends the allocation's record at the call, as the driver's does, and its op carries the free's place in its
//! queue, not an address: the address may be another allocation's by the time the op runs.
//!
//! Memory comes in chunks behind one stretch of addresses ([`space`]). A chunk in which nothing is in use goes back to
//! its device when the host synchronises and the pool holds more than its threshold, when it is trimmed, or when the
//! device runs out.

mod access;
mod allocate;
mod attributes;
mod chunks;
mod create;
mod current;
mod home;
mod release;
mod share;
mod space;
mod windows;

use std::collections::BTreeSet;

pub(crate) use access::{AccessLevel, cuMemPoolGetAccess, cuMemPoolSetAccess};
pub(crate) use allocate::{cuMemAllocAsync, cuMemAllocFromPoolAsync, cuMemFreeAsync};
pub(crate) use attributes::{cuMemPoolGetAttribute, cuMemPoolSetAttribute};
pub(crate) use create::{cuMemPoolCreate, cuMemPoolDestroy};
pub(crate) use current::{
    Current, cuDeviceGetDefaultMemPool, cuDeviceGetMemPool, cuDeviceSetMemPool, cuMemGetDefaultMemPool,
    cuMemGetMemPool, cuMemSetMemPool,
};
pub(crate) use release::{Freed, cuMemPoolTrimTo};
pub(crate) use share::{
    cuMemPoolExportPointer, cuMemPoolExportToShareableHandle, cuMemPoolImportFromShareableHandle,
    cuMemPoolImportPointer,
};
pub(crate) use space::CHUNK;
pub(crate) use windows::Windows;

use space::Space;
use warploom_sys::types::CUmemPoolHandle_st;
use windows::Addresses;

use crate::check::HandleProblem;
use crate::ffi::Ptr;
use crate::ffi::handle::{Handle, PoolHandle, kind};
use crate::ffi::status::{INVALID_VALUE, Status};
use crate::machine::call::Call;
use crate::machine::core::Guard;
use crate::machine::objects::Object;
use crate::memory::Home;

/// A pool and what it has handed out.
pub(crate) struct Pool {
    pub(crate) home: Home,
    /// The kinds of handles it can be exported as.
    handle_types: u32,
    /// What it was created with; 0 is no limit.
    max_size: u64,
    usage: u16,
    is_default: bool,
    /// Its handle is gone; it goes when its last allocation has been freed.
    destroyed: bool,
    reuse: Reuse,
    /// Bytes it holds on to when the host synchronises.
    threshold: u64,
    used: u64,
    used_high: u64,
    reserved_high: u64,
    /// Devices other than its own that reach its memory.
    peers: BTreeSet<u16>,
    /// Where its memory is seen; taken when the first allocation is made.
    addresses: Option<Addresses>,
    space: Space,
}

/// Whose freed memory an allocation may take.
#[derive(Clone, Copy)]
struct Reuse {
    follow_events: bool,
    opportunistic: bool,
    internal_dependencies: bool,
}

impl Object for Pool {
    type Kind = kind::Pool;
}

impl Pool {
    /// The kinds of handles it can be exported as.
    pub(crate) fn handle_types(&self) -> u32 {
        self.handle_types
    }

    /// Whether the program made it, and has not destroyed it.
    pub(crate) fn is_the_programs(&self) -> bool {
        !self.is_default && !self.destroyed
    }

    fn new(home: Home, max_size: u64, room: u64) -> Self {
        Self {
            home,
            handle_types: 0,
            max_size,
            usage: 0,
            is_default: false,
            destroyed: false,
            reuse: Reuse { follow_events: true, opportunistic: true, internal_dependencies: true },
            threshold: 0,
            used: 0,
            used_high: 0,
            reserved_high: 0,
            peers: BTreeSet::new(),
            addresses: None,
            space: Space::new(room),
        }
    }
}

/// A pool by the handle a C caller passed. The driver has one code for every handle that is none.
fn named(call: &Call<'_>, world: &Guard<'_>, raw: Ptr<CUmemPoolHandle_st>) -> Status<PoolHandle> {
    let handle = Handle::from_bits(raw.address());
    if call.object(&world.pools, handle, INVALID_VALUE)?.destroyed {
        call.report_misuse(&world.pools, handle, HandleProblem::Destroyed);
        return Err(call.refuse(INVALID_VALUE, format!("{handle:?} is a memory pool that has been destroyed")));
    }
    Ok(handle)
}
