//! Contexts: streams, order between them, and resources for kernels.

use litemap::LiteMap;
use std::collections::BTreeSet;

use smallvec::SmallVec;
use warploom_engine::{Known, Moment, OpId, Queue, QueueId};
use warploom_sys::types::{CUfunc_cache, CUresult};

use crate::ffi::handle::{ContextHandle, StreamHandle, kind};
use crate::machine::coredump::CoredumpSettings;
use crate::machine::limits::Limits;
use crate::machine::objects::Object;
use crate::machine::work::Owner;
use crate::process::thread::ThreadKey;
use crate::topology::DeviceSpec;

/// A context and the objects in it.
pub(crate) struct Context {
    pub(crate) device: u16,
    /// The value of `cuCtxGetId`.
    pub(crate) id: u64,
    pub(crate) is_primary: bool,
    pub(crate) flags: u32,
    pub(crate) api_version: u32,
    /// Number of `cuCtxAttach` calls that have not been undone.
    pub(crate) attached: u32,
    pub(crate) limits: Limits,
    /// Bytes allocated from the device heap, after its first use.
    pub(crate) heap: Option<u64>,
    pub(crate) cache: CUfunc_cache,
    pub(crate) coredump: CoredumpSettings,
    /// Bytes of device memory that the context itself takes.
    pub(crate) overhead: u64,
    /// The sticky error after a fault.
    pub(super) poison: Option<CUresult>,
    /// The legacy default stream, after its first use.
    pub(crate) legacy: Option<QueueId>,
    /// The per-thread default streams, after their first use.
    pub(super) per_thread: LiteMap<ThreadKey, QueueId>,
    pub(super) streams: BTreeSet<StreamHandle>,
    /// Queues that the legacy default stream waits for, and that wait for it.
    pub(super) blocking: SmallVec<[QueueId; 8]>,
    /// Queues of non-blocking streams.
    pub(super) independent: SmallVec<[QueueId; 8]>,
    /// Contexts whose memory this context may access.
    pub(crate) peers: BTreeSet<ContextHandle>,
    /// The queue of events recorded on the whole context, after the first one.
    pub(super) marks: Option<QueueId>,
    /// Ops that all later work depends on.
    pub(super) gates: SmallVec<[OpId; 2]>,
    /// The happens-before order that the gates add, after the first gate.
    pub(super) gate_clock: Option<Moment>,
    /// Work of destroyed streams, for the checks: synchronising with the context waits for it, too.
    pub(super) gone: Known,
    /// The part of it that the legacy default stream is ordered after.
    pub(super) gone_blocking: Known,
}

impl Context {
    /// A context without objects. `id` is the value of `cuCtxGetId`.
    pub(super) fn new(
        spec: &DeviceSpec,
        device: u16,
        id: u64,
        flags: u32,
        is_primary: bool,
        coredump: CoredumpSettings,
    ) -> Self {
        Self {
            device,
            id,
            is_primary,
            flags,
            api_version: 3020,
            attached: 0,
            limits: Limits::of(spec),
            heap: None,
            cache: CUfunc_cache::CU_FUNC_CACHE_PREFER_NONE,
            coredump,
            overhead: spec.context_memory,
            poison: None,
            legacy: None,
            per_thread: LiteMap::new(),
            streams: BTreeSet::new(),
            blocking: SmallVec::new(),
            independent: SmallVec::new(),
            peers: BTreeSet::new(),
            marks: None,
            gates: SmallVec::new(),
            gate_clock: None,
            gone: Known::default(),
            gone_blocking: Known::default(),
        }
    }

    /// Allocates bytes of the device heap; `false` if too few are left.
    pub(crate) fn take_heap(&mut self, bytes: u64) -> bool {
        let taken = self.heap.unwrap_or(0).saturating_add(bytes);
        let fits = taken <= self.limits.heap();
        self.heap = Some(if fits { taken } else { self.heap.unwrap_or(0) });
        fits
    }

    pub(crate) fn give_heap(&mut self, bytes: u64) {
        self.heap = self.heap.map(|taken| taken.saturating_sub(bytes));
    }
}

impl Object for Context {
    type Kind = kind::Context;
}

impl Context {
    /// Keeps the work of a stream that is about to be destroyed.
    pub(crate) fn remember(&mut self, queue: &Queue<Owner>) {
        let known = &queue.clock.known;
        self.gone.join(known);
        if !queue.owner.traits.is_non_blocking() {
            self.gone_blocking.join(known);
        }
    }

    /// Number of `cuCtxAttach` calls that have not been undone.
    pub(crate) fn attached(&self) -> u32 {
        self.attached
    }

    /// All queues of its streams.
    pub(crate) fn queues(&self) -> impl Iterator<Item = QueueId> {
        self.legacy.into_iter().chain(self.blocking.iter().copied()).chain(self.independent.iter().copied())
    }
}
