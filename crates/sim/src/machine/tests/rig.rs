//! Test rig: a machine without a driver around it.
#![expect(unsafe_code, reason = "ops work on words of the tests")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use warploom_engine::{Mode, OpId, Order, QueueId};
use warploom_sys::Function;

use crate::check::Checks;
use crate::fault::{Faults, Plan};
use crate::ffi::handle::ContextHandle;
use crate::ffi::status::Status;
use crate::machine::call::Call;
use crate::machine::core::{Core, Guard, Instruments};
use crate::machine::stream::Traits;
use crate::machine::work::Task;
use crate::machine::world::{Work, World};
use crate::memory::{MemoryOp, Side, SimAddress};
use crate::process::thread;
use crate::topology::Topology;

/// Every mode, with some seeds.
pub(crate) const MODES: [Mode; 12] = [
    Mode::Threads,
    Mode::Sync,
    Mode::Deterministic(Order::Eager),
    Mode::Deterministic(Order::Lazy),
    Mode::Deterministic(Order::Seeded(0)),
    Mode::Deterministic(Order::Seeded(1)),
    Mode::Deterministic(Order::Seeded(2)),
    Mode::Deterministic(Order::Seeded(3)),
    Mode::Deterministic(Order::Seeded(4)),
    Mode::Deterministic(Order::Seeded(5)),
    Mode::Deterministic(Order::Seeded(6)),
    Mode::Deterministic(Order::Seeded(7)),
];

/// The modes in which a call returns before its work is done.
pub(crate) fn asynchronous() -> impl Iterator<Item = Mode> {
    MODES.into_iter().filter(|mode| *mode != Mode::Sync)
}

pub(crate) struct Rig {
    pub(crate) core: Arc<Core>,
    pub(crate) context: ContextHandle,
}

impl Rig {
    pub(crate) fn new(mode: Mode) -> Self {
        Self::with_patience(mode, Duration::from_secs(20))
    }

    pub(crate) fn with_patience(mode: Mode, patience: Duration) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1 << 32);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let topology = Topology::preset("pcie-pair").expect("the preset exists");
        let faults = Faults::new(&Plan::new());
        let instruments = Instruments {
            checks: Checks::off(),
            trace: None,
            faults,
            watchdog: None,
            output: None,
            workers: None,
            host_limit: None,
            function_address: |_, _, _| std::ptr::null_mut(),
            annotations: |_| unreachable!("nothing is checked"),
        };
        let core = Arc::new(Core::new(id, 0, topology, mode, patience, instruments).expect("there is address space"));
        core.start().expect("there are threads");
        let context = new_context(&core, 0);
        thread::with_contexts(id, |stack| stack.push(context));
        Self { core, context }
    }

    /// A context beside the rig's own.
    pub(crate) fn other_context(&self, device: usize) -> ContextHandle {
        new_context(&self.core, device)
    }

    pub(crate) fn call(&self) -> Call<'_> {
        Call::new(&self.core, Function::cuStreamSynchronize, false)
    }

    pub(crate) fn world(&self) -> Guard<'_> {
        self.core.world()
    }

    /// A stream's queue; flags as in `cuStreamCreate`.
    pub(crate) fn queue(&self, flags: u32) -> QueueId {
        let mut world = self.world();
        let queue = world.new_queue(self.context, 0, Traits::new(0, flags, 0));
        let context = world.contexts.get_mut(self.context).expect("it is there");
        if flags == 0 { &mut context.blocking } else { &mut context.independent }.push(queue);
        queue
    }

    /// The queue of the default stream with this handle.
    pub(crate) fn default_queue(&self, raw: u64) -> QueueId {
        crate::api::stream::queue_of(&self.call(), &mut self.world(), raw).expect("a context is current")
    }

    pub(crate) fn submit(&self, queue: QueueId, work: Work) -> Status<OpId> {
        let (call, mut world) = (self.call(), self.world());
        let id = world.enqueue(queue, work)?;
        call.get_going(&mut world, queue)?;
        Ok(id)
    }

    pub(crate) fn task(&self, queue: QueueId, task: impl Task<World> + 'static) -> Status<OpId> {
        self.submit(queue, Work::Task(Box::new(task)))
    }

    /// As `cuStreamSynchronize`.
    pub(crate) fn synchronize(&self, queue: QueueId) -> Status {
        let mut world = self.world();
        let outstanding = world.outstanding(queue);
        self.call().wait(&mut world, &outstanding)?;
        world.look(self.context)
    }

    /// As `cuCtxSynchronize`.
    pub(crate) fn finish(&self) -> Status {
        self.call().wait_for_context(&mut self.world(), self.context)
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        thread::with_contexts(self.core.id, Vec::clear);
        self.core.stop();
    }
}

/// Words that ops work on, and where they are.
pub(crate) struct Memory(Vec<AtomicU64>);

impl Memory {
    pub(crate) fn new(words: usize) -> Self {
        Self((0..words).map(|_| AtomicU64::new(0)).collect())
    }

    pub(crate) fn place(&self, word: usize) -> SimAddress {
        let host = std::ptr::from_ref(&self.0[word]).expose_provenance();
        // SAFETY: a word of the rig's own, which outlives the ops that tests enqueue on it.
        unsafe { SimAddress::new(host as u64, host, Side::Device(0)) }
    }

    pub(crate) fn get(&self, word: usize) -> u64 {
        self.0[word].load(Ordering::SeqCst)
    }

    pub(crate) fn set(&self, word: usize, value: u64) {
        self.0[word].store(value, Ordering::SeqCst);
    }

    pub(crate) fn all(&self) -> Vec<u64> {
        self.0.iter().map(|word| word.load(Ordering::SeqCst)).collect()
    }

    pub(crate) fn write(&self, word: usize, value: u64) -> Work {
        MemoryOp::WriteValue { to: self.place(word), value, wide: true }.into()
    }
}

fn new_context(core: &Arc<Core>, device: usize) -> ContextHandle {
    let call = Call::new(core, Function::cuCtxCreate_v2, false);
    core.world().add_context(&call, device, 0).expect("the device has room for it")
}
