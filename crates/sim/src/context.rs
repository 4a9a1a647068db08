//! Contexts: a device in use, and what is current on a thread.
#![expect(non_snake_case, reason = "the functions have C's names")]

use std::collections::{BTreeMap, BTreeSet};

use smallvec::SmallVec;
use warploom_sys::types::{CUcontext, CUctx_st, CUresult};

use crate::call::Call;
use crate::engine::QueueId;
use crate::ffi::Ptr;
use crate::handles::{Handle, Kind, Object};
use crate::status::{INVALID_CONTEXT, Status};
use crate::stream::Stream;
use crate::thread::{self, ThreadKey};

/// A context and what lives in it.
pub(crate) struct Context {
    pub(crate) device: u16,
    /// What `cuCtxGetId` shows.
    pub(crate) id: u64,
    pub(crate) is_primary: bool,
    pub(crate) flags: u32,
    pub(crate) api_version: u32,
    /// The code every later call gets, after a fault.
    pub(crate) poison: Option<CUresult>,
    /// The legacy default stream, once it was used.
    pub(crate) legacy: Option<QueueId>,
    /// Each thread's own default stream, once it was used.
    pub(crate) per_thread: BTreeMap<ThreadKey, QueueId>,
    pub(crate) streams: BTreeSet<Handle<Stream>>,
    /// Queues that the legacy default stream waits for, and that wait for it.
    pub(crate) blocking: SmallVec<[QueueId; 8]>,
    /// Queues that have nothing to do with the default stream.
    pub(crate) independent: SmallVec<[QueueId; 8]>,
    /// Devices whose contexts' memory this context may access.
    pub(crate) peers: BTreeSet<Handle<Context>>,
}

impl Object for Context {
    const KIND: Kind = Kind::Context;
}

impl Context {
    pub(crate) fn new(device: u16, id: u64, flags: u32, is_primary: bool) -> Self {
        Self {
            device,
            id,
            is_primary,
            flags,
            api_version: 3020,
            poison: None,
            legacy: None,
            per_thread: BTreeMap::new(),
            streams: BTreeSet::new(),
            blocking: SmallVec::new(),
            independent: SmallVec::new(),
            peers: BTreeSet::new(),
        }
    }

    /// Every queue there is to wait for.
    pub(crate) fn queues(&self) -> impl Iterator<Item = QueueId> {
        self.legacy.into_iter().chain(self.blocking.iter().copied()).chain(self.independent.iter().copied())
    }
}

pub(crate) fn cuCtxSetCurrent(call: &Call<'_>, context: Ptr<CUctx_st>) -> Status {
    let machine = call.core().id;
    if context.is_null() {
        thread::with_contexts(machine, |stack| stack.pop());
        return Ok(());
    }
    let handle = Handle::from_bits(context.address());
    call.object(&call.world().contexts, handle, INVALID_CONTEXT)?;
    thread::with_contexts(machine, |stack| match stack.last_mut() {
        Some(top) => *top = handle,
        None => stack.push(handle),
    });
    Ok(())
}

pub(crate) fn cuCtxGetCurrent(call: &Call<'_>, context: Ptr<CUcontext>) -> Status {
    let current = thread::with_contexts(call.core().id, |stack| stack.last().copied());
    context.write(current.map_or(std::ptr::null_mut(), Handle::as_raw))
}

pub(crate) fn cuCtxSynchronize(call: &Call<'_>) -> Status {
    let mut world = call.world();
    let context = call.context(&world)?;
    call.wait_for_context(&mut world, context)
}
